//! `weir grants learn` and `suggest`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Node, State, assert_contains, binary, component, component_file, house, weir};

use super::{PLUGIN, bridge, commands_of_bridge, file, grants, json_of, parts, run_bridge};

/// Lets a plugin learn, and returns the file of its records. The node must be as it was.
fn learn(node: &Node, plugin: &str, config: &Value, more: &[&str]) -> Result<PathBuf> {
    let config = file(node, "learn.json", &config.to_string())?;
    let records = node.root().join("records.jsonl");
    let before = State::of(node)?;
    let mut words = vec!["learn", plugin, "--config", &config, "--records"];
    words.push(records.to_str().context("a path is text")?);
    words.extend(more);
    let (code, text, errors) = grants(node, &words)?;
    ensure!(code == 0, "{text}{errors}");
    State::of(node)?.assert_same(&before);
    ensure!(
        !node.root().join("var/log/weir/audit.jsonl").exists(),
        "the node's log was written"
    );
    ensure!(!node.grants().exists(), "the node's grants were written");
    Ok(records)
}

#[test]
fn a_suggested_grant_is_enough_and_no_more() -> Result<()> {
    let node = Node::create()?;
    let records = learn(&node, "bridge", &bridge(), &[])?;
    let path = records.to_str().context("a path is text")?.to_owned();
    let (code, yaml, errors) = grants(&node, &["suggest", "bridge", "--records", &path])?;
    assert_eq!(code, 0, "{errors}");
    assert!(yaml.starts_with("# Suggested from"), "{yaml}");
    assert!(!yaml.contains("was not recorded"), "{yaml}");
    let suggested = file(&node, "suggested.yaml", &yaml)?;
    let (_, checked, _) = grants(&node, &["check", &suggested])?;
    assert!(!checked.contains("no-read"), "{checked}");
    let (_, narrower) = json_of(&node, &["diff", "bridge", &suggested])?;
    assert_eq!(narrower["possible"], json!([]), "{yaml}");
    assert!(
        !narrower["impossible"]
            .as_array()
            .context("a list")?
            .is_empty()
    );

    // All that was recorded is allowed.
    let mut replay = Command::new(binary());
    replay.args([
        "grants", "explain", "bridge", "--record", "--grant", &suggested,
    ]);
    let outcome = replay.stdin(fs::File::open(&records)?).output()?;
    assert_eq!(
        outcome.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&outcome.stdout)
    );
    // It is in force, and everything works, for other containers and addresses as well.
    node.put_grant("bridge.yaml", &yaml)?;
    for _ in 0..3 {
        run_bridge(&node, &node.container()?)?;
    }
    // One field away, nothing does.
    for (key, value) in [
        ("bridge", json!("other0")),
        ("name", json!("other")),
        (
            "ipam",
            json!({ "type": "host-local", "subnet": "10.62.7.0/24" }),
        ),
        ("macspoofchk", json!(true)),
    ] {
        let mut config = bridge();
        config[key] = value;
        let error = add_fails(&node, &config)?;
        let said = format!("{} {}", error["msg"], error["details"]);
        assert!(
            said.contains("does not allow") || said.contains("covers the network"),
            "{key}: {said}"
        );
    }
    Ok(())
}

/// The error of an ADD to another container.
fn add_fails(node: &Node, config: &Value) -> Result<Value> {
    let container = node.container()?;
    Ok(node
        .run(&weir(node, "bridge", "ADD", &container, config))?
        .error())
}

/// Of a node's log, which has no reads: those of the grant in force are kept.
#[test]
fn reads_of_the_grant_in_force_are_kept() -> Result<()> {
    let node = Node::create()?;
    commands_of_bridge(&node, &node.container()?, "0")?;
    let (_, told) = json_of(&node, &["suggest", "bridge"])?;
    assert_eq!(told["reads"], false, "{told:#}");
    assert_eq!(told["reads_from"], json!(["shipped"]), "{told:#}");
    let kept = told["reads_for"]["link"].as_array();
    assert!(kept.context("a list")?.contains(&json!("get")), "{told:#}");
    assert_eq!(told.get("doubts"), None, "{told:#}");

    // Without them it fails, and `check` warns of it.
    let mut spec: Value = told["document"].clone();
    for rules in spec["spec"]["capabilities"]
        .as_object_mut()
        .context("rules")?
        .values_mut()
    {
        for rule in rules.as_array_mut().into_iter().flatten() {
            if let Some(verbs) = rule.get_mut("verbs").and_then(Value::as_array_mut) {
                verbs.retain(|verb| verb != "read");
            }
        }
    }
    node.put_grant("bridge.yaml", &spec.to_string())?;
    let (code, checked, _) = grants(&node, &["check", "--strict"])?;
    assert_eq!(code, 3, "{checked}");
    assert_contains(&checked, &["[no-read]", "`link.get`"]);

    // Nor is a capability without a rule passed over.
    if let Some(capabilities) = spec["spec"]["capabilities"].as_object_mut() {
        capabilities.remove("route");
    }
    node.put_grant("bridge.yaml", &spec.to_string())?;
    let (_, checked, _) = grants(&node, &["check"])?;
    assert_contains(&checked, &["[no-rule]", "`route.list`"]);
    let error = add_fails(&node, &bridge())?;
    assert!(
        error["msg"].to_string().contains("does not allow"),
        "{error}"
    );
    Ok(())
}

/// A plugin that this node does not have: the first line says that the suggestion does not run.
#[test]
fn a_suggestion_that_cannot_be_completed_says_so() -> Result<()> {
    let node = Node::create()?;
    commands_of_bridge(&node, &node.container()?, "0")?;
    let log = fs::read_to_string(node.root().join("var/log/weir/audit.jsonl"))?;
    let records = file(&node, "gone.jsonl", &log.replace("\"bridge\"", "\"gone\""))?;
    let (code, yaml, errors) = grants(&node, &["suggest", "gone", "--records", &records])?;
    assert_eq!(code, 0, "{errors}");
    assert!(
        yaml.starts_with(
            "# It is not known whether the plugin runs with this grant: this node does not have"
        ),
        "{yaml}"
    );
    Ok(())
}

/// Someone's plugin that is not on the node, in a list with one that is.
#[test]
fn a_component_learns_in_a_list() -> Result<()> {
    let node = Node::create()?;
    let mut first = bridge();
    first
        .as_object_mut()
        .context("an object")?
        .remove("cniVersion");
    first.as_object_mut().context("an object")?.remove("name");
    let list = json!({
        "cniVersion": "1.1.0", "name": "tools",
        "plugins": [first, { "type": "portmap", "capabilities": { "portMappings": true } }]
    });
    let mappings =
        r#"{"portMappings": [{"hostPort": 8061, "containerPort": 80, "protocol": "udp"}]}"#;
    let records = learn(&node, "portmap", &list, &["--capability-args", mappings])?;
    let path = records.to_str().context("a path is text")?.to_owned();
    let (_, suggested) = json_of(&node, &["suggest", "portmap", "--records", &path])?;
    let capabilities = &suggested["document"]["spec"]["capabilities"];
    assert_eq!(
        capabilities["conntrack"][0]["ports"],
        json!([8061]),
        "{suggested:#}"
    );
    assert_eq!(suggested["document"]["spec"]["networks"], json!(["tools"]));
    // What was asked about one address is about its network, which another plugin gave it in.
    let destinations = &capabilities["route"][0]["destinations"];
    assert_eq!(*destinations, json!(["10.61.7.0/24"]), "{suggested:#}");
    assert_eq!(capabilities.get("ipam"), None, "{suggested:#}");

    let digest = node.install_plugin(PLUGIN)?;
    let mut config = json!({ "cniVersion": "1.1.0", "name": "tools", "type": PLUGIN });
    let shown = &component_file(PLUGIN);
    // One that asks for nothing has nothing recorded.
    let records = learn(&node, shown, &config, &[])?;
    assert_eq!(fs::read_to_string(&records)?, "");
    config["act"] = json!("read");
    config["target"] = json!("lo");
    let records = learn(&node, shown, &config, &[])?;
    let path = records.to_str().context("a path is text")?.to_owned();
    let (code, suggested) = json_of(&node, &["suggest", PLUGIN, "--records", &path])?;
    assert_eq!(code, 0, "{suggested:#}");
    let spec = &suggested["document"]["spec"];
    assert_eq!(spec["plugin"]["digest"], digest, "{suggested:#}");
    assert_eq!(
        spec["capabilities"],
        json!({ "link": [{ "namespace": "container", "kinds": ["loopback"], "names": ["lo"],
            "verbs": ["read"] }] })
    );
    let errors = node.stderr(
        &[
            "grants",
            "learn",
            "ptp",
            "--config",
            &file(&node, "c.json", &config.to_string())?,
        ],
        1,
    )?;
    assert_contains(&errors, &["does not run plugin `ptp`: it runs misbehaving"]);
    Ok(())
}

/// A component has the name that it reports, whatever its file is called, unless `--name` gives another.
#[test]
fn a_file_learns_by_its_own_name() -> Result<()> {
    let node = Node::create()?;
    // As cargo would call it.
    let copy = node.root().join("pinned_gateway.wasm");
    fs::copy(component("pinned-gateway"), &copy)?;
    let copy = copy.to_str().context("a path is text")?;
    let example = house().join("examples/pinned-gateway/network.conflist");
    let list: Value = serde_json::from_slice(&fs::read(example)?)?;
    let records = learn(&node, copy, &list, &[])?;
    let path = records.to_str().context("a path is text")?;
    let (_, suggested) = json_of(&node, &["suggest", "pinned-gateway", "--records", path])?;
    let plugin = &suggested["document"]["spec"]["plugin"];
    assert_eq!(plugin["name"], "pinned-gateway", "{suggested:#}");

    let mut renamed = list.to_string();
    renamed = renamed.replace("\"pinned-gateway\"", "\"mine\"");
    let renamed: Value = serde_json::from_str(&renamed)?;
    let config = file(&node, "renamed.json", &renamed.to_string())?;
    let errors = node.stderr(&["grants", "learn", copy, "--config", &config], 1)?;
    assert_contains(&errors, &["does not run plugin `pinned-gateway`", "--name"]);
    let records = learn(&node, copy, &renamed, &["--name", "mine"])?;
    let path = records.to_str().context("a path is text")?;
    let (_, suggested) = json_of(&node, &["suggest", "mine", "--records", path])?;
    assert!(suggested["operations"].as_u64() > Some(0), "{suggested:#}");
    Ok(())
}

/// Directories and files are allowed once a plugin has requested them, and what is still denied is reported.
#[test]
fn what_is_denied_while_learning_is_reported() -> Result<()> {
    let node = Node::create()?;
    let puppet = &component_file("puppet");
    let config = |directory: &str| {
        json!({
            "cniVersion": "1.1.0", "name": "tools", "type": "puppet",
            "orders": [
                { "do": "store.open", "path": "/var/lib/learned/leases", "write": true },
                { "do": "store.transaction.put", "key": "a", "value": "b" },
                { "do": "store.transaction.commit" },
                { "do": "store.close" },
                { "do": "store.read-file", "path": "/etc/learned.conf" },
                { "do": "store.open", "path": directory },
            ]
        })
    };
    let records = learn(&node, puppet, &config("/run/learned"), &[])?;
    let told = fs::read_to_string(&records)?;
    let told: Vec<Value> = told
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    assert!(
        told.iter().all(|one| one["verdict"] == "allowed"),
        "{told:#?}"
    );
    let path = records.to_str().context("a path is text")?;
    let (_, suggested) = json_of(&node, &["suggest", "puppet", "--records", path])?;
    assert_eq!(
        suggested["document"]["spec"]["capabilities"]["store"],
        json!([
            { "directories": ["/run/learned"], "verbs": ["read"] },
            { "directories": ["/var/lib/learned/leases"], "verbs": ["write"] },
            { "files": ["/etc/learned.conf"], "verbs": ["read"] },
        ]),
        "{suggested:#}"
    );

    // No rule can allow a directory that has no place.
    let config = file(&node, "learn.json", &config("nowhere/special").to_string())?;
    let words = ["learn", puppet, "--config", &config];
    let (code, printed, errors) = grants(&node, &words)?;
    assert_eq!(code, 3, "{errors}");
    assert_contains(&errors, &["puppet: read the store in `nowhere/special`"]);
    let is_denied = |line: &str| {
        let record: Value = serde_json::from_str(line).unwrap_or_default();
        record["verdict"] == "denied"
    };
    let denied: Vec<&str> = printed.lines().filter(|line| is_denied(line)).collect();
    assert!(!denied.is_empty(), "{printed}");
    assert!(
        denied.iter().all(|line| line.contains("nowhere/special")),
        "{denied:#?}"
    );
    Ok(())
}

/// Somebody who is not root learns as well, with namespaces of a user of the machine.
#[test]
fn another_user_learns() -> Result<()> {
    let node = Node::create()?;
    let config = file(&node, "learn.json", &bridge().to_string())?;
    // In a user namespace of a single user there is no other one, and this is not root's already.
    let users = fs::read_to_string("/proc/self/uid_map")?;
    let is_root = users.split_whitespace().nth(2) == Some("4294967295");
    let mut command = if is_root {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", "65534", "--regid", "65534", "--clear-groups"]);
        command.arg(binary());
        command
    } else {
        Command::new(binary())
    };
    command.args(["grants", "learn", "bridge", "--config", &config]);
    command.env("WEIR_ROOT", node.root());
    let output = node.inside(|| command.output().context("setpriv of util-linux"))?;
    let (code, printed, errors) = parts(output)?;
    assert_eq!(code, 0, "{errors}");
    let records: Vec<Value> = printed
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let is_made = |record: &Value| record["operation"] == "link.create";
    assert!(records.iter().any(is_made), "{printed}");
    Ok(())
}

/// Nothing on a node makes weir learn there: what is not granted is denied, with any option.
#[test]
fn a_node_does_not_learn() -> Result<()> {
    let node = Node::create()?;
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: loopback }\n\
                  spec: { plugin: { name: loopback }, networks: ['*'] }\n";
    node.put_grant("loopback.yaml", narrow)?;
    let container = node.container()?;
    for word in ["learn", "learning", "audit", "mode"] {
        let mut config = json!({ "cniVersion": "1.1.0", "name": "tools", "type": "loopback" });
        let mut call = weir(&node, "loopback", "ADD", &container, &config);
        call.set("CNI_IFNAME", "lo");
        call.set(&format!("WEIR_{}", word.to_uppercase()), "learn");
        assert_eq!(node.run(&call)?.error()["code"], 100, "{word}");
        config[word] = json!("learn");
        let mut call = weir(&node, "loopback", "ADD", &container, &config);
        call.set("CNI_IFNAME", "lo");
        // Denied, or a key that the plugin does not know.
        let error = node.run(&call)?.error();
        assert!(error["code"] == 100 || error["code"] == 7, "{error:#}");
    }
    for grant in [
        "learn: true",
        "mode: learn",
        "capabilities: { learn: [{}] }",
    ] {
        let document = narrow.replace(
            "name: loopback }, ",
            &format!("name: loopback }}, {grant}, "),
        );
        node.put_grant("loopback.yaml", &document)?;
        let config = json!({ "cniVersion": "1.1.0", "name": "tools", "type": "loopback" });
        let mut call = weir(&node, "loopback", "ADD", &container, &config);
        call.set("CNI_IFNAME", "lo");
        assert_eq!(node.run(&call)?.error()["code"], 202, "{grant}");
    }
    assert!(
        node.audit()
            .iter()
            .all(|record| record["verdict"] == "denied")
    );
    Ok(())
}

#[test]
fn a_suggestion_needs_records() -> Result<()> {
    let node = Node::create()?;
    let errors = node.stderr(&["grants", "suggest", "bridge"], 1)?;
    assert!(errors.contains("nothing was recorded"), "{errors}");
    let broken = file(&node, "broken.jsonl", "{\"plugin\": 1}\n{}\n")?;
    let errors = node.stderr(&["grants", "suggest", "bridge", "--records", &broken], 1)?;
    assert!(errors.contains("2 lines are not records"), "{errors}");
    assert_contains(&errors, &["no operation of plugin `bridge`"]);
    // From the node's own log, in which reads are not recorded.
    let mut config = bridge();
    let container = node.container()?;
    let call = weir(&node, "bridge", "ADD", &container, &config);
    config["prevResult"] = node.run(&call)?.result();
    node.run(&weir(&node, "bridge", "DEL", &container, &config))?;
    let yaml = node.stdout(&["grants", "suggest", "bridge"], 0)?;
    assert!(yaml.contains("kind: PluginGrant"), "{yaml}");
    let (_, suggested) = json_of(&node, &["suggest", "bridge"])?;
    assert_eq!(suggested["attachments"], 1);
    Ok(())
}
