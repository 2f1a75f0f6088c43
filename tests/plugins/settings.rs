//! `test.yaml`: the options of `weir plugin test` in a file.

use std::fs;

use anyhow::Result;
use serde_json::json;
use weir_kit::{assert_contains, house};

use crate::path;
use crate::test::{Case, LEASES, after_ptp, leases, switch};

/// A main plugin: the component of `bridge`, whose bridge stays.
#[test]
fn a_main_plugin_needs_no_options() -> Result<()> {
    let case = switch()?;
    case.write(
        "test.yaml",
        "keeps: ['host: * tried0*', 'host: sysctl *']\n",
    )?;
    case.run("bridge", &[], 0);
    // An option takes the place of the key.
    let report = case.run("bridge", &["--keeps", "host: * tried0*"], 3);
    assert!(report["residue"]["left"].to_string().contains("ip_forward"));
    // As does another file.
    case.write("other.yaml", "keeps: []\n")?;
    let other = case.config.with_file_name("other.yaml");
    case.run("bridge", &["--settings", path(&other)?], 3);
    Ok(())
}

/// The grants of an IPAM plugin and of the main plugin beside it, relative to the file.
#[test]
fn grants_are_found_beside_the_file() -> Result<()> {
    let case = Case::create(&leases(json!([[{ "subnet": "10.96.0.0/24" }]])))?;
    case.grant("leases", LEASES)?;
    let shipped = fs::read_to_string(house().join("plugins/ptp/grant.yaml"))?;
    case.write("ptp.yaml", &shipped.replace("ipam: [", "ipam: [leases, "))?;
    case.write("test.yaml", "grants: [ptp.yaml]\n")?;
    // The component's own is still the one beside the configuration.
    let report = case.run("host-local", &[], 0);
    assert_eq!(report["run_by"], json!([]));
    assert!(report["grant"].to_string().contains("grant.yaml"));
    Ok(())
}

#[test]
fn all_options_can_stand_in_the_file() -> Result<()> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    case.grant("labels", "{ link: [{ verbs: [read, update] }] }")?;
    case.write(
        "test.yaml",
        "ifname: net1\nargs: IgnoreUnknown=1;COLOUR=red\ncapabilityArgs: { mac: '0a:00:00:00:00:01' }\nexpect: expected.yaml\n",
    )?;
    let report = case.run("labels", &["--update"], 0);
    assert_eq!(report["expected"]["updated"], true, "{report:#}");
    let operations = report["steps"][1]["operations"].to_string();
    assert!(operations.contains("\"ifname\":\"net1\""), "{report:#}");
    case.run("labels", &[], 0);
    let text = case.said("labels", &["--ifname", "net2"], 3);
    assert_contains(&text, &["net1", "net2", "FAILED"]);
    Ok(())
}

#[test]
fn mistakes_are_reported_with_their_places() -> Result<()> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    case.write("test.yaml", "keep: []\nkeeps: ['[']\nargs: [a]\n")?;
    let text = case.said("labels", &[], 1);
    assert_contains(
        &text,
        &[
            "test.yaml:1:1: unknown key `keep`; expected `grants`, `keeps`, `ifname`, `args`, `capabilityArgs` or `expect`; \
             did you mean `keeps`?",
            "test.yaml:2:9: `[` is not a glob",
            "test.yaml:3:7: found a list; expected text",
        ],
    );
    case.write("test.yaml", "")?;
    let text = case.said("labels", &[], 1);
    assert_contains(&text, &["test.yaml:1:1: the document is empty"]);
    Ok(())
}
