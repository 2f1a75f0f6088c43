//! Functions for CHECK: they compare the previous result with what exists.

use std::fmt::Display;

use ipnet::IpNet;

use crate::link::{self, Link};
use crate::route::{self, Filter, Route};
use crate::{
    AddResult, Context, Error, Interface, IpConfig, Namespace, Outcome, Request, address, codes,
};

/// Makes the error of CHECK for what is not as ADD left it.
pub fn wrong(what: impl Display) -> Error {
    Error::new(codes::NOT_AS_ATTACHED, what.to_string())
}

/// Makes the error of CHECK for what was not found: it is not as ADD left it.
pub(crate) fn what_is_gone(error: Error) -> Error {
    match error.code {
        codes::NOT_FOUND => Error {
            code: codes::NOT_AS_ATTACHED,
            ..error
        },
        _ => error,
    }
}

/// Returns the previous result. Errors: code 7 when the request has none.
pub fn previous<C>(request: &Request<C>) -> Result<&AddResult, Error> {
    let missing = "CHECK needs the result of ADD: key `prevResult` is missing";
    let previous = request.previous.as_ref();
    previous.ok_or_else(|| Error::invalid_config(missing))
}

/// Returns the link of an interface of the previous result. Fails unless it has the kind and the MAC.
pub fn interface(interface: &Interface, namespace: Namespace, kind: &str) -> Result<Link, Error> {
    let name = interface.name.as_str();
    let found = link::get(namespace, name).found();
    let link = found.context(format!("cannot read interface `{name}`"))?;
    let link = link.ok_or_else(|| wrong(format!("interface `{name}` does not exist")))?;
    if link.kind != kind {
        let found = &link.kind;
        return Err(wrong(format!(
            "interface `{name}`: expected a {kind}, found a {found}"
        )));
    }
    mac(interface, &link)?;
    Ok(link)
}

/// Returns the link of the container's interface, which the previous result must list with its sandbox.
pub fn container_interface<C>(
    request: &Request<C>,
    previous: &AddResult,
    kind: &str,
) -> Result<Link, Error> {
    let (ifname, sandbox) = (&request.ifname, &request.sandbox);
    let is_container = |i: &&Interface| i.name == *ifname && i.sandbox.as_ref() == Some(sandbox);
    let found = previous.interfaces.iter().find(is_container);
    let found = found.ok_or_else(|| {
        wrong(format!(
            "prevResult: `{ifname}` in sandbox {sandbox} is not in interfaces"
        ))
    })?;
    interface(found, Namespace::Container, kind)
}

/// Fails unless the container's interface is as ADD left it: of this kind, with the MAC of the previous result, up, with
/// the result's addresses and routes. Returns its link.
pub fn attached<C>(request: &Request<C>, kind: &str) -> Result<Link, Error> {
    let previous = previous(request)?;
    let link = container_interface(request, previous, kind)?;
    if !link.up {
        return Err(wrong(format!("interface `{}` is down", link.name)));
    }
    addresses(&request.ifname, &previous.ips)?;
    routes(previous)?;
    Ok(link)
}

/// Fails unless a link has the MAC of the previous result, if that has one.
pub fn mac(interface: &Interface, link: &Link) -> Result<(), Error> {
    let (Some(expected), found) = (&interface.mac, link.mac_text().unwrap_or_default()) else {
        return Ok(());
    };
    if expected.eq_ignore_ascii_case(&found) {
        Ok(())
    } else {
        let name = &interface.name;
        Err(wrong(format!(
            "interface `{name}`: expected MAC {expected}, found {found}"
        )))
    }
}

/// Fails unless the container's interface has all of the addresses.
pub fn addresses(ifname: &str, ips: &[IpConfig]) -> Result<(), Error> {
    if ips.is_empty() {
        return Ok(());
    }
    let present = address::list(Namespace::Container, ifname, None)
        .context(format!("cannot list the addresses of `{ifname}`"))?;
    for ip in ips {
        let address = ip.address;
        if present.iter().all(|p| IpNet::from(p.address) != address) {
            return Err(wrong(format!(
                "interface `{ifname}`: address {address} is missing"
            )));
        }
    }
    Ok(())
}

/// Fails unless every route of the previous result exists, a default route by any gateway, and a route to the subnet of
/// every address.
pub fn routes(previous: &AddResult) -> Result<(), Error> {
    if previous.ips.is_empty() && previous.routes.is_empty() {
        return Ok(());
    }
    // One list for all of them.
    let present = route::list(Namespace::Container, &Filter::default());
    let present = present.context(ROUTES)?;
    let subnets = previous.ips.iter().map(|ip| Route::new(ip.address.trunc()));
    let expected = subnets.chain(previous.routes.iter().map(Route::from));
    for mut route in expected {
        if route.destination().prefix_len() == 0 {
            route.gateway = None;
        }
        if !present.iter().any(|other| other.leads_as(&route)) {
            return Err(missing(&route));
        }
    }
    Ok(())
}

const ROUTES: &str = "cannot list the container's routes";

fn missing(route: &Route) -> Error {
    wrong(format!("{route} is missing"))
}

/// Fails unless the container has a route, as [`route::exists`] finds it.
pub fn route(expected: &Route) -> Result<(), Error> {
    if route::exists(Namespace::Container, expected).context(ROUTES)? {
        Ok(())
    } else {
        Err(missing(expected))
    }
}
