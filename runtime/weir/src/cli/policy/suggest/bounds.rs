//! The bounds of the grants under which something was recorded: a suggestion has them as well.

use weir_grant::rule::{RuleFields, merge, rules_of};
use weir_grant::{Capabilities, Capability};

/// The same rules as far as one of these grants allows them. What none allows stays as it is: it was denied.
pub(super) fn bounded(rules: &[RuleFields], within: &[&Capabilities]) -> Vec<RuleFields> {
    let all = Capability::ALL.into_iter();
    let of_all = |capability| within.iter().flat_map(move |one| rules_of(one, capability));
    let bounds: Vec<RuleFields> = all.flat_map(of_all).collect();
    let bounded = |rule| bounded_by(rule, &bounds);
    merge(rules.iter().flat_map(bounded).collect())
}

fn bounded_by(rule: &RuleFields, bounds: &[RuleFields]) -> Vec<RuleFields> {
    let within = |part: &RuleFields| {
        let common = bounds.iter().filter_map(|bound| bound.in_common_with(part));
        // What the rule is split by is bounded in its other parts.
        let is_of_part = |key: &String| part.get(key).is_some() || rule.get(key).is_none();
        let common = common.map(|mut one| {
            one.fields.retain(|key, _| is_of_part(key));
            // Of two globs that overlap, neither may be the narrower one.
            if !part.covers(&one) {
                one.fields.extend(part.fields.clone());
            }
            one
        });
        common.collect::<Vec<RuleFields>>()
    };
    let parts = rule.split().into_iter().map(|part| (within(&part), part));
    let parts: Vec<(Vec<RuleFields>, RuleFields)> = parts.collect();
    let is_whole =
        |(within, part): &(Vec<RuleFields>, RuleFields)| within.is_empty() || within.contains(part);
    if parts.iter().all(is_whole) {
        return vec![rule.clone()];
    }
    let bounded = |(within, part): (Vec<RuleFields>, RuleFields)| {
        if within.is_empty() {
            vec![part]
        } else {
            within
        }
    };
    parts.into_iter().flat_map(bounded).collect()
}

#[cfg(test)]
mod tests {
    use weir_grant::rule::capabilities;

    use super::*;

    #[test]
    fn a_suggestion_has_the_bounds_of_the_grant() {
        let rules = |text: &str| -> Capabilities {
            serde_json::from_str(text).unwrap_or_else(|why| panic!("{why}: {text}"))
        };
        let bounded = |suggested: &str, within: &str| {
            let suggested = rules(suggested);
            let all = Capability::ALL.into_iter();
            let all: Vec<RuleFields> = all.flat_map(|c| rules_of(&suggested, c)).collect();
            let bounded = capabilities(&bounded(&all, &[&rules(within)])).expect("rules");
            serde_json::to_value(bounded).expect("JSON")
        };
        let as_json = |text: &str| serde_json::to_value(rules(text)).expect("JSON");
        for (suggested, within, expected) in [
            (
                r#"{"link": [{"namespace": "host", "kinds": ["veth"], "names": ["nic0"], "verbs": ["update", "delete"]}]}"#,
                r#"{"link": [{"namespace": "host", "attributes": ["ports"], "owners": ["network"]}]}"#,
                r#"{"link": [{"namespace": "host", "kinds": ["veth"], "names": ["nic0"],
                              "owners": ["network"], "verbs": ["delete"]},
                             {"namespace": "host", "kinds": ["veth"], "names": ["nic0"], "attributes": ["ports"],
                              "owners": ["network"], "verbs": ["update"]}]}"#,
            ),
            (
                r#"{"firewall": [{"namespace": "host", "families": ["inet"], "hooks": ["output"], "statements": ["dnat"],
                                  "verbs": ["write"]}]}"#,
                r#"{"firewall": [{"families": ["inet"], "hooks": ["output", "input"], "statements": ["dnat", "drop"],
                                  "ports": ["80-90"]}]}"#,
                r#"{"firewall": [{"namespace": "host", "families": ["inet"], "hooks": ["output"], "statements": ["dnat"],
                                  "ports": ["80-90"], "verbs": ["write"]}]}"#,
            ),
            (
                r#"{"sysctl": [{"namespace": "container", "keys": ["net.ipv4.conf.all.log_martians"], "values": ["1"],
                                "verbs": ["write"]}]}"#,
                r#"{"sysctl": [{"namespace": "container", "keys": ["net.*.*", "net.*.*.*", "net.*.*.*.*"]}]}"#,
                r#"{"sysctl": [{"namespace": "container", "keys": ["net.ipv4.conf.all.log_martians"], "values": ["1"],
                                "verbs": ["write"]}]}"#,
            ),
            (
                r#"{"link": [{"namespace": "host", "kinds": ["veth"], "names": ["veth*"], "verbs": ["delete"]}]}"#,
                r#"{"link": [{"namespace": "host", "names": ["*0"], "owners": ["network"]}]}"#,
                r#"{"link": [{"namespace": "host", "kinds": ["veth"], "names": ["veth*"], "owners": ["network"],
                              "verbs": ["delete"]}]}"#,
            ),
            (
                r#"{"sysctl": [{"namespace": "host", "keys": ["net.ipv4.ip_forward"], "verbs": ["write"]}]}"#,
                r#"{"sysctl": [{"namespace": "container"}]}"#,
                r#"{"sysctl": [{"namespace": "host", "keys": ["net.ipv4.ip_forward"], "verbs": ["write"]}]}"#,
            ),
        ] {
            assert_eq!(bounded(suggested, within), as_json(expected), "{suggested}");
            assert_eq!(bounded(suggested, "{}"), as_json(suggested));
        }
    }
}
