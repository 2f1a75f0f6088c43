//! `weir plugin test --suggest-grant`: the same test passes under the suggested grant.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{assert_contains, assert_contains_without, house};

use crate::path;
use crate::test::{Case, after_ptp, leases, tried};

/// What is suggested, written beside the configuration as an author does it. The test must pass under it.
fn suggested(case: &Case, component: &str, words: &[&str]) -> Result<String> {
    case.write("grant.yaml", "")?;
    let suggest = [words, &["--suggest-grant"]].concat();
    let document = case.said(component, &suggest, 0);
    case.write("grant.yaml", &document)?;
    let report = case.run(component, words, 0);
    assert_eq!(report["denied"], 0);
    Ok(document)
}

#[test]
fn a_chained_plugin_passes_under_what_is_suggested() -> Result<()> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    let document = suggested(&case, "labels", &[])?;
    assert_contains(
        &document,
        &[
            r#"- { namespace: container, kinds: [veth], names: ["{ifname}"], verbs: [read, update] }"#,
            "networks: [tried]",
            "limits: { memory: 64MiB,",
            "digest: sha256:",
        ],
    );
    assert_eq!(document.matches("      - ").count(), 1, "{document}");
    // It is the least: one verb less is not enough.
    case.write("grant.yaml", &document.replace("read, update", "read"))?;
    case.run("labels", &[], 3);
    Ok(())
}

#[test]
fn a_plugin_in_c_passes_under_what_is_suggested() -> Result<()> {
    let case = Case::create(&after_ptp("pinned-gateway", json!({})))?;
    let document = suggested(&case, "pinned-gateway", &[])?;
    assert_contains(&document, &["neighbour:", "links: [\"{ifname}\"]"]);
    Ok(())
}

#[test]
fn a_main_plugin_passes_under_what_is_suggested() -> Result<()> {
    let bridge = json!({
        "type": "switch", "bridge": "tried0", "isGateway": true, "hairpinMode": true,
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.95.0.0/24" }], [{ "subnet": "fd95::/64" }]] }
    });
    let case = Case::create(&tried(bridge))?;
    let keeps = ["--keeps", "host: *"];
    let document = suggested(&case, "bridge", &keeps)?;
    assert_contains(
        &document,
        &[
            "names: [tried0]",
            "names: [\"veth*\"]",
            "ipam: [host-local]",
        ],
    );
    let pair = json!({
        "type": "pair", "ipam": { "type": "host-local", "subnet": "10.95.0.0/24" }
    });
    let case = Case::create(&tried(pair))?;
    let document = suggested(&case, "ptp", &keeps)?;
    assert_contains(&document, &["net.ipv4.ip_forward", "10.95.0.0/24"]);
    Ok(())
}

#[test]
fn an_ipam_plugin_passes_under_what_is_suggested() -> Result<()> {
    let case = Case::create(&leases(json!([[{ "subnet": "10.96.0.0/24" }]])))?;
    let document = suggested(&case, "host-local", &[])?;
    assert_contains_without(
        &document,
        &[
            "directories: [/var/lib/cni/networks]",
            "# The grant of `ptp` must name the plugin as well: `ipam: [leases]`.",
        ],
        &["link:", "address:"],
    );
    // A directory that the network's configuration names.
    let mut list = leases(json!([[{ "subnet": "10.96.0.0/24" }]]));
    list["plugins"][0]["ipam"]["dataDir"] = "/var/lib/tried".into();
    let case = Case::create(&list)?;
    let document = suggested(&case, "host-local", &[])?;
    assert_contains(&document, &["{dataDir}"]);
    Ok(())
}

/// A test that fails with everything allowed is shown, and nothing is suggested.
#[test]
fn nothing_is_suggested_for_a_test_that_fails() -> Result<()> {
    let add = json!({ "do": "neighbour.add", "link": "lo", "address": "192.0.2.9", "proxy": true });
    let case = Case::create(&tried(json!({ "type": "puppet", "orders": [add] })))?;
    let text = case.said("puppet", &["--suggest-grant"], 3);
    assert_contains_without(
        &text,
        &["left        host: neighbour 192.0.2.9", "FAILED"],
        &["apiVersion"],
    );
    // The document is in JSON all the same, for those who want to look.
    let report = case.run("puppet", &["--suggest-grant"], 3);
    let rule: &Value = &report["suggested"]["document"]["spec"]["capabilities"]["neighbour"][0];
    assert_eq!(rule["addresses"], json!(["192.0.2.9/32"]), "{report:#}");
    Ok(())
}

/// Limits are those of a given grant: the run does not show them.
#[test]
fn a_given_grant_has_the_limits() -> Result<()> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    let own = house().join("examples/labels/grant.yaml");
    let document = suggested(&case, "labels", &["--grant", path(&own)?])?;
    assert_contains(&document, &["limits: { memory: 16MiB,"]);
    Ok(())
}
