//! The rule of a grant, and what it is matched with.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::super::fields::Verbs;
use super::super::operation::{self, Capability, Fields, Invocation, Miss, Namespace, Verb, any};
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
    /// `read`, `write`.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Table,
    Hook(Hook),
    Statement {
        kind: StatementKind,
        /// The hook of the base chain that it stands in. None for a chain that the operation does not
        /// make, a regular one and a map: it may be reached from every hook.
        hook: Option<Hook>,
    },
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
            Subject::Table => write!(f, "{verb}")?,
            Subject::Hook(hook) => write!(f, "{verb} a chain on hook {hook} to")?,
            Subject::Statement { kind, hook: None } => write!(f, "{verb} `{kind}` to")?,
            Subject::Statement {
                kind,
                hook: Some(hook),
            } => write!(f, "{verb} `{kind}` on hook {hook} to")?,
        }
        write!(f, " nftables table `{family} {table}` in {namespace}")
    }
}

impl operation::Rule for FirewallRule {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Firewall;
    const VERBS: &'static [Verb] = &[Verb::Read, Verb::Write];

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

    fn miss(&self, r: &Requirement, _: &Invocation) -> Option<Miss> {
        let (hook, statement) = match r.subject {
            Subject::Table => (None, None),
            Subject::Hook(hook) => (Some(hook), None),
            Subject::Statement { kind, hook } => (hook, Some(kind)),
        };
        let on_hook = hook.is_none_or(|hook| any(self.hooks.as_deref(), |h| *h == hook));
        let says = statement.is_none_or(|kind| any(self.statements.as_deref(), |s| *s == kind));
        self.about(r)
            .field("hooks", on_hook)
            .field("statements", says)
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
