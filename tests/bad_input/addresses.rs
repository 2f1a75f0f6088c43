//! `ptp`, and `static` under it.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::weir;

use super::{AttachedNode, strict};

fn ptp(ipam: Value) -> Value {
    json!({"cniVersion": "1.1.0", "name": "bad", "type": "ptp", "ipMasq": true, "ipam": ipam})
}

fn of_static(addresses: Value) -> Value {
    ptp(json!({"type": "static", "addresses": addresses}))
}

#[track_caller]
fn refused(fixture: &AttachedNode, config: &Value, code: u64, words: &[&str]) {
    let call = weir(&fixture.node, "ptp", "ADD", &fixture.container, config);
    fixture.refused(&call, code, words);
}

#[test]
fn keys_of_ptp() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let host_local = json!({"type": "host-local", "subnet": "10.21.0.0/24"});
    let with = |key: &str, value: Value| {
        let mut config = ptp(host_local.clone());
        config[key] = value;
        config
    };
    refused(&fixture, &with("mtu", json!("1400")), 7, &["mtu", "1400"]);
    refused(&fixture, &with("mtu", json!(70000)), 103, &["MTU 70000"]);
    refused(
        &fixture,
        &strict(with("bridge", json!("br"))),
        7,
        &["bridge", "unknown key"],
    );
    let backend = with("ipMasqBackend", json!("ebtables"));
    refused(&fixture, &backend, 2, &["ipMasqBackend", "ebtables"]);
    refused(&fixture, &ptp(json!({})), 7, &["ipam"]);
    Ok(())
}

/// Addresses that were assigned are given back.
#[test]
fn addresses_without_a_gateway() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let config = of_static(json!([{"address": "10.21.0.5/24"}]));
    refused(&fixture, &config, 108, &["10.21.0.5/24", "gateway"]);
    refused(
        &fixture,
        &of_static(json!([])),
        107,
        &["static", "no IP address"],
    );
    Ok(())
}

#[test]
fn keys_of_static() -> Result<()> {
    let fixture = AttachedNode::create()?;
    for (addresses, words) in [
        (
            json!([{"address": "10.21.0.5"}]),
            ["ipam.addresses[0].address", "prefix length"],
        ),
        (
            json!([{"address": "10.21.0.5/33"}]),
            ["ipam.addresses[0].address", "found"],
        ),
        (json!([{}]), ["ipam.addresses[0]", "is missing"]),
        (
            json!([{"address": "10.21.0.5/24", "gatway": "10.21.0.1"}]),
            ["ipam.addresses[0].gatway", "gateway"],
        ),
        (
            json!([{"address": "10.21.0.5/24", "gateway": "there"}]),
            ["ipam.addresses[0].gateway", "an IP address"],
        ),
    ] {
        refused(&fixture, &strict(of_static(addresses)), 7, &words);
    }
    Ok(())
}

#[test]
fn too_many_addresses_for_an_old_version() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let mut config = of_static(json!([
        {"address": "10.21.0.5/24", "gateway": "10.21.0.1"},
        {"address": "10.22.0.5/24", "gateway": "10.22.0.1"},
    ]));
    config["cniVersion"] = json!("0.2.0");
    refused(
        &fixture,
        &config,
        7,
        &["cniVersion 0.2.0", "1 address per family"],
    );
    Ok(())
}

/// What a result of these versions cannot say is found out before the attachment counts as made.
#[test]
fn no_address_for_an_old_version() -> Result<()> {
    let fixture = AttachedNode::create()?;
    for version in ["0.1.0", "0.2.0"] {
        let config =
            json!({"cniVersion": version, "name": "layer2", "type": "bridge", "bridge": "layer2"});
        let call = fixture.add(&config);
        fixture.refused(&call, 999, &["no valid IP addresses", version, "0.3.0"]);
    }
    Ok(())
}
