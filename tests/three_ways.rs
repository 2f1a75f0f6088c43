//! The three ways in: a plugin by its name, the delegating plugin, and the command line.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Node, State, assert_contains, binary, bridge, failure, weir};

const VERSIONS: [&str; 7] = [
    "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
];

/// A network as a list of plugins.
fn list(name: &str, subnet: &str) -> Value {
    let mut plugin = bridge(name, &[subnet]);
    let own = plugin.as_object_mut().expect("an object");
    own.remove("name");
    own.remove("cniVersion");
    json!({ "cniVersion": "1.1.0", "name": name, "plugins": [plugin] })
}

// By a plugin's name.

#[test]
fn version_is_answered_under_every_name() -> Result<()> {
    let (node, container) = Node::with_container()?;
    for name in ["bridge", "host-local", "loopback", "weir"] {
        let mut call = weir(
            &node,
            name,
            "VERSION",
            &container,
            &json!({ "cniVersion": "1.0.0" }),
        );
        for variable in ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME", "CNI_PATH"] {
            call.unset(variable);
        }
        let answer = node.run(&call)?.result();
        assert_eq!(answer["cniVersion"], "1.0.0", "{name}");
        assert_eq!(answer["supportedVersions"], json!(VERSIONS), "{name}");
        for other in [
            "",
            "no JSON",
            r#"{"cniVersion": "1.2.0"}"#,
            r#"{"cniVersion": 7}"#,
        ] {
            let answer = node.run(call.input(other))?.result();
            assert_eq!(answer["cniVersion"], "1.1.0", "{name}: {other}");
            assert_eq!(
                answer["supportedVersions"],
                json!(VERSIONS),
                "{name}: {other}"
            );
        }
    }
    Ok(())
}

#[test]
fn a_link_anywhere_is_its_plugin() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let config = json!({ "cniVersion": "1.1.0", "name": "net", "type": "loopback" });
    let mut call = weir(&node, "loopback", "ADD", &container, &config);
    call.set("CNI_IFNAME", "lo");
    let result = node.run(&call)?.result();
    assert_eq!(result["ips"][0]["address"], "127.0.0.1/8");

    // Through a link to the link, and as a copy.
    let elsewhere = node.root().join("elsewhere");
    fs::create_dir(&elsewhere)?;
    symlink(node.bin_dir().join("loopback"), elsewhere.join("loopback"))?;
    fs::copy(binary(), elsewhere.join("host-local"))?;
    for (name, word) in [("loopback", ""), ("host-local", "ipam")] {
        let output = Command::new(elsewhere.join(name))
            .env_clear()
            .env("WEIR_ROOT", node.root())
            .env("CNI_COMMAND", "STATUS")
            .stdin(serve(&node, &config)?)
            .output()?;
        let printed = String::from_utf8(output.stdout)?;
        assert_eq!(
            output.status.success(),
            name == "loopback",
            "{name}: {printed}"
        );
        assert!(printed.contains(word), "{name}: {printed}");
    }
    Ok(())
}

/// A file with the configuration, as standard input.
fn serve(node: &Node, config: &Value) -> Result<Stdio> {
    let path = node.root().join("stdin");
    fs::write(&path, config.to_string())?;
    Ok(fs::File::open(path)?.into())
}

// The delegating plugin.

fn delegating(delegates: Value) -> Value {
    json!({ "cniVersion": "1.1.0", "name": "all", "type": "weir", "delegates": delegates })
}

#[test]
fn delegates_are_added_in_order_and_deleted_in_reverse() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let before = State::of(&node)?;
    let config = delegating(json!([
        bridge("one", &["10.51.0.0/24"]),
        list("two", "10.52.0.0/24")
    ]));
    let run =
        |command: &str, config: &Value| node.run(&weir(&node, "weir", command, &container, config));
    let result = run("ADD", &config)?.result();
    assert_eq!(
        result["ips"][0]["address"], "10.51.0.2/24",
        "the first network's result"
    );
    assert_eq!(container.links()?, ["lo", "eth0", "net1"]);
    assert_eq!(node.taken("one"), ["10.51.0.2"]);
    assert_eq!(node.taken("two"), ["10.52.0.2"]);

    let mut checked = config.clone();
    checked["prevResult"] = result;
    run("CHECK", &checked)?.result();
    run("STATUS", &config)?.result();
    run("DEL", &checked)?.result();
    run("DEL", &config)?.result();
    assert_eq!(container.links()?, ["lo"]);
    let after = State::of(&node)?;
    assert_eq!(after.files, before.files);
    assert_eq!(after.links, ["lo", "one0", "two0"]);

    let deleted: Vec<String> = node
        .audit()
        .iter()
        .filter(|r| r["command"] == "DEL" && r["operation"] == "link.delete" && r["answer"] == "ok")
        .map(|r| r["network"].as_str().unwrap_or_default().to_owned())
        .collect();
    assert_eq!(deleted, ["two", "one"], "DEL goes in reverse");
    Ok(())
}

#[test]
fn a_delegate_that_fails_undoes_those_before_it() -> Result<()> {
    let node = Node::create()?;
    let (container, other) = (node.container()?, node.container()?);
    let one = bridge("one", &["10.51.0.0/24"]);
    node.run(&weir(&node, "bridge", "ADD", &other, &one))?
        .result();
    let before = State::of(&node)?;
    let mut unroutable = list("two", "10.52.0.0/24");
    unroutable["plugins"][0]["ipam"]["routes"] =
        json!([{ "dst": "192.0.2.0/24", "gw": "203.0.113.9" }]);
    let config = delegating(json!([one, unroutable]));
    assert_contains(
        &node
            .run(&weir(&node, "weir", "ADD", &container, &config))?
            .message(),
        &["network `two`"],
    );
    State::of(&node)?.assert_same(&before);
    assert_eq!(container.links()?, ["lo"]);
    Ok(())
}

#[test]
fn delegates_that_are_none() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let cases = [
        (json!([]), "delegates"),
        (json!({}), "delegates"),
        (json!(["bridge"]), "delegates[0]"),
        (
            json!([bridge("one", &["10.51.0.0/24"]), { "name": "two" }]),
            "delegates[1]",
        ),
        (json!([{ "name": "two", "plugins": [] }]), "delegates[0]"),
        (
            json!([{ "name": "../two", "type": "bridge" }]),
            "delegates[0]",
        ),
    ];
    for (delegates, word) in cases {
        let call = weir(
            &node,
            "weir",
            "ADD",
            &container,
            &delegating(delegates.clone()),
        );
        let error = node.run(&call)?.error();
        assert_eq!(error["code"], 7, "{delegates}: {error:#}");
        assert!(
            error["msg"].to_string().contains(word),
            "{delegates}: {error:#}"
        );
    }
    let mut without = delegating(json!([]));
    without
        .as_object_mut()
        .context("an object")?
        .remove("delegates");
    assert_contains(
        &node
            .run(&weir(&node, "weir", "ADD", &container, &without))?
            .message(),
        &["clusterNetwork and delegates"],
    );
    Ok(())
}

// The command line: `weir net`.

fn put_network(node: &Node, file: &str, network: &Value) -> Result<()> {
    let directory = node.root().join("etc/cni/net.d");
    fs::create_dir_all(&directory)?;
    fs::write(directory.join(file), network.to_string()).context("write a network")
}

/// Runs `weir net`, with the words after it, and `--container-id` and the namespace of a container.
fn net(node: &Node, command: &str, network: &str, container: &Container) -> Result<String> {
    let netns = container.netns();
    let netns = netns.to_str().context("text")?;
    node.weir(&[
        "net",
        command,
        network,
        netns,
        "--container-id",
        &container.id,
    ])
}

fn cached(node: &Node, network: &str, container: &Container) -> PathBuf {
    let name = format!("{network}-{}-eth0", container.id);
    node.root().join("var/lib/cni/results").join(name)
}

#[test]
fn a_network_by_hand() -> Result<()> {
    let (node, container) = Node::with_container()?;
    put_network(&node, "10-blue.conflist", &list("blue", "10.53.0.0/24"))?;
    net(&node, "del", "blue", &container)?;
    node.weir(&["net", "status", "blue"])?;
    let unknown = failure(net(&node, "check", "blue", &container))?;
    assert!(unknown.contains("CNI error 3"), "{unknown}");

    let result: Value = serde_json::from_str(&net(&node, "add", "blue", &container)?)?;
    assert_eq!(result["cniVersion"], "1.1.0");
    assert_eq!(result["ips"][0]["address"], "10.53.0.2/24");
    net(&node, "check", "blue", &container)?;
    container.ip("address delete 10.53.0.2/24 dev eth0")?;
    let changed = failure(net(&node, "check", "blue", &container))?;
    assert!(changed.contains("10.53.0.2/24"), "{changed}");

    net(&node, "del", "blue", &container)?;
    assert_eq!(container.links()?, ["lo"]);
    assert!(node.taken("blue").is_empty());
    assert!(!cached(&node, "blue", &container).exists());
    net(&node, "del", "blue", &container)?;
    Ok(())
}

#[test]
fn the_cache_is_libcnis() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let network = list("blue", "10.53.0.0/24");
    put_network(&node, "10-blue.conflist", &network)?;
    let netns = container.netns();
    let netns = netns.to_str().context("text")?;
    let printed = node.weir(&[
        "net",
        "add",
        "blue",
        netns,
        "--container-id",
        &container.id,
        "--args",
        "IgnoreUnknown=1;K8S_POD_NAME=pod",
        "--capability-args",
        r#"{"aliases": ["a"]}"#,
    ])?;
    let path = cached(&node, "blue", &container);
    assert_eq!(fs::metadata(&path)?.mode() & 0o777, 0o600);
    let cache: Value = serde_json::from_slice(&fs::read(&path)?)?;
    // The keys of libcni's `cachedInfo`.
    let keys: Vec<&String> = cache.as_object().context("an object")?.keys().collect();
    let mut expected = [
        "kind",
        "containerId",
        "config",
        "ifName",
        "networkName",
        "netns",
        "cniArgs",
        "capabilityArgs",
        "result",
    ];
    expected.sort_unstable();
    assert_eq!(keys, expected);
    assert_eq!(cache["kind"], "cniCacheV1");
    assert_eq!(cache["containerId"], container.id.as_str());
    assert_eq!(cache["ifName"], "eth0");
    assert_eq!(cache["networkName"], "blue");
    assert_eq!(cache["netns"], netns);
    assert_eq!(
        cache["cniArgs"],
        json!([["IgnoreUnknown", "1"], ["K8S_POD_NAME", "pod"]])
    );
    assert_eq!(cache["capabilityArgs"], json!({ "aliases": ["a"] }));
    assert_eq!(cache["result"], serde_json::from_str::<Value>(&printed)?);
    let config: Value =
        serde_json::from_slice(&from_base64(cache["config"].as_str().context("text")?)?)?;
    assert_eq!(config, network);

    // A cache that another program wrote, or that a crash cut, keeps no DEL from working.
    fs::write(&path, "{\"kind\": \"cniCa")?;
    net(&node, "del", "blue", &container)?;
    assert!(node.taken("blue").is_empty());
    Ok(())
}

/// By `base64` of coreutils, so that not the same code reads what it wrote.
fn from_base64(text: &str) -> Result<Vec<u8>> {
    use std::io::Write;
    let mut base64 = Command::new("base64")
        .arg("--decode")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("run `base64` of coreutils")?;
    base64
        .stdin
        .take()
        .context("its input")?
        .write_all(text.as_bytes())?;
    let output = base64.wait_with_output()?;
    anyhow::ensure!(output.status.success(), "`{text}` is not base64");
    Ok(output.stdout)
}

/// What was added is deleted as it was added, whatever has become of the file.
#[test]
fn del_uses_the_configuration_of_add() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let mut network = list("blue", "10.53.0.0/24");
    network["plugins"][0]["ipMasq"] = json!(true);
    put_network(&node, "10-blue.conflist", &network)?;
    net(&node, "add", "blue", &container)?;
    let changed = json!({
        "cniVersion": "1.1.0", "name": "blue", "plugins": [{ "type": "loopback" }],
    });
    put_network(&node, "10-blue.conflist", &changed)?;
    net(&node, "del", "blue", &container)?;
    assert_eq!(container.links()?, ["lo"]);
    assert!(node.taken("blue").is_empty());
    Ok(())
}

#[test]
fn check_and_gc_can_be_disabled() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let mut network = list("blue", "10.53.0.0/24");
    network["disableCheck"] = json!(true);
    network["disableGC"] = json!(true);
    put_network(&node, "10-blue.conflist", &network)?;
    net(&node, "add", "blue", &container)?;
    container.ip("link delete eth0")?;
    net(&node, "check", "blue", &container)?;
    node.weir(&["net", "gc", "blue"])?;
    assert_eq!(node.taken("blue"), ["10.53.0.2"], "nothing was collected");
    net(&node, "del", "blue", &container)?;
    Ok(())
}

#[test]
fn gc_releases_what_is_not_valid() -> Result<()> {
    let node = Node::create()?;
    let mut network = list("blue", "10.53.0.0/24");
    network["plugins"][0]["ipMasq"] = json!(true);
    network["plugins"][0]["macspoofchk"] = json!(true);
    put_network(&node, "10-blue.conflist", &network)?;
    put_network(&node, "20-red.conflist", &list("red", "10.54.0.0/24"))?;
    let (valid, known, unknown) = (node.container()?, node.container()?, node.container()?);
    net(&node, "add", "blue", &valid)?;
    let before = State::of(&node)?;
    for container in [&known, &unknown] {
        net(&node, "add", "blue", container)?;
    }
    // Nobody remembers this one: what it has is found all the same.
    fs::remove_file(cached(&node, "blue", &unknown))?;
    unknown.ip("link delete eth0")?;
    let bystander = node.container()?;
    net(&node, "add", "red", &bystander)?;

    let keep = format!("{}/eth0", valid.id);
    node.weir(&["net", "gc", "blue", "--keep", &keep])?;
    assert_eq!(known.links()?, ["lo"]);
    assert_eq!(valid.links()?, ["lo", "eth0"]);
    assert_eq!(node.taken("red"), ["10.54.0.2"], "another network's");
    net(&node, "check", "blue", &valid)?;
    net(&node, "del", "red", &bystander)?;
    node.ip("link delete red0")?;
    State::of(&node)?.assert_same(&before);
    Ok(())
}

#[test]
fn networks_that_are_not_there() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let none = failure(net(&node, "add", "blue", &container))?;
    assert!(none.contains("no such network"), "{none}");
    put_network(&node, "10-red.conflist", &list("red", "10.54.0.0/24"))?;
    put_network(&node, "20-broken.conflist", &json!([1]))?;
    let other = failure(net(&node, "add", "blue", &container))?;
    assert_contains(&other, &["`red`", "20-broken.conflist"]);
    let path = failure(net(&node, "add", "../red", &container))?;
    assert!(path.contains("../red"), "{path}");

    put_network(
        &node,
        "30-empty.conflist",
        &json!({ "cniVersion": "1.1.0", "name": "blue" }),
    )?;
    let empty = failure(net(&node, "add", "blue", &container))?;
    assert!(empty.contains("no plugins"), "{empty}");
    // A plugin in a file of its own belongs to the list.
    let directory = node.root().join("etc/cni/net.d/blue");
    fs::create_dir(&directory)?;
    let mut plugin = bridge("blue", &["10.53.0.0/24"]);
    plugin.as_object_mut().context("an object")?.remove("name");
    fs::write(directory.join("10-bridge.conf"), plugin.to_string())?;
    net(&node, "add", "blue", &container)?;
    net(&node, "del", "blue", &container)?;
    let failed = failure(node.weir(&["net", "add", "blue", "/does/not/exist"]))?;
    assert!(failed.contains("/does/not/exist"), "{failed}");
    Ok(())
}

/// A network of several plugins whose second fails leaves nothing of the first.
#[test]
fn a_list_that_fails_in_its_middle_leaves_nothing() -> Result<()> {
    let (node, container) = Node::with_container()?;
    node.install_with(&weir_kit::Grant::nothing("misbehaving"))?;
    let mut network = list("blue", "10.53.0.0/24");
    let plugins = network["plugins"].as_array_mut().context("plugins")?;
    plugins.push(json!({ "type": "misbehaving", "act": "trap" }));
    put_network(&node, "10-blue.conflist", &network)?;
    node.ip("link add blue0 type bridge")?;
    let before = State::of(&node)?;
    let failed = failure(net(&node, "add", "blue", &container))?;
    assert_contains(&failed, &["network `blue`", "misbehaving"]);
    assert_eq!(container.links()?, ["lo"]);
    let after = State::of(&node)?;
    assert_eq!(after.links, before.links);
    assert_eq!(after.files, before.files);
    Ok(())
}
