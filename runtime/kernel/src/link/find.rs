//! What a link is: the facts that a grant is matched against.

use netlink_packet_route::link::LinkMessage;
use weir_grant::Namespace;

use super::{Link, by_index, by_name, name, read, request};
use crate::error::Error;
use crate::namespace::Namespaces;
use crate::netlink::RouteSocket;

/// How a request names a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkReference {
    Name(String),
    Index(u32),
}

/// Asks the kernel which link is meant. What it says is for the gate; [`get`](super::get) shows it
/// to a plugin.
///
/// Errors: `NotFound`; `Invalid` for a name that no link can have, `NoNamespace`.
pub fn find(
    namespaces: &mut Namespaces,
    namespace: Namespace,
    link: &LinkReference,
) -> Result<Link, Error> {
    let socket = namespaces.route(namespace)?;
    let message = match link {
        LinkReference::Name(name) => find_by_name(socket, namespace, name)?,
        LinkReference::Index(index) => find_by_index(socket, namespace, *index)?,
    };
    Ok(message.into())
}

/// The link of that name. Alternative names are not looked up: a grant speaks of names.
pub(super) fn find_by_name(
    socket: &mut RouteSocket,
    namespace: Namespace,
    name: &str,
) -> Result<LinkMessage, Error> {
    name::check(name)?;
    let missing = || format!("there is no link `{name}` in {namespace}");
    match request(socket, by_name(name)) {
        Ok(found) if read::name(&found) == name => Ok(found),
        Ok(other) => Err(Error::not_found(format!(
            "{}; it is an alternative name of `{}`",
            missing(),
            read::name(&other)
        ))),
        Err(error) if error.is_not_found() => Err(Error {
            message: missing(),
            ..error
        }),
        Err(error) => Err(error.while_doing(format_args!("look for link `{name}` in {namespace}"))),
    }
}

fn find_by_index(
    socket: &mut RouteSocket,
    namespace: Namespace,
    index: u32,
) -> Result<LinkMessage, Error> {
    // The kernel's indexes are positive `int`s.
    if i32::try_from(index).is_ok_and(|index| index > 0) {
        match request(socket, by_index(index)) {
            Err(error) if error.is_not_found() => {}
            Ok(found) => return Ok(found),
            Err(error) => {
                return Err(error.while_doing(format_args!("look for link {index} in {namespace}")));
            }
        }
    }
    Err(Error::not_found(format!(
        "there is no link with index {index} in {namespace}"
    )))
}
