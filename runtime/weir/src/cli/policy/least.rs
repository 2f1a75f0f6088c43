//! The least rules that would allow a denied operation.

use serde::Serialize;
use serde_json::Value;
use weir_grant::flow::flow;
use weir_grant::phrase::joined;
use weir_grant::query::Query;
use weir_grant::rule::{RuleFields, rules_of, sentence};
use weir_grant::{Capabilities, Capability, Invocation};

use super::suggest::{WithoutRule, networks_given, suggest_for};

/// A rule that a grant lacks.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LackingRule {
    /// The key of the grant's capabilities below which it belongs.
    pub capability: Capability,
    pub rule: Value,
    /// What it allows, in words.
    pub what: String,
    /// The fields that it does not bound: every value is allowed.
    pub any: Vec<&'static str>,
}

impl LackingRule {
    fn new(rule: &RuleFields) -> Self {
        Self {
            capability: rule.capability,
            rule: rule.to_json(),
            what: sentence(rule),
            any: rule.unbounded(),
        }
    }

    /// Returns all that it allows: `change interfaces of kind veth, on the host, whatever the attributes`.
    pub fn allows(&self) -> String {
        let any: Vec<String> = self.any.iter().map(|key| format!("`{key}`")).collect();
        if any.is_empty() {
            return self.what.clone();
        }
        format!("{}, whatever the {}", self.what, joined(any, "and"))
    }

    /// Returns the line of the grant: `- { namespace: host, kinds: [veth], verbs: [read] }`.
    pub fn line(&self) -> String {
        format!("- {}", flow(&self.rule))
    }
}

/// Returns the rules that these capabilities lack for an operation: each is as narrow as the operation, except for what
/// differs from one invocation to the next. None are lacking if the operation is allowed.
///
/// Errors: what no rule can allow.
pub fn lacking_rules(
    operation: &dyn Query,
    invocation: &Invocation,
    capabilities: &Capabilities,
) -> Result<Vec<LackingRule>, Vec<WithoutRule>> {
    let mut needs = operation.needs();
    needs.retain(|need| !need.is_met(capabilities, invocation));
    let needs: Vec<_> = needs.into_iter().map(|need| (need, invocation)).collect();
    let suggested = suggest_for(&needs, &networks_given(operation));
    let suggested = suggested.map_err(|because| {
        let needs = needs.iter();
        let without = needs.map(|(need, _)| WithoutRule {
            need: need.to_string(),
            because: because.clone(),
        });
        without.collect::<Vec<_>>()
    })?;
    if !suggested.without_rule.is_empty() {
        return Err(suggested.without_rule);
    }
    let rules = |capability| {
        let rules = rules_of(&suggested.capabilities, capability).into_iter();
        rules.map(|rule| LackingRule::new(&rule))
    };
    Ok(Capability::ALL.into_iter().flat_map(rules).collect())
}

#[cfg(test)]
mod tests {
    use weir_grant::Decision;
    use weir_grant::operation_names::by_name;

    use super::*;

    fn operation(name: &str, fields: &[(&str, &str)]) -> Box<dyn Query> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let fields: Vec<_> = fields.iter().map(owned).collect();
        by_name(name, &fields).expect("an operation")
    }

    fn invocation() -> Invocation {
        Invocation {
            container_id: "5f3c".to_owned(),
            ifname: "eth0".to_owned(),
            network: "pods".to_owned(),
            ..Invocation::default()
        }
    }

    fn capabilities(text: &str) -> Capabilities {
        serde_json::from_str(text).expect("capabilities")
    }

    /// The grant with the rules added that an operation lacks.
    fn widened(given: &Capabilities, lacking: &[LackingRule]) -> Capabilities {
        let mut json = serde_json::to_value(given).expect("JSON");
        for LackingRule {
            capability, rule, ..
        } in lacking
        {
            let rules = json[capability.word()].take();
            let mut rules = rules.as_array().cloned().unwrap_or_default();
            rules.push(rule.clone());
            json[capability.word()] = rules.into();
        }
        serde_json::from_value(json).expect("capabilities")
    }

    #[test]
    fn the_rule_is_no_wider_than_the_operation() {
        let update = operation(
            "link.update",
            &[
                ("namespace", "container"),
                ("kind", "veth"),
                ("name", "eth0"),
            ],
        );
        let lacking = lacking_rules(&*update, &invocation(), &Capabilities::default());
        let lacking = lacking.expect("a rule can allow it");
        let lines: Vec<_> = lacking.iter().map(LackingRule::line).collect();
        assert_eq!(
            lines,
            [r#"- { namespace: container, kinds: [veth], names: ["{ifname}"], verbs: [update] }"#]
        );
        assert_eq!(lacking[0].capability, Capability::Link);
        assert_eq!(
            lacking[0].allows(),
            "change the attachment's interface, if it is of kind veth, in the container, whatever the `attributes` \
             and `owners`"
        );
    }

    #[test]
    fn with_the_rule_the_gate_allows_it() {
        let add = [
            ("namespace", "container"),
            ("kind", "veth"),
            ("link", "eth0"),
            ("address", "10.1.0.5/24"),
        ];
        for (name, fields) in [
            ("address.add", &add[..]),
            (
                "sysctl.write",
                &[
                    ("namespace", "host"),
                    ("key", "net.ipv4.ip_forward"),
                    ("value", "1"),
                ][..],
            ),
            ("ipam.run", &[("plugin", "static"), ("command", "ADD")][..]),
        ] {
            let (operation, invocation) = (operation(name, fields), invocation());
            let given = capabilities(r#"{ "sysctl": [{ "verbs": ["read"] }] }"#);
            let lacking = lacking_rules(&*operation, &invocation, &given);
            let lacking = lacking.expect("a rule can allow it");
            assert_eq!(lacking.len(), 1, "{name}: {lacking:?}");
            let widened = widened(&given, &lacking);
            let decision = operation.decide(&widened, &invocation);
            assert!(
                matches!(decision, Decision::Allowed { .. }),
                "{name}: {decision:?}"
            );
            let none = lacking_rules(&*operation, &invocation, &widened);
            assert_eq!(none, Ok(Vec::new()), "{name}");
        }
    }

    #[test]
    fn what_no_rule_can_allow_is_an_error() {
        let read = operation("store.read-file", &[("path", "/etc/../etc/shadow")]);
        let lacking = lacking_rules(&*read, &invocation(), &Capabilities::default());
        let without = lacking.expect_err("no rule can allow it");
        assert_eq!(without.len(), 1, "{without:?}");
    }
}
