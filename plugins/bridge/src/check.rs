//! CHECK: whether interfaces, addresses and routes are as ADD left them.

use std::fmt::Display;

use ipnet::IpNet;
use weir_sdk::link::{self, Link};
use weir_sdk::route::{self, Filter, Route};
use weir_sdk::{
    AddResult, Context, Error, ErrorCode, Interface, Namespace, Outcome, Request, address,
};

use crate::codes;
use crate::config::Config;

/// Fails if the attachment is not as the previous result says.
pub fn check(request: &Request<Config>) -> Result<(), Error> {
    let Some(previous) = &request.previous else {
        let msg = "CHECK needs the result of ADD: key \"prevResult\" is missing";
        return Err(Error::invalid_config(msg));
    };
    let bridge = check_bridge(request, previous)?;
    let container = check_container(request, previous)?;
    check_port(previous, &bridge, &container)?;
    check_addresses(request, previous)?;
    check_routes(previous)
}

fn wrong(what: impl Display) -> Error {
    Error::new(codes::NOT_AS_ATTACHED, what.to_string())
}

/// The link of an interface of the previous result, of the kind and with the MAC that it must have.
fn link_of(interface: &Interface, namespace: Namespace, kind: &str) -> Result<Link, Error> {
    let name = interface.name.as_str();
    let found = link::get(namespace, name).found();
    let link = found.context(format!("could not read interface \"{name}\""))?;
    let link = link.ok_or_else(|| wrong(format!("interface \"{name}\" does not exist")))?;
    if link.kind != kind {
        let found = &link.kind;
        return Err(wrong(format!(
            "interface \"{name}\": expected a {kind}, found a {found}"
        )));
    }
    check_mac(interface, &link)?;
    Ok(link)
}

fn check_mac(interface: &Interface, link: &Link) -> Result<(), Error> {
    let (Some(expected), found) = (&interface.mac, link.mac_text().unwrap_or_default()) else {
        return Ok(());
    };
    match expected.eq_ignore_ascii_case(&found) {
        true => Ok(()),
        false => {
            let name = &interface.name;
            Err(wrong(format!(
                "interface \"{name}\": expected MAC {expected}, found {found}"
            )))
        }
    }
}

fn check_bridge(request: &Request<Config>, previous: &AddResult) -> Result<Link, Error> {
    let config = &request.config;
    let is_bridge = |i: &&Interface| i.sandbox.is_none() && i.name == config.bridge;
    let interface = previous.interfaces.iter().find(is_bridge).ok_or_else(|| {
        wrong(format!(
            "prevResult: bridge \"{}\" is not in interfaces",
            config.bridge
        ))
    })?;
    let bridge = link_of(interface, Namespace::Host, "bridge")?;
    if bridge.promiscuous != config.promisc_mode {
        let (name, expected, found) = (&bridge.name, config.promisc_mode, bridge.promiscuous);
        return Err(wrong(format!(
            "bridge \"{name}\": expected promiscuous mode {expected}, found {found}"
        )));
    }
    Ok(bridge)
}

fn check_container(request: &Request<Config>, previous: &AddResult) -> Result<Link, Error> {
    let (ifname, sandbox) = (&request.ifname, &request.sandbox);
    let is_container = |i: &&Interface| i.name == *ifname && i.sandbox.as_ref() == Some(sandbox);
    let interface = previous
        .interfaces
        .iter()
        .find(is_container)
        .ok_or_else(|| {
            wrong(format!(
                "prevResult: \"{ifname}\" in sandbox {sandbox} is not in interfaces"
            ))
        })?;
    link_of(interface, Namespace::Container, "veth")
}

/// One of the host's interfaces of the previous result is the container's peer and the bridge's port.
fn check_port(previous: &AddResult, bridge: &Link, container: &Link) -> Result<(), Error> {
    let hosts = |i: &&Interface| i.sandbox.is_none() && i.name != bridge.name;
    for interface in previous.interfaces.iter().filter(hosts) {
        let link = match link::get(Namespace::Host, interface.name.as_str()).found() {
            // The grant shows no link of another kind, and the port is of this one.
            Err(error) if error.code == ErrorCode::Denied => None,
            other => other?,
        };
        if let Some(link) = link.filter(|link| is_pair(link, container)) {
            if link.master != Some(bridge.index) {
                let (port, bridge) = (&link.name, &bridge.name);
                return Err(wrong(format!(
                    "\"{port}\" is not a port of bridge \"{bridge}\""
                )));
            }
            return check_mac(interface, &link);
        }
    }
    let (container, bridge) = (&container.name, &bridge.name);
    Err(wrong(format!(
        "the port of bridge \"{bridge}\" that leads to \"{container}\" does not exist"
    )))
}

fn is_pair(host: &Link, container: &Link) -> bool {
    host.lower == Some(container.index) && container.lower == Some(host.index)
}

/// Every address is there, and the route of its subnet.
fn check_addresses(request: &Request<Config>, previous: &AddResult) -> Result<(), Error> {
    if previous.ips.is_empty() {
        return Ok(());
    }
    let ifname = request.ifname.as_str();
    let present = address::list(Namespace::Container, ifname, None)
        .context(format!("could not list the addresses of \"{ifname}\""))?;
    for ip in &previous.ips {
        if !present.iter().any(|address| address.address == ip.address) {
            let address = ip.address;
            return Err(wrong(format!(
                "interface \"{ifname}\": address {address} is missing"
            )));
        }
    }
    Ok(())
}

/// Every route is there, and the one of every address's subnet.
fn check_routes(previous: &AddResult) -> Result<(), Error> {
    if previous.ips.is_empty() && previous.routes.is_empty() {
        return Ok(());
    }
    let present = route::list(Namespace::Container, Filter::default())
        .context("could not list the container's routes")?;
    for ip in &previous.ips {
        let subnet = ip.address.trunc();
        if !has_route(&present, subnet, |_| true) {
            return Err(wrong(format!("the route to subnet {subnet} is missing")));
        }
    }
    for expected in &previous.routes {
        let is_default = expected.dst.prefix_len() == 0;
        let through = |route: &Route| {
            is_default
                || expected.gw.is_none()
                || route.gateway == expected.gw
                || route.next_hops.iter().any(|hop| hop.gateway == expected.gw)
        };
        if !has_route(&present, expected.dst.trunc(), through) {
            let via = expected
                .gw
                .map(|gw| format!(" via {gw}"))
                .unwrap_or_default();
            return Err(wrong(format!("route {}{via} is missing", expected.dst)));
        }
    }
    Ok(())
}

fn has_route(present: &[Route], destination: IpNet, passes: impl Fn(&Route) -> bool) -> bool {
    let mut to = present
        .iter()
        .filter(|route| route.destination == destination);
    to.any(passes)
}
