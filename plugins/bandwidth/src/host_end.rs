//! The host's end of the container's interface, on which both directions are shaped.

use weir_sdk::link::{self, Link};
use weir_sdk::{AddResult, Context, Error, ErrorCode, Namespace, OperationError, Outcome, Request};

use crate::codes;

/// Finds the host's end, which the previous result must name. Errors: [`codes::NO_HOST_END`].
pub fn find<C>(request: &Request<C>, previous: &AddResult) -> Result<Link, Error> {
    let ifname = request.ifname.as_str();
    let link = behind(ifname)?;
    let mut on_host = previous.interfaces.iter().filter(|i| i.sandbox.is_none());
    if on_host.any(|interface| interface.name == link.name) {
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
        // The grant shows this plugin no link of another kind.
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

/// Finds the host's end for DEL, or, where the container cannot tell it any more, each veth of the
/// previous result that leads away from the host.
pub fn left_over<C>(request: &Request<C>) -> Result<Vec<Link>, Error> {
    match behind(&request.ifname) {
        Err(error) if error.code == codes::NO_HOST_END => {}
        found => return Ok(vec![found?]),
    }
    let previous = request
        .previous
        .iter()
        .flat_map(|previous| &previous.interfaces);
    let on_host = previous.filter(|interface| interface.sandbox.is_none());
    let found = on_host.map(|interface| leading_away(&interface.name));
    let found: Result<Vec<Option<Link>>, OperationError> = found.collect();
    let found = found.context("cannot look for the host's end")?;
    Ok(found.into_iter().flatten().collect())
}

/// The host's veth of this name, unless both of its ends are on the host.
fn leading_away(name: &str) -> Result<Option<Link>, OperationError> {
    let link = match link::get(Namespace::Host, name).found() {
        // Another kind of link.
        Err(error) if error.code == ErrorCode::Denied => None,
        found => found?.filter(|link| link.kind == "veth"),
    };
    let Some(link) = link else {
        return Ok(None);
    };
    let peer = link::get_peer(Namespace::Host, &link).found()?;
    let leads_away = peer.is_some_and(|peer| peer.namespace != Some(Namespace::Host));
    Ok(leads_away.then_some(link))
}
