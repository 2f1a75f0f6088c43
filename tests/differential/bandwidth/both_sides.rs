//! The same calls through both sides: outcomes, disciplines, filters and ifbs must be the same.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::Outcome;

use super::{Attached, alone, both_directions, bridge, nothing_is_shaped, traffic};
use crate::compare::differences;
use crate::normalise;
use crate::side::{Side, Whose, with_previous};
use crate::snapshot::Snapshot;

/// `bridge` with more keys, and `bandwidth` with these.
fn list(of_bridge: Value, keys: Value) -> Value {
    let (mut first, mut second) = (bridge(), keys);
    let more = of_bridge.as_object().cloned().unwrap_or_default();
    first.as_object_mut().expect("an object").extend(more);
    second["type"] = json!("bandwidth");
    json!({"cniVersion": "1.0.0", "name": "net", "plugins": [first, second]})
}

/// What a runtime does with two containers: command, container, and whether it has the result.
const STEPS: [(&str, usize, bool); 12] = [
    ("ADD", 0, false),
    ("CHECK", 0, true),
    ("ADD", 1, false),
    ("CHECK", 0, true),
    ("CHECK", 1, true),
    ("DEL", 0, true),
    ("CHECK", 1, true),
    ("DEL", 0, true),
    ("ADD", 0, false),
    ("DEL", 0, false),
    ("DEL", 1, false),
    ("DEL", 1, false),
];

/// Takes both sides through all steps.
fn compare(list: &Value) -> Result<()> {
    let sides = Side::pair(2)?;
    let mut results: [[Option<Value>; 2]; 2] = Default::default();
    for (number, (command, container, has_result)) in STEPS.into_iter().enumerate() {
        let step = format!("step {number}, {command} of container {container}");
        if command == "CHECK" && has_no_keys(list) {
            continue;
        }
        let mut outcomes = Vec::new();
        for (side, results) in sides.iter().zip(&mut results) {
            let previous = results[container].as_ref().filter(|_| has_result);
            let called = side.call(command, container, &with_previous(list, previous), None)?;
            ensure!(called.succeeded(), "{step}: {:?}: {called:?}", side.whose);
            if command == "ADD" {
                results[container] = Some(called.document());
            }
            outcomes.push(called);
        }
        let normal = |index: usize| normal(&sides[index], &results[index], &outcomes[index], list);
        let differing = differences(&normal(0)?, &normal(1)?);
        ensure!(
            differing.is_empty(),
            "{step}:\n  {}",
            differing.join("\n  ")
        );
    }
    nothing_is_shaped(&traffic(&sides[1].node, &[])?)
}

/// The packaged reference's CHECK panics where no key is there.
fn has_no_keys(list: &Value) -> bool {
    let keys = list["plugins"][1].as_object();
    keys.is_some_and(|keys| keys.len() == 1)
}

/// The outcome of a call and what is there afterwards, as it is compared.
fn normal(
    side: &Side,
    results: &[Option<Value>; 2],
    outcome: &Outcome,
    list: &Value,
) -> Result<Value> {
    let now = Snapshot::take(side)?;
    let name = |result: &Option<Value>| {
        let name = result.as_ref()?["interfaces"][1]["name"].as_str()?;
        Some(name.to_owned())
    };
    let names: Vec<String> = results.iter().filter_map(name).collect();
    let roles = ["{port of one}", "{port of two}"];
    let roles: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(roles).collect();
    Ok(json!({
        "outcome": normalise::outcome(outcome, side, &now, list, ""),
        "traffic": traffic(&side.node, &roles)?,
    }))
}

macro_rules! compared {
    ($($(#[$doc:meta])* $name:ident: $of_bridge:expr, $keys:expr;)+) => {$(
        $(#[$doc])*
        #[test]
        fn $name() -> Result<()> {
            compare(&list($of_bridge, $keys))
        }
    )+};
}

compared! {
    ingress_alone: json!({}), json!({"ingressRate": 100_000_000, "ingressBurst": 1_000_000});
    egress_alone: json!({}), json!({"egressRate": 100_000_000, "egressBurst": 1_000_000});
    both: json!({}), both_directions();
    each_with_a_limit_of_its_own: json!({}), json!({
        "ingressRate": 1_000_000, "ingressBurst": 160_000,
        "egressRate": 40_000_000_000_u64, "egressBurst": 800_000_000,
    });
    the_ifb_has_the_mtu_of_the_port: json!({"mtu": 1400}), both_directions();
    of_the_runtime: json!({}), json!({"runtimeConfig": {"bandwidth": both_directions()}});
    one_key_takes_the_place_of_the_runtimes: json!({}), json!({
        "egressRate": 8_000_000, "egressBurst": 800_000,
        "runtimeConfig": {"bandwidth": both_directions()},
    });
    /// As kubelet's runtimes ask for it.
    a_burst_that_is_none: json!({}), json!({"runtimeConfig": {"bandwidth": {
        "ingressRate": 80_000_000_000_u64, "ingressBurst": 2_147_483_647_u64,
    }}});
    no_limit: json!({}), json!({
        "ingressRate": 0, "ingressBurst": 0, "runtimeConfig": {"bandwidth": both_directions()},
    });
    no_keys: json!({}), json!({});
}

/// Both refuse the same, and weir says which keys.
#[test]
fn limits_that_are_refused() -> Result<()> {
    for (keys, word) in [
        (json!({"ingressRate": 1000}), "ingressRate and ingressBurst"),
        (
            json!({"ingressBurst": 1000}),
            "ingressRate and ingressBurst",
        ),
        (
            json!({"egressRate": 0, "egressBurst": 1000}),
            "egressRate and egressBurst",
        ),
        (
            json!({"egressRate": 1000, "egressBurst": 34_359_738_360_u64}),
            "egressBurst",
        ),
        (json!({"egressRate": -1, "egressBurst": 1000}), "egressRate"),
        (
            json!({"egressRate": "1M", "egressBurst": 1000}),
            "egressRate",
        ),
        (
            json!({"egressRate": 1000, "egressBurst": 1.5}),
            "egressBurst",
        ),
        (
            json!({"runtimeConfig": {"bandwidth": {"egressRate": 8000}}}),
            "runtimeConfig.bandwidth",
        ),
    ] {
        for whose in [Whose::Reference, Whose::Weir] {
            let attached = Attached::to_bridge(whose, keys.clone())?;
            let before = attached.traffic()?;
            let error = attached.call("ADD")?.error();
            ensure!(attached.traffic()? == before, "{whose:?}: {keys}");
            let msg = error["msg"].as_str().context("a message")?;
            let says = error["code"] == 7 && msg.contains(word);
            ensure!(whose == Whose::Reference || says, "{keys}: {error:#}");
        }
    }
    Ok(())
}

/// Neither can shape an interface that has no other end on the host.
#[test]
fn an_interface_that_is_no_veth() -> Result<()> {
    for whose in [Whose::Reference, Whose::Weir] {
        let mut attached = Attached::to_bridge(whose, both_directions())?;
        attached.side.containers[0].ip("link delete eth0")?;
        attached.side.containers[0].ip("link add eth0 type bridge")?;
        let before = traffic(attached.node(), &[])?;
        for previous in [attached.result.clone(), json!({"cniVersion": "1.0.0"})] {
            attached.result = previous;
            let error = attached.call("ADD")?.error();
            let is_known = whose == Whose::Reference || error["code"] == 110;
            ensure!(is_known, "{error:#}");
            assert_eq!(traffic(attached.node(), &[])?, before, "{whose:?}");
        }
    }
    Ok(())
}

/// Neither shapes a veth that the previous result does not name.
#[test]
fn a_previous_result_of_something_else() -> Result<()> {
    for whose in [Whose::Reference, Whose::Weir] {
        let attached = Attached::to_bridge(whose, both_directions())?;
        let before = attached.traffic()?;
        let mut result = attached.result.clone();
        result["interfaces"][1]["name"] = json!("another");
        let config = super::bandwidth(&attached.keys, Some(&result));
        let error = attached.side.call("ADD", 0, &config, None)?.error();
        ensure!(
            whose == Whose::Reference || error["code"] == 110,
            "{error:#}"
        );
        let without = alone(
            json!({"type": "bandwidth", "egressRate": 8000, "egressBurst": 8000}),
            None,
        );
        let error = attached.side.call("ADD", 0, &without, None)?.error();
        ensure!(whose == Whose::Reference || error["code"] == 7, "{error:#}");
        assert_eq!(attached.traffic()?, before, "{whose:?}");
    }
    Ok(())
}
