//! Facts about links, which a grant is matched against. They are read before the gate is asked, and therefore exported by
//! [`without_permit`](crate::without_permit) alone.

use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::LinkMessage;
use weir_grant::link::{Link, LinkFacts, LinkReference};

use super::{about, by_index, by_name, link_message, name, read, without_statistics};
use crate::error::{Error, Result, WhileDoing as _};
use crate::namespace::NetworkNamespace;
use crate::netlink::RouteSocket;

/// Looks up a link for the gate.
///
/// Errors: `NotFound`; `Invalid` for a name that no link can have, `NoNamespace`.
pub fn find_link(namespace: &mut NetworkNamespace, link: &LinkReference) -> Result<Link> {
    match link {
        LinkReference::Name(name) => find_by_name(namespace, name),
        LinkReference::Index(index) => find_by_index(namespace, *index),
    }
}

/// The link of that name. Alternative names are not looked up: a grant matches names.
fn find_by_name(namespace: &mut NetworkNamespace, name: &str) -> Result<Link> {
    name::check(name)?;
    let which = namespace.which();
    let missing = || format!("no link `{name}` in {which}");
    match namespace.link(by_name(name)) {
        Ok(found) if found.name == name => Ok(found),
        Ok(other) => Err(Error::not_found(format!(
            "{}; it is an alternative name of `{}`",
            missing(),
            other.name
        ))),
        Err(error) if error.is_not_found() => Err(Error {
            message: missing(),
            ..error
        }),
        Err(error) => Err(error.while_doing(format_args!("look for link `{name}` in {which}"))),
    }
}

fn find_by_index(namespace: &mut NetworkNamespace, index: u32) -> Result<Link> {
    let which = namespace.which();
    let missing = || Error::not_found(format!("no link {index} in {which}"));
    // The kernel's indexes are positive `int`s.
    if index == 0 || i32::try_from(index).is_err() {
        return Err(missing());
    }
    namespace.link(by_index(index)).map_err(|error| {
        if error.is_not_found() {
            missing()
        } else {
            error.while_doing(format_args!("look for link {index} in {which}"))
        }
    })
}

/// Returns the links of a namespace whose alias `is_meant`. Others may make and remove links meanwhile.
pub fn marked_links(
    namespace: &mut NetworkNamespace,
    is_meant: impl Fn(&str) -> bool,
) -> Result<Vec<LinkFacts>> {
    let which = namespace.which();
    let links =
        list_links(namespace.route()?).while_doing(format_args!("list the links in {which}"))?;
    let links = links.into_iter().map(read::link);
    let meant = links.filter(|link| is_meant(&link.alias));
    Ok(meant.map(|link| link.facts(which)).collect())
}

/// Lists all links of a namespace. Others may make and remove links meanwhile, so one dump is not repeated.
pub(super) fn list_links(socket: &mut RouteSocket) -> Result<Vec<LinkMessage>> {
    let all = about(0, [without_statistics()]);
    let (answer, _) = socket.dump_once(&RouteNetlinkMessage::GetLink(all))?;
    Ok(answer.into_iter().filter_map(link_message).collect())
}

/// Whether a name is taken, as a link's name or as an alternative one. Errors: `NoNamespace`.
pub fn is_name_taken(namespace: &mut NetworkNamespace, name: &str) -> Result<bool> {
    match namespace.ask_link(by_name(name)) {
        Ok(_) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}
