//! The rule of a grant, and what it is matched with.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::fields::Verbs;
use super::super::namespace::Namespace;
use super::super::operation::{self, Capability, Fields, Invocation, Miss, Verb, any};
use super::super::owner::Owner;
use super::super::pattern::Range;
use super::commands::{Family, Hook, StatementKind};

/// `firewall:` in a grant. Absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FirewallRule {
    /// Where; in both, when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Families of tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<Family>>,
    /// `read`, `write`: the plugin's own tables. `delete`: what the reference plugin of its name made for the
    /// attachment, in tables of iptables and of its own.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "Verbs::<FirewallRule>"
    )]
    pub verbs: Option<Vec<Verb>>,
    /// Hooks that base chains may hang on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Vec<Hook>>,
    /// Statements of rules, verdicts of maps, and `drop` as the policy of a base chain, on these hooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements: Option<Vec<StatementKind>>,
    /// Ports of the host that may be translated, at which nothing of the host listens. Every one, and listened at or not,
    /// when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ports: Option<Vec<Range<u16>>>,
    /// Whose elements may be removed: this network's, this attachment's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Vec<Owner>>,
}

/// A table, or what is hung up or said in it, and what is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub verb: Verb,
    pub subject: Subject,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Table,
    Hook(Hook),
    Statement {
        kind: StatementKind,
        /// The hook of the base chain that it stands in. None for a chain that the operation does not
        /// make, a regular one and a map: it may be reached from every hook.
        hook: Option<Hook>,
    },
    /// A port of the host that is translated; none for every port.
    Port {
        port: Option<u16>,
        /// Something on the host listens at it.
        is_listening: bool,
    },
    /// What the reference plugin made for this attachment.
    Reference,
    /// An element that is removed: the mark of whose it is, empty for what is shared.
    Removed(String),
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            family,
            table,
            verb,
            subject,
        } = self;
        match subject {
            Subject::Reference => {
                return write!(
                    f,
                    "{verb} the reference plugin's rules for this attachment from tables of family {family} in {namespace}"
                );
            }
            Subject::Table => write!(f, "{verb}")?,
            Subject::Hook(hook) => write!(f, "{verb} a chain on hook {hook} to")?,
            Subject::Statement { kind, hook: None } => write!(f, "{verb} `{kind}` to")?,
            Subject::Statement {
                kind,
                hook: Some(hook),
            } => write!(f, "{verb} `{kind}` on hook {hook} to")?,
            Subject::Port { port: None, .. } => write!(f, "{verb} a translation of every port to")?,
            Subject::Port {
                port: Some(port),
                is_listening,
            } => {
                write!(f, "{verb} a translation of port {port}")?;
                if *is_listening {
                    f.write_str(", at which the host listens,")?;
                }
                f.write_str(" to")?;
            }
            Subject::Removed(owner) if owner.is_empty() => {
                write!(f, "{verb} the removal of what is shared to")?;
            }
            Subject::Removed(owner) => write!(f, "{verb} the removal of `{owner}`'s elements to")?,
        }
        write!(f, " nftables table `{family} {table}` in {namespace}")
    }
}

impl operation::Rule for FirewallRule {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Firewall;
    const VERBS: &'static [Verb] = &[Verb::Read, Verb::Write, Verb::Delete];

    /// What may be reached from every hook must be allowed on all on which the plugin may hang a chain.
    fn spread(rules: &[Self], r: Requirement) -> Vec<Requirement> {
        let Subject::Statement { kind, hook: None } = r.subject else {
            return vec![r];
        };
        let is_granted = |hook: &Hook| rules.iter().any(|rule| rule.hangs_up(&r, *hook));
        let hooks = Hook::ALL.into_iter().filter(is_granted);
        let on_hook = |hook| Requirement {
            subject: Subject::Statement {
                kind,
                hook: Some(hook),
            },
            ..r.clone()
        };
        let on_each: Vec<Requirement> = hooks.map(on_hook).collect();
        match on_each.is_empty() {
            true => vec![r],
            false => on_each,
        }
    }

    fn miss(&self, r: &Requirement, invocation: &Invocation) -> Option<Miss> {
        let (hook, statement) = match &r.subject {
            Subject::Hook(hook) => (Some(*hook), None),
            Subject::Statement { kind, hook } => (*hook, Some(*kind)),
            _ => (None, None),
        };
        let has_port = match (&self.ports, &r.subject) {
            (Some(ports), Subject::Port { port, is_listening }) => {
                let is_listed = port.is_some_and(|port| ports.iter().any(|p| p.contains(port)));
                is_listed && !is_listening
            }
            _ => true,
        };
        let is_owners = match &r.subject {
            Subject::Removed(mark) => any(self.owners.as_deref(), |o| o.has(mark, invocation)),
            _ => true,
        };
        let on_hook = hook.is_none_or(|hook| any(self.hooks.as_deref(), |h| *h == hook));
        let says = statement.is_none_or(|kind| any(self.statements.as_deref(), |s| *s == kind));
        self.about(r)
            .field("hooks", on_hook)
            .field("statements", says)
            .field("ports", has_port)
            .field("owners", is_owners)
            .miss()
    }
}

impl FirewallRule {
    /// Whether it is about a requirement's tables.
    fn about(&self, r: &Requirement) -> Fields {
        Fields::default()
            .field("namespace", self.namespace.is_none_or(|n| n == r.namespace))
            .field(
                "families",
                any(self.families.as_deref(), |f| *f == r.family),
            )
            .field("verbs", any(self.verbs.as_deref(), |v| *v == r.verb))
    }

    /// Whether it allows a base chain on a hook of a requirement's table.
    fn hangs_up(&self, r: &Requirement, hook: Hook) -> bool {
        let on_hook = any(self.hooks.as_deref(), |h| *h == hook);
        self.about(r).miss().is_none() && on_hook
    }
}
