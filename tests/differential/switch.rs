//! A node that changes from the reference to weir, or back, with containers running.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Node, State};

use crate::side::{Side, Whose, with_previous};

use Whose::{Reference, Weir};

/// A bridge of a gateway for both families. Every key that leaves something on the host is set,
/// but for rules: each side has them in tables of its own.
fn config(extra: Value) -> Value {
    let mut config = json!({
        "cniVersion": "1.0.0", "name": "net", "type": "bridge", "bridge": "br",
        "isDefaultGateway": true,
        "ipam": {
            "type": "host-local",
            "ranges": [[{"subnet": "10.1.0.0/28"}], [{"subnet": "fd00:1::/64"}]],
            "dataDir": "/var/lib/cni/networks",
        },
    });
    let keys = extra.as_object().expect("an object").clone();
    config.as_object_mut().expect("an object").extend(keys);
    config
}

/// What one side attached, checked and deleted by the other.
fn hand_over(from: Whose, to: Whose, config: &Value, with_prev: bool) -> Result<()> {
    let side = Side::create(from, 2)?;
    // What a bridge's first use leaves is there already.
    side.call_of(from, "ADD", 1, config, None)?.result();
    side.call_of(from, "DEL", 1, config, None)?;
    let before = left(&side.node)?;
    let result = side.call_of(from, "ADD", 0, config, None)?.result();
    let known = with_previous(config, Some(&result));
    let checked = side.call_of(to, "CHECK", 0, &known, None)?;
    ensure!(
        checked.succeeded(),
        "CHECK by {to:?} of what {from:?} attached: {checked:?}"
    );
    let known = if with_prev { &known } else { config };
    let deleted = side.call_of(to, "DEL", 0, known, None)?;
    // The reference's DEL fails once where its own chain is not there, after it has deleted the
    // interface and released the addresses; a runtime repeats it.
    let may_fail = to == Reference && deleted.stdout.contains("iptables");
    ensure!(
        deleted.succeeded() || may_fail,
        "DEL by {to:?} of {from:?}'s: {deleted:?}"
    );
    let again = side.call_of(to, "DEL", 0, known, None)?;
    ensure!(
        again.succeeded(),
        "DEL again by {to:?} of {from:?}'s: {again:?}"
    );
    let after = left(&side.node)?;
    ensure!(before == after, "left behind:\n{before:#?}\n{after:#?}");
    ensure!(
        side.node.taken("net").is_empty(),
        "{:?}",
        side.node.taken("net")
    );
    Ok(())
}

/// What is on a node, without rules: each side's stay in its own tables.
fn left(node: &Node) -> Result<State> {
    Ok(State {
        nftables: Vec::new(),
        ..State::of(node)?
    })
}

macro_rules! hand_overs {
    ($($name:ident: $from:ident, $to:ident, $keys:expr, $with_previous:expr;)+) => {$(
        #[test]
        fn $name() {
            hand_over($from, $to, &config($keys), $with_previous).expect(stringify!($name));
        }
    )+};
}

hand_overs! {
    weir_checks_and_deletes_what_the_reference_attached: Reference, Weir, json!({}), true;
    the_reference_checks_and_deletes_what_weir_attached: Weir, Reference, json!({}), true;
    weir_deletes_without_a_previous_result: Reference, Weir, json!({}), false;
    the_reference_deletes_without_a_previous_result: Weir, Reference, json!({}), false;
    weir_deletes_what_the_reference_masqueraded_and_checked:
        Reference, Weir, json!({"ipMasq": true, "macspoofchk": true}), true;
    the_reference_deletes_what_weir_masqueraded:
        Weir, Reference, json!({"ipMasq": true}), true;
}

/// The address of each family that a result has.
fn addresses(result: &Value) -> Result<Vec<String>> {
    let ips = result["ips"].as_array().context("a result has ips")?.iter();
    ips.map(|ip| Ok(ip["address"].as_str().context("an address")?.to_owned()))
        .collect()
}

/// Both hand out addresses from one directory until there is none, and no address comes twice.
#[test]
fn adds_in_turn_never_give_an_address_twice() -> Result<()> {
    // 10.1.0.0/28 has 14 addresses, one of which is the gateway's.
    let side = Side::create(Weir, 14)?;
    let config = config(json!({}));
    let mut given = BTreeSet::new();
    let mut turn = [Weir, Reference].into_iter().cycle();
    for container in 0..13 {
        let whose = turn.next().context("a cycle has no end")?;
        let result = side
            .call_of(whose, "ADD", container, &config, None)?
            .result();
        for address in addresses(&result)? {
            ensure!(
                given.insert(address.clone()),
                "{whose:?} gave {address} again"
            );
        }
    }
    ensure!(
        given.len() == 26,
        "an address of each family for each container: {given:?}"
    );
    for whose in [Weir, Reference] {
        side.call_of(whose, "ADD", 13, &config, None)?.error();
    }
    // Each releases what the other gave as well.
    for container in 0..13 {
        let whose = turn.next().context("a cycle has no end")?;
        let deleted = side.call_of(whose, "DEL", container, &config, None)?;
        ensure!(deleted.succeeded(), "DEL by {whose:?}: {deleted:?}");
    }
    ensure!(
        side.node.taken("net").is_empty(),
        "{:?}",
        side.node.taken("net")
    );
    Ok(())
}

/// The round goes on where the other one was.
#[test]
fn the_round_goes_on_where_the_other_was() -> Result<()> {
    let side = Side::create(Weir, 1)?;
    let config = config(json!({}));
    let mut last = None;
    for turn in 0..13 {
        let whose = if turn % 2 == 0 { Weir } else { Reference };
        let result = side.call_of(whose, "ADD", 0, &config, None)?.result();
        let address = addresses(&result)?.remove(0);
        let expected = format!("10.1.0.{}/28", turn + 2);
        ensure!(
            address == expected,
            "{whose:?} gave {address} after {last:?}"
        );
        last = Some(address);
        side.call_of(whose, "DEL", 0, &config, None)?;
    }
    Ok(())
}

/// Both at the same time, with the same lock.
#[test]
fn adds_at_the_same_time_never_give_an_address_twice() -> Result<()> {
    let side = Side::create(Weir, 12)?;
    let mut config = config(json!({}));
    config["type"] = json!("host-local");
    let results: Vec<Result<Value>> = std::thread::scope(|scope| {
        let (side, config) = (&side, &config);
        let calls = (0..12).map(|container| {
            let whose = if container % 2 == 0 { Weir } else { Reference };
            scope.spawn(move || {
                Ok(side
                    .call_of(whose, "ADD", container, config, None)?
                    .result())
            })
        });
        let calls: Vec<_> = calls.collect();
        calls
            .into_iter()
            .map(|call| call.join().expect("a call"))
            .collect()
    });
    let mut given = BTreeSet::new();
    for result in results {
        for address in addresses(&result?)? {
            ensure!(given.insert(address.clone()), "{address} was given twice");
        }
    }
    ensure!(given.len() == 24, "{given:?}");
    Ok(())
}
