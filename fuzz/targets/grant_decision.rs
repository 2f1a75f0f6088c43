//! The matching of grants: any rules, and any operation. Default is no; a rule more never forbids; what
//! is said to be the reason is one.

#![no_main]

use arbitrary::{Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use serde_json::{Map, Value};
use weir_grant::query::Query;
use weir_grant::{operation_names, Capabilities, Decision, Invocation};
use weir_fuzz::vocabulary::{OPERATIONS, RULES, Words};

fuzz_target!(|input: &[u8]| {
    let mut input = Unstructured::new(input);
    let _ = decide(&mut input);
});

/// Errors: an input that is too short, which is no finding.
fn decide(input: &mut Unstructured<'_>) -> Result<()> {
    let invocation = Invocation {
        container_id: "c1".to_owned(),
        ifname: word(input, Words::Names)?,
        network: word(input, Words::Names)?,
    };
    let (name, fields) = *input.choose(OPERATIONS)?;
    let mut given = Vec::new();
    for (field, words) in fields {
        given.push(((*field).to_owned(), word(input, *words)?));
    }
    // Not every word is an address, or a link's kind of a new link.
    let Ok(operation) = operation_names::named(name, &given) else {
        return Ok(());
    };
    let rules = rules(input)?;
    let Ok(capabilities) = serde_json::from_value::<Capabilities>(rules.clone().into()) else {
        return Ok(());
    };
    check(&*operation, &invocation, &rules, &capabilities);
    let more = self::rules(input)?;
    if serde_json::from_value::<Capabilities>(more.clone().into()).is_ok() {
        never_forbids(&*operation, &invocation, &capabilities, (rules, more));
    }
    Ok(())
}

/// What holds of one decision.
fn check(
    operation: &dyn Query,
    invocation: &Invocation,
    rules: &Map<String, Value>,
    capabilities: &Capabilities,
) {
    let decision = operation.decide(capabilities, invocation);
    let needs = operation.needs();
    let is_met = |capabilities| needs.iter().all(|n| n.is_met(capabilities, invocation));
    let named = match &decision {
        Decision::Allowed { rules } => rules.clone(),
        Decision::Denied { closest, .. } => {
            closest.iter().map(|closest| closest.rule.clone()).collect()
        }
    };
    assert_eq!(
        matches!(decision, Decision::Allowed { .. }),
        is_met(capabilities)
    );
    for rule in &named {
        assert!(exists(rules, rule), "there is no rule {rule}: {rules:?}");
    }
    let capability = operation.name().split('.').next().unwrap_or_default();
    let has_rules = rules
        .get(capability)
        .is_some_and(|r| r.as_array().is_some_and(|r| !r.is_empty()));
    if !has_rules && !needs.is_empty() {
        let denied = matches!(decision, Decision::Denied { closest: None, .. });
        assert!(denied, "without rules: {decision:?}");
    }
    if let Decision::Denied { closest, .. } = &decision {
        assert_eq!(
            closest.is_some(),
            has_rules,
            "the closest rule: {decision:?}"
        );
    }
}

/// Whether there is a rule as `link[2]`.
fn exists(rules: &Map<String, Value>, text: &str) -> bool {
    let (capability, index) = text.split_once('[').expect("capability[index]");
    let index: usize = index.trim_end_matches(']').parse().expect("a number");
    rules
        .get(capability)
        .is_some_and(|rules| rules.get(index).is_some())
}

/// A rule more, before the others or behind them.
fn never_forbids(
    operation: &dyn Query,
    invocation: &Invocation,
    capabilities: &Capabilities,
    (rules, more): (Map<String, Value>, Map<String, Value>),
) {
    let is_allowed = |rules: &Capabilities| {
        matches!(
            operation.decide(rules, invocation),
            Decision::Allowed { .. }
        )
    };
    if !is_allowed(capabilities) {
        return;
    }
    for [first, second] in [[&rules, &more], [&more, &rules]] {
        let mut both = first.clone();
        for (capability, rules) in second {
            let list = both
                .entry(capability.clone())
                .or_insert_with(|| Value::Array(Vec::new()));
            let list = list.as_array_mut().expect("a list of rules");
            list.extend(rules.as_array().into_iter().flatten().cloned());
        }
        let both = serde_json::from_value(both.into()).expect("each of the two was valid");
        assert!(
            is_allowed(&both),
            "{} with more rules: {both:?}",
            operation.name()
        );
    }
}

/// Up to three rules for each of some capabilities.
fn rules(input: &mut Unstructured<'_>) -> Result<Map<String, Value>> {
    let mut all = Map::new();
    for _ in 0..input.int_in_range(0..=3)? {
        let (capability, fields) = *input.choose(RULES)?;
        let mut list = Vec::new();
        for _ in 0..input.int_in_range(0..=3)? {
            let mut rule = Map::new();
            for (key, words) in fields {
                if input.arbitrary()? {
                    rule.insert((*key).to_owned(), value(input, *words)?);
                }
            }
            list.push(Value::Object(rule));
        }
        all.insert(capability.to_owned(), list.into());
    }
    if input.arbitrary()? {
        all.insert("ipam".to_owned(), list(input, Words::Plugins)?);
    }
    Ok(all)
}

/// A namespace is one, and everything else a list.
fn value(input: &mut Unstructured<'_>, words: Words) -> Result<Value> {
    match words {
        Words::Namespaces => word(input, words).map(Value::from),
        _ => list(input, words),
    }
}

fn list(input: &mut Unstructured<'_>, words: Words) -> Result<Value> {
    let mut list = Vec::new();
    for _ in 0..input.int_in_range(0..=3)? {
        let word = word(input, words)?;
        list.push(match words {
            Words::Tables => word.parse::<u32>().map_or(Value::Null, Value::from),
            _ => Value::from(word),
        });
    }
    Ok(list.into())
}

/// A usual word, or any text where that can be one.
fn word(input: &mut Unstructured<'_>, words: Words) -> Result<String> {
    match words.are_free() && input.ratio(1, 4)? {
        true => input.arbitrary(),
        false => input.choose(words.usual()).map(|word| (*word).to_owned()),
    }
}
