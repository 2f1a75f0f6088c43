//! Plugins that lie about what they did.
//!
//! weir checks that a result can be one: prefix lengths, the families of gateways, the indexes
//! of interfaces. What it says of the kernel is the plugin's own claim: the runtime reads a result as
//! the word of the plugin that its configuration names, and CHECK is there to compare.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Grant, Outcome};

use super::AttackedNode;

fn forge(fixture: &AttackedNode, what: &str) -> Result<Outcome> {
    let forge = format!("FORGE={what};IgnoreUnknown=1");
    fixture.run("ADD", json!({}), &[("CNI_ARGS", &forge)])
}

fn fixture() -> Result<AttackedNode> {
    AttackedNode::create(&Grant::nothing("forger"))
}

/// Property: what the host passes on is a result of CNI.
#[test]
fn a_result_that_can_be_none_is_refused() -> Result<()> {
    let fixture = fixture()?;
    let cases = [
        ("prefix", 6, "200"),
        ("interface", 999, "ips[0].interface"),
        ("family", 999, "ips[0].gateway"),
    ];
    for (forged, code, word) in cases {
        let outcome = forge(&fixture, forged)?;
        fixture.assert_ended(&outcome, code, &["result", word]);
    }
    Ok(())
}

/// Property: a plugin that claims something has done nothing by that.
#[test]
fn a_result_is_never_more_than_words() -> Result<()> {
    let fixture = fixture()?;
    // An address that nobody assigned, and an interface that does not exist.
    let result = forge(&fixture, "address")?.result();
    assert_eq!(result["ips"][0]["address"], "192.0.2.66/24");
    let result = forge(&fixture, "ghost")?.result();
    assert_eq!(result["interfaces"][0]["name"], "ghost0");
    fixture.assert_no_residue();
    assert!(
        fixture.node.audit().is_empty(),
        "it did nothing, and nothing is recorded"
    );
    Ok(())
}

/// Property: a result names this container or the host, and no third namespace.
#[test]
fn a_sandbox_that_is_not_the_containers_is_refused() -> Result<()> {
    let fixture = fixture()?;
    let outcome = forge(&fixture, "sandbox")?;
    fixture.assert_ended(&outcome, 999, &["interfaces[0].sandbox", "/proc/1/ns/net"]);
    Ok(())
}

/// Property: an error is one to whoever reads it.
///
/// CNI knows no error 0: to libcni it would be none.
#[test]
fn an_error_without_a_code_gets_one() -> Result<()> {
    let fixture = fixture()?;
    let outcome = forge(&fixture, "code")?;
    fixture.assert_ended(&outcome, 999, &["an error that is none"]);
    Ok(())
}

/// Property: a plugin does not speak for weir.
///
/// `version` is answered by the host, whatever the plugin says of itself.
#[test]
fn version_is_the_hosts() -> Result<()> {
    let fixture = fixture()?;
    let printed = fixture.run("VERSION", json!({}), &[])?.result();
    let supported = [
        "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
    ];
    assert_eq!(
        printed["supportedVersions"],
        Value::from(supported.to_vec())
    );
    Ok(())
}
