//! The matching of grants: any rules, and any operation. Default is no; a rule more never forbids; what
//! is reported as the reason is one.

use arbitrary::{Result, Unstructured};
use weir_grant::query::Query;
use weir_grant::rule::{RuleFields, capabilities, rules_of};
use weir_grant::{Capabilities, Capability, Decision, HostInterfaces, Invocation, operation_names};
use weir_kit::examples::{self, Chance};

/// Operations in which some fields may be any text, with these fields.
const OF_ANY_TEXT: [(&str, &[&str]); 4] = [
    ("link.create", &["name"]),
    ("firewalld.add-source", &["zone"]),
    ("sysctl.write", &["key", "value"]),
    ("store.get", &["directory"]),
];

/// What else those need.
const BESIDES: [(&str, &str, &str); 4] = [
    ("link.create", "namespace", "host"),
    ("link.create", "kind", "dummy"),
    ("firewalld.add-source", "source", "10.1.2.3"),
    ("sysctl.write", "namespace", "container"),
];

/// One input.
pub fn check(input: &[u8]) {
    let mut input = Unstructured::new(input);
    let _ = decide(&mut input);
}

/// Errors: an input that is too short, which is not a finding.
fn decide(input: &mut Unstructured<'_>) -> Result<()> {
    let invocation = Invocation {
        container_id: "c1".to_owned(),
        ifname: name(input)?,
        network: name(input)?,
        host_interfaces: HostInterfaces::read([name(input)?]).unwrap_or_default(),
    };
    // Not every text is an address, or a link's kind of a new link.
    let Some(operation) = operation(input)? else {
        return Ok(());
    };
    let rules = rules(input)?;
    let Ok(granted) = capabilities(&rules) else {
        return Ok(());
    };
    compare(&*operation, &invocation, &granted);
    let more = self::rules(input)?;
    if capabilities(&more).is_ok() {
        never_forbids(&*operation, &invocation, &granted, [rules, more]);
    }
    Ok(())
}

/// What holds of one decision.
fn compare(operation: &dyn Query, invocation: &Invocation, granted: &Capabilities) {
    let decision = operation.decide(granted, invocation);
    let needs = operation.needs();
    let is_met = needs.iter().all(|need| need.is_met(granted, invocation));
    assert_eq!(matches!(decision, Decision::Allowed { .. }), is_met);
    let named = match &decision {
        Decision::Allowed { rules } => rules.clone(),
        Decision::Denied { closest, .. } => closest.iter().map(|c| c.rule.clone()).collect(),
    };
    for rule in &named {
        assert!(
            exists(granted, rule),
            "there is no rule {rule}: {granted:?}"
        );
    }
    let word = operation.name().split('.').next().unwrap_or_default();
    let capability = Capability::from_word(word).expect("an operation is of a capability");
    let has_rules = !rules_of(granted, capability).is_empty();
    if let Decision::Denied { closest, .. } = &decision {
        assert_eq!(
            closest.is_some(),
            has_rules,
            "the closest rule: {decision:?}"
        );
    } else {
        assert!(has_rules || needs.is_empty(), "without rules: {decision:?}");
    }
}

/// Whether there is a rule as `link[2]`.
fn exists(granted: &Capabilities, text: &str) -> bool {
    let (word, index) = text.split_once('[').expect("capability[index]");
    let index: usize = index.trim_end_matches(']').parse().expect("a number");
    Capability::from_word(word).is_some_and(|of| index < rules_of(granted, of).len())
}

/// A rule more, before the others or behind them.
fn never_forbids(
    operation: &dyn Query,
    invocation: &Invocation,
    granted: &Capabilities,
    [rules, more]: [Vec<RuleFields>; 2],
) {
    let is_allowed = |granted: &Capabilities| {
        let decision = operation.decide(granted, invocation);
        matches!(decision, Decision::Allowed { .. })
    };
    if !is_allowed(granted) {
        return;
    }
    for both in [[&*rules, &more].concat(), [&*more, &rules].concat()] {
        let both = capabilities(&both).expect("each of the two was valid");
        let name = operation.name();
        assert!(is_allowed(&both), "{name} with more rules: {both:?}");
    }
}

/// An operation that some capability has, or one of any text.
fn operation(input: &mut Unstructured<'_>) -> Result<Option<Box<dyn Query>>> {
    if !input.ratio(1, 4)? {
        let capability = *input.choose(&Capability::ALL)?;
        return Ok(examples::operation(&mut chance(input), capability));
    }
    let (name, fields) = *input.choose(&OF_ANY_TEXT)?;
    let besides = BESIDES.iter().filter(|(of, _, _)| *of == name);
    let mut given: Vec<(String, String)> = besides
        .map(|(_, field, value)| ((*field).to_owned(), (*value).to_owned()))
        .collect();
    for field in fields {
        given.push(((*field).to_owned(), input.arbitrary()?));
    }
    Ok(operation_names::by_name(name, &given).ok())
}

/// Up to three rules for each of some capabilities, some with any text in a field.
fn rules(input: &mut Unstructured<'_>) -> Result<Vec<RuleFields>> {
    let mut all = Vec::new();
    for _ in 0..input.int_in_range(0..=3)? {
        let capability = *input.choose(&Capability::ALL)?;
        all.extend(examples::rules(&mut chance(input), capability));
    }
    for rule in &mut all {
        for texts in rule.fields.values_mut() {
            if input.ratio(1, 8)? {
                texts.insert(input.arbitrary()?);
            }
        }
    }
    Ok(all)
}

/// An input that has come to its end chooses the first of all.
fn chance<'c>(input: &'c mut Unstructured<'_>) -> impl Chance + 'c {
    move |count: usize| input.choose_index(count).unwrap_or_default()
}

fn name(input: &mut Unstructured<'_>) -> Result<String> {
    const USUAL: [&str; 6] = ["eth0", "veth1", "cni0", "lo", "", "{ifname}"];
    if input.ratio(1, 4)? {
        return input.arbitrary();
    }
    input.choose(&USUAL).map(|name| (*name).to_owned())
}
