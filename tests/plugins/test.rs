//! `weir plugin test`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Node, assert_contains, binary, component, house};

use crate::{example, path, said};

/// A directory with a network configuration and a grant.
pub struct Case {
    _node: Node,
    pub config: PathBuf,
}

impl Case {
    pub fn create(config: &Value) -> Result<Self> {
        let node = Node::create()?;
        let file = node.root().join("network.conflist");
        fs::write(&file, config.to_string())?;
        Ok(Self {
            _node: node,
            config: file,
        })
    }

    pub fn grant(&self, plugin: &str, capabilities: &str) -> Result<()> {
        let document = format!(
            "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: {{ name: {plugin} }}\n\
             spec:\n  plugin: {{ name: {plugin} }}\n  networks: ['*']\n  capabilities: {capabilities}\n"
        );
        Ok(fs::write(
            self.config.with_file_name("grant.yaml"),
            document,
        )?)
    }

    /// Writes a file beside the configuration.
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        Ok(fs::write(self.config.with_file_name(name), text)?)
    }

    #[track_caller]
    pub fn run(&self, component: &str, words: &[&str], code: i32) -> Value {
        let file = weir_kit::component(component);
        run(&file, &self.config, words, code)
    }

    /// Runs it in the same way, without a format. Returns what it printed, on standard output and then on standard error.
    #[track_caller]
    pub fn said(&self, component: &str, words: &[&str], code: i32) -> String {
        let output = Command::new(binary())
            .args(["plugin", "test"])
            .args([&weir_kit::component(component), &self.config])
            .args(words)
            .output()
            .expect("weir runs");
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        said(&output)
    }
}

#[track_caller]
pub fn run(file: &std::path::Path, config: &std::path::Path, words: &[&str], code: i32) -> Value {
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
pub fn after_ptp(plugin: &str, keys: Value) -> Value {
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

/// The examples that are to be run.
const EXAMPLES: &str = "labels pinned-gateway point-to-point route-override stable-addresses";

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
    for name in EXAMPLES.split(' ') {
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
pub fn tried(plugin: Value) -> Value {
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

/// A network of the component of `bridge` under another name, and a grant of everything.
pub fn switch() -> Result<Case> {
    let case = Case::create(&tried(json!({
        "type": "switch", "bridge": "tried0", "isGateway": true,
        "ipam": { "type": "host-local", "subnet": "10.95.0.0/24" }
    })))?;
    let everything = "{ link: [{}], address: [{}], route: [{}], neighbour: [{}], sysctl: [{}], \
                      firewall: [{}], ipam: [host-local] }";
    case.grant("switch", everything)?;
    Ok(case)
}

/// The component of `bridge` under another name: the bridge remains for the next container, as it should, and is reported
/// unless `--keeps` allows it.
#[test]
fn residue_is_named_unless_it_may_stay() -> Result<()> {
    let case = switch()?;
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

/// A network of `ptp` with addresses of the plugin `leases`.
pub fn leases(ranges: Value) -> Value {
    tried(json!({ "type": "ptp", "ipam": { "type": "leases", "ranges": ranges } }))
}

/// The rule that `leases` needs.
pub const LEASES: &str = "{ store: [{ directories: [/var/lib/cni/networks] }] }";

/// An IPAM plugin is run by the main plugin of the network, whose shipped grant does not name it. What that plugin leaves on
/// the host is not the component's, whatever addresses it got.
#[test]
fn an_ipam_plugin_is_tested_through_another() -> Result<()> {
    for ranges in [
        json!([[{ "subnet": "10.96.0.0/24" }]]),
        json!([[{ "subnet": "10.96.0.0/24" }], [{ "subnet": "fd96::/64" }]]),
    ] {
        let case = Case::create(&leases(ranges))?;
        case.grant("leases", LEASES)?;
        let report = case.run("host-local", &[], 0);
        assert_eq!(report["run_by"], json!(["ptp"]));
        assert_eq!(report["residue"], json!({ "left": [], "missing": [] }));
        let others = report["residue_of_others"]["left"].to_string();
        assert!(others.contains("net.ipv4.ip_forward"), "{report:#}");
        let add = report["steps"][1]["operations"].as_array();
        let mut add = add.expect("operations").iter();
        assert!(add.any(|record| record["plugin"] == "leases"), "{report:#}");
    }
    Ok(())
}

/// A grant that the author gives for the main plugin is in force as it is.
#[test]
fn a_given_grant_of_the_main_plugin_is_not_widened() -> Result<()> {
    let case = Case::create(&leases(json!([[{ "subnet": "10.96.0.0/24" }]])))?;
    case.grant("leases", LEASES)?;
    let of_ptp = house().join("plugins/ptp/grant.yaml");
    let report = case.run("host-local", &["--grant", path(&of_ptp)?], 3);
    assert_eq!(report["run_by"], json!([]));
    let tried = report["steps"][1]["operations"].as_array();
    let mut tried = tried.expect("operations").iter();
    assert!(
        tried.any(|record| record["capability"] == "ipam" && record["verdict"] == "denied"),
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

/// A network of the hostile plugin, with a grant that lets it read the container's links and write much to the log.
fn misbehaving(act: &str) -> Result<Case> {
    let case = Case::create(&tried(json!({ "type": "misbehaving", "act": act })))?;
    case.grant(
        "misbehaving",
        "{ link: [{ namespace: container, verbs: [read] }] }\n  limits: { log: 1MiB }",
    )?;
    Ok(case)
}

/// What the test prints.
fn printed(component: &str, case: &Case) -> Result<String> {
    let output = Command::new(binary())
        .args(["plugin", "test"])
        .args([&weir_kit::component(component), &case.config])
        .output()?;
    Ok(said(&output))
}

#[test]
fn a_panic_is_the_error_of_its_step() -> Result<()> {
    let case = misbehaving("panic")?;
    let report = case.run("misbehaving", &[], 3);
    let error = &report["steps"][1]["error"];
    assert_eq!(error["code"], 210, "{error:#}");
    let message = error["msg"].as_str().unwrap_or_default();
    assert_contains(
        message,
        &["plugin `misbehaving`: panicked at ", "src/lib.rs:"],
    );
    assert!(message.ends_with(": the dam broke at mark 7"), "{message}");
    // The plugin's standard error in the log has it as well.
    let text = printed("misbehaving", &case)?;
    assert_eq!(text.matches("the dam broke at mark 7").count(), 1, "{text}");
    Ok(())
}

/// The grant that is named is the one that the author wrote, not a copy on the test's own node.
#[test]
fn an_exceeded_limit_names_its_key_and_its_grant() -> Result<()> {
    let case = misbehaving("log much")?;
    case.grant("misbehaving", "{}\n  limits: { calls: 10 }")?;
    let text = printed("misbehaving", &case)?;
    let grant = case.config.with_file_name("grant.yaml");
    assert_contains(
        &text,
        &[
            "error 213: network `tried`: plugin `misbehaving`: made more calls of host functions than `limits.calls: 10`",
            &format!(
                "its grant is `{}`; its last call before that was `log.write`",
                path(&grant)?
            ),
        ],
    );
    Ok(())
}

#[test]
fn a_loop_is_printed_once() -> Result<()> {
    for (act, line) in [
        ("say the same", "log     info: again"),
        ("print the same", "log     info: again"),
        (
            "look at the same",
            "allowed link.get link=container/lo (loopback)  [link[0]]",
        ),
    ] {
        let text = printed("misbehaving", &misbehaving(act)?)?;
        assert_eq!(text.matches(line).count(), 1, "{text}");
        assert!(text.contains("… 999 more\n"), "{text}");
    }
    // Of a trap, the error has what was printed.
    let text = printed("misbehaving", &misbehaving("print the same and trap")?)?;
    assert_contains(
        &text,
        &[
            "; again\n        … 999 more\n",
            "log     info: again\n    log     info: … 999 more\n",
        ],
    );
    Ok(())
}

/// Of a built-in plugin, the file that stands for its shipped grant is named.
#[test]
fn what_would_allow_a_denial_belongs_into_the_file_that_was_given() -> Result<()> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    case.grant("ptp", "{}")?;
    let ptp = case.config.with_file_name("ptp.yaml");
    fs::rename(case.config.with_file_name("grant.yaml"), &ptp)?;
    case.grant("labels", "{}")?;
    let own = case.config.with_file_name("grant.yaml");
    let words = ["--grant", path(&own)?, "--grant", path(&ptp)?];
    let report = case.run("labels", &words, 3);
    let steps = report["steps"].as_array().expect("steps").iter();
    let denied = steps.filter_map(|step| step["would_allow"].as_array());
    let mut files: Vec<String> = denied
        .flatten()
        .map(|hint| hint["file"].to_string())
        .collect();
    files.sort();
    files.dedup();
    let given = [path(&own)?, path(&ptp)?].map(|file| json!(file).to_string());
    assert_eq!(files, given);
    Ok(())
}

/// Property: each denial comes with what would allow it. Who adds that to the grant, again and again, gets one under which the
/// plugin runs.
#[test]
fn what_would_allow_a_denial_allows_it() -> Result<()> {
    let case = Case::create(&after_ptp("labels", json!({})))?;
    let mut rules: std::collections::BTreeMap<String, Vec<Value>> = Default::default();
    let grant = case.config.with_file_name("grant.yaml");
    let text = printed("labels", &case)?;
    let place = format!(
        "to allow it, add below `spec.capabilities.link` in `{}`:",
        path(&grant)?
    );
    assert_contains(
        &text,
        &[
            &place,
            r#"- { namespace: container, kinds: [veth], names: ["{ifname}"], verbs: [read] }"#,
        ],
    );
    for _ in 0..5 {
        let capabilities = serde_json::to_string(&rules)?;
        case.grant("labels", &capabilities)?;
        let output = Command::new(binary())
            .args(["plugin", "test", "--output", "json"])
            .args([&component("labels"), &case.config])
            .output()?;
        let report: Value = serde_json::from_slice(&output.stdout)?;
        if report["passed"] == true {
            assert!(!rules.is_empty(), "{report:#}");
            return Ok(());
        }
        let steps = report["steps"].as_array().expect("steps").iter();
        let denied = steps.filter_map(|step| step["would_allow"].as_array());
        for hint in denied.flatten() {
            assert_eq!(hint["file"], path(&grant)?, "{hint:#}");
            for lacking in hint["rules"].as_array().expect("rules") {
                let capability = lacking["capability"].as_str().expect("a word");
                let known = rules.entry(capability.to_owned()).or_default();
                known.push(lacking["rule"].clone());
            }
        }
    }
    panic!("it is still denied something: {rules:#?}");
}
