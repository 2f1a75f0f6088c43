//! The rules in nftables: those of iptables-nft, in the tables that it has there, and those in the plugins' own tables.

use std::net::IpAddr;

use netlink_bindings::nftables::{ChainAttrs, RuleAttrs};
use netlink_bindings::utils::find_attr;
use nix::errno::Errno;

use super::super::comment;
use super::super::field::{IPV4, IPV6};
use super::super::kept::generation;
use super::super::kind::{Kind, SUBSYSTEM};
use super::super::named;
use super::super::set::malformed;
use super::expression;
use super::traces::{ACCEPTING, Traces};
use crate::error::{Code, Error, Result};
use crate::netlink::{Batch, NetfilterSocket};

/// So often rules may have changed between being read and being removed.
const MOST_ATTEMPTS: usize = 100;

/// `NFTA_RULE_EXPRESSIONS`.
const EXPRESSIONS: u16 = 4;

/// What is to be removed from one table.
struct Removal {
    /// `NFPROTO_…`
    protocol: u8,
    table: &'static str,
    /// Each with its chain.
    rules: Vec<(String, u64)>,
    chains: Vec<String>,
}

/// A rule as it was read.
struct Found {
    handle: u64,
    comment: Option<String>,
    expressions: Vec<u8>,
}

/// Removes what there is, and returns how many rules and chains they were.
pub(super) fn remove(socket: &mut NetfilterSocket, traces: &Traces) -> Result<u32> {
    let mut removed = 0;
    for (protocol, table) in places(traces) {
        if has_table(socket, protocol, table)? {
            removed += remove_from(socket, protocol, table, traces)?;
        }
    }
    Ok(removed)
}

/// How many rules and chains there are.
pub(super) fn count(socket: &mut NetfilterSocket, traces: &Traces) -> Result<u32> {
    let mut count = 0;
    for (protocol, table) in places(traces) {
        if has_table(socket, protocol, table)? {
            let mut removal = Removal::of(protocol, table);
            removal.find(socket, traces)?;
            count += removal.count();
        }
    }
    Ok(count)
}

/// The tables in which there may be something.
fn places(traces: &Traces) -> Vec<(u8, &'static str)> {
    let mut places = Vec::new();
    for protocol in [IPV4, IPV6] {
        if !traces.chains.is_empty() {
            places.push((protocol, "nat"));
        }
        if !traces.accepted.is_empty() {
            places.push((protocol, "filter"));
        }
    }
    places.extend(traces.commented.iter().map(|own| (own.protocol, own.table)));
    places
}

/// Whether there is such a table; where there is no nftables, there is none.
fn has_table(socket: &mut NetfilterSocket, protocol: u8, table: &str) -> Result<bool> {
    let found = socket.get(Kind::GetTable, protocol, |bytes| named::table(bytes, table));
    match found {
        Err(error) if matches!(error.code, Code::Invalid | Code::Unsupported) => Ok(false),
        found => Ok(found?.is_some()),
    }
}

fn remove_from(
    socket: &mut NetfilterSocket,
    protocol: u8,
    table: &'static str,
    traces: &Traces,
) -> Result<u32> {
    let named = |e: Error| {
        e.while_doing(format_args!(
            "remove rules of the reference plugin from table `{table}`"
        ))
    };
    for _ in 0..MOST_ATTEMPTS {
        let generation = generation(socket)?;
        let mut removal = Removal::of(protocol, table);
        removal.find(socket, traces)?;
        match removal.carry_out(socket, generation) {
            Ok(()) => return Ok(removal.count()),
            Err(error) if error.is(Errno::ERESTART) => {}
            Err(error) => return Err(named(error)),
        }
    }
    Err(named(Error::busy("the ruleset changes all the time")))
}

impl Removal {
    /// Of nothing yet.
    fn of(protocol: u8, table: &'static str) -> Self {
        Self {
            protocol,
            table,
            rules: Vec::new(),
            chains: Vec::new(),
        }
    }

    fn count(&self) -> u32 {
        (self.rules.len() + self.chains.len()) as u32
    }

    fn find(&mut self, socket: &mut NetfilterSocket, traces: &Traces) -> Result<()> {
        match self.table {
            "nat" => self.find_chains(socket, traces),
            "filter" => self.find_accepted(socket, &traces.accepted),
            _ => self.find_commented(socket, traces),
        }
    }

    /// The attachment's chains, and the rules that lead there.
    fn find_chains(&mut self, socket: &mut NetfilterSocket, traces: &Traces) -> Result<()> {
        for chain in &traces.chains {
            if !self.has_chain(socket, &chain.name)? {
                continue;
            }
            let entrance = self.list(socket, chain.entered_from)?;
            let leads_there =
                |rule: &&Found| expression::target(&rule.expressions) == Some(&chain.name);
            for rule in entrance.iter().filter(leads_there) {
                self.rules
                    .push((chain.entered_from.to_owned(), rule.handle));
            }
            self.chains.push(chain.name.clone());
        }
        Ok(())
    }

    fn find_accepted(&mut self, socket: &mut NetfilterSocket, addresses: &[IpAddr]) -> Result<()> {
        let is_own = |address: &&IpAddr| address.is_ipv4() == (self.protocol == IPV4);
        let addresses: Vec<IpAddr> = addresses.iter().filter(is_own).copied().collect();
        for rule in self.list(socket, ACCEPTING)? {
            let mut addresses = addresses.iter();
            if addresses.any(|address| expression::accepts(&rule.expressions, *address)) {
                self.rules.push((ACCEPTING.to_owned(), rule.handle));
            }
        }
        Ok(())
    }

    fn find_commented(&mut self, socket: &mut NetfilterSocket, traces: &Traces) -> Result<()> {
        let here = |own: &&super::traces::Commented| {
            (own.protocol, own.table) == (self.protocol, self.table)
        };
        for own in traces.commented.iter().filter(here) {
            for chain in own.chains {
                let rules = self.list(socket, chain)?.into_iter();
                let is_own =
                    |rule: &Found| rule.comment.as_deref().is_some_and(|c| own.comment.is(c));
                self.rules.extend(
                    rules
                        .filter(is_own)
                        .map(|rule| ((*chain).to_owned(), rule.handle)),
                );
            }
        }
        Ok(())
    }

    fn has_chain(&self, socket: &mut NetfilterSocket, chain: &str) -> Result<bool> {
        let found = socket.get(Kind::GetChain, self.protocol, |bytes| {
            named::chain(bytes, self.table, chain);
        })?;
        Ok(found.is_some_and(|object| ChainAttrs::new(&object).get_hook().is_err()))
    }

    /// The rules of a chain; none where there is no such chain.
    fn list(&self, socket: &mut NetfilterSocket, chain: &str) -> Result<Vec<Found>> {
        let objects = socket.dump(Kind::GetRule, self.protocol, |bytes| {
            named::rules(bytes, self.table, chain);
        })?;
        let read = |object: &Vec<u8>| {
            let attributes = RuleAttrs::new(object);
            Ok(Found {
                handle: attributes.get_handle().map_err(malformed)?,
                comment: attributes.get_userdata().ok().and_then(comment::decode),
                expressions: find_attr(object, EXPRESSIONS).unwrap_or_default().to_vec(),
            })
        };
        objects.iter().map(read).collect()
    }

    /// In one transaction, which the kernel refuses with `ERESTART` where something has changed since.
    fn carry_out(&self, socket: &mut NetfilterSocket, generation: u32) -> Result<()> {
        let mut batch = Batch::new(SUBSYSTEM, self.protocol, Some(generation));
        for (chain, handle) in &self.rules {
            batch.push(Kind::DeleteRule, 0, |bytes| {
                named::rule(bytes, self.table, chain, Some(*handle));
            });
        }
        for chain in &self.chains {
            batch.push(Kind::DeleteRule, 0, |bytes| {
                named::rules(bytes, self.table, chain);
            });
            batch.push(Kind::DeleteChain, 0, |bytes| {
                named::chain(bytes, self.table, chain);
            });
        }
        if batch.is_empty() {
            return Ok(());
        }
        let outcome = socket.transact(batch, |_, _, _| {});
        outcome.map_err(|(_, refusal)| refusal.into())
    }
}
