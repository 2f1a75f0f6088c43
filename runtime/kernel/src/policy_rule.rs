//! Capability `policy-rule`: policy routing rules.

use std::net::IpAddr;

use ipnet::IpNet;
use netlink_packet_route::rule::{RuleAction, RuleAttribute, RuleFlags, RuleHeader, RuleMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use weir_gate::Permit;
use weir_grant::address::Family;
use weir_grant::policy_rule::{Add, Delete, List, PolicyRule};

use crate::address::address_family;
use crate::error::{Error, Result, WhileDoing as _};
use crate::link::name;
use crate::linux::Linux;
use crate::netlink::NEW;
use crate::perform::{Answer, Changes, Perform};

/// The kernel writes this where a rule suppresses no routes by their prefix, or their link's group.
const NOT_SUPPRESSED: u32 = u32::MAX;

/// Adds a rule. Undo removes the one with the priority that the kernel chose.
///
/// Errors: `Exists` for one with the same selectors, table and priority, `Invalid` with the kernel's reason.
impl Perform<Add> for Linux {
    fn perform(&mut self, permit: &Permit<Add>, changes: &mut Changes<'_>) -> Result<()> {
        let Add { namespace, rule } = permit.operation();
        let made = message(rule)
            .and_then(|message| {
                let socket = self.route(*namespace)?;
                socket.echo(RouteNetlinkMessage::NewRule(message), NEW)
            })
            .while_doing(format_args!("add the {}", rule.words(*namespace)))?;
        let chosen = made.iter().find_map(priority);
        changes.undo_with(Delete {
            namespace: *namespace,
            rule: PolicyRule {
                priority: rule.priority.or(chosen),
                ..rule.clone()
            },
        });
        Ok(())
    }
}

/// Removes the first rule with these selectors. What the operation leaves out matches any. Errors: `NotFound`.
impl Answer<Delete> for Linux {
    fn answer(&mut self, permit: &Permit<Delete>) -> Result<()> {
        let Delete { namespace, rule } = permit.operation();
        message(rule)
            .and_then(|message| {
                let socket = self.route(*namespace)?;
                socket.change(RouteNetlinkMessage::DelRule(message), 0)
            })
            .while_doing(format_args!("remove the {}", rule.words(*namespace)))
    }
}

/// The rules of one family or of both, in the order in which the kernel looks at them. Rules with selectors or actions that
/// a plugin cannot give are left out.
impl Answer<List, Vec<PolicyRule>> for Linux {
    fn answer(&mut self, permit: &Permit<List>) -> Result<Vec<PolicyRule>> {
        let List { namespace, family } = permit.operation();
        let mut question = RuleMessage::default();
        question.header.family = family.map_or(AddressFamily::Unspec, address_family);
        let answer = self
            .route(*namespace)?
            .dump(&RouteNetlinkMessage::GetRule(question))
            .while_doing(format_args!("list the routing rules in {namespace}"))?;
        let mut rules: Vec<PolicyRule> = answer.into_iter().filter_map(read).collect();
        // The kernel begins with whichever family was registered first.
        rules.sort_by_key(|rule| rule.family == Family::Ipv6);
        Ok(rules)
    }
}

fn message(rule: &PolicyRule) -> Result<RuleMessage> {
    check(rule)?;
    let mut message = RuleMessage::default();
    message.header.family = address_family(rule.family);
    message.header.action = RuleAction::ToTable;
    let (source, destination) = (restricting(rule.source), restricting(rule.destination));
    message.header.src_len = source.map_or(0, |network| network.prefix_len());
    message.header.dst_len = destination.map_or(0, |network| network.prefix_len());
    let (input, output) = (rule.input_link.clone(), rule.output_link.clone());
    // Without a mask the kernel takes mark 0 for "any mark".
    let mask = rule.mark.map(|_| rule.mark_mask.unwrap_or(u32::MAX));
    let attributes = [
        Some(RuleAttribute::Table(rule.table)),
        rule.priority.map(RuleAttribute::Priority),
        source.map(|network| RuleAttribute::Source(network.addr())),
        destination.map(|network| RuleAttribute::Destination(network.addr())),
        input.map(RuleAttribute::Iifname),
        output.map(RuleAttribute::Oifname),
        rule.mark.map(RuleAttribute::FwMark),
        mask.map(RuleAttribute::FwMask),
    ];
    message.attributes.extend(attributes.into_iter().flatten());
    Ok(message)
}

/// A network that not every address is in: to the kernel, the others are no selector.
fn restricting(network: Option<IpNet>) -> Option<IpNet> {
    network.filter(|network| network.prefix_len() > 0)
}

/// Checks what the kernel would misunderstand. Errors: `Invalid`.
pub fn check(rule: &PolicyRule) -> Result<()> {
    for link in [&rule.input_link, &rule.output_link].into_iter().flatten() {
        name::check(link)?;
    }
    flaw(rule).map_or(Ok(()), |why| Err(Error::invalid(why)))
}

fn flaw(rule: &PolicyRule) -> Option<String> {
    // In place of table 0 the kernel would take a table that is empty.
    if rule.table == 0 {
        return Some("table 0 is not a table: expected 1 to 4294967295".to_owned());
    }
    if rule.mark.is_none() && rule.mark_mask.is_some() {
        return Some("a mask is of no use without a mark".to_owned());
    }
    let family = rule.family;
    for network in [rule.source, rule.destination].into_iter().flatten() {
        if Family::of(&network.addr()) != family {
            return Some(format!("{network} is not of the rule's family, {family}"));
        }
        if network.trunc() != network {
            let expected = network.trunc();
            return Some(format!(
                "{network} has bits behind its prefix: expected {expected}"
            ));
        }
    }
    None
}

fn priority(object: &RouteNetlinkMessage) -> Option<u32> {
    let RouteNetlinkMessage::NewRule(message) = object else {
        return None;
    };
    // The kernel leaves 0 out.
    let given = message
        .attributes
        .iter()
        .find_map(|attribute| match attribute {
            RuleAttribute::Priority(priority) => Some(*priority),
            _ => None,
        });
    Some(given.unwrap_or(0))
}

/// None for other objects, and for rules that say more than a plugin can.
fn read(object: RouteNetlinkMessage) -> Option<PolicyRule> {
    let priority = priority(&object);
    let RouteNetlinkMessage::NewRule(message) = object else {
        return None;
    };
    let header = &message.header;
    let is_plain = header.action == RuleAction::ToTable
        && header.tos == 0
        && !header.flags.contains(RuleFlags::Invert);
    if !is_plain {
        return None;
    }
    let mut rule = PolicyRule::new(family(header)?, header.table.into());
    rule.priority = priority;
    for attribute in message.attributes {
        match attribute {
            RuleAttribute::Source(address) => rule.source = network(address, header.src_len),
            RuleAttribute::Destination(address) => {
                rule.destination = network(address, header.dst_len);
            }
            RuleAttribute::Iifname(name) => rule.input_link = Some(name),
            RuleAttribute::Oifname(name) => rule.output_link = Some(name),
            RuleAttribute::FwMark(mark) => rule.mark = Some(mark),
            RuleAttribute::FwMask(mask) => rule.mark_mask = Some(mask),
            RuleAttribute::Table(table) => rule.table = table,
            RuleAttribute::SuppressPrefixLen(NOT_SUPPRESSED)
            | RuleAttribute::SuppressIfGroup(NOT_SUPPRESSED)
            | RuleAttribute::Priority(_)
            | RuleAttribute::Protocol(_)
            | RuleAttribute::Realm(_) => {}
            _ => return None,
        }
    }
    // Of a mark, the kernel leaves 0 out.
    rule.mark = rule.mark.or(rule.mark_mask.map(|_| 0));
    Some(rule)
}

fn family(header: &RuleHeader) -> Option<Family> {
    match header.family {
        AddressFamily::Inet => Some(Family::Ipv4),
        AddressFamily::Inet6 => Some(Family::Ipv6),
        _ => None,
    }
}

fn network(address: IpAddr, prefix_length: u8) -> Option<IpNet> {
    IpNet::new(address, prefix_length).ok()
}
