//! Capability `firewall`: chains, rules and sets of a plugin's own nftables tables.

mod act;
mod commands;
mod mapped;
mod ports;
mod rule;
mod tables;
#[cfg(test)]
mod tests;

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::namespace::Namespace;
use super::operation::{Operation, operations};
use super::verb::Verb;
use commands::is_false;
pub use commands::{
    BaseChain, Chain, ChainType, Command, Condition, DataType, Element, ElementData, Elements,
    Family, Field, Hook, MapLookup, MarkChange, Nat, NatOptions, NatTarget, Policy, Rule,
    RuleHandle, Set, Statement, StatementKind, Value, Verdict,
};
pub use rule::{FirewallRule, Requirement, Subject};

fn verdict_of(element: &Element) -> Option<StatementKind> {
    match &element.data {
        ElementData::Verdict(verdict) => Some(verdict.kind()),
        _ => None,
    }
}

/// Carries out commands as one transaction in the plugin's table of a family.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Apply {
    pub namespace: Namespace,
    pub family: Family,
    /// `weir_<plugin>`: named by the host.
    pub table: String,
    pub commands: Vec<Command>,
    /// Chains, sets and the table are deleted only while they are empty, and are `busy`
    /// otherwise. What the host sets to undo: others may have put something into them meanwhile.
    #[serde(default, skip_serializing_if = "is_false")]
    pub only_empty: bool,
    /// The translated ports on which something on the host listens, if a rule depends on that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub listening: Vec<u16>,
    /// The marks of whose the elements are that are removed, where a rule asks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<String>,
}

impl Apply {
    /// These commands, with nothing that weir adds.
    pub fn new(
        namespace: Namespace,
        family: Family,
        table: impl Into<String>,
        commands: Vec<Command>,
    ) -> Self {
        Self {
            namespace,
            family,
            table: table.into(),
            commands,
            only_empty: false,
            listening: Vec::new(),
            removed: Vec::new(),
        }
    }

    /// Returns what it takes in memory, in bytes, about.
    pub fn size(&self) -> usize {
        self.commands.iter().map(Command::size).sum()
    }

    /// Returns the ports that are translated; none stands for every port.
    pub fn translated(&self) -> Vec<Option<u16>> {
        ports::translated(&self.commands)
    }

    /// Returns the keys of the elements that are removed one by one, each with its set.
    pub fn removed_keys(&self) -> impl Iterator<Item = (&str, &[Value])> {
        let removed = self.commands.iter().filter_map(|command| match command {
            Command::DeleteElements(elements) => Some(elements),
            _ => None,
        });
        removed.flat_map(|e| e.elements.iter().map(|element| (&*e.set, &*element.key)))
    }

    /// Whether something is removed that may be anybody's: a rule, all of a set, a chain or a table.
    pub(crate) fn removes_shared(&self) -> bool {
        self.commands.iter().any(|command| {
            matches!(
                command,
                Command::DeleteChain(_)
                    | Command::FlushChain(_)
                    | Command::DeleteRule(_)
                    | Command::DeleteSet(_)
                    | Command::FlushSet(_)
                    | Command::DeleteTable
            )
        })
    }
}

/// Lists the chains of the plugin's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListChains {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
}

/// Lists the names of the sets and maps of the plugin's table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListSets {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
}

/// Lists the handles and comments of one chain's rules.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListRules {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub chain: String,
}

/// Reads one element by its key.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetElement {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub set: String,
    pub key: Vec<Value>,
}

/// Lists the elements of a set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListElements {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub set: String,
}

/// Removes what a plugin of the reference set made for an attachment: rules of iptables, and rules in nftables tables
/// of its own. They are known by the names that it gave them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemoveReference {
    /// By its name.
    pub plugin: String,
    /// The network's name in its configuration.
    pub network: String,
    pub container_id: String,
    pub ifname: String,
    /// Whose packets `firewall` accepted: the container's addresses, where a link of the host says that weir has not
    /// attached it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
}

impl Operation for RemoveReference {
    type Rule = FirewallRule;
    const NAME: &'static str = "firewall.remove-reference-rules";
    const VERB: Verb = Verb::Delete;

    fn requirements(&self) -> Vec<Requirement> {
        let in_family = |family| Requirement {
            namespace: Namespace::Host,
            family,
            table: String::new(),
            verb: Self::VERB,
            subject: Subject::Reference,
        };
        vec![in_family(Family::Ip), in_family(Family::Ip6)]
    }
}

impl Operation for Apply {
    type Rule = FirewallRule;
    const NAME: &'static str = "firewall.apply";
    const VERB: Verb = Verb::Write;

    fn requirements(&self) -> Vec<Requirement> {
        let mut needed = vec![Subject::Table];
        let mut chains = Chains::default();
        for subject in self.commands.iter().flat_map(|c| chains.subjects(c)) {
            if !needed.contains(&subject) {
                needed.push(subject);
            }
        }
        for port in self.translated() {
            let is_listening = port.is_some_and(|port| self.listening.contains(&port));
            needed.push(Subject::Port { port, is_listening });
        }
        if self.removes_shared() {
            needed.push(Subject::Removed(String::new()));
        }
        needed.extend(self.removed.iter().cloned().map(Subject::Removed));
        let requirement = |subject| Requirement {
            namespace: self.namespace,
            family: self.family,
            table: self.table.clone(),
            verb: Self::VERB,
            subject,
        };
        needed.into_iter().map(requirement).collect()
    }

    fn unseen(&self) -> &'static [&'static str] {
        let is_removal = self.removed_keys().next().is_some();
        if is_removal && self.removed.is_empty() {
            &["owners"]
        } else {
            &[]
        }
    }
}

/// The base chains that the commands so far have made, and the hook of each. The kernel lets nobody move
/// one to another hook, nor jump into one, so that a rule in one of them is reached from there alone.
#[derive(Default)]
struct Chains<'a> {
    hooks: Vec<(&'a str, Hook)>,
}

impl<'a> Chains<'a> {
    /// What a command hangs up, and what it can make happen to a packet. A chain's policy `drop` and a
    /// map's verdicts count like the statements of their names.
    fn subjects(&mut self, command: &'a Command) -> Vec<Subject> {
        match command {
            Command::AddChain(chain) | Command::CreateChain(chain) => self.made(chain),
            Command::DeleteChain(name) => {
                self.forget(name);
                Vec::new()
            }
            Command::DeleteTable => {
                self.hooks.clear();
                Vec::new()
            }
            Command::AppendRule(rule) | Command::InsertRule(rule) => self.said(rule).collect(),
            Command::KeepRules(rules) => rules.iter().flat_map(|rule| self.said(rule)).collect(),
            Command::AddElements(elements) | Command::CreateElements(elements) => {
                let kinds = elements.elements.iter().filter_map(verdict_of);
                let anywhere = |kind| Subject::Statement { kind, hook: None };
                kinds.map(anywhere).collect()
            }
            _ => Vec::new(),
        }
    }

    /// What a rule says, where it stands.
    fn said(&self, rule: &Rule) -> impl Iterator<Item = Subject> {
        let hook = self.hook(&rule.chain);
        let kinds = rule.statements.iter().map(Statement::kind);
        kinds.map(move |kind| Subject::Statement { kind, hook })
    }

    fn made(&mut self, chain: &'a Chain) -> Vec<Subject> {
        self.forget(&chain.name);
        let Some(base) = &chain.base else {
            return Vec::new();
        };
        self.hooks.push((&chain.name, base.hook));
        let mut subjects = vec![Subject::Hook(base.hook)];
        if base.policy == Policy::Drop {
            subjects.push(Subject::Statement {
                kind: StatementKind::Drop,
                hook: Some(base.hook),
            });
        }
        subjects
    }

    fn forget(&mut self, name: &str) {
        self.hooks.retain(|(known, _)| *known != name);
    }

    fn hook(&self, name: &str) -> Option<Hook> {
        let known = self.hooks.iter().find(|(known, _)| *known == name);
        known.map(|(_, hook)| *hook)
    }
}

operations! {
    FirewallRule;
    ListChains: "firewall.list-chains", Read, |o| Requirement::reading(o.namespace, o.family, &o.table);
    ListSets: "firewall.list-sets", Read, |o| Requirement::reading(o.namespace, o.family, &o.table);
    ListRules: "firewall.list-rules", Read, |o| Requirement::reading(o.namespace, o.family, &o.table);
    GetElement: "firewall.get-element", Read, |o| Requirement::reading(o.namespace, o.family, &o.table);
    ListElements: "firewall.list-elements", Read, |o| Requirement::reading(o.namespace, o.family, &o.table);
}
