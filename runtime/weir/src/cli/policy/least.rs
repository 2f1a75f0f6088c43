//! The least rules that would allow a denied operation.

use serde::Serialize;
use serde_json::Value;
use weir_grant::flow::flow;
use weir_grant::phrase::joined;
use weir_grant::query::Query;
use weir_grant::rule::{RuleFields, rules_of, sentence};
use weir_grant::{Capabilities, Capability, Invocation};

use super::suggest::{WithoutRule, least};

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
    let suggested = least(capabilities, operation, invocation);
    let suggested = suggested.map_err(|because| {
        let mut needs = operation.needs();
        needs.retain(|need| !need.is_met(capabilities, invocation));
        let without = needs.iter().map(|need| WithoutRule {
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
    use serde_json::json;
    use weir_grant::Decision;
    use weir_grant::operation_names::{by_name, recorded};

    use super::*;

    fn operation(name: &str, fields: &[(&str, &str)]) -> Box<dyn Query> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let fields: Vec<_> = fields.iter().map(owned).collect();
        by_name(name, &fields).expect("an operation")
    }

    fn invocation() -> Invocation {
        Invocation::new("5f3c", "eth0", "pods")
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

    /// Changes of one member of a record's arguments, by their JSON pointers.
    type OneAway<'a> = &'a [(&'a str, Value)];

    /// Of the least rules for a denied operation under some rules: the lines, once what is another member's value away is
    /// found to be denied.
    fn least_of(given: &str, name: &str, arguments: &Value, away: OneAway<'_>) -> Vec<String> {
        let read = |arguments: &Value| recorded(name, arguments).expect("an operation");
        let (operation, given) = (read(arguments), capabilities(given));
        let is_allowed = |operation: &dyn Query, by: &Capabilities| {
            let decision = operation.decide(by, &invocation());
            matches!(decision, Decision::Allowed { .. })
        };
        assert!(!is_allowed(&*operation, &given), "{name} {arguments}");
        let lacking = lacking_rules(&*operation, &invocation(), &given).expect("rules");
        let widened = widened(&given, &lacking);
        assert!(
            is_allowed(&*operation, &widened),
            "{arguments}: {lacking:?}"
        );
        for (pointer, value) in away {
            let mut other = arguments.clone();
            let (parent, member) = pointer.rsplit_once('/').expect("a pointer");
            other.pointer_mut(parent).expect("a parent")[member] = value.clone();
            let is_other_allowed = is_allowed(&*read(&other), &widened);
            assert!(!is_other_allowed, "{other}: {lacking:?}");
        }
        lacking.iter().map(LackingRule::line).collect()
    }

    /// Checks that this is the least rule that allows the operation where nothing is allowed.
    #[track_caller]
    fn least_is(name: &str, arguments: &Value, away: OneAway<'_>, rule: &str) {
        assert_eq!(least_of("{}", name, arguments, away), [rule]);
    }

    fn bridge() -> Value {
        json!({ "namespace": "host", "index": 7, "name": "cni0", "kind": "bridge", "owner": "pods" })
    }

    #[test]
    fn the_least_rule_allows_nothing_that_is_one_value_away() {
        let update = json!({ "link": bridge(), "mtu": 9000 });
        let away = [
            ("/up", json!(true)),
            ("/link/name", json!("cni1")),
            ("/link/kind", json!("veth")),
            ("/link/owner", json!("")),
            ("/link/namespace", json!("container")),
        ];
        least_is(
            "link.update",
            &update,
            &away,
            "- { namespace: host, kinds: [bridge], names: [cni0], attributes: [mtu], owners: [network], verbs: [update] }",
        );
        let write = json!({ "namespace": "host", "key": "net.ipv4.conf.cni0.forwarding", "value": "1",
                            "owner": "pods 5f3c eth0" });
        let away = [
            ("/value", json!("0")),
            ("/key", json!("net.ipv4.conf.cni0.rp_filter")),
            ("/owner", json!("pods")),
            ("/namespace", json!("container")),
        ];
        least_is(
            "sysctl.write",
            &write,
            &away,
            "- { namespace: host, keys: [net.ipv4.conf.cni0.forwarding], owners: [attachment], values: [\"1\"], verbs: [write] }",
        );
        let overlap = json!({ "destination": "10.9.0.0/16", "link": "cni0", "owner": "pods" });
        let route = json!({ "destination": "10.9.1.0/24", "link": bridge(), "table": 254, "kind": "unicast",
                            "on_link": false });
        let add = json!({ "namespace": "host", "route": route, "overlap": overlap });
        let away = [
            ("/route/destination", json!("10.9.2.0/24")),
            ("/route/table", json!(100)),
            ("/route/link/name", json!("cni1")),
            ("/route/link/owner", json!("other")),
            ("/overlap/owner", json!("")),
            ("/namespace", json!("container")),
        ];
        least_is(
            "route.add",
            &add,
            &away,
            r#"- { namespace: host, links: [cni0], destinations: ["10.9.1.0/24"], overlaps: [network], owners: [network], tables: [254], verbs: [create] }"#,
        );
    }

    /// A transaction in a table of family `ip` on the host.
    fn apply(commands: Value) -> Value {
        json!({ "namespace": "host", "family": "ip", "table": "weir_own", "commands": commands })
    }

    fn chain(hook: &str) -> Value {
        let base =
            json!({ "chain-type": "filter", "hook": hook, "priority": 0, "policy": "accept" });
        json!({ "create-chain": { "name": "c", "base": base } })
    }

    fn rule(statement: Value) -> Value {
        json!({ "append-rule": { "chain": "c", "statements": [statement] } })
    }

    fn mapping(port: u16) -> Value {
        let element = json!({ "key": [6, port], "data": { "values": ["10.0.0.2", 80] } });
        json!({ "create-elements": { "set": "ports4", "elements": [element] } })
    }

    #[test]
    fn the_least_rule_for_packet_filters_allows_what_the_transaction_has() {
        let drop = apply(json!([chain("input"), rule(json!("drop"))]));
        let away = [
            ("/family", json!("inet")),
            ("/commands", json!([chain("forward"), rule(json!("drop"))])),
            ("/commands", json!([chain("input"), rule(json!("reject"))])),
            ("/commands", json!([mapping(8080)])),
            ("/commands", json!([{ "delete-chain": "c" }])),
        ];
        least_is(
            "firewall.apply",
            &drop,
            &away,
            "- { namespace: host, families: [ip], hooks: [input], owners: [], ports: [], statements: [drop], verbs: [write] }",
        );
        let away = [
            ("/commands", json!([mapping(8081)])),
            ("/listening", json!([8080])),
            ("/commands", json!([chain("input")])),
            ("/commands", json!([{ "delete-chain": "c" }])),
        ];
        assert_eq!(
            least_of(
                "{}",
                "firewall.apply",
                &apply(json!([mapping(8080)])),
                &away
            ),
            [
                "- { namespace: host, families: [ip], hooks: [], owners: [], ports: [8080], statements: [], verbs: [write] }"
            ]
        );
        // Of another transaction only whose the element is is missing.
        let key = json!({ "set": "ports4", "elements": [{ "key": [6, 8080] }] });
        let mut delete = apply(json!([{ "delete-elements": key }]));
        least_is(
            "firewall.apply",
            &delete,
            &[("/family", json!("inet"))],
            "- { namespace: host, families: [ip], hooks: [], ports: [], statements: [], verbs: [write] }",
        );
        delete["removed"] = json!(["pods 5f3c eth0"]);
        let away = [
            ("/removed", json!(["pods 5f3c eth1"])),
            ("/removed", json!([""])),
        ];
        least_is(
            "firewall.apply",
            &delete,
            &away,
            "- { namespace: host, families: [ip], hooks: [], owners: [attachment], ports: [], statements: [], verbs: [write] }",
        );
    }

    /// What every hook may reach must be allowed on every hook, those of the grant and those of the new rule.
    #[test]
    fn the_least_rule_allows_a_statement_on_each_hook_that_leads_to_it() {
        let accepting = r#"{ "firewall": [{ "families": ["ip"], "hooks": ["input"], "statements": ["accept", "drop"] }] }"#;
        let regular = json!({ "create-chain": { "name": "c" } });
        let reject = apply(json!([regular, rule(json!("reject"))]));
        assert_eq!(
            least_of(
                accepting,
                "firewall.apply",
                &reject,
                &[("/family", json!("inet"))]
            ),
            [
                "- { namespace: host, families: [ip], hooks: [input], owners: [], ports: [], statements: [reject], verbs: [write] }"
            ]
        );
        let base = json!({ "create-chain": { "name": "b", "base": chain("forward")["create-chain"]["base"] } });
        let drop = apply(json!([base, regular, rule(json!("drop"))]));
        assert_eq!(
            least_of(
                accepting,
                "firewall.apply",
                &drop,
                &[("/family", json!("inet"))]
            ),
            [
                "- { namespace: host, families: [ip], hooks: [forward], owners: [], ports: [], statements: [drop], verbs: [write] }"
            ]
        );
    }

    #[test]
    fn what_no_rule_can_allow_is_an_error() {
        let read = operation("store.read-file", &[("path", "/etc/../etc/shadow")]);
        let lacking = lacking_rules(&*read, &invocation(), &Capabilities::default());
        let without = lacking.expect_err("no rule can allow it");
        assert_eq!(without.len(), 1, "{without:?}");
    }
}
