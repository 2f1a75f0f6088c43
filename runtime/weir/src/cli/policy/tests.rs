//! What holds of the tools' answers, whatever the grant: tried with rules and operations by chance.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};
use weir_grant::field::{Field, Seen};
use weir_grant::firewall::Subject;
use weir_grant::query::{Need, Query};
use weir_grant::rule::{Bounds, Draft, Facts, RuleFields, capabilities, rules_of};
use weir_grant::{Capabilities, Capability, Decision, Document, HostInterfaces, Invocation};
use weir_kit::examples::{Chance, Seeded, one_field_away, operations, rules};

use super::compare::{Change, compare};
use super::lint::remarks;
use super::suggest::{Recorded, Suggested, least, suggest};

/// Tries of each capability.
const TRIES: u64 = 400;

fn invocation() -> Invocation {
    Invocation {
        container_id: "c1".to_owned(),
        ifname: "eth0".to_owned(),
        network: "blue".to_owned(),
        host_interfaces: HostInterfaces::read(["eth1", "veth*"]).expect("a list"),
    }
}

/// Tries of each capability that compare two grants, which takes longer.
const COMPARISONS: u64 = 100;

/// Tries something with each capability that has rules.
fn each_try(try_with: impl Fn(&mut Seeded, Capability)) {
    each_of(TRIES, try_with);
}

fn each_of(tries: u64, try_with: impl Fn(&mut Seeded, Capability)) {
    for capability in Capability::ALL {
        let seeds = (0..tries).filter(|_| capability != Capability::Log);
        seeds.for_each(|seed| try_with(&mut Seeded::new(seed + 1), capability));
    }
}

/// Rules by chance, without empty lists, which match only what has nothing for their field.
fn grant(chance: &mut dyn Chance, capability: Capability) -> Capabilities {
    let mut rules = rules(chance, capability);
    rules.retain(|rule| rule.fields.values().all(|values| !values.is_empty()));
    capabilities(&rules).unwrap_or_else(|why| panic!("{rules:?}: {why}"))
}

fn grant_with_empty_lists(chance: &mut dyn Chance, capability: Capability) -> Capabilities {
    let rules = rules(chance, capability);
    capabilities(&rules).unwrap_or_else(|why| panic!("{rules:?}: {why}"))
}

/// A document with this in its `spec`, for every network unless it names some.
pub(super) fn document_of(spec: &str) -> Document {
    let networks = if spec.contains("networks") {
        ""
    } else {
        "networks: ['*'], "
    };
    let text = format!(
        "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: {{ name: a }}\n\
         spec: {{ plugin: {{ name: a }}, {networks}{spec} }}\n"
    );
    serde_saphyr::from_str(&text).expect("a grant")
}

fn document(capabilities: &Capabilities) -> Document {
    let capabilities = serde_json::to_value(capabilities).expect("JSON");
    let document = serde_json::json!({
        "apiVersion": "weir.dev/v1alpha1", "kind": "PluginGrant", "metadata": { "name": "a" },
        "spec": { "plugin": { "name": "a" }, "networks": ["*"], "capabilities": capabilities },
    });
    serde_json::from_value(document).expect("a grant")
}

fn is_allowed(operation: &dyn Query, grant: &Capabilities) -> bool {
    let decision = operation.decide(grant, &invocation());
    matches!(decision, Decision::Allowed { .. })
}

/// Whether it depends on the hooks of the whole grant: a statement in a chain that every hook may lead to.
fn is_anywhere(operation: &dyn Query) -> bool {
    operation.needs().iter().any(|need| {
        let Need::Firewall(r) = need else {
            return false;
        };
        matches!(r.subject, Subject::Statement { hook: None, .. })
    })
}

#[test]
fn what_no_comparison_calls_possible_is_not() {
    let is_one_compared = Cell::new(0);
    each_of(COMPARISONS, |chance, capability| {
        let (first, second) = (
            grant_with_empty_lists(chance, capability),
            grant_with_empty_lists(chance, capability),
        );
        if !compare(&document(&first), &document(&second))
            .possible
            .is_empty()
        {
            return;
        }
        for operation in operations(chance, capability, 20) {
            let only_second = is_allowed(&*operation, &second) && !is_allowed(&*operation, &first);
            let name = operation.name();
            assert!(
                !only_second,
                "{name} {}: {first:?} and {second:?}",
                operation.arguments()
            );
            is_one_compared.set(is_one_compared.get() + 1);
        }
    });
    assert!(is_one_compared.get() > 1000, "{}", is_one_compared.get());
}

/// What the gate allows is among what may be allowed, and what may be without a bound the gate allows.
#[test]
fn what_may_be_allowed_is_what_the_gate_allows() {
    let (allowed, unbounded) = (Cell::new(0), Cell::new(0));
    each_try(|chance, capability| {
        let grant = grant(chance, capability);
        let rules = rules_of(&grant, capability);
        for operation in operations(chance, capability, 20) {
            let told = || format!("{} {}: {grant:?}", operation.name(), operation.arguments());
            let needs = operation.needs();
            let facts: Vec<Facts> = needs.iter().flat_map(|need| need.facts(&grant)).collect();
            let bounds = |facts: &Facts| -> Vec<Bounds> {
                rules
                    .iter()
                    .filter_map(|rule| rule.bounds_for(facts))
                    .collect()
            };
            let bounds: Vec<Vec<Bounds>> = facts.iter().map(bounds).collect();
            if is_allowed(&*operation, &grant) {
                assert!(bounds.iter().all(|all| !all.is_empty()), "{}", told());
                allowed.set(allowed.get() + 1);
            }
            if bounds.iter().all(|all| all.iter().any(Bounds::is_empty)) {
                assert!(is_allowed(&*operation, &grant), "{}", told());
                unbounded.set(unbounded.get() + 1);
            }
        }
    });
    let (allowed, unbounded) = (allowed.get(), unbounded.get());
    assert!(allowed > 1000 && unbounded > 1000, "{allowed} {unbounded}");
}

/// Whether an operation has nothing for a field, such as the kind of a link that is not there, so that every rule allows
/// it; or needs no rule.
fn is_open(operation: &dyn Query) -> bool {
    let seen = Seen {
        invocation: &invocation(),
        networks: &[],
        is_least: false,
    };
    let needs = operation.needs();
    let mut drafts = needs.iter().map(|need| need.draft(&seen));
    needs.is_empty()
        || drafts.any(|Draft { rule, open, .. }| {
            let verbs = rule.verbs();
            let applies = |field: &Field| verbs.iter().any(|verb| field.is_for(*verb));
            let mut fields = rule.described().iter();
            fields.any(|field| open.contains(field.key) && applies(field))
        })
}

/// What a comparison calls new is allowed by the second grant alone.
#[test]
fn what_a_comparison_calls_wholly_new_was_not_allowed() {
    let compared = std::cell::Cell::new(0);
    each_of(COMPARISONS, |chance, capability| {
        // A rule about chains allows their table as well.
        if capability == Capability::Firewall {
            return;
        }
        let (first, second) = (grant(chance, capability), grant(chance, capability));
        let found = compare(&document(&first), &document(&second)).possible;
        let is_new = |change: &&Change| change.certain && change.other_allows.is_empty();
        let new = found
            .into_iter()
            .filter(|change| is_new(&change) && !change.rule.is_null());
        for change in new {
            let rule = serde_json::json!({ capability.word(): [change.rule] });
            let rule: Capabilities = serde_json::from_value(rule).expect("a rule");
            for operation in operations(chance, capability, 20) {
                let is_both = !is_open(&*operation)
                    && is_allowed(&*operation, &rule)
                    && is_allowed(&*operation, &first);
                let name = operation.name();
                assert!(
                    !is_both,
                    "{name} {} by {}: {first:?}",
                    operation.arguments(),
                    change.what
                );
                compared.set(compared.get() + 1);
            }
        }
    });
    assert!(compared.get() > 1000, "{}", compared.get());
}

#[test]
fn a_rule_with_no_effect_can_be_taken_out() {
    each_try(|chance, capability| {
        let rules = rules(chance, capability);
        let whole = capabilities(&rules).expect("rules");
        let covered = remarks(&document(&whole), true).into_iter().find(|remark| {
            remark.code == "no-effect" && remark.text.ends_with("allows all that it allows")
        });
        let name = covered.and_then(|remark| remark.rule);
        let Some(index) =
            name.and_then(|name| name[..name.len() - 1].split_once('[')?.1.parse().ok())
        else {
            return;
        };
        let mut rest = rules.clone();
        rest.remove(index);
        let rest = capabilities(&rest).expect("rules");
        let all = operations(chance, capability, 20).into_iter();
        for operation in all.filter(|operation| !is_anywhere(&**operation)) {
            assert_eq!(
                is_allowed(&*operation, &whole),
                is_allowed(&*operation, &rest),
                "{} {}: without {index} of {rules:?}",
                operation.name(),
                operation.arguments()
            );
        }
    });
}

/// An operation, and the rules that are made from it: as `weir grants suggest` does, or the least.
struct Made {
    operation: Box<dyn Query>,
    capabilities: Capabilities,
    rules: Vec<RuleFields>,
    /// Whether rules for some other operations allow it, whatever they bound.
    is_open: bool,
}

impl Made {
    /// None if no rule can allow the operation.
    fn of(operation: Box<dyn Query>, capability: Capability, is_least: bool) -> Option<Self> {
        let recorded = [Recorded {
            invocation: invocation(),
            operation,
        }];
        let suggested = if is_least {
            least(
                &Capabilities::default(),
                &*recorded[0].operation,
                &invocation(),
            )
        } else {
            suggest(&recorded, &[], &[])
        };
        let Suggested {
            capabilities,
            without_rule,
        } = suggested.expect("rules");
        let [Recorded { operation, .. }] = recorded;
        without_rule.is_empty().then(|| Self {
            is_open: is_open(&*operation) || changes_nothing(&*operation),
            rules: rules_of(&capabilities, capability),
            operation,
            capabilities,
        })
    }

    fn covers(&self, other: &Self) -> bool {
        let mut parts = other.rules.iter().flat_map(RuleFields::split);
        parts.all(|part| self.rules.iter().any(|rule| rule.covers(&part)))
    }

    /// The field by which the rules deny another operation; none if they need not.
    fn missed_by(&self, other: &Self) -> Option<String> {
        if self.is_open || other.is_open || self.covers(other) {
            return None;
        }
        match other.operation.decide(&self.capabilities, &invocation()) {
            Decision::Denied {
                closest: Some(closest),
                ..
            } => Some(closest.field),
            decision => panic!(
                "{decision:?}: {other}, by what is made from {self}: {:?}",
                self.rules
            ),
        }
    }
}

impl fmt::Display for Made {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {}",
            self.operation.name(),
            self.operation.arguments()
        )
    }
}

/// An update without attributes, which every rule for updates of the link allows.
fn changes_nothing(operation: &dyn Query) -> bool {
    let is_only_link = |arguments: &Map<String, Value>| arguments.keys().eq(["link"]);
    operation.name() == "link.update" && operation.arguments().as_object().is_some_and(is_only_link)
}

/// Rules that are made from an operation allow it. They deny every other one whose own rules they do not cover, such as
/// those that differ in one field, and name a field that differs. Each field of each capability is such a field.
#[test]
fn what_is_made_from_an_operation_denies_what_is_one_field_away() {
    let missed = RefCell::new(BTreeSet::new());
    each_of(COMPARISONS, |chance, capability| {
        let is_least = chance.below(2) == 0;
        let Some((operation, others)) = one_field_away(chance, capability) else {
            return;
        };
        let Some(made) = Made::of(operation, capability, is_least) else {
            return;
        };
        assert!(
            is_allowed(&*made.operation, &made.capabilities),
            "{made}: {:?}",
            made.rules
        );
        let others = others.into_iter();
        for other in others.filter_map(|other| Made::of(other, capability, is_least)) {
            let Some(field) = made.missed_by(&other) else {
                continue;
            };
            if let ([own], [theirs]) = (&made.rules[..], &other.rules[..]) {
                assert_ne!(
                    own.get(&field),
                    theirs.get(&field),
                    "{field}: {made}, {other}"
                );
            }
            missed.borrow_mut().insert((capability.word(), field));
        }
    });
    assert_eq!(missed.into_inner(), fields_that_can_be_missed());
}

/// The fields of rules for which operations that a person can name differ.
fn fields_that_can_be_missed() -> BTreeSet<(&'static str, String)> {
    // weir finds these out before it asks the gate.
    let found_out = [
        ("address", "overlaps"),
        ("route", "overlaps"),
        ("firewall", "owners"),
        ("firewall", "ports"),
    ];
    let implemented = Capability::ALL.into_iter().filter(|c| c.is_implemented());
    let described = implemented.filter_map(|c| Some((c.word(), c.description()?)));
    let fields = described.flat_map(|(word, description)| {
        let is_one_verb = description.verbs.len() == 1;
        let keys = description.fields.iter().map(|field| field.key);
        let keys = keys.filter(move |key| !(is_one_verb && *key == "verbs"));
        keys.map(move |key| (word, key))
    });
    let fields = fields.filter(|field| !found_out.contains(field));
    fields.map(|(word, key)| (word, key.to_owned())).collect()
}
