//! Elements of the maps by which rules translate addresses, such as port mappings, in words.

use std::collections::BTreeMap;

use super::ports::{number, protocol, protocol_and_port};
use super::{Chains, Command, Element, ElementData, Hook, NatTarget, Rule, Statement, Value};
use crate::phrase::joined;

/// What the rules of a transaction do by each map. Rules of before are not known.
#[derive(Default)]
pub(super) struct Translations<'a>(BTreeMap<&'a str, Translation>);

/// What is done with the packets that an element matches.
#[derive(Default)]
struct Translation {
    /// Whether a rule gives them another destination, or another source.
    redirects: bool,
    changes_source: bool,
    hooks: Vec<Hook>,
}

impl<'a> Translations<'a> {
    pub(super) fn of(commands: &'a [Command]) -> Self {
        let (mut own, mut chains) = (Self::default(), Chains::default());
        for command in commands {
            for rule in rules(command) {
                own.add(rule, chains.hook(&rule.chain));
            }
            chains.subjects(command);
        }
        own
    }

    fn add(&mut self, rule: &'a Rule, hook: Option<Hook>) {
        for statement in &rule.statements {
            let (Statement::Dnat(nat) | Statement::Snat(nat)) = statement else {
                continue;
            };
            let NatTarget::FromMap { lookup, .. } = &nat.target else {
                continue;
            };
            let known = self.0.entry(&lookup.map).or_default();
            match statement {
                Statement::Dnat(_) => known.redirects = true,
                _ => known.changes_source = true,
            }
            if let Some(hook) = hook.filter(|hook| !known.hooks.contains(hook)) {
                known.hooks.push(hook);
            }
        }
    }

    /// "redirect packets of tcp to port 8080 to 10.1.0.2 port 80 by map `ports4`"; none for an element that is not a port
    /// mapping.
    pub(super) fn words(&self, map: &str, element: &Element) -> Option<String> {
        let ElementData::Values(values) = &element.data else {
            return None;
        };
        let target = match values.as_slice() {
            [Value::Address(address), Value::Number(port)] => format!("{address} port {port}"),
            [Value::Address(address)] => address.to_string(),
            _ => return None,
        };
        let packets = packets(element)?;
        let known = self.0.get(map);
        let hooks = known
            .map(|known| on_hooks(&known.hooks))
            .unwrap_or_default();
        let is_source = known.is_some_and(|known| known.changes_source && !known.redirects);
        let act = if is_source {
            format!("give {packets}{hooks} the source {target}")
        } else {
            format!("redirect {packets}{hooks} to {target}")
        };
        Some(format!("{act} by map `{map}`"))
    }
}

fn rules(command: &Command) -> &[Rule] {
    match command {
        Command::AppendRule(rule) | Command::InsertRule(rule) => std::slice::from_ref(rule),
        Command::KeepRules(rules) => rules,
        _ => &[],
    }
}

/// The packets of an element whose key is a protocol and a port, and perhaps an address.
fn packets(element: &Element) -> Option<String> {
    if element.key_end.is_some() {
        return None;
    }
    let numbers: Vec<u32> = element.key.iter().filter_map(number).collect();
    let (of, port) = protocol_and_port(&numbers)?;
    let others: Vec<&Value> = element
        .key
        .iter()
        .filter(|value| number(value).is_none())
        .collect();
    let at = match others.as_slice() {
        [] => String::new(),
        [Value::Address(address)] => format!(" of {address}"),
        _ => return None,
    };
    let of = protocol(of)?;
    Some(format!("packets of {of} to port {port}{at}"))
}

fn on_hooks(hooks: &[Hook]) -> String {
    let words: Vec<String> = hooks.iter().map(ToString::to_string).collect();
    match words.len() {
        0 => String::new(),
        1 => format!(" on hook {}", words[0]),
        _ => format!(" on hooks {}", joined(words, "and")),
    }
}
