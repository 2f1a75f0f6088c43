//! Capability `native`: running a native CNI plugin, a program outside the sandbox.
//!
//! No plugin can ask for it and no grant can give it. weir runs such a program for a network if
//! weir's own configuration lists it; the entry there is the rule.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Capability;
use super::act::{Act, Severity};
use super::field::types::Exact;
use super::field::{Field, Has, Seen};
use super::invocation::Invocation;
use super::operation::operations;
use super::pattern::{Directory, Pattern};
use super::plugin::{Digest, plugin_name};
use super::quantity::{MOST_TIME, Time};
use super::rule::Draft;
use super::rule::Sentence;
use super::rule::{Facts, Matched, Miss, Rule};
use super::verb::{Verb, VerbSet};

/// Runs one command of a native plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execute {
    /// `type` of the plugin configuration: the file's name.
    pub plugin: String,
    /// The digest of the file's bytes.
    pub digest: Digest,
    /// `CNI_COMMAND`.
    pub command: String,
}

operations! {
    NativePlugin;
    Execute: "native.execute", Run, |o| Requirement { plugin: o.plugin.clone(), digest: o.digest.clone() };
}

impl Act for Execute {
    fn act(&self) -> String {
        format!(
            "run native plugin `{}` ({}) for {}, outside the sandbox",
            self.plugin, self.digest, self.command
        )
    }

    /// What it does, nothing records.
    fn severity(&self, _: &Invocation) -> Severity {
        Severity::LeavesContainer
    }
}

/// The program to run.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub plugin: String,
    pub digest: Digest,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "run native plugin `{}` ({})", self.plugin, self.digest)
    }
}

/// An entry of `nativePlugins` in weir's own configuration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NativePlugin {
    /// The plugin's name: `type` in a configuration, and the file's name.
    #[serde(deserialize_with = "plugin_name")]
    pub name: String,
    /// The digest of the file's bytes.
    pub digest: Digest,
    /// The networks that may use it, as in a grant.
    pub networks: Vec<Pattern>,
    /// The directory of the file, in place of the one that the runtime names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bin_dir: Option<Directory>,
    /// The bounds of one call.
    #[serde(default, skip_serializing_if = "NativeLimits::are_default")]
    pub limits: NativeLimits,
}

impl NativePlugin {
    /// Whether a network may use it.
    pub fn covers_network(&self, network: &str) -> bool {
        self.networks.iter().any(|p| p.matches_network(network))
    }
}

impl VerbSet for NativePlugin {
    const CAPABILITY: Capability = Capability::Native;
    const VERBS: &'static [Verb] = &[Verb::Run];
    const VERB_WORDS: &'static [&'static str] = &[Verb::Run.word()];
}

impl Rule for NativePlugin {
    type Requirement = Requirement;
    const DONE: &'static [&'static str] = &["run"];
    /// The keys of an entry of `nativePlugins`.
    const FIELDS: &'static [Field] = &[Field::new::<Exact>("name"), Field::new::<Exact>("digest")];

    fn miss(&self, r: &Requirement, invocation: &Invocation) -> Option<Miss> {
        Matched::default()
            .and("name", self.name == r.plugin)
            .and("digest", self.digest == r.digest)
            .and("networks", self.covers_network(&invocation.network))
            .miss()
    }

    fn draft(r: &Requirement, seen: &Seen<'_>) -> Draft {
        let mut draft = Draft::new::<Self>();
        draft.set::<Exact>("name", Has::One(&r.plugin), seen);
        draft.set::<Exact>("digest", Has::One(&r.digest.to_string()), seen);
        draft
    }

    fn facts(r: &Requirement) -> Facts {
        let mut facts = Facts::new::<Self>();
        facts.set::<Exact>("name", Has::One(&r.plugin));
        facts.set::<Exact>("digest", Has::One(&r.digest.to_string()));
        facts
    }

    fn sentence(rule: &mut Sentence<'_>) -> String {
        format!("{} native plugins", rule.verbs())
    }
}

/// The bounds of one call of a native plugin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct NativeLimits {
    /// The time from its start to its exit; at most one minute.
    #[serde(with = "Time")]
    pub time: Duration,
}

impl NativeLimits {
    fn are_default(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for NativeLimits {
    fn default() -> Self {
        Self { time: MOST_TIME }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Capabilities;
    use super::super::operation::{Decision, decide};
    use super::*;

    fn digest(byte: u8) -> Digest {
        Digest::new([byte; 32])
    }

    fn listed(networks: &[&str]) -> Capabilities {
        let document = serde_json::json!({
            "name": "flannel", "digest": digest(1), "networks": networks,
        });
        Capabilities {
            native: vec![serde_json::from_value(document).expect("an entry")],
            ..Capabilities::default()
        }
    }

    fn decided(rules: &Capabilities, plugin: &str, byte: u8, network: &str) -> Decision {
        let invocation = Invocation {
            network: network.to_owned(),
            ..Invocation::default()
        };
        let operation = Execute {
            plugin: plugin.to_owned(),
            digest: digest(byte),
            command: "ADD".to_owned(),
        };
        decide(rules, &invocation, &operation)
    }

    #[test]
    fn what_is_listed_is_allowed_and_nothing_else() {
        let rules = listed(&["cbr0", "kube-system/*"]);
        for (plugin, byte, network, expected) in [
            ("flannel", 1, "cbr0", Ok(())),
            ("flannel", 1, "kube-system/flannel", Ok(())),
            ("calico", 1, "cbr0", Err("native[0]: name")),
            ("flannel", 2, "cbr0", Err("native[0]: digest")),
            ("flannel", 1, "cbr1", Err("native[0]: networks")),
            ("flannel", 1, "default/flannel", Err("native[0]: networks")),
        ] {
            let decided = match decided(&rules, plugin, byte, network) {
                Decision::Allowed { rules } => {
                    assert_eq!(rules, ["native[0]"]);
                    Ok(())
                }
                Decision::Denied { closest, .. } => {
                    Err(closest.expect("a rule came close").to_string())
                }
            };
            let expected = expected.map_err(str::to_owned);
            assert_eq!(decided, expected, "{plugin} {byte} {network}");
        }
        let none = decided(&listed(&[]), "flannel", 1, "cbr0");
        assert!(matches!(none, Decision::Denied { .. }), "{none:?}");
    }

    /// `{network}` would be every network.
    #[test]
    fn a_placeholder_covers_no_network() {
        let denied = decided(&listed(&["{network}"]), "flannel", 1, "cbr0");
        assert!(matches!(denied, Decision::Denied { .. }), "{denied:?}");
    }

    #[test]
    fn no_grant_can_have_it() {
        let rule = serde_json::json!({ "native": [] });
        let error = serde_json::from_value::<Capabilities>(rule).expect_err("not a key");
        assert!(error.to_string().contains("native"), "{error}");
        let written = serde_json::to_value(listed(&["*"])).expect("JSON");
        assert_eq!(written, serde_json::json!({}));
        assert_eq!(Capability::from_word("native"), None);
    }
}
