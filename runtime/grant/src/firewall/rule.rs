//! The rule of a grant, and what it is matched with.

use std::fmt;

use super::super::field::Has::{self, One};
use super::super::field::Texts;
use super::super::field::types::{InNamespace, Owners, Ranges, Words, every_port};
use super::super::invocation::Invocation;
use super::super::namespace::Namespace;
use super::super::rule::RuleFields;
use super::super::rule::declare::rule;
use super::super::rule::{Rule, Sentence, listed, listed_of, owned};
use super::super::verb::Verb;
use super::commands::{Family, Hook, StatementKind};
use super::tables;

rule! {
    /// `firewall:` in a grant. Absent fields match everything.
    pub struct FirewallRule: Firewall for r: Requirement, which may "read" Read, "write" Write, "remove" Delete {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.namespace);
        /// Families of tables.
        families: Words<Family> = One(r.family), left_out("every-statement", "it may use all of them");
        => /// `read`, `write`: the plugin's own tables. `delete`: what the reference plugin of its name made for the
        /// attachment, in tables of iptables and of its own.
        verbs = r.verb;
        /// Hooks of base chains.
        hooks: Words<Hook> = r.part(r.subject.hook()), only_for(&[Verb::Write]), alternative(),
            left_out("every-statement", "it may use all of them");
        /// Statements of rules, verdicts of maps, and `drop` as the policy of a base chain, on these hooks.
        statements: Words<StatementKind> = r.part(r.subject.statement()), only_for(&[Verb::Write]), alternative(),
            left_out("every-statement", "it may use all of them");
        /// Ports of the host that may be translated, if nothing on the host listens there. Every port, listened at or
        /// not, when left out.
        ports: Ranges<u16> = r.port(), only_for(&[Verb::Write]), alternative(), never_suggested(), including(every_port);
        /// Owners of the elements that may be removed: this network, this attachment.
        owners: Owners = r.part(r.subject.removed()), only_for(&[Verb::Write]), alternative(), never_suggested();
    } {
    /// A statement that every hook may reach must be allowed on all hooks on which the plugin may add a chain.
    fn spread(rules: &[Self], r: Requirement) -> Vec<Requirement> {
        let Subject::Statement { kind, hook: None } = r.subject else {
            return vec![r];
        };
        let mut chain = r.clone();
        let mut is_granted = |hook: &Hook| {
            chain.subject = Subject::Hook(*hook);
            let is_met = |rule: &Self| rule.miss(&chain, &Invocation::default()).is_none();
            rules.iter().any(is_met)
        };
        let hooks = Hook::ALL.iter().copied().filter(|hook| is_granted(hook));
        let on_hook = |hook| Requirement {
            subject: Subject::Statement {
                kind,
                hook: Some(hook),
            },
            ..r.clone()
        };
        let on_each: Vec<Requirement> = hooks.map(on_hook).collect();
        if on_each.is_empty() {
            vec![r]
        } else {
            on_each
        }
    }

        fn together(rules: &[Self]) -> Vec<String> {
            in_regular_chains(rules)
        }

        fn sentence(rule: &mut Sentence<'_>) -> String {
            sentence(rule)
        }

        fn bound(key: &str, values: &Texts) -> Option<String> {
            let words = match key {
                "hooks" if values.is_empty() => "with no chain on a hook".to_owned(),
                "hooks" => format!("with chains on {}", listed(values, "and")),
                "statements" if values.is_empty() => "with no statement and no verdict".to_owned(),
                "statements" => format!("with no statement but {}", listed(values, "and")),
                "ports" if values.is_empty() => "translating no port of the host".to_owned(),
                "ports" => {
                    let ports = listed_of(Self::DESCRIPTION.field(key), values, "and");
                    format!("translating no port of the host but {ports}")
                }
                "owners" if values.is_empty() => "removing nothing".to_owned(),
                "owners" => format!("removing only elements of {}", owned(values)),
                _ => return None,
            };
            Some(words)
        }

        fn split(rule: RuleFields) -> Vec<RuleFields> {
            tables::split(rule)
        }

        fn gather(parts: Vec<RuleFields>) -> Vec<RuleFields> {
            tables::gather(parts)
        }
    }
}

/// A table, or a chain or statement in it, and what is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub verb: Verb,
    pub subject: Subject,
}

impl Requirement {
    pub(super) fn reading(namespace: Namespace, family: Family, table: &str) -> Self {
        Self {
            namespace,
            family,
            table: table.to_owned(),
            verb: Verb::Read,
            subject: Subject::Table,
        }
    }

    /// What it has for a field. Of a table that is written, each hook and each statement is matched for itself.
    fn part<F>(&self, own: Option<F>) -> Has<F> {
        match self.subject {
            Subject::Table if self.verb == Verb::Write => Has::Later,
            _ => Has::if_any(own),
        }
    }

    /// The port to match against a list. No list allows a port at which the host listens, or every port.
    fn port(&self) -> Has<u16> {
        match self.subject {
            Subject::Port {
                port: Some(port),
                is_listening: false,
            } => One(port),
            Subject::Port { .. } => Has::Anything,
            _ => self.part(None),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Table,
    Hook(Hook),
    Statement {
        kind: StatementKind,
        /// The hook of its base chain. None for a chain that the operation does not
        /// create, a regular chain and a map: every hook may reach it.
        hook: Option<Hook>,
    },
    /// A port of the host to translate; none for every port.
    Port {
        port: Option<u16>,
        /// Something on the host listens at it.
        is_listening: bool,
    },
    /// The rules that the reference plugin made for this attachment.
    Reference,
    /// An element to remove: its owner's mark, empty for a shared one.
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
                write!(f, "{verb} the removal of shared elements to")?;
            }
            Subject::Removed(owner) => write!(f, "{verb} the removal of `{owner}`'s elements to")?,
        }
        write!(f, " nftables table `{family} {table}` in {namespace}")
    }
}

impl Subject {
    fn hook(&self) -> Option<Hook> {
        match self {
            Self::Hook(hook) => Some(*hook),
            Self::Statement { hook, .. } => *hook,
            _ => None,
        }
    }

    fn statement(&self) -> Option<StatementKind> {
        match self {
            Self::Statement { kind, .. } => Some(*kind),
            _ => None,
        }
    }

    fn removed(&self) -> Option<&str> {
        match self {
            Self::Removed(mark) => Some(mark),
            _ => None,
        }
    }
}

/// The statements that are allowed in a chain without a hook, which each hook of the grant may lead to. A grant with fewer
/// hooks may allow more of them.
fn in_regular_chains(rules: &[FirewallRule]) -> Vec<String> {
    let is_met = |r: &Requirement| {
        let each = FirewallRule::spread(rules, r.clone());
        let is_met = |r| {
            rules
                .iter()
                .any(|rule| rule.miss(r, &Invocation::default()).is_none())
        };
        each.iter().all(is_met)
    };
    let mut sentences = Vec::new();
    for (namespace, family) in Namespace::ALL
        .iter()
        .flat_map(|n| Family::ALL.iter().map(|f| (*n, *f)))
    {
        let statement = |kind: StatementKind| Requirement {
            verb: Verb::Write,
            subject: Subject::Statement { kind, hook: None },
            ..Requirement::reading(namespace, family, "")
        };
        let allowed = StatementKind::ALL
            .iter()
            .filter(|kind| is_met(&statement(**kind)));
        sentences.extend(allowed.map(|kind| {
            format!(
                "write its own tables of {}, whose rules in chains without a hook may {}, in {namespace}",
                family.word(),
                kind.word()
            )
        }));
    }
    sentences
}

/// What a rule allows in the plugin's own tables, then in the reference plugin's.
fn sentence(rule: &mut Sentence<'_>) -> String {
    let families = rule.all_of("families", "every family");
    let reference = rule.may(Verb::Delete).then(|| {
        format!(
            "remove what the reference plugin of its name made for the container, in tables of {families}"
        )
    });
    let mut own = vec![Verb::Read, Verb::Write];
    own.retain(|verb| rule.may(*verb));
    let Some(reference) = reference else {
        return own_tables(rule, &own, &families);
    };
    if own.is_empty() {
        return reference;
    }
    let own = own_tables(rule, &own, &families);
    format!("{own}{}; {reference}", rule.place())
}

fn own_tables(rule: &mut Sentence<'_>, verbs: &[Verb], families: &str) -> String {
    let tables = format!("{} its own tables of {families}", rule.words_of(verbs));
    if !verbs.contains(&Verb::Write) {
        return tables;
    }
    let parts = [
        ("hooks", ", with chains on every hook"),
        ("statements", ", whose rules may do anything with a packet"),
        ("ports", ""),
        ("owners", ""),
    ];
    let mut text = tables;
    for (key, left_out) in parts {
        match rule.take(key) {
            // It has nothing of the kind.
            Some(values) if values.is_empty() && !left_out.is_empty() => {}
            Some(values) if key == "statements" => {
                text += &format!(", whose rules may {}", listed(values, "or"));
            }
            Some(values) => {
                let bound = FirewallRule::bound(key, values);
                text.extend(bound.map(|bound| format!(", {bound}")));
            }
            None if rule.is_about(key) => text += left_out,
            None => {}
        }
    }
    text
}
