//! The MAC of a bridge that was there before the network.

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::side::{Side, Whose};

fn config() -> Value {
    json!({
        "cniVersion": "1.0.0", "name": "net", "type": "bridge", "bridge": "br", "isGateway": true,
        "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"},
    })
}

fn mac(side: &Side) -> Result<String> {
    let shown = side.node.ip_json("link show dev br")?;
    let mac = shown[0]["address"].as_str();
    Ok(mac.context("the bridge's MAC")?.to_owned())
}

/// Attaches all containers; the MAC after each.
fn macs(side: &Side) -> Result<Vec<String>> {
    let add = |container| {
        let outcome = side.call("ADD", container, &config(), None)?;
        ensure!(outcome.succeeded(), "{outcome:?}");
        mac(side)
    };
    (0..side.containers.len()).map(add).collect()
}

#[test]
fn a_bridge_that_is_there_already_keeps_its_mac() -> Result<()> {
    for side in Side::pair(2)? {
        side.node.ip("link add name br type bridge")?;
        let before = mac(&side)?;
        ensure!(macs(&side)? == [before.clone(), before]);
    }
    Ok(())
}

/// The reference cannot give it one.
#[test]
fn a_bridge_whose_last_port_went_gets_a_mac_that_stays() -> Result<()> {
    let side = Side::create(Whose::Weir, 2)?;
    side.node.tools(
        "ip",
        &[
            "link add name br type bridge",
            "link add name port master br type veth peer name end",
            "link delete port",
        ],
    )?;
    ensure!(mac(&side)? == "00:00:00:00:00:00");
    let macs = macs(&side)?;
    ensure!(
        macs[0] != "00:00:00:00:00:00" && macs[0] == macs[1],
        "{macs:?}"
    );
    Ok(())
}
