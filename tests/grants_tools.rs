//! `weir grants`: what it says is what the gate does, and what it suggests is enough and no more.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{
    Container, Grant, Node, STANDARD, State, assert_contains, assert_lacks, binary, component,
    component_file, house, weir,
};

const PLUGIN: &str = "misbehaving";

fn bridge() -> Value {
    json!({
        "cniVersion": "1.1.0", "name": "tools", "type": "bridge", "bridge": "tools0",
        "isDefaultGateway": true, "ipMasq": true,
        "ipam": { "type": "host-local", "subnet": "10.61.7.0/24" }
    })
}

/// `weir grants …` on a node: its exit code, standard output, and standard error.
fn grants(node: &Node, words: &[&str]) -> Result<(i32, String, String)> {
    let mut all = vec!["grants"];
    all.extend(words);
    parts(node.inside(|| node.command(&all))?)
}

fn parts(output: Output) -> Result<(i32, String, String)> {
    let code = output.status.code().context("it ended by itself")?;
    let errors = String::from_utf8(output.stderr)?;
    Ok((code, String::from_utf8(output.stdout)?, errors))
}

/// The same, with what it printed as JSON.
#[track_caller]
fn json_of(node: &Node, words: &[&str]) -> Result<(i32, Value)> {
    let mut all = words.to_vec();
    all.extend(["--output", "json"]);
    let (code, printed, errors) = grants(node, &all)?;
    let value = serde_json::from_str(&printed);
    Ok((code, value.with_context(|| format!("{printed}{errors}"))?))
}

/// A file below the node's root.
fn file(node: &Node, name: &str, text: &str) -> Result<String> {
    let path = node.root().join(name);
    fs::write(&path, text)?;
    Ok(path.to_str().context("a path is text")?.to_owned())
}

/// Runs ADD, CHECK and DEL of the bridge, with reads recorded; all must succeed.
fn run_bridge(node: &Node, container: &Container) -> Result<()> {
    commands_of_bridge(node, container, "1")
}

/// The same, with reads recorded if `reads` is 1.
fn commands_of_bridge(node: &Node, container: &Container, reads: &str) -> Result<()> {
    let mut config = bridge();
    for command in ["ADD", "CHECK", "DEL"] {
        let mut call = weir(node, "bridge", command, container, &config);
        call.set("WEIR_AUDIT_READS", reads);
        let outcome = node.run(&call)?;
        ensure!(outcome.succeeded(), "{command}: {outcome:?}");
        if command == "ADD" {
            config["prevResult"] = outcome.document();
        }
    }
    Ok(())
}

#[test]
fn a_list_tells_what_is_in_force() -> Result<()> {
    let node = Node::create()?;
    let (code, shipped) = json_of(&node, &["list"])?;
    assert_eq!(code, 0, "{shipped:#}");
    let of = |listed: &Value, name: &str, from: &str| -> Value {
        let all = listed.as_array().expect("a list").iter();
        let mut found = all.filter(|one| {
            one["name"] == name && one["from"].as_str().is_some_and(|f| f.ends_with(from))
        });
        found.next().cloned().unwrap_or_default()
    };
    assert_eq!(of(&shipped, "bridge", "shipped")["state"], "in-force");

    let digest = node.install_plugin(PLUGIN)?;
    let other = format!("sha256:{}", "1".repeat(64));
    let document = |plugin: &str, digest: &str| Grant::nothing(plugin).document(digest);
    node.put_grant("a-mine.yaml", &document(PLUGIN, &digest))?;
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: loopback }\n\
                  spec: { plugin: { name: loopback }, networks: [blue] }\n";
    node.put_grant("b-loopback.yaml", narrow)?;
    let second =
        document(PLUGIN, &other).replace("  name: misbehaving\nspec", "  name: second\nspec");
    node.put_grant("c-second.yaml", &second)?;
    node.put_grant("d-nobody.yaml", &document("nobody", &digest))?;
    let (code, listed) = json_of(&node, &["list"])?;
    assert_eq!(code, 3, "{listed:#}");
    for (name, from, state) in [
        (PLUGIN, "a-mine.yaml", "in-force"),
        ("loopback", "b-loopback.yaml", "in-force"),
        ("loopback", "shipped", "replaced"),
        ("second", "c-second.yaml", "shadowed"),
        ("nobody", "d-nobody.yaml", "no-plugin"),
        ("static", "shipped", "in-force"),
    ] {
        let one = of(&listed, name, from);
        assert_eq!(one["state"], state, "{name} from {from}: {one:#}");
        assert_eq!(one["because"].is_string(), state != "in-force", "{one:#}");
    }
    let mine = of(&listed, PLUGIN, "a-mine.yaml");
    let shadows = mine["shadows"][0].as_str().unwrap_or_default();
    assert!(shadows.ends_with("c-second.yaml"), "{mine:#}");
    assert_eq!(
        of(&listed, "loopback", "b-loopback.yaml")["shadows"][0],
        "shipped"
    );
    assert_eq!(
        of(&listed, "loopback", "b-loopback.yaml")["networks"],
        json!(["blue"])
    );

    fs::remove_file(node.grants().join("c-second.yaml"))?;
    node.put_grant("a-mine.yaml", &document(PLUGIN, &other))?;
    let (code, listed) = json_of(&node, &["list", "--plugin", PLUGIN])?;
    assert_eq!((code, &listed[0]["state"]), (3, &json!("other-digest")));
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed:#}");

    node.put_grant("e-broken.yaml", "{")?;
    let text = node.stdout(&["grants", "list"], 3)?;
    assert!(
        text.starts_with("A grant is not valid: no plugin runs"),
        "{text}"
    );
    assert_contains(&text, &["e-broken.yaml", "bridge"]);
    Ok(())
}

#[test]
fn a_grant_is_shown_in_words() -> Result<()> {
    let node = Node::create()?;
    let text = node.stdout(&["grants", "show", "bridge"], 0)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_contains(
        &text,
        &[
            "What the plugin bridge may do on the node's own networks",
            "On networks of NetworkAttachmentDefinitions",
            "which comes with weir",
            "may create, look at and change interfaces of kind bridge, on the host",
            "may run host-local and static",
            "at most 64 MiB of memory",
            "traffic shaping (traffic)",
        ],
    );
    let (_, shown) = json_of(&node, &["show", "bridge"])?;
    assert_eq!(shown[0]["allowed"][0]["capability"], "link");
    assert_eq!(shown[0]["document"]["kind"], "PluginGrant");
    // Every shipped grant, as a document, is the grant.
    for plugin in STANDARD.into_iter().filter(|plugin| *plugin != "loopback") {
        let yaml = node.stdout(&["grants", "show", plugin, "--yaml"], 0)?;
        let again = file(&node, "again.yaml", &yaml)?;
        let (code, text, errors) = grants(&node, &["diff", plugin, &again])?;
        assert_eq!(code, 0, "{plugin}: {text}{errors}");
    }
    let errors = node.stderr(&["grants", "show", "nobody"], 1)?;
    assert!(errors.contains("weir grants new nobody"), "{errors}");
    Ok(())
}

#[test]
fn a_check_warns() -> Result<()> {
    let node = Node::create()?;
    // Not of what is shipped.
    let (code, text, errors) = grants(&node, &["check", "--strict"])?;
    assert_eq!(code, 0, "{text}{errors}");
    let digest = node.install_plugin(PLUGIN)?;
    let wide = Grant {
        capabilities: r#"{ link: [{}], route: [{ namespace: container }, { namespace: container, verbs: [read] }] }"#,
        ..Grant::nothing(PLUGIN)
    };
    let wide = file(&node, "wide.yaml", &wide.document(&digest))?;
    let narrow = Grant {
        networks: "[pods]",
        capabilities: r#"{ link: [{ namespace: container, names: ["{ifname}"], verbs: [read] }] }"#,
        ..Grant::nothing(PLUGIN)
    };
    let narrow = file(&node, "narrow.yaml", &narrow.document(&digest))?;
    let (code, checked) = json_of(&node, &["check", &wide, &narrow])?;
    assert_eq!(code, 0);
    let codes = |one: &Value| -> Vec<String> {
        let remarks = one["remarks"].as_array().expect("remarks").iter();
        remarks
            .map(|r| {
                format!(
                    "{} {}",
                    r["rule"].as_str().unwrap_or("-"),
                    r["code"].as_str().unwrap_or("-")
                )
            })
            .collect()
    };
    assert_eq!(
        codes(&checked[0]),
        [
            "- every-network",
            "link[0] no-keys",
            "route[1] never-effective"
        ]
    );
    assert_eq!(codes(&checked[1]), Vec::<String>::new());
    assert_eq!(grants(&node, &["check", "--strict", &wide])?.0, 3);
    assert_eq!(grants(&node, &["check", "--strict", &narrow])?.0, 0);
    let broken = file(&node, "broken.yaml", "{")?;
    let (code, text, errors) = grants(&node, &["check", &broken, &narrow])?;
    assert_eq!(code, 1, "{text}");
    assert_contains(&errors, &["not valid", "broken.yaml"]);

    // Without files: all of the node, as they go together.
    node.put_grant("nobody.yaml", &Grant::nothing("nobody").document(&digest))?;
    let (code, checked) = json_of(&node, &["check"])?;
    assert_eq!(code, 0);
    assert_eq!(codes(&checked[0]), ["- no-plugin"]);
    let all = checked.as_array().context("a list")?;
    assert!(
        all.iter()
            .any(|one| one["plugin"] == "bridge" && one["from"] == "shipped")
    );
    // What weir itself brings is left out of the text.
    let (_, text, _) = grants(&node, &["check"])?;
    assert_contains(&text, &["nobody.yaml", "notes that `--shipped` prints"]);
    assert_lacks(&text, &["plugin bridge"]);
    let (_, text, _) = grants(&node, &["check", "--shipped"])?;
    assert_contains(&text, &["shipped: a valid grant of plugin bridge"]);
    Ok(())
}

/// What is explained is what the gate decided, by the same rules.
#[test]
fn an_explanation_is_the_gates_verdict() -> Result<()> {
    let node = Node::create()?;
    run_bridge(&node, &node.container()?)?;
    // And something that is denied.
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: loopback }\n\
                  spec: { plugin: { name: loopback }, networks: ['*'], capabilities: { link: [{ verbs: [read] }] } }\n";
    node.put_grant("loopback.yaml", narrow)?;
    let config = json!({ "cniVersion": "1.1.0", "name": "tools", "type": "loopback" });
    let container = node.container()?;
    let mut call = weir(&node, "loopback", "ADD", &container, &config);
    call.set("CNI_IFNAME", "lo").set("WEIR_AUDIT_READS", "1");
    node.run(&call)?.error();

    let mut records = node.audit();
    records.retain(|record| record["verdict"] != "undo");
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    let mut explain = Command::new(binary());
    explain.args(["grants", "explain", "--record", "--output", "json"]);
    explain.env("WEIR_ROOT", node.root());
    let explain = explain
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = explain.spawn()?;
    let mut stdin = child.stdin.take().context("standard input")?;
    stdin.write_all(lines.join("\n").as_bytes())?;
    drop(stdin);
    let (code, printed, errors) = parts(child.wait_with_output()?)?;
    assert_eq!(code, 3, "{errors}");
    let explained: Vec<Value> = serde_json::from_str(&printed)?;
    assert_eq!(explained.len(), records.len());
    let mut denied = 0;
    for (record, explained) in records.iter().zip(&explained) {
        assert_eq!(explained["operation"], record["operation"]);
        assert_eq!(explained["arguments"], record["arguments"]);
        let allowed = record["verdict"] == "allowed";
        assert_eq!(explained["allowed"], allowed, "{record:#}\n{explained:#}");
        let rules = explained["rules"].as_array().context("rules")?.iter();
        let names: Vec<Value> = if allowed {
            rules.map(|rule| rule["name"].clone()).collect()
        } else {
            denied += 1;
            let field = explained["field"].as_str().context("a field")?;
            rules
                .map(|rule| {
                    format!("{}: {field}", rule["name"].as_str().unwrap_or_default()).into()
                })
                .collect()
        };
        let recorded = match &record["closest"] {
            Value::Null => record["rules"].clone(),
            closest => {
                let of = |key: &str| closest[key].as_str().unwrap_or_default();
                json!([format!("{}: {}", of("rule"), of("field"))])
            }
        };
        assert_eq!(Value::from(names), recorded, "{record:#}");
    }
    ensure!(
        denied > 0 && records.len() > 20,
        "{denied} of {}",
        records.len()
    );
    Ok(())
}

#[test]
fn a_person_asks_for_an_explanation() -> Result<()> {
    let node = Node::create()?;
    let create = [
        "grants",
        "explain",
        "bridge",
        "link.create",
        "namespace=host",
        "name=cni0",
    ];
    let with = |more: &[&'static str]| [&create[..], more].concat();
    let text = node.stdout(&with(&["kind=bridge"]), 0)?;
    assert!(
        text.starts_with("allowed: link.create") && text.contains("link[0] {"),
        "{text}"
    );
    let text = node.stdout(&with(&["kind=dummy"]), 3)?;
    assert_contains(&text, &["does not allow it to create dummy `cni0` in host"]);
    assert_contains(&text, &["the closest rule does not match in `kinds`"]);
    let errors = node.stderr(&["grants", "explain", "bridge", "link.destroy"], 1)?;
    assert_contains(
        &errors,
        &["no operation `link.destroy`; expected `link.create`"],
    );
    let errors = node.stderr(&with(&["colour=red"]), 1)?;
    assert_contains(
        &errors,
        &["has no field `colour`; its fields are namespace, kind"],
    );
    // Placeholders are this invocation's.
    let read = [
        "grants",
        "explain",
        "bridge",
        "link.get",
        "namespace=container",
        "kind=veth",
        "name=net1",
    ];
    node.exits(&read, 3)?;
    node.exits(&[&read[..], &["--ifname", "net1"]].concat(), 0)?;
    // Another document, and another network.
    let digest = format!("sha256:{}", "2".repeat(64));
    let only_blue = Grant {
        networks: "[blue]",
        capabilities: "{ link: [{ kinds: [dummy] }] }",
        ..Grant::nothing("bridge")
    };
    let candidate = file(&node, "candidate.yaml", &only_blue.document(&digest))?;
    let asked = with(&["kind=dummy", "--grant"]);
    node.exits(&[&asked[..], &[candidate.as_str()]].concat(), 0)?;
    node.put_grant("bridge.yaml", &only_blue.document(&digest))?;
    let text = node.stdout(&with(&["kind=bridge", "--network", "green"]), 3)?;
    assert!(text.contains("covers the network `green`"), "{text}");
    Ok(())
}

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
        let container = node.container()?;
        let outcome = node.run(&weir(&node, "bridge", "ADD", &container, &config))?;
        let error = outcome.error();
        let said = format!("{} {}", error["msg"], error["details"]);
        assert!(
            said.contains("does not allow") || said.contains("covers the network"),
            "{key}: {said}"
        );
    }
    Ok(())
}

/// Of a node's log, which has no reads: what the plugin reads is worked out from what it imports.
#[test]
fn a_grant_suggested_without_reads_runs() -> Result<()> {
    let node = Node::create()?;
    for _ in 0..2 {
        commands_of_bridge(&node, &node.container()?, "0")?;
    }
    let (code, yaml, errors) = grants(&node, &["suggest", "bridge"])?;
    assert_eq!(code, 0, "{errors}");
    assert!(yaml.starts_with("# Reads were not recorded"), "{yaml}");
    assert_contains(&yaml, &["link.get", "sysctl.read"]);
    let (_, told) = json_of(&node, &["suggest", "bridge"])?;
    let added = told["reads_from_imports"]["added_for"]["link"].as_array();
    assert!(added.context("a list")?.contains(&json!("get")), "{told:#}");
    node.put_grant("bridge.yaml", &yaml)?;
    let (code, checked, _) = grants(&node, &["check", "--strict"])?;
    assert!(!checked.contains("no-read"), "{code}: {checked}");
    for _ in 0..2 {
        commands_of_bridge(&node, &node.container()?, "0")?;
    }

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
    let container = node.container()?;
    let outcome = node.run(&weir(&node, "bridge", "ADD", &container, &bridge()))?;
    let error = outcome.error();
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
        yaml.starts_with("# The plugin does not run with this grant:"),
        "{yaml}"
    );
    Ok(())
}

/// A plugin of somebody's, that is no part of the node, in a list with one that is.
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

/// A component is called as it calls itself, whatever its file is called, unless it is said otherwise.
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

/// Directories and files are allowed once they were asked for, and what is still denied is told.
#[test]
fn what_is_denied_to_a_learner_is_told() -> Result<()> {
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

/// Nothing on a node makes weir learn there: what is not granted is denied, whatever it is told.
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

/// `weir grants explain --record` with these lines on its standard input.
fn explain_records(node: &Node, lines: &[u8], words: &[&str]) -> Result<(i32, String, String)> {
    let mut explain = Command::new(binary());
    explain.args(["grants", "explain", "--record"]).args(words);
    explain.env("WEIR_ROOT", node.root()).stdin(Stdio::piped());
    let mut child = explain
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("standard input")?;
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&lines));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    parts(output)
}

/// The log's lines as they stand, with reads.
fn lines_of_a_bridge(node: &Node) -> Result<Vec<String>> {
    run_bridge(node, &node.container()?)?;
    let records = node.weir(&["audit", "--output", "json"])?;
    Ok(records.lines().map(str::to_owned).collect())
}

/// A line with other members, in the log's order: a record begins with its time.
fn changed(line: &str, change: impl FnOnce(&mut Value)) -> Result<String> {
    let mut record: Value = serde_json::from_str(line)?;
    change(&mut record);
    let members = record.as_object_mut().context("an object")?;
    let time = members.remove("time").context("a time")?;
    let rest = Value::from(std::mem::take(members)).to_string();
    Ok(format!("{{\"time\":{time},{}", &rest[1..]))
}

/// Neither a crash nor a plugin that floods the log keeps people from their tools.
#[test]
fn a_damaged_log_serves_as_well() -> Result<()> {
    let node = Node::create()?;
    let lines = lines_of_a_bridge(&node)?;
    let whole = file(&node, "whole.jsonl", &(lines.join("\n") + "\n"))?;
    let given = lines.iter().find(|l| l.contains("\"address.add\""));
    let given = given.context("an address was given")?;

    let mut damaged = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if index == 3 {
            // A crash cut a record inside a letter, and the next one followed it.
            damaged.extend(b"{\"time\":\"2026-03-01T10:00:00Z\",\"container_id\":\"\xc3");
        }
        damaged.extend(line.as_bytes());
        damaged.push(b'\n');
    }
    let short = changed(given, |record| {
        record["shortened_from"] = json!(99_999);
        record["arguments"]["address"] = json!("10.0.0.1/8");
    })?;
    let foreign = changed(given, |record| {
        record["operation"] = json!("address.forget")
    })?;
    // What was denied another plugin says nothing of where addresses are.
    let denied = changed(given, |record| {
        record["plugin"] = json!("hostile");
        record["verdict"] = json!("denied");
        record["arguments"]["address"] = json!("10.61.7.9/9");
    })?;
    for line in [&short, &foreign, &denied, &"no record".to_owned()] {
        damaged.extend(line.as_bytes());
        damaged.push(b'\n');
    }
    damaged.extend(&lines[0].as_bytes()[..40]);
    let path = node.root().join("damaged.jsonl");
    fs::write(&path, &damaged)?;
    let path = path.to_str().context("a path is text")?;

    let of = |path: &str| json_of(&node, &["suggest", "bridge", "--records", path]);
    let ((code, expected), (damaged_code, suggested)) = (of(&whole)?, of(path)?);
    assert_eq!((code, damaged_code), (0, 0));
    assert_eq!(suggested["document"], expected["document"]);
    assert_eq!(suggested["operations"], expected["operations"]);
    assert_eq!(
        (&expected["left_out"], &suggested["left_out"]),
        (
            &json!({ "shortened": 0, "foreign": 0, "unreadable": 0 }),
            &json!({ "shortened": 1, "foreign": 1, "unreadable": 3 })
        )
    );
    let (_, yaml, _) = grants(&node, &["suggest", "bridge", "--records", path])?;
    assert_contains(
        &yaml,
        &[
            "# 1 record is left out: its arguments are shortened",
            "no operation `address.forget`",
            "# 3 lines are not records",
        ],
    );

    // All that can be told is told, and the answer is not yes: the missing part may be what is denied.
    let json = ["bridge", "--output", "json"];
    let (code, text, errors) = explain_records(&node, (lines.join("\n")).as_bytes(), &json)?;
    assert_eq!((code, errors.as_str()), (0, ""));
    let (damaged_code, damaged_text, errors) = explain_records(&node, &damaged, &json)?;
    assert_eq!((damaged_code, &damaged_text), (3, &text));
    assert_contains(
        &errors,
        &["shortened", "`address.forget`", "3 lines are not records"],
    );
    let only_short = explain_records(&node, short.as_bytes(), &["bridge"])?;
    assert_eq!((only_short.0, only_short.1.as_str()), (3, ""));
    Ok(())
}

/// What a plugin writes into a record, its reader sees as what it is.
#[test]
fn a_record_cannot_drive_the_terminal() -> Result<()> {
    let node = Node::create()?;
    let lines = lines_of_a_bridge(&node)?;
    let create = lines.iter().find(|l| l.contains("\"link.create\""));
    let create = create.context("a link was created")?;
    let evil = "x\u{1b}[2J\u{9b}31m\u{7}\u{202e}\u{200b}\nallowed: everything";
    let hostile = changed(create, |record| record["arguments"]["name"] = json!(evil))?;
    let of_nobody = changed(create, |record| record["plugin"] = json!(evil))?;
    let unknown = changed(create, |record| record["operation"] = json!(evil))?;
    let all = [hostile, of_nobody, unknown].join("\n");
    let misleads = |c: char| c != '\n' && (c.is_control() || ['\u{202e}', '\u{200b}'].contains(&c));
    for words in [&[][..], &["--output", "json"]] {
        let (code, text, errors) = explain_records(&node, all.as_bytes(), words)?;
        assert_eq!(code, 3, "{text}{errors}");
        for said in [&text, &errors] {
            assert!(!said.contains(misleads), "{said:?}");
            assert!(said.contains("[2J"), "it is shown: {said}");
            let own = said
                .lines()
                .filter(|l| l.starts_with("allowed: everything"));
            assert_eq!(own.count(), 0, "{said}");
        }
    }
    let (_, json, _) = explain_records(&node, all.as_bytes(), &["--output", "json"])?;
    let explained: Value = serde_json::from_str(&json)?;
    assert_eq!(explained[0]["arguments"]["name"], evil);
    assert_eq!(explained[1]["plugin"], evil);
    Ok(())
}

/// A plugin that does not run is allowed nothing, whatever the rules of its grant say.
#[test]
fn an_explanation_is_of_the_grant_that_applies() -> Result<()> {
    let node = Node::create()?;
    let digest = node.install_plugin(PLUGIN)?;
    let other = format!("sha256:{}", "5".repeat(64));
    let all = |networks: &'static str| Grant {
        networks,
        capabilities: "{ link: [{}] }",
        ..Grant::nothing(PLUGIN)
    };
    let get = [
        "explain",
        PLUGIN,
        "link.get",
        "namespace=container",
        "kind=loopback",
        "name=lo",
    ];
    let ask = |words: &[&str]| json_of(&node, &[&get[..], words].concat());
    node.put_grant("b-mine.yaml", &all(r#"["*"]"#).document(&digest))?;
    assert_eq!(ask(&["--network", "blue"])?.0, 0);

    // The first that covers the network is for another component.
    node.put_grant("a-other.yaml", &all("[blue]").document(&other))?;
    let (code, told) = ask(&["--network", "blue"])?;
    assert_eq!((code, &told["allowed"]), (3, &json!(false)), "{told:#}");
    let because = told["because"].as_str().unwrap_or_default();
    assert!(
        because.contains(&other) && because.contains(&digest),
        "{told:#}"
    );
    assert_eq!(told["rules"][0]["name"], "link[0]", "{told:#}");
    let (_, text, _) = grants(&node, &[&get[..], &["--network", "blue"]].concat())?;
    assert!(text.starts_with("denied: link.get"), "{text}");
    assert!(text.contains("is not in force for it: it is for"), "{text}");
    // On other networks, and where nobody says on which, the second is in force.
    assert_eq!(ask(&["--network", "green"])?.0, 0);
    assert_eq!(ask(&[])?.0, 0);

    // A record from a network that no grant covers any more is denied, and explained like the others.
    node.put_grant("b-mine.yaml", &all("[green]").document(&digest))?;
    let lines = lines_of_a_bridge(&node)?;
    let get = lines.iter().find(|l| l.contains("\"link.get\""));
    let get = get.context("a link was looked at")?;
    let on = |network: &str| {
        changed(get, |record| {
            record["plugin"] = json!(PLUGIN);
            record["network"] = json!(network);
        })
    };
    let records = [on("green")?, on("red")?, on("blue")?].join("\n");
    let (code, told, _) = explain_records(&node, records.as_bytes(), &["--output", "json"])?;
    let told: Value = serde_json::from_str(&told)?;
    let allowed = |index: usize| told[index]["allowed"].clone();
    assert_eq!(code, 3);
    assert_eq!(
        [allowed(0), allowed(1), allowed(2)],
        [json!(true), json!(false), json!(false)],
        "{told:#}"
    );
    assert!(told[1]["grant"].is_null(), "{told:#}");
    assert_contains(
        &told[1]["because"].to_string(),
        &["covers the network `red`"],
    );
    Ok(())
}

#[test]
fn two_grants_differ() -> Result<()> {
    let node = Node::create()?;
    let digest = format!("sha256:{}", "3".repeat(64));
    let of = |capabilities: &'static str| Grant {
        capabilities,
        ..Grant::nothing("mine")
    };
    let first = of("{ link: [{ namespace: container, verbs: [read] }] }").document(&digest);
    let second =
        of("{ link: [{ namespace: container, verbs: [read, delete] }] }").document(&digest);
    let first = file(&node, "first.yaml", &first)?;
    let second = file(&node, "second.yaml", &second)?;
    assert_eq!(grants(&node, &["diff", &first, &first])?.0, 0);
    let text = node.stdout(&["grants", "diff", &first, &second], 3)?;
    assert!(text.contains("delete interfaces of every kind"), "{text}");
    let (code, found) = json_of(&node, &["diff", &second, &first])?;
    assert_eq!(code, 4, "it is only narrower");
    assert_eq!(found["possible"], json!([]));
    assert_eq!(found["impossible"][0]["rule"]["verbs"], json!(["delete"]));
    assert_eq!(grants(&node, &["diff", "nobody", &first])?.0, 1);

    let (one, two) = (component("bridge"), component("static"));
    let (one, two) = (one.to_str().context("text")?, two.to_str().context("text")?);
    assert_eq!(grants(&node, &["diff", one, one])?.0, 0);
    let (code, found) = json_of(&node, &["diff", one, two])?;
    assert_eq!(code, 3);
    let less = found["less"]["link"].as_array().context("a list")?;
    assert!(less.contains(&json!("create")), "{found:#}");
    assert!(found["less"]["firewall"].is_array(), "{found:#}");
    assert_eq!(found["more"], json!({}));
    assert_eq!(grants(&node, &["diff", one, &first])?.0, 1);
    Ok(())
}
