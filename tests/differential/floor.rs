//! The floor of the figures (`tests/floor`) makes what weir makes: the same kernel state, lease and result.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::case::{Case, wait_for};
use crate::compare::differences;
use crate::normalise;
use crate::over::over_eth1;
use crate::side::{Side, Whose, with_previous};
use crate::snapshot::Snapshot;

const DEFAULT_ROUTE: &str = "0.0.0.0/0";

/// Addresses of host-local, as the floor reads them.
fn leases() -> Value {
    json!({
        "type": "host-local",
        "ranges": [[{"subnet": "10.1.0.0/24"}]],
        "routes": [{"dst": DEFAULT_ROUTE}],
    })
}

/// Attaches and detaches a container with the floor and with weir.
fn compare(case: &Case) -> Result<()> {
    let sides = [
        Side::create(Whose::Floor, 1)?,
        Side::create(Whose::Weir, 1)?,
    ];
    sides.iter().try_for_each(|side| case.prepare(side))?;
    let mut results = [None, None];
    for command in ["ADD", "CHECK", "DEL"] {
        let called = call(case, &sides, command, &results);
        let documents = called.with_context(|| command)?;
        if command == "ADD" {
            results = documents.map(Some);
        }
    }
    Ok(())
}

/// One call on both sides, which must come to the same. Returns the results.
fn call(
    case: &Case,
    sides: &[Side; 2],
    command: &str,
    previous: &[Option<Value>; 2],
) -> Result<[Value; 2]> {
    let (mut outcomes, mut documents) = (Vec::new(), [Value::Null, Value::Null]);
    for (place, side) in sides.iter().enumerate() {
        let config = with_previous(&case.config_of(0), previous[place].as_ref());
        let outcome = side.call(command, 0, &config, None)?;
        ensure!(outcome.succeeded(), "{:?}: {outcome:?}", side.whose);
        documents[place] = outcome.document();
        let (now, requested) = (Snapshot::take(side)?, case.requested());
        outcomes.push(normalise::outcome(
            &outcome, side, &now, &config, &requested,
        ));
    }
    let differing = differences(&outcomes[0], &outcomes[1]).join("\n  ");
    ensure!(
        differing.is_empty(),
        "results differ, the floor's first:\n  {differing}"
    );
    same_states(case, sides)?;
    Ok(documents)
}

fn same_states(case: &Case, sides: &[Side; 2]) -> Result<()> {
    let mut differing = Vec::new();
    let same = wait_for(|| {
        differing = differences(&state(case, &sides[0])?, &state(case, &sides[1])?);
        Ok(differing.is_empty())
    })?;
    let differing = differing.join("\n  ");
    ensure!(same, "states differ, the floor's first:\n  {differing}");
    Ok(())
}

/// Parameters of `bridge` for IPv6 that an IPv4 network does not depend on. The floor leaves them as they are.
const OF_IPV6: [&str; 2] = ["accept_ra", "accept_dad"];

/// The state of a node. Of files, the content: their modes cost nothing.
fn state(case: &Case, side: &Side) -> Result<Value> {
    let mut state = normalise::snapshot(&Snapshot::take(side)?, &case.requested());
    let files = state["files"].as_object_mut().into_iter().flatten();
    for (_, file) in files {
        *file = file["content"].take();
    }
    leave_out_ipv6(&mut state["host"]);
    leave_out_ipv6(&mut state["containers"]["container 1"]);
    Ok(state)
}

fn leave_out_ipv6(space: &mut Value) {
    let directories = space["parameters"].as_object_mut().into_iter().flatten();
    for parameters in directories.filter_map(|(_, values)| values.as_object_mut()) {
        parameters.retain(|name, _| !OF_IPV6.contains(&name.as_str()));
    }
}

#[test]
fn bridge() -> Result<()> {
    let keys = json!({"isGateway": true, "ipam": leases()});
    compare(&Case::layer_2(keys))
}

#[test]
fn macvlan() -> Result<()> {
    let ipam = json!({
        "type": "static",
        "addresses": [{"address": "10.1.0.7/24", "gateway": "10.1.0.1"}],
        "routes": [{"dst": DEFAULT_ROUTE}],
    });
    compare(&over_eth1("macvlan", json!({"ipam": ipam})))
}

#[test]
#[ignore = "needs a kernel with this kind of link: `machine` runs it"]
fn vlan() -> Result<()> {
    compare(&over_eth1("vlan", json!({"vlanId": 7, "ipam": leases()})))
}

#[test]
#[ignore = "needs a kernel with this kind of link: `machine` runs it"]
fn ipvlan() -> Result<()> {
    compare(&over_eth1("ipvlan", json!({"ipam": leases()})))
}

#[test]
#[ignore = "needs a kernel with this kind of link: `machine` runs it"]
fn dummy() -> Result<()> {
    compare(&Case::new(json!({"type": "dummy", "ipam": leases()})))
}
