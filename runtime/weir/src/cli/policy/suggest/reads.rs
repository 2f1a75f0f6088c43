//! The reads that a suggestion lacks, where none were recorded: worked out from what the component imports.

use std::collections::BTreeMap;

use serde::Serialize;
use weir_grant::operation_names::function;
use weir_grant::rule::{RuleFields, capabilities, merge, rules_of};
use weir_grant::{Capabilities, Capability, Namespace, Verb};

/// The functions of a component that only read, by capability.
pub type ReadingFunctions = BTreeMap<Capability, Vec<String>>;

/// The outcome of the reads that were not recorded.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Reads {
    /// Imported functions that the grant now allows: for what it changes on the host, and for everything in the container.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub added_for: ReadingFunctions,
    /// Imported functions of capabilities without a rule: nothing shows what they are called for.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unknown_for: ReadingFunctions,
}

impl Reads {
    /// Adds `read` to the rules of each capability in which a component imports functions that read, and the rules have no
    /// such verb.
    ///
    /// Errors: rules that are not valid together.
    pub fn add_to(
        suggested: &mut Capabilities,
        imported: &BTreeMap<Capability, Vec<String>>,
    ) -> Result<Self, String> {
        let mut reads = Self::default();
        let mut all = Vec::new();
        for capability in Capability::ALL {
            let mut rules = rules_of(suggested, capability);
            let functions = reading(capability, imported);
            if rules.is_empty() && !functions.is_empty() {
                reads.unknown_for.insert(capability, functions);
            } else if !functions.is_empty() && !rules.iter().any(may_read) {
                rules = merge(with_reads(&rules));
                reads.added_for.insert(capability, functions);
            }
            all.extend(rules);
        }
        *suggested = capabilities(&all).map_err(|e| e.to_string())?;
        Ok(reads)
    }
}

/// The imported functions of a capability for which `read` is enough.
fn reading(capability: Capability, imported: &BTreeMap<Capability, Vec<String>>) -> Vec<String> {
    let functions = imported.get(&capability).into_iter().flatten();
    let is_read = |name: &&String| function::verbs(capability, name).contains(&Verb::Read);
    functions.filter(is_read).cloned().collect()
}

fn may_read(rule: &RuleFields) -> bool {
    rule.verbs().contains(&Verb::Read)
}

/// Rules that allow reading as well: on the host what they are about. In the container everything, since a plugin lists
/// there what it then looks for.
fn with_reads(rules: &[RuleFields]) -> Vec<RuleFields> {
    let container = Namespace::Container.word();
    let is_of_container = |rule: &RuleFields| rule.names("namespace", container);
    let read = |rule: &RuleFields| {
        if is_of_container(rule) {
            return rule.clone();
        }
        let mut verbs = rule.verbs();
        verbs.push(Verb::Read);
        rule.clone().with("verbs", verbs)
    };
    let mut with: Vec<RuleFields> = rules.iter().map(read).collect();
    if let Some(rule) = rules.iter().find(|rule| is_of_container(rule)) {
        let all = RuleFields::new(rule.capability).with("namespace", [container]);
        with.push(all.with("verbs", [Verb::Read]));
    }
    with
}

#[cfg(test)]
mod tests {
    use super::*;

    fn imported(functions: &[(Capability, &[&str])]) -> BTreeMap<Capability, Vec<String>> {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        functions.iter().map(|(c, f)| (*c, names(f))).collect()
    }

    #[test]
    fn what_is_written_may_be_read() {
        let text = r#"{"link": [{"namespace": "host", "kinds": ["bridge"], "verbs": ["create"]},
                                {"namespace": "container", "kinds": ["veth"], "verbs": ["delete"]}]}"#;
        let mut suggested: Capabilities = serde_json::from_str(text).expect("rules");
        let imported = imported(&[
            (Capability::Link, &["create", "get"]),
            (Capability::Sysctl, &["read"]),
            (Capability::Log, &["write"]),
        ]);
        let reads = Reads::add_to(&mut suggested, &imported).expect("rules");
        assert_eq!(reads.added_for[&Capability::Link], ["get"]);
        assert_eq!(reads.unknown_for[&Capability::Sysctl], ["read"]);
        assert_eq!((reads.added_for.len(), reads.unknown_for.len()), (1, 1));
        let rules = serde_json::to_string(&suggested).expect("JSON");
        assert!(rules.contains(r#""verbs":["create","read"]"#), "{rules}");
        let all = r#"{"namespace":"container","verbs":["read"]}"#;
        assert!(rules.contains(all), "{rules}");
    }

    #[test]
    fn reads_that_are_there_stay_as_they_are() {
        let text = r#"{"link": [{"namespace": "host", "verbs": ["create"]}, {"kinds": ["veth"], "verbs": ["read"]}]}"#;
        let given: Capabilities = serde_json::from_str(text).expect("rules");
        let mut suggested = given.clone();
        let imported = imported(&[(Capability::Link, &["get"])]);
        let reads = Reads::add_to(&mut suggested, &imported).expect("rules");
        assert_eq!((reads, suggested), (Reads::default(), given));
    }
}
