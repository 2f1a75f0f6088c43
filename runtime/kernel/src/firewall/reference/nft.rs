//! The rules in nftables: those of iptables-nft, in the tables that it has there, and those in the plugins' own tables.

use netlink_bindings::nftables::{ChainAttrs, RuleAttrs};
use netlink_bindings::utils::find_attr;
use weir_grant::Namespace;
use weir_grant::firewall::{Apply, Command, Family, RuleHandle};

use super::super::comment;
use super::super::keep_rules::{generation, until_unchanged};
use super::super::read::Reader;
use super::super::set::malformed;
use super::super::transaction;
use super::expression;
use super::traces::{ACCEPTING, Traces};
use crate::error::{Result, WhileDoing as _};
use crate::netlink::NetfilterSocket;

/// `NFTA_RULE_EXPRESSIONS`.
const EXPRESSIONS: u16 = 4;

/// Removes what there is, and returns how many rules and chains they were.
pub(super) fn remove(socket: &mut NetfilterSocket, traces: &Traces) -> Result<u32> {
    let mut removed = 0;
    for (family, table) in places(socket, traces)? {
        removed += remove_from(socket, family, table, traces).while_doing(format_args!(
            "remove rules of the reference plugin from table `{table}`"
        ))?;
    }
    Ok(removed)
}

/// How many rules and chains there are.
pub(super) fn count(socket: &mut NetfilterSocket, traces: &Traces) -> Result<u32> {
    let mut count = 0;
    for (family, table) in places(socket, traces)? {
        let removal = removal(&mut Reader::new(socket, family, table), traces)?;
        count += count_of(&removal);
    }
    Ok(count)
}

/// The tables that exist, of those in which there may be something.
fn places(socket: &mut NetfilterSocket, traces: &Traces) -> Result<Vec<(Family, &'static str)>> {
    let mut places = Vec::new();
    for family in [Family::Ip, Family::Ip6] {
        if !traces.chains.is_empty() {
            places.push((family, "nat"));
        }
        if !traces.accepted.is_empty() {
            places.push((family, "filter"));
        }
    }
    places.extend(traces.commented.iter().map(|own| (own.family, own.table)));
    let mut existing = Vec::new();
    for (family, table) in places {
        if Reader::new(socket, family, table).exists()? {
            existing.push((family, table));
        }
    }
    Ok(existing)
}

fn remove_from(
    socket: &mut NetfilterSocket,
    family: Family,
    table: &str,
    traces: &Traces,
) -> Result<u32> {
    until_unchanged(|| {
        let generation = generation(socket)?;
        let commands = removal(&mut Reader::new(socket, family, table), traces)?;
        let apply = Apply::new(Namespace::Host, family, table, commands);
        let done = transaction::attempt(socket, &apply, Some(generation))?;
        Ok(done.map(|_| count_of(&apply.commands)))
    })
}

/// How many rules and chains commands remove. A chain counts once.
fn count_of(removal: &[Command]) -> u32 {
    let flushes = |command: &&Command| matches!(command, Command::FlushChain(_));
    (removal.len() - removal.iter().filter(flushes).count()) as u32
}

/// The commands that remove what a table has of an attachment.
fn removal(reader: &mut Reader<'_>, traces: &Traces) -> Result<Vec<Command>> {
    match reader.table {
        "nat" => chains(reader, traces),
        "filter" => accepted(reader, traces),
        _ => commented(reader, traces),
    }
}

/// The attachment's chains, and the rules that lead there.
fn chains(reader: &mut Reader<'_>, traces: &Traces) -> Result<Vec<Command>> {
    let (mut rules, mut chains) = (Vec::new(), Vec::new());
    for chain in &traces.chains {
        let found = reader.chain_object(&chain.name)?;
        if found.is_none_or(|object| ChainAttrs::new(&object).get_hook().is_ok()) {
            continue;
        }
        let leads_there = |rule: &[u8]| expression::target(expressions(rule)) == Some(&chain.name);
        rules.extend(rules_of(reader, chain.entered_from, leads_there)?);
        chains.push(Command::FlushChain(chain.name.clone()));
        chains.push(Command::DeleteChain(chain.name.clone()));
    }
    rules.extend(chains);
    Ok(rules)
}

fn accepted(reader: &mut Reader<'_>, traces: &Traces) -> Result<Vec<Command>> {
    let is_ipv4 = reader.family == Family::Ip;
    rules_of(reader, ACCEPTING, |rule| {
        let mut addresses = traces.accepted.iter().filter(|a| a.is_ipv4() == is_ipv4);
        addresses.any(|address| expression::accepts(expressions(rule), *address))
    })
}

fn commented(reader: &mut Reader<'_>, traces: &Traces) -> Result<Vec<Command>> {
    let mut rules = Vec::new();
    let place = (reader.family, reader.table);
    for own in traces
        .commented
        .iter()
        .filter(|own| (own.family, own.table) == place)
    {
        for chain in own.chains {
            rules.extend(rules_of(reader, chain, |rule| {
                let notes = RuleAttrs::new(rule).get_userdata();
                let comment = notes.ok().and_then(comment::decode);
                comment.is_some_and(|comment| own.comment.is(&comment))
            })?);
        }
    }
    Ok(rules)
}

/// The commands that remove those rules of a chain that are meant.
fn rules_of(
    reader: &mut Reader<'_>,
    chain: &str,
    is_meant: impl Fn(&[u8]) -> bool,
) -> Result<Vec<Command>> {
    let objects = reader.rule_objects(chain)?;
    let meant = objects.iter().filter(|object| is_meant(object));
    let delete = |object: &Vec<u8>| {
        let handle = RuleAttrs::new(object).get_handle().map_err(malformed)?;
        let chain = chain.to_owned();
        Ok(Command::DeleteRule(RuleHandle { chain, handle }))
    };
    meant.map(delete).collect()
}

fn expressions(rule: &[u8]) -> &[u8] {
    find_attr(rule, EXPRESSIONS).unwrap_or_default()
}
