//! The host's end of the container's interface, on which both directions are shaped.

use weir_sdk::link::{self, Link};
use weir_sdk::{AddResult, Context, Error, ErrorCode, Namespace, OperationError, Outcome, Request};

use crate::codes;

/// Finds the host's end, which the previous result must name. Errors: [`codes::NO_HOST_END`].
pub fn find<C>(request: &Request<C>, previous: &AddResult) -> Result<Link, Error> {
    let ifname = request.ifname.as_str();
    let link = behind(ifname)?;
    let is_named = previous.on_host().any(|host| host.name == link.name);
    if is_named {
        Ok(link)
    } else {
        Err(none(format!(
            "`{}`, the host's end of `{ifname}`, is not among the interfaces of prevResult",
            link.name
        )))
    }
}

/// The other end of the container's interface.
fn behind(ifname: &str) -> Result<Link, Error> {
    let peer = match link::get_peer(Namespace::Container, ifname).found() {
        // The grant does not show this plugin links of another kind.
        Err(error) if error.code == ErrorCode::Denied => {
            return Err(none(format!(
                "`{ifname}` cannot be used as a veth: {error}"
            )));
        }
        peer => peer.context(format!("cannot find the host's end of `{ifname}`"))?,
    };
    let Some(peer) = peer else {
        return Err(none(format!("the container has no interface `{ifname}`")));
    };
    let link = match peer.namespace {
        Some(Namespace::Host) => link::get(Namespace::Host, peer.index).found(),
        _ => Ok(None),
    };
    let link = link.context(format!("cannot read the host's end of `{ifname}`"))?;
    link.ok_or_else(|| none(format!("the other end of `{ifname}` is not on the host")))
}

fn none(msg: String) -> Error {
    Error::new(codes::NO_HOST_END, msg).with_details(
        "bandwidth comes after a plugin that connects the container and the host by a veth pair, \
         such as bridge or ptp",
    )
}

/// Finds the host's end for DEL, or, if the container no longer has its interface, each veth of the previous result
/// that leads away from the host.
pub fn left_over<C>(request: &Request<C>) -> Result<Vec<Link>, Error> {
    match behind(&request.ifname) {
        Err(error) if error.code == codes::NO_HOST_END => {}
        found => return Ok(vec![found?]),
    }
    let on_host = request.previous.iter().flat_map(AddResult::on_host);
    let found = on_host.filter_map(|interface| leading_away(&interface.name).transpose());
    let found: Result<Vec<Link>, OperationError> = found.collect();
    found.context("cannot look for the host's end")
}

/// The host's veth of this name, unless both of its ends are on the host.
fn leading_away(name: &str) -> Result<Option<Link>, OperationError> {
    let link = link::find(Namespace::Host, name)?;
    let Some(link) = link.filter(|link| link.kind == "veth") else {
        return Ok(None);
    };
    let peer = link::get_peer(Namespace::Host, &link).found()?;
    let leads_away = peer.is_some_and(|peer| peer.namespace != Some(Namespace::Host));
    Ok(leads_away.then_some(link))
}
