//! `weir plugin test`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Node, assert_contains, binary, component};

use crate::{example, path, ptp_that_runs, said};

/// A directory with a network configuration and a grant.
struct Case {
    node: Node,
    config: PathBuf,
}

impl Case {
    fn create(config: &Value) -> Result<Self> {
        let node = Node::create()?;
        let file = node.root().join("network.conflist");
        fs::write(&file, config.to_string())?;
        Ok(Self { node, config: file })
    }

    fn grant(&self, plugin: &str, capabilities: &str) -> Result<()> {
        let document = format!(
            "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: {{ name: {plugin} }}\n\
             spec:\n  plugin: {{ name: {plugin} }}\n  networks: ['*']\n  capabilities: {capabilities}\n"
        );
        Ok(fs::write(
            self.config.with_file_name("grant.yaml"),
            document,
        )?)
    }

    #[track_caller]
    fn run(&self, component: &str, words: &[&str], code: i32) -> Value {
        let file = weir_kit::component(component);
        run(&file, &self.config, words, code)
    }
}

#[track_caller]
fn run(file: &std::path::Path, config: &std::path::Path, words: &[&str], code: i32) -> Value {
    let output = Command::new(binary())
        .args(["plugin", "test", "--output", "json"])
        .args([file, config])
        .args(words)
        .output()
        .expect("weir runs");
    assert_eq!(output.status.code(), Some(code), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", said(&output)))
}

/// `ptp` and then the plugin, with these keys.
fn after_ptp(plugin: &str, keys: Value) -> Value {
    let mut own = keys;
    own["type"] = plugin.into();
    json!({
        "cniVersion": "1.1.0",
        "name": "tried",
        "plugins": [
            { "type": "ptp", "ipam": { "type": "host-local", "subnet": "10.94.0.0/24" } },
            own,
        ]
    })
}

fn commands(report: &Value) -> Vec<&str> {
    let steps = report["steps"].as_array().expect("steps").iter();
    steps.filter_map(|step| step["command"].as_str()).collect()
}

/// All commands ran and left nothing.
#[track_caller]
fn assert_passes(report: &Value) {
    assert_eq!(report["passed"], true, "{report:#}");
    assert_eq!(
        commands(report),
        ["STATUS", "ADD", "CHECK", "GC", "CHECK", "DEL", "DEL", "GC"]
    );
    assert_eq!(report["residue"], json!({ "left": [], "missing": [] }));
}

#[test]
fn an_example_passes_with_all_its_operations_shown() -> Result<()> {
    for name in ["labels", "pinned-gateway"] {
        let report = run(&component(name), &example(name, "network.conflist"), &[], 0);
        assert_passes(&report);
    }
    let output = Command::new(binary())
        .args(["plugin", "test", path(&component("labels"))?])
        .arg(example("labels", "network.conflist"))
        .output()?;
    let text = said(&output);
    for words in [
        "ADD     ok",
        "allowed link.update",
        "alias=labelled/weir-plugin-test/eth0",
        "[link[0]]",
        "left        nothing",
        "denied      nothing",
        "passed",
    ] {
        assert!(text.contains(words), "{words} is not in {text}");
    }
    assert!(
        !text.contains("link.create"),
        "the other plugin's are not asked for: {text}"
    );
    Ok(())
}

/// The main plugin of its network needs a grant that names it.
#[test]
fn the_ipam_example_passes() -> Result<()> {
    let name = "stable-addresses";
    let node = Node::create()?;
    let of_ptp = node.write("ptp.yaml", ptp_that_runs(name)?)?;
    let own = example(name, "grant.yaml");
    // That the host forwards is ptp's.
    let kept = "host: sysctl net.ipv6.conf.*.forwarding *";
    let grants = ["--grant", path(&own)?, "--grant", path(&of_ptp)?];
    let words = [&grants[..], &["--keeps", kept]].concat();
    let network = example(name, "network.conflist");
    let report = run(&component(name), &network, &words, 0);
    assert_passes(&report);
    Ok(())
}

#[test]
fn nothing_is_granted_without_a_grant() -> Result<()> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    let report = case.run("labels", &[], 3);
    assert!(report["grant"].is_null());
    assert!(report["denied"].as_u64() > Some(0), "{report:#}");
    let add = &report["steps"][1];
    assert_eq!(
        (&add["command"], &add["succeeded"]),
        (&json!("ADD"), &json!(false))
    );
    let denied = add["operations"].as_array().expect("operations").iter();
    let denied: Vec<_> = denied
        .filter(|record| record["verdict"] == "denied")
        .collect();
    assert_eq!(denied[0]["plugin"], "labels");
    // What the other plugin had made is removed.
    assert_eq!(report["residue"], json!({ "left": [], "missing": [] }));
    assert_eq!(commands(&report), ["STATUS", "ADD", "DEL", "DEL", "GC"]);
    Ok(())
}

/// A network of one plugin.
fn tried(plugin: Value) -> Value {
    json!({ "cniVersion": "1.1.0", "name": "tried", "plugins": [plugin] })
}

/// A denial fails the test even if the plugin continues.
#[test]
fn a_denial_that_the_plugin_hides_fails_the_test() -> Result<()> {
    let case = Case::create(&after_ptp("hostile", json!({})))?;
    case.grant("hostile", "{}")?;
    let report = case.run("hostile", &[], 3);
    let steps = report["steps"].as_array().expect("steps").iter();
    assert!(
        steps.clone().all(|step| step["succeeded"] == true),
        "{report:#}"
    );
    assert!(report["denied"].as_u64() > Some(10), "{report:#}");
    assert_eq!(report["passed"], false);
    Ok(())
}

/// The component of `bridge` under another name: the bridge remains for the next container, as it should, and is reported
/// unless `--keeps` allows it.
#[test]
fn residue_is_named_unless_it_may_stay() -> Result<()> {
    let case = Case::create(&tried(json!({
        "type": "switch", "bridge": "tried0", "isGateway": true,
        "ipam": { "type": "host-local", "subnet": "10.95.0.0/24" }
    })))?;
    let everything = "{ link: [{}], address: [{}], route: [{}], neighbour: [{}], sysctl: [{}], \
                      firewall: [{}], ipam: [host-local] }";
    case.grant("switch", everything)?;
    let report = case.run("bridge", &[], 3);
    assert_eq!(report["denied"], 0);
    let left = report["residue"]["left"].as_array().expect("a list");
    let is_left = |begin: &str| {
        let mut texts = left.iter().filter_map(Value::as_str);
        texts.any(|line| line.starts_with(begin))
    };
    for begin in [
        "host: link tried0 (bridge)",
        "host: address 10.95.0.1/24 on tried0",
        "host: sysctl net.ipv4.ip_forward is 1, and was 0",
    ] {
        assert!(is_left(begin), "{begin} is not told: {report:#}");
    }
    assert!(!is_left("container:") && !is_left("file:"), "{report:#}");
    let keeps = ["--keeps", "host: * tried0*", "--keeps", "host: sysctl *"];
    let report = case.run("bridge", &keeps, 0);
    assert_eq!(report["passed"], true);
    Ok(())
}

/// Things that a plugin left, of each kind that the kernel lists separately.
#[test]
fn a_proxy_neighbour_is_residue() -> Result<()> {
    let add = json!({ "do": "neighbour.add", "link": "lo", "address": "192.0.2.9", "proxy": true });
    let case = Case::create(&tried(json!({ "type": "puppet", "orders": [add] })))?;
    case.grant("puppet", "{ link: [{ verbs: [read] }], neighbour: [{}] }")?;
    let report = case.run("puppet", &[], 3);
    assert_eq!(report["denied"], 0, "{report:#}");
    assert_eq!(
        report["residue"]["left"],
        json!(["host: neighbour 192.0.2.9 on lo, proxy"]),
        "{report:#}"
    );
    Ok(())
}

/// An IPAM plugin is run by the main plugin of the network, whose grant must name it.
#[test]
fn an_ipam_plugin_is_tested_through_another() -> Result<()> {
    let mut config = after_ptp("unused", json!({}));
    config["plugins"] = json!([{
        "type": "ptp",
        "ipam": { "type": "leases", "subnet": "10.96.0.0/24" }
    }]);
    let case = Case::create(&config)?;
    case.grant(
        "leases",
        "{ store: [{ directories: [/var/lib/cni/networks] }] }",
    )?;
    let own = case.config.with_file_name("grant.yaml");
    let report = case.run("host-local", &[], 3);
    let tried = report["steps"][1]["operations"]
        .as_array()
        .expect("operations");
    let is_denied =
        |record: &Value| record["capability"] == "ipam" && record["verdict"] == "denied";
    assert!(tried.iter().any(is_denied), "{report:#}");

    let of_ptp = case.node.write("ptp.yaml", ptp_that_runs("leases")?)?;
    let words = ["--grant", path(&own)?, "--grant", path(&of_ptp)?];
    let report = case.run("host-local", &words, 0);
    let add = &report["steps"][1]["operations"];
    let is_own = |record: &&Value| record["plugin"] == "leases";
    assert!(
        add.as_array()
            .expect("operations")
            .iter()
            .any(|r| is_own(&r)),
        "{report:#}"
    );
    Ok(())
}

#[test]
fn what_cannot_be_tested_is_an_error_that_says_why() -> Result<()> {
    let case = Case::create(&json!({
        "cniVersion": "1.1.0", "name": "tried", "type": "loopback"
    }))?;
    let failure = |component: PathBuf, words: &[&str]| {
        let output = Command::new(binary())
            .args(["plugin", "test"])
            .args([&component, &case.config])
            .args(words)
            .output()
            .expect("weir runs");
        assert_eq!(output.status.code(), Some(1), "{}", said(&output));
        said(&output)
    };
    let text = failure(component("labels"), &[]);
    assert!(text.contains("are built into weir"), "{text}");
    fs::write(&case.config, after_ptp("labels", json!({})).to_string())?;
    let text = failure(component("files"), &[]);
    assert!(text.contains("wasi:filesystem"), "{text}");
    let text = failure(PathBuf::from("/nowhere.wasm"), &[]);
    assert!(text.contains("/nowhere.wasm"), "{text}");
    case.grant("somebody", "{}")?;
    let text = failure(component("labels"), &[]);
    assert!(text.contains("a grant of plugin `somebody`"), "{text}");
    // Of two grants of one plugin only one could be in force.
    case.grant("labels", "{}")?;
    let first = case.config.with_file_name("grant.yaml");
    let second = case.config.with_file_name("second.yaml");
    fs::copy(&first, &second)?;
    let both = ["--grant", path(&first)?, "--grant", path(&second)?];
    let text = failure(component("labels"), &both);
    assert_contains(
        &text,
        &["are both grants of plugin `labels`", "second.yaml"],
    );
    Ok(())
}
