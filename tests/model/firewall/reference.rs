//! Rules that the reference plugins made for an attachment, in nftables.

use std::net::IpAddr;

use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::firewall::{
    Apply, Command, Condition, Family, Field, RemoveReference, Rule, RuleHandle, Statement, Value,
};
use weir_kernel::firewall::{ACCEPTING, Traces};
use weir_kernel::{Answer, Result, WhileDoing as _};

use super::transaction;
use crate::kernel::Model;
use crate::state::Table;

impl Answer<RemoveReference, u32> for Model {
    fn answer(&mut self, permit: &Permit<RemoveReference>) -> Result<u32> {
        let traces = Traces::of(permit.operation())?;
        let tables = self.look(|state| Ok(state.host.tables.clone()))?;
        let mut removed = 0;
        for table in tables {
            let (rules, chains) = (rules(&table, &traces), chains(&table, &traces));
            removed += rules.len() + chains.len();
            let commands = rules.into_iter().map(Command::DeleteRule);
            let chains = chains.into_iter().flat_map(|chain| {
                let flush = Command::FlushChain(chain.clone());
                [flush, Command::DeleteChain(chain)]
            });
            let commands = commands.chain(chains).collect();
            let apply = Apply::new(Namespace::Host, table.family, &table.name, commands);
            self.change(|machine| transaction::carry_out(machine, &apply))
                .while_doing(format_args!(
                    "remove rules of the reference plugin from table `{}`",
                    table.name
                ))?;
        }
        Ok(removed as u32)
    }
}

/// The rules that lead to the attachment's chains, accept its packets, or name it in a comment.
fn rules(table: &Table, traces: &Traces) -> Vec<RuleHandle> {
    let is_of_iptables = matches!(table.family, Family::Ip | Family::Ip6);
    let leads_there = |rule: &Rule| {
        let mut all = traces.chains.iter();
        all.any(|chain| rule.chain == chain.entered_from && leads_to(rule, &chain.name))
    };
    let is_accepting = |rule: &Rule| {
        let mut addresses = traces.accepted.iter();
        rule.chain == ACCEPTING && addresses.any(|address| accepts(rule, *address))
    };
    let is_commented = |rule: &Rule| {
        traces.commented.iter().any(|own| {
            let is_place = (own.family, own.table) == (table.family, &*table.name);
            let comment = rule.comment.as_deref().unwrap_or_default();
            is_place && own.chains.contains(&&*rule.chain) && own.comment.is(comment)
        })
    };
    let is_meant = |rule: &Rule| match table.name.as_str() {
        "nat" => is_of_iptables && leads_there(rule),
        "filter" => is_of_iptables && is_accepting(rule),
        _ => is_commented(rule),
    };
    let meant = table.rules.iter().filter(|rule| is_meant(rule));
    let handles = meant.filter_map(|rule| {
        Some(RuleHandle {
            chain: rule.chain.clone(),
            handle: rule.handle?,
        })
    });
    handles.collect()
}

/// The attachment's chains of iptables.
fn chains(table: &Table, traces: &Traces) -> Vec<String> {
    let is_meant = |name: &String| {
        let mut chains = table.chains.iter();
        chains.any(|chain| chain.name == *name && chain.base.is_none())
    };
    let is_of_iptables = matches!(table.family, Family::Ip | Family::Ip6) && table.name == "nat";
    let names = traces.chains.iter().map(|chain| chain.name.clone());
    names
        .filter(|name| is_of_iptables && is_meant(name))
        .collect()
}

fn leads_to(rule: &Rule, chain: &str) -> bool {
    let target = rule
        .statements
        .iter()
        .find_map(|statement| match statement {
            Statement::Jump(chain) | Statement::Goto(chain) => Some(chain.as_str()),
            _ => None,
        });
    target == Some(chain)
}

/// Whether a rule accepts packets from an address, or replies to it, and nothing else.
fn accepts(rule: &Rule, address: IpAddr) -> bool {
    let (source, destination) = if address.is_ipv4() {
        (Field::Ipv4Source, Field::Ipv4Destination)
    } else {
        (Field::Ipv6Source, Field::Ipv6Destination)
    };
    let is = |field| Condition::Equals {
        field,
        value: Value::Address(address),
        negate: false,
    };
    let is_meant = match &rule.conditions[..] {
        [from] => *from == is(source),
        [to, Condition::Masked { field, .. }] => {
            *to == is(destination) && *field == Field::ConnectionState
        }
        _ => false,
    };
    let statements = rule.statements.iter();
    let mut others = statements.filter(|statement| **statement != Statement::Counter);
    is_meant && others.next() == Some(&Statement::Accept) && others.next().is_none()
}
