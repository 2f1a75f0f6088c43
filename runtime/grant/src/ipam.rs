//! Capability `ipam`: running the IPAM plugin that a configuration names.

use std::fmt;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::Capability;
use super::act::{Act, Severity};
use super::field::{Field, FieldType, Flaw, Has, Seen, Texts};
use super::invocation::Invocation;
use super::operation::operations;
use super::pattern::is_glob;
use super::rule::Draft;
use super::rule::Sentence;
use super::rule::{Facts, Matched, Miss, Rule};
use super::verb::{Verb, VerbSet};

/// Runs one command of an IPAM plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Run {
    /// `ipam.type` of the plugin configuration.
    pub plugin: String,
    /// One of `COMMANDS`.
    #[serde(deserialize_with = "command")]
    pub command: Word,
}

/// A static word, so that nothing borrows from a record.
type Word = &'static str;

/// The commands that an IPAM plugin is run for.
pub(crate) const COMMANDS: [Word; 5] = ["ADD", "DEL", "CHECK", "STATUS", "GC"];

fn command<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    let text = String::deserialize(deserializer)?;
    let known = COMMANDS.into_iter().find(|command| *command == text);
    known.ok_or_else(|| {
        let all = COMMANDS.join(", ");
        D::Error::custom(format!(
            "`{text}` is not a command of IPAM plugins; expected one of {all}"
        ))
    })
}

operations! {
    String;
    Run: "ipam.run", Run, |o| Requirement { plugin: o.plugin.clone() };
}

impl Act for Run {
    fn act(&self) -> String {
        format!("run IPAM plugin `{}` for {}", self.plugin, self.command)
    }

    /// What that plugin does has records of its own.
    fn severity(&self, _: &Invocation) -> Severity {
        Severity::Contained
    }
}

/// The IPAM plugin to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub plugin: String,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run IPAM plugin `{}`", self.plugin)
    }
}

/// Names of IPAM plugins, exactly.
struct PluginNames;

impl FieldType for PluginNames {
    type Values = String;
    type Fact<'r> = &'r str;
    const IS_LIST: bool = false;
    const EXAMPLES: &'static [&'static str] = &["host-local", "static", "dhcp"];

    fn matches(name: &String, fact: &str, _: &Invocation) -> bool {
        name == fact
    }

    fn text(fact: &str) -> Texts {
        Texts::from([fact.to_owned()])
    }

    fn flaws(names: &Texts) -> Vec<Flaw> {
        let is_none =
            |name: &&String| name.is_empty() || is_glob(name) || name.contains(['{', '/']);
        let wrong = names.iter().filter(is_none);
        let text =
            |name| format!("`{name}` is not a plugin's name; expected an exact name, not a glob");
        wrong.map(|name| ("no-effect", text(name))).collect()
    }
}

impl VerbSet for String {
    const CAPABILITY: Capability = Capability::Ipam;
    const VERBS: &'static [Verb] = &[Verb::Run];
    const VERB_WORDS: &'static [&'static str] = &[Verb::Run.word()];
}

/// `ipam:` in a grant is a list of names.
impl Rule for String {
    type Requirement = Requirement;
    const DONE: &'static [&'static str] = &["run"];
    const FIELDS: &'static [Field] = &[Field::new::<PluginNames>("name")];
    const IS_NAME: bool = true;

    fn miss(&self, r: &Requirement, invocation: &Invocation) -> Option<Miss> {
        let has = Has::One(&*r.plugin);
        let matched = Matched::default().field::<PluginNames>("name", Some(self), has, invocation);
        matched.miss()
    }

    fn draft(r: &Requirement, seen: &Seen<'_>) -> Draft {
        let mut draft = Draft::new::<Self>();
        draft.set::<PluginNames>("name", Has::One(&r.plugin), seen);
        draft
    }

    fn facts(r: &Requirement) -> Facts {
        let mut facts = Facts::new::<Self>();
        facts.set::<PluginNames>("name", Has::One(&r.plugin));
        facts
    }

    fn sentence(rule: &mut Sentence<'_>) -> String {
        format!("run {}", rule.all_of("name", "every IPAM plugin"))
    }
}
