//! An operation, what it requires of a grant, and the decision about it.

use std::any::Any;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::facts::LinkFacts;
use super::section::Section;

/// One family of host functions, and the key of its rules in a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    Link,
    Address,
    Route,
    Rule,
    Neighbour,
    Traffic,
    Firewall,
    Firewalld,
    Conntrack,
    Sysctl,
    Store,
    Device,
    Packet,
    Ipam,
    Log,
    /// Not one of a plugin's: weir's own, by its own configuration. No grant has it.
    Native,
}

impl Capability {
    /// All of the contract's, in its order: what a plugin can ask for, and a grant can have.
    pub const ALL: [Self; 15] = [
        Self::Link,
        Self::Address,
        Self::Route,
        Self::Rule,
        Self::Neighbour,
        Self::Traffic,
        Self::Firewall,
        Self::Firewalld,
        Self::Conntrack,
        Self::Sysctl,
        Self::Store,
        Self::Device,
        Self::Packet,
        Self::Ipam,
        Self::Log,
    ];

    /// All that stand in the audit log: also weir's own.
    pub const RECORDED: [Self; 16] = {
        let mut all = [Self::Native; 16];
        let mut at = 0;
        while at < Self::ALL.len() {
            all[at] = Self::ALL[at];
            at += 1;
        }
        all
    };

    /// The word: interface of the contract, key of a grant, field of the audit log.
    pub fn word(self) -> &'static str {
        match self {
            Self::Link => "link",
            Self::Address => "address",
            Self::Route => "route",
            Self::Rule => "rule",
            Self::Neighbour => "neighbour",
            Self::Traffic => "traffic",
            Self::Firewall => "firewall",
            Self::Firewalld => "firewalld",
            Self::Conntrack => "conntrack",
            Self::Sysctl => "sysctl",
            Self::Store => "store",
            Self::Device => "device",
            Self::Packet => "packet",
            Self::Ipam => "ipam",
            Self::Log => "log",
            Self::Native => "native",
        }
    }

    /// The contract's capability of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.word() == word)
    }

    /// Whether this version of weir carries the capability's operations out. The others are part
    /// of the contract and answer `unsupported`.
    pub fn is_implemented(self) -> bool {
        !matches!(self, Self::Rule | Self::Device | Self::Packet)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What an operation does to its object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    Create,
    Read,
    Update,
    Delete,
    Write,
    Announce,
    Open,
    Run,
}

impl Verb {
    /// The word in a grant.
    pub fn word(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Read => "read",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Write => "write",
            Self::Announce => "announce",
            Self::Open => "open",
            Self::Run => "run",
        }
    }

    /// Whether the verb leaves everything as it was. Reads are audited on request only.
    pub fn is_read(self) -> bool {
        self == Self::Read
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// This invocation's values for the placeholders of a grant: `{ifname}`, `{network}`,
/// `{containerid}`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    pub container_id: String,
    pub ifname: String,
    pub network: String,
}

/// One request of a plugin to a capability, as plain data.
///
/// An operation carries facts, not claims: a link is the index, name and kind that the kernel
/// reported, read by the host just before.
pub trait Operation: Clone + Serialize {
    /// The rule that speaks of this capability in a grant.
    type Rule: Rule;

    /// `link.create`: the capability's word and what is done.
    const NAME: &'static str;

    /// What it does to its object; decides whether it is audited by default.
    const VERB: Verb;

    /// What must be allowed for the operation to be. An operation that touches several objects,
    /// as a veth with an end in each namespace, has several requirements.
    fn requirements(&self) -> Vec<<Self::Rule as Rule>::Requirement>;

    /// Why weir refuses it whatever a grant allows; none where the kernel is asked.
    fn flaw(&self) -> Option<String> {
        None
    }

    /// The links that it names.
    fn links(&self) -> Vec<&LinkFacts> {
        Vec::new()
    }

    /// The same, to be replaced.
    fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
        Vec::new()
    }
}

/// The rules of a grant. What a capability's are is that capability's own affair.
pub trait Rules {
    /// The list of a capability's rules, a `Vec`.
    fn list(&self, capability: Capability) -> &dyn Any;
}

/// One rule of a grant.
pub trait Rule: Sized + 'static {
    /// One object that an operation touches, and how.
    type Requirement: fmt::Display;

    const CAPABILITY: Capability;

    /// What the capability's operations do: the verbs that a rule may name.
    const VERBS: &'static [Verb];

    /// This capability's rules. A grant whose list is of something else has none.
    fn of(rules: &dyn Rules) -> &[Self] {
        let list = rules.list(Self::CAPABILITY).downcast_ref::<Vec<Self>>();
        list.map_or(&[], Vec::as_slice)
    }

    /// What a requirement comes to under a grant's rules: itself, unless one that says less must be
    /// allowed in each way in which it can come about. Each of these is met by one rule.
    fn spread(_rules: &[Self], requirement: Self::Requirement) -> Vec<Self::Requirement> {
        vec![requirement]
    }

    /// The first field of the rule that does not match, or none when the rule allows it.
    fn miss(&self, requirement: &Self::Requirement, invocation: &Invocation) -> Option<Miss>;
}

/// The field in which a rule missed. Later fields in a rule are closer misses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Miss {
    /// How many fields of the rule matched before this one.
    pub matched: usize,
    /// The field's key in the document.
    pub field: &'static str,
}

/// Matches a rule's fields in order.
#[derive(Default)]
pub struct Fields {
    matched: usize,
    miss: Option<Miss>,
}

impl Fields {
    /// A field, and whether it matches.
    pub fn field(mut self, field: &'static str, matches: bool) -> Self {
        if self.miss.is_none() {
            if matches {
                self.matched += 1;
            } else {
                self.miss = Some(Miss {
                    matched: self.matched,
                    field,
                });
            }
        }
        self
    }

    /// The first field that did not match.
    pub fn miss(self) -> Option<Miss> {
        self.miss
    }
}

/// Whether an optional list of a rule matches: an absent one matches everything.
pub fn any<T>(list: Option<&[T]>, matches: impl FnMut(&T) -> bool) -> bool {
    list.is_none_or(|list| list.iter().any(matches))
}

/// The verdict on an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The rules that allow it, as `link[2]`, one for each requirement.
    Allowed { rules: Vec<String> },
    /// The requirement that no rule meets, and the rule that came closest.
    Denied {
        requirement: String,
        closest: Option<Closest>,
    },
}

/// The rule that came closest to allowing an operation, and the field in which it missed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Closest {
    /// `link[0]`.
    pub rule: String,
    /// The field's key in the document.
    pub field: String,
}

impl Closest {
    /// The same, with the rule called as that of a section.
    #[must_use]
    pub fn of(self, section: Section) -> Self {
        Self {
            rule: section.rule(&self.rule),
            ..self
        }
    }
}

/// As it is printed.
#[cfg(test)]
impl From<&str> for Closest {
    fn from(text: &str) -> Self {
        let (rule, field) = text.split_once(": ").expect("a rule and a field");
        Self {
            rule: rule.to_owned(),
            field: field.to_owned(),
        }
    }
}

impl fmt::Display for Closest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.rule, self.field)
    }
}

/// Decides an operation. Default deny: without a matching rule for every requirement, no.
pub fn decide<O: Operation>(rules: &dyn Rules, invocation: &Invocation, operation: &O) -> Decision {
    let rules = O::Rule::of(rules);
    let mut allowing = Vec::new();
    let needed = operation.requirements().into_iter();
    for requirement in needed.flat_map(|r| O::Rule::spread(rules, r)) {
        match decide_one(rules, invocation, &requirement) {
            Ok(index) => {
                let rule = format!("{}[{index}]", O::Rule::CAPABILITY);
                if !allowing.contains(&rule) {
                    allowing.push(rule);
                }
            }
            Err(closest) => {
                return Decision::Denied {
                    requirement: requirement.to_string(),
                    closest,
                };
            }
        }
    }
    Decision::Allowed { rules: allowing }
}

fn decide_one<R: Rule>(
    rules: &[R],
    invocation: &Invocation,
    requirement: &R::Requirement,
) -> Result<usize, Option<Closest>> {
    let mut closest: Option<(Miss, usize)> = None;
    for (index, rule) in rules.iter().enumerate() {
        match rule.miss(requirement, invocation) {
            None => return Ok(index),
            Some(miss) if closest.is_none_or(|(best, _)| miss > best) => {
                closest = Some((miss, index));
            }
            Some(_) => {}
        }
    }
    Err(closest.map(|(miss, index)| Closest {
        rule: format!("{}[{index}]", R::CAPABILITY),
        field: miss.field.to_owned(),
    }))
}
