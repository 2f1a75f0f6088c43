//! What rtnetlink knows of the calling thread's network namespace: links, addresses, routes, rules and
//! neighbours.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netlink_packet_route::address::{AddressAttribute, AddressMessage, AddressScope};
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::neighbour::{
    NeighbourAddress, NeighbourAttribute, NeighbourFlags, NeighbourMessage, NeighbourState,
};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteScope};
use netlink_packet_route::rule::{RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::error::{Result, WhileDoing as _};
use crate::netlink::RouteSocket;
use weir_grant::link::Link;

/// The kernel keeps it itself: its routes follow from the addresses.
const LOCAL_TABLE: u32 = 255;

/// The names of links by their indexes.
pub(super) type Names = BTreeMap<u32, String>;

/// One line for each thing.
pub(super) fn things() -> Result<Vec<String>> {
    let mut socket = RouteSocket::open()?;
    let links = links(&mut socket)?;
    let names = names(&links);
    let mut lines: Vec<String> = links.iter().map(|link| describe(link, &names)).collect();
    lines.extend(addresses(&mut socket, &names)?);
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        lines.extend(routes(&mut socket, family, &names)?);
        lines.extend(rules(&mut socket, family)?);
    }
    lines.extend(neighbours(&mut socket, &names)?);
    lines.extend(proxies(&mut socket, &names)?);
    Ok(lines)
}

/// The names of links.
pub(super) fn names(links: &[Link]) -> Names {
    let names = links.iter().map(|link| (link.index, link.name.clone()));
    names.collect()
}

/// Objects of which the kernel has a list. Errors say what was to be listed.
pub(super) fn list(
    socket: &mut RouteSocket,
    what: &str,
    question: RouteNetlinkMessage,
) -> Result<Vec<RouteNetlinkMessage>> {
    let found = socket.dump(&question);
    found.while_doing(format_args!("list the {what}"))
}

pub(super) fn links(socket: &mut RouteSocket) -> Result<Vec<Link>> {
    let question = RouteNetlinkMessage::GetLink(LinkMessage::default());
    let found = list(socket, "links", question)?;
    let links = found.into_iter().filter_map(|object| match object {
        RouteNetlinkMessage::NewLink(message) => Some(crate::link::read::link(message)),
        _ => None,
    });
    Ok(links.collect())
}

fn describe(link: &Link, names: &Names) -> String {
    let mut line = format!("link {} ({})", link.name, link.kind);
    let mut add = |word: String| {
        line.push_str(", ");
        line.push_str(&word);
    };
    add((if link.up { "up" } else { "down" }).to_owned());
    add(format!("mtu {}", link.mtu));
    add(format!("txqlen {}", link.txqlen));
    if !link.mac.0.is_empty() {
        add(format!("mac {}", mac(&link.mac.0)));
    }
    if link.promiscuous {
        add("promisc".to_owned());
    }
    if link.all_multicast {
        add("allmulti".to_owned());
    }
    if let Some(master) = link.master {
        add(format!("master {}", name(names, master)));
    }
    if !link.alias.is_empty() {
        add(format!("alias {:?}", link.alias));
    }
    line
}

fn addresses(socket: &mut RouteSocket, names: &Names) -> Result<Vec<String>> {
    let question = RouteNetlinkMessage::GetAddress(AddressMessage::default());
    let found = list(socket, "addresses", question)?;
    let lines = found.into_iter().filter_map(|object| match object {
        // A link-local address comes and goes with the link's state.
        RouteNetlinkMessage::NewAddress(message) if message.header.scope != AddressScope::Link => {
            let address = local(&message.attributes)?;
            let length = message.header.prefix_len;
            let link = name(names, message.header.index);
            Some(format!("address {address}/{length} on {link}"))
        }
        _ => None,
    });
    Ok(lines.collect())
}

/// `IFA_LOCAL` where there is one: of a point-to-point address the other is the peer's.
fn local(attributes: &[AddressAttribute]) -> Option<IpAddr> {
    let local = attributes.iter().find_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some(*address),
        _ => None,
    });
    local.or_else(|| {
        attributes.iter().find_map(|attribute| match attribute {
            AddressAttribute::Address(address) => Some(*address),
            _ => None,
        })
    })
}

fn routes(socket: &mut RouteSocket, family: AddressFamily, names: &Names) -> Result<Vec<String>> {
    let mut question = RouteMessage::default();
    question.header.address_family = family;
    let found = list(socket, "routes", RouteNetlinkMessage::GetRoute(question))?;
    let lines = found.into_iter().filter_map(|object| match object {
        RouteNetlinkMessage::NewRoute(message) => route(&message, names),
        _ => None,
    });
    Ok(lines.collect())
}

/// None for those that the kernel makes for links and addresses.
fn route(message: &RouteMessage, names: &Names) -> Option<String> {
    let mut to: Option<IpAddr> = None;
    let (mut table, mut rest) = (u32::from(message.header.table), String::new());
    for attribute in &message.attributes {
        match attribute {
            RouteAttribute::Destination(address) => to = ip(address),
            RouteAttribute::Table(number) => table = *number,
            RouteAttribute::Gateway(address) => {
                rest += &ip(address).map(|a| format!(" via {a}")).unwrap_or_default();
            }
            RouteAttribute::Oif(index) => rest += &format!(" over {}", name(names, *index)),
            RouteAttribute::Priority(priority) => rest += &format!(" priority {priority}"),
            _ => {}
        }
    }
    let is_multicast = to.is_some_and(|to| to.is_multicast());
    let is_link_local = matches!(to, Some(IpAddr::V6(to)) if to.is_unicast_link_local());
    if table == LOCAL_TABLE || is_multicast || is_link_local {
        return None;
    }
    let to = match to {
        Some(to) => format!("{to}/{}", message.header.destination_prefix_length),
        None => "default".to_owned(),
    };
    let scope = match message.header.scope {
        RouteScope::Universe => String::new(),
        scope => format!(" scope {scope:?}").to_lowercase(),
    };
    Some(format!("route {to}{rest} table {table}{scope}"))
}

fn ip(address: &RouteAddress) -> Option<IpAddr> {
    match address {
        RouteAddress::Inet(address) => Some((*address).into()),
        RouteAddress::Inet6(address) => Some((*address).into()),
        _ => None,
    }
}

fn rules(socket: &mut RouteSocket, family: AddressFamily) -> Result<Vec<String>> {
    let mut question = RuleMessage::default();
    question.header.family = family;
    let found = list(socket, "rules", RouteNetlinkMessage::GetRule(question))?;
    let lines = found.into_iter().filter_map(|object| match object {
        RouteNetlinkMessage::NewRule(message) => Some(rule(family, &message)),
        _ => None,
    });
    Ok(lines.collect())
}

fn rule(family: AddressFamily, message: &RuleMessage) -> String {
    let mut line = format!("rule {family:?}").to_lowercase();
    for attribute in &message.attributes {
        line += &match attribute {
            RuleAttribute::Priority(priority) => format!(" {priority}:"),
            RuleAttribute::Source(from) => format!(" from {from}/{}", message.header.src_len),
            RuleAttribute::Destination(to) => format!(" to {to}/{}", message.header.dst_len),
            RuleAttribute::Iifname(name) => format!(" iif {name}"),
            RuleAttribute::Oifname(name) => format!(" oif {name}"),
            RuleAttribute::FwMark(mark) => format!(" fwmark {mark}"),
            RuleAttribute::Table(table) => format!(" lookup {table}"),
            _ => continue,
        };
    }
    line
}

/// Permanent ones: the kernel learns and forgets the others itself.
fn neighbours(socket: &mut RouteSocket, names: &Names) -> Result<Vec<String>> {
    let found = entries(socket, NeighbourFlags::empty())?.into_iter();
    let permanent = found.filter(|entry| entry.header.state == NeighbourState::Permanent);
    Ok(permanent.filter_map(|e| neighbour(&e, names)).collect())
}

/// Entries for which the kernel answers in somebody's place; all of them, since somebody made them.
fn proxies(socket: &mut RouteSocket, names: &Names) -> Result<Vec<String>> {
    let found = entries(socket, NeighbourFlags::Proxy)?.into_iter();
    let lines = found.filter_map(|entry| neighbour(&entry, names));
    Ok(lines.map(|line| format!("{line}, proxy")).collect())
}

/// The kernel lists proxy entries apart.
fn entries(socket: &mut RouteSocket, flags: NeighbourFlags) -> Result<Vec<NeighbourMessage>> {
    let mut question = NeighbourMessage::default();
    question.header.flags = flags;
    let question = RouteNetlinkMessage::GetNeighbour(question);
    let found = list(socket, "neighbours", question)?.into_iter();
    let entries = found.filter_map(|object| match object {
        RouteNetlinkMessage::NewNeighbour(message) => Some(message),
        _ => None,
    });
    Ok(entries.collect())
}

fn neighbour(entry: &NeighbourMessage, names: &Names) -> Option<String> {
    let mut attributes = entry.attributes.iter();
    let address: IpAddr = attributes.find_map(|attribute| match attribute {
        NeighbourAttribute::Destination(NeighbourAddress::Inet(a)) => Some((*a).into()),
        NeighbourAttribute::Destination(NeighbourAddress::Inet6(a)) => Some((*a).into()),
        _ => None,
    })?;
    let link = match entry.header.ifindex {
        0 => "every link".to_owned(),
        index => name(names, index),
    };
    Some(format!("neighbour {address} on {link}"))
}

/// The name of the link of an index.
pub(super) fn name(names: &Names, index: u32) -> String {
    let name = names.get(&index).cloned();
    name.unwrap_or_else(|| format!("link {index}"))
}

fn mac(bytes: &[u8]) -> String {
    let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    parts.join(":")
}
