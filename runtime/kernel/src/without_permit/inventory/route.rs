//! What rtnetlink knows of the calling thread's network namespace: links, addresses, routes, rules and
//! neighbours.

use std::collections::BTreeMap;
use std::net::IpAddr;

use netlink_packet_route::address::{AddressMessage, AddressScope};
use netlink_packet_route::link::LinkMessage;
use netlink_packet_route::neighbour::{NeighbourFlags, NeighbourMessage};
use netlink_packet_route::route::{RouteMessage, RouteScope};
use netlink_packet_route::rule::{RuleAttribute, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use weir_grant::link::Link;
use weir_grant::neighbour::State;
use weir_grant::route::Route;

use crate::error::{Result, WhileDoing as _};
use crate::netlink::RouteSocket;
use crate::{address, neighbour, route};

/// The kernel maintains this table: its routes follow from the addresses.
const LOCAL_TABLE: u32 = 255;

/// The names of links by their indexes.
pub(super) type Names = BTreeMap<u32, String>;

/// One line for each thing.
pub(super) fn things(links: &[Link]) -> Result<Vec<String>> {
    let mut socket = RouteSocket::open()?;
    let names = names(links);
    let mut lines: Vec<String> = links.iter().map(|link| describe(link, &names)).collect();
    lines.extend(addresses(&mut socket, &names)?);
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        lines.extend(routes(&mut socket, family, &names)?);
        lines.extend(rules(&mut socket, family)?);
    }
    // The kernel lists proxy entries apart.
    for flags in [NeighbourFlags::empty(), NeighbourFlags::Proxy] {
        lines.extend(neighbours(&mut socket, flags, &names)?);
    }
    Ok(lines)
}

/// The names of links.
pub(super) fn names(links: &[Link]) -> Names {
    let names = links.iter().map(|link| (link.index, link.name.clone()));
    names.collect()
}

/// Requests a list. `what` names it in errors.
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
        add(format!("mac {}", link.mac));
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
            let link = name(names, message.header.index);
            let address = address::read(message)?.address;
            Some(format!("address {address} on {link}"))
        }
        _ => None,
    });
    Ok(lines.collect())
}

fn routes(socket: &mut RouteSocket, family: AddressFamily, names: &Names) -> Result<Vec<String>> {
    let mut question = RouteMessage::default();
    question.header.address_family = family;
    let found = list(socket, "routes", RouteNetlinkMessage::GetRoute(question))?;
    let routes = found.into_iter().filter_map(route::read);
    Ok(routes.filter_map(|r| describe_route(&r, names)).collect())
}

/// None for those that the kernel makes for links and addresses.
fn describe_route(route: &Route<u32>, names: &Names) -> Option<String> {
    let to = route.destination.addr();
    let is_link_local = matches!(to, IpAddr::V6(to) if to.is_unicast_link_local());
    if route.table == LOCAL_TABLE || to.is_multicast() || is_link_local {
        return None;
    }
    let mut line = format!("route {}", route.destination);
    if let Some(gateway) = route.gateway {
        line += &format!(" via {gateway}");
    }
    if let Some(link) = route.link {
        line += &format!(" over {}", name(names, link));
    }
    if let Some(priority) = route.priority {
        line += &format!(" priority {priority}");
    }
    line += &format!(" table {}", route.table);
    let scope = route.scope.map(RouteScope::from);
    if let Some(scope) = scope.filter(|scope| *scope != RouteScope::Universe) {
        line += &format!(" scope {scope:?}").to_lowercase();
    }
    Some(line)
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

/// Permanent and proxy entries; the kernel learns and forgets the others itself.
fn neighbours(
    socket: &mut RouteSocket,
    flags: NeighbourFlags,
    names: &Names,
) -> Result<Vec<String>> {
    let mut question = NeighbourMessage::default();
    question.header.flags = flags;
    let found = list(
        socket,
        "neighbours",
        RouteNetlinkMessage::GetNeighbour(question),
    )?;
    let lines = found.into_iter().filter_map(|object| {
        let RouteNetlinkMessage::NewNeighbour(message) = object else {
            return None;
        };
        let link = match message.header.ifindex {
            0 => "every link".to_owned(),
            index => name(names, index),
        };
        let entry = neighbour::read(message).filter(|e| e.state == State::Permanent)?;
        let mac = entry.mac.map(|mac| format!(", mac {mac}"));
        let mac = mac.unwrap_or_default();
        let proxy = if entry.proxy { ", proxy" } else { "" };
        Some(format!("neighbour {} on {link}{mac}{proxy}", entry.address))
    });
    Ok(lines.collect())
}

/// The name of the link of an index.
pub(super) fn name(names: &Names, index: u32) -> String {
    let name = names.get(&index).cloned();
    name.unwrap_or_else(|| format!("link {index}"))
}
