//! `podNetworks` of weir's own configuration: named networks for callers outside Kubernetes.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};
use std::thread;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::trace;
use weir_kit::{Container, Node, Probe, State, assert_contains, binary, weir};

struct World {
    node: Node,
    container: Container,
}

/// A network of the bridge `<name>0`, in 10.81.`subnet`.0/24.
fn bridge(name: &str, subnet: u8, interface: &str) -> Value {
    json!({
        "name": name, "containerInterface": interface, "type": "bridge", "bridge": format!("{name}0"),
        "isGateway": true,
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": format!("10.81.{subnet}.0/24") }]] },
    })
}

/// The same as a default.
fn default(mut network: Value) -> Value {
    network["default"] = json!(true);
    network
}

/// A network whose ADD fails.
fn failing(name: &str) -> Value {
    let mut network = bridge(name, 99, "eth{n}");
    network["ipam"]["routes"] = json!([{ "dst": "192.0.2.0/24", "gw": "203.0.113.9" }]);
    network
}

fn loopback() -> Value {
    json!({ "name": "lo", "type": "loopback" })
}

impl World {
    /// One of two bridge networks. The second has this interface.
    fn of_two(second: &str) -> Result<Self> {
        Self::create(json!([
            bridge("one", 1, "eth{n}"),
            bridge("two", 2, second)
        ]))
    }

    fn create(networks: Value) -> Result<Self> {
        let (node, container) = Node::with_container()?;
        let world = Self { node, container };
        world.configure(networks)?;
        Ok(world)
    }

    fn configure(&self, networks: Value) -> Result<()> {
        self.configure_all(&json!({ "podNetworks": networks }))
    }

    /// The whole of weir's own configuration.
    fn configure_all(&self, configuration: &Value) -> Result<()> {
        let file = self.node.root().join("etc/weir/weir.json");
        fs::create_dir_all(file.parent().context("a directory")?)?;
        fs::write(&file, configuration.to_string())?;
        fs::set_permissions(&file, Permissions::from_mode(0o600))?;
        Ok(())
    }

    /// `weir net COMMAND WORDS… NETNS`.
    fn net(&self, command: &str, words: &[&str]) -> Result<Output> {
        let netns = self.container.netns();
        let mut all = vec!["net", command];
        all.extend(words);
        all.push(netns.to_str().context("a path")?);
        all.extend(["--container-id", &self.container.id]);
        self.node.inside(|| self.node.command(&all))
    }

    /// What an ADD prints: network, interface and first address of each attachment.
    #[track_caller]
    fn add(&self, words: &[&str]) -> Result<Vec<(String, String, String)>> {
        let output = self.net("add", words)?;
        assert!(output.status.success(), "{output:?}");
        let printed: Value = serde_json::from_slice(&output.stdout)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let attached = printed.as_array().context("a list")?.iter();
        Ok(attached
            .map(|one| {
                let address = text(&one["result"]["ips"][0]["address"]);
                (text(&one["network"]), text(&one["interface"]), address)
            })
            .collect())
    }

    #[track_caller]
    fn succeeds(&self, command: &str, words: &[&str]) -> Result<()> {
        let output = self.net(command, words)?;
        assert!(output.status.success(), "{command} {words:?}: {output:?}");
        Ok(())
    }

    #[track_caller]
    fn fails(&self, command: &str, words: &[&str]) -> Result<String> {
        let output = self.net(command, words)?;
        assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
        Ok(String::from_utf8(output.stderr)?)
    }

    /// The container's links.
    fn links(&self) -> Result<Vec<String>> {
        let links = self.container.ip_json("link show")?;
        let links = links.as_array().into_iter().flatten();
        let mut names: Vec<String> = links
            .filter_map(|link| link["ifname"].as_str().map(str::to_owned))
            .collect();
        names.sort();
        Ok(names)
    }

    fn record(&self) -> PathBuf {
        let name = format!("{}.json", self.container.id);
        self.node.root().join("var/lib/weir/net").join(name)
    }
}

/// The words of one attachment.
fn is(attached: &(String, String, String), network: &str, interface: &str, address: &str) -> bool {
    let (n, i, a) = attached;
    (n.as_str(), i.as_str(), a.as_str()) == (network, interface, address)
}

#[test]
fn named_networks_are_attached_in_the_order_asked_for() -> Result<()> {
    let networks = [
        bridge("one", 1, "eth{n}"),
        bridge("two", 2, "eth{n}"),
        loopback(),
    ];
    let world = World::create(json!(networks))?;
    let attached = world.add(&["--networks", "two,lo,one"])?;
    assert!(
        is(&attached[0], "two", "eth0", "10.81.2.2/24"),
        "{attached:?}"
    );
    assert!(is(&attached[1], "lo", "lo", "127.0.0.1/8"), "{attached:?}");
    assert!(
        is(&attached[2], "one", "eth1", "10.81.1.2/24"),
        "{attached:?}"
    );
    assert_eq!(world.links()?, ["eth0", "eth1", "lo"]);
    world.succeeds("check", &["--networks", "two,lo,one"])?;

    let added = |record: &Value| record["command"] == "ADD" && record["operation"] == "link.create";
    let audit = world.node.audit();
    let networks = audit
        .iter()
        .filter(|r| added(r))
        .map(|r| r["network"].clone());
    let mut networks: Vec<Value> = networks.collect();
    networks.dedup();
    assert_eq!(networks, ["two", "one"]);

    world.succeeds("del", &["--networks", "one,lo,two"])?;
    assert_eq!(world.links()?, ["lo"]);
    assert!(!world.record().exists());
    let audit = world.node.audit();
    let deleted =
        |record: &&Value| record["command"] == "DEL" && record["operation"] == "link.delete";
    let networks: Vec<&Value> = audit
        .iter()
        .filter(deleted)
        .map(|r| &r["network"])
        .collect();
    assert_eq!(
        networks,
        ["one", "two"],
        "in reverse of how they were attached"
    );
    Ok(())
}

#[test]
fn the_defaults_are_attached_where_none_is_named() -> Result<()> {
    let world = World::create(json!([
        default(bridge("one", 1, "eth{n}")),
        bridge("two", 2, "eth{n}"),
        default(bridge("three", 3, "pod{n}")),
    ]))?;
    let attached = world.add(&["--defaults"])?;
    assert_eq!(attached.len(), 2);
    assert!(
        is(&attached[0], "one", "eth0", "10.81.1.2/24"),
        "{attached:?}"
    );
    assert!(
        is(&attached[1], "three", "pod0", "10.81.3.2/24"),
        "{attached:?}"
    );
    world.add(&["--networks", "two"])?;
    assert_eq!(world.links()?, ["eth0", "eth1", "lo", "pod0"]);
    world.succeeds("check", &["--defaults"])?;
    // What is a default by now is another matter.
    world.configure(json!([default(bridge("two", 2, "eth{n}"))]))?;
    world.succeeds("del", &["--defaults"])?;
    assert_eq!(world.links()?, ["eth1", "lo"]);
    world.succeeds("del", &["--networks", "two"])?;
    assert_eq!(world.links()?, ["lo"]);
    Ok(())
}

/// A network may be attached twice: by name, and as a default.
#[test]
fn a_default_attachment_stays_where_its_network_is_named() -> Result<()> {
    let world = World::create(json!([default(bridge("one", 1, "eth{n}"))]))?;
    world.add(&["--defaults"])?;
    world.succeeds("del", &["--networks", "one"])?;
    assert_eq!(world.links()?, ["eth0", "lo"]);
    world.fails("check", &["--networks", "one"])?;
    world.add(&["--networks", "one"])?;
    assert_eq!(world.links()?, ["eth0", "eth1", "lo"]);
    world.succeeds("check", &["--networks", "one"])?;
    world.succeeds("del", &["--networks", "one"])?;
    assert_eq!(world.links()?, ["eth0", "lo"]);
    world.succeeds("check", &["--defaults"])?;
    world.succeeds("del", &["--defaults"])?;
    assert_eq!(world.links()?, ["lo"]);
    Ok(())
}

#[test]
fn a_name_is_the_smallest_that_is_free() -> Result<()> {
    let world = World::of_two("eth{n}")?;
    // As a link, and as an alternative name of another.
    world
        .container
        .ip("link add eth0 type veth peer name other")?;
    world
        .container
        .ip("link property add dev other altname eth2")?;
    let attached = world.add(&["--networks", "one,two,one"])?;
    let interfaces: Vec<&str> = attached.iter().map(|(_, i, _)| i.as_str()).collect();
    assert_eq!(interfaces, ["eth1", "eth3", "eth4"]);
    world.succeeds("del", &["--networks", "one"])?;
    assert_eq!(world.links()?, ["eth0", "eth3", "lo", "other"]);
    let attached = world.add(&["--networks", "one"])?;
    assert_eq!(attached[0].1, "eth1");
    world.succeeds("del", &["--networks", "one,two"])?;
    Ok(())
}

#[test]
fn a_name_that_is_taken_is_refused_before_anything_is_done() -> Result<()> {
    let world = World::of_two("eth0")?;
    for networks in ["one,two", "two,two"] {
        let said = world.fails("add", &["--networks", networks])?;
        assert!(
            said.contains(
                "network `two`: containerInterface: the container has an interface `eth0` already"
            ),
            "{said}"
        );
    }
    assert_eq!(world.links()?, ["lo"]);
    assert!(!world.record().exists());
    assert!(world.node.taken("one").is_empty());
    assert!(world.node.audit().is_empty());
    Ok(())
}

#[test]
fn a_failure_takes_back_those_before_it_and_tries_no_other() -> Result<()> {
    let world = World::create(json!([
        bridge("one", 1, "eth{n}"),
        bridge("two", 2, "eth{n}"),
        failing("three"),
        bridge("four", 4, "eth{n}"),
    ]))?;
    // What a bridge's first use leaves is there already.
    world.add(&["--networks", "one,two"])?;
    world.succeeds("del", &["--networks", "one,two"])?;
    let before = State::of(&world.node)?;
    let said = world.fails("add", &["--networks", "one,two,three,four"])?;
    assert!(said.contains("network `three`"), "{said}");
    assert_eq!(world.links()?, ["lo"]);
    State::of(&world.node)?.assert_same(&before);
    assert!(!world.record().exists());
    let audit = world.node.audit();
    assert!(!audit.iter().any(|record| record["network"] == "four"));
    let last: Vec<&Value> = audit
        .iter()
        .filter(|r| r["command"] == "DEL" && r["operation"] == "link.delete")
        .map(|r| &r["network"])
        .collect();
    assert_eq!(last[last.len() - 2..], ["two", "one"]);
    Ok(())
}

/// The network before it is detached, and not again; of its own list the plugins that were called are deleted again.
#[test]
fn cni_3_a_native_plugin_whose_add_fails_is_deleted_then_and_again() -> Result<()> {
    let world = World::create(json!([]))?;
    let probe = Probe::on(&world.node)?;
    let half = json!({
        "name": "half", "containerInterface": "eth{n}",
        "plugins": [probe.failing(), { "type": "nowhere" }],
    });
    world.configure_all(&json!({
        "nativePlugins": [probe.entry(&world.node, &["half"])?],
        "podNetworks": [bridge("whole", 1, "eth{n}"), half],
    }))?;
    let bin_dir = world.node.root().join("native");
    let words = [
        "--bin-dir",
        bin_dir.to_str().context("a path")?,
        "--networks",
    ];
    let with = |networks| [&words[..], &[networks]].concat();
    let said = world.fails("add", &with("whole,half"))?;
    assert_contains(&said, &["network `half`: native plugin `probe`"]);
    assert_eq!(probe.calls(), ["ADD eth1", "DEL eth1"]);
    assert!(world.node.taken("whole").is_empty());
    let record: Value = serde_json::from_slice(&fs::read(world.record())?)?;
    let attachments = record["attachments"].as_array().context("a list")?;
    let networks: Vec<&Value> = attachments.iter().map(|a| &a["network"]).collect();
    assert_eq!(networks, ["half"]);

    world.succeeds("del", &with("half"))?;
    assert_eq!(probe.calls(), ["ADD eth1", "DEL eth1", "DEL eth1"]);
    assert!(!world.record().exists());
    world.succeeds("del", &with("half"))?;
    assert_eq!(probe.calls().len(), 3, "nothing is owed any more");
    Ok(())
}

/// What is recorded decides what is run, and what for.
#[test]
fn a_record_that_others_can_write_is_refused() -> Result<()> {
    let world = World::create(json!([bridge("one", 1, "eth{n}")]))?;
    world.add(&["--networks", "one"])?;
    let known = world.node.audit().len();
    fs::set_permissions(world.record(), Permissions::from_mode(0o666))?;
    for command in ["del", "check", "add"] {
        let said = world.fails(command, &["--networks", "one"])?;
        let remedy = format!("chmod go-w {}", world.record().display());
        assert_contains(&said, &["is not trusted", &remedy]);
    }
    assert_eq!(world.node.audit().len(), known, "nothing has run");
    fs::set_permissions(world.record(), Permissions::from_mode(0o600))?;
    world.succeeds("del", &["--networks", "one"])
}

/// DEL uses the record: with the configurations of then, and past failures.
#[test]
fn del_goes_by_the_record_and_past_failures() -> Result<()> {
    let world = World::create(json!([
        bridge("one", 1, "eth{n}"),
        bridge("two", 2, "eth{n}"),
        bridge("three", 3, "eth{n}"),
    ]))?;
    world.add(&["--networks", "one,two,three"])?;
    world.configure(json!([]))?;
    // A grant that keeps the plugin off two of the networks.
    let document = weir_kit::Grant {
        networks: r#"["two"]"#,
        ..weir_kit::Grant::nothing("bridge")
    };
    world.node.put_grant(
        "bridge.yaml",
        &document.document(&format!("sha256:{}", "00".repeat(32))),
    )?;
    let said = world.fails("del", &["--networks", "one,two,three"])?;
    for network in ["three", "two", "one"] {
        assert!(said.contains(&format!("network `{network}`")), "{said}");
    }
    assert!(world.record().exists());
    fs::remove_file(world.node.grants().join("bridge.yaml"))?;
    world.succeeds("del", &["--networks", "one,two,three"])?;
    assert_eq!(world.links()?, ["lo"]);
    assert!(!world.record().exists());
    for network in ["one", "two", "three"] {
        assert!(world.node.taken(network).is_empty(), "{network}");
    }
    Ok(())
}

#[test]
fn del_of_what_is_not_attached_is_done_already() -> Result<()> {
    let world = World::create(json!([default(bridge("one", 1, "eth{n}"))]))?;
    world.succeeds("del", &["--networks", "one"])?;
    world.succeeds("del", &["--defaults"])?;
    world.add(&["--defaults"])?;
    for _ in 0..2 {
        world.succeeds("del", &["--defaults"])?;
    }
    // A name that nothing has is a mistake.
    let said = world.fails("del", &["--networks", "onne"])?;
    assert!(said.contains("no such network: `onne`"), "{said}");
    assert!(said.contains("did you mean `one`?"), "{said}");
    let said = world.fails("check", &["--networks", "one"])?;
    assert!(said.contains("CNI error 3"), "{said}");
    Ok(())
}

/// Killed after the record was written: the name is known, and DEL has something to go by.
#[test]
fn the_record_is_there_before_the_first_plugin_runs() -> Result<()> {
    let world = World::create(json!([bridge("one", 1, "eth{n}"), failing("three")]))?;
    // The plugin's own call fails at its end: by then the record has both.
    let record = world.record();
    let kept = world.node.root().join("var/lib/weir/net/kept");
    fs::create_dir_all(record.parent().context("a directory")?)?;
    world.add(&["--networks", "one"])?;
    fs::copy(&record, &kept)?;
    let document: Value = serde_json::from_slice(&fs::read(&kept)?)?;
    let [entry] = document["attachments"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
    else {
        panic!("{document:#}");
    };
    assert_eq!(entry["network"], "one");
    assert_eq!(entry["ifname"], "eth0");
    assert_eq!(entry["config"]["plugins"][0]["bridge"], "one0");
    world.succeeds("del", &["--networks", "one"])?;
    // As a process leaves it that was killed before its first plugin, and after its last.
    for _ in 0..2 {
        fs::copy(&kept, &record)?;
        world.succeeds("del", &["--networks", "one"])?;
        assert!(!record.exists());
    }
    fs::write(&record, "{\"attachments\": [{}]}")?;
    let said = world.fails("del", &["--networks", "one"])?;
    assert_contains(&said, &["is damaged", "CNI error 236"]);
    Ok(())
}

/// How many points of one ADD are tried.
const POINTS: usize = 24;

#[test]
fn a_del_after_a_kill_at_any_point_leaves_nothing() -> Result<()> {
    let networks = [bridge("one", 1, "eth{n}"), bridge("two", 2, "eth{n}")];
    let world = World::create(json!(networks))?;
    let both = ["--networks", "one,two"];
    // What a bridge's first use leaves is there already.
    world.add(&both)?;
    world.succeeds("del", &both)?;
    let before = State::of(&world.node)?;
    trace::kill_at_points(POINTS, |point| {
        let mut weir = Command::new(binary());
        weir.args(["net", "add", "--networks", "one,two"])
            .arg(world.container.netns())
            .args(["--container-id", &world.container.id])
            .env("WEIR_ROOT", world.node.root());
        let end = world.node.inside(|| trace::run(&mut weir, b"", point))?;
        world.succeeds("del", &both)?;
        assert_eq!(world.links()?, ["lo"], "{point:?}");
        State::of(&world.node)?.assert_same(&before);
        assert!(!world.record().exists());
        Ok(end)
    })?;
    let attached = world.add(&both)?;
    assert_eq!(attached[0].1, "eth0", "no name is lost");
    world.succeeds("del", &both)
}

/// Each gets another name, whoever comes first.
#[test]
fn two_callers_at_once_get_two_names() -> Result<()> {
    let names = ["one", "two", "three", "four"];
    let networks: Vec<Value> = (1..)
        .zip(names)
        .map(|(n, name)| bridge(name, n, "eth{n}"))
        .collect();
    let world = World::create(json!(networks))?;
    let mut interfaces = thread::scope(|scope| {
        let add = |name| world.add(&["--networks", name]);
        let threads = names.map(|name| scope.spawn(move || add(name)));
        let ended = threads.map(|thread| thread.join().expect("no panic"));
        let attached = ended.into_iter().collect::<Result<Vec<_>>>();
        attached.map(|all| {
            all.into_iter()
                .map(|one| one[0].1.clone())
                .collect::<Vec<_>>()
        })
    })?;
    interfaces.sort();
    assert_eq!(interfaces, ["eth0", "eth1", "eth2", "eth3"]);
    world.succeeds("del", &["--networks", &names.join(",")])?;
    assert_eq!(world.links()?, ["lo"]);
    Ok(())
}

#[test]
fn what_is_not_configured_is_reported() -> Result<()> {
    let world = World::create(json!([bridge("one", 1, "eth{n}")]))?;
    for (words, expected) in [
        (&["--networks", "two"][..], "no such network: `two`"),
        (&["--networks", "one,"], "no such network: ``"),
        (&["--defaults"], "none with `\"default\": true`"),
    ] {
        let said = world.fails("add", words)?;
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("CNI error 7"), "{said}");
    }
    world.configure(json!([]))?;
    let said = world.fails("add", &["--defaults"])?;
    assert!(said.contains("weir.json` is empty"), "{said}");
    fs::remove_file(world.node.root().join("etc/weir/weir.json"))?;
    let said = world.fails("add", &["--networks", "one"])?;
    assert!(said.contains("weir.json` is empty"), "{said}");
    Ok(())
}

#[test]
fn a_configuration_with_a_mistake_is_refused_with_its_place() -> Result<()> {
    for (key, value, expected) in [
        ("name", json!(null), "`name` is missing"),
        ("name", json!("a/b"), "network name"),
        (
            "default",
            json!("true"),
            "`default`: found \"true\"; expected true or false",
        ),
        (
            "containerInterface",
            json!(7),
            "`containerInterface`: found 7; expected text",
        ),
        (
            "containerInterface",
            json!("eth{}"),
            "expected a name with `{n}` at most once",
        ),
        (
            "aci",
            json!("docker:///user/plugin:1"),
            "`aci` and `type` both name the plugin",
        ),
        ("type", json!("a/b"), "is a path"),
        ("type", json!(null), "the plugin is missing"),
        ("cniVersion", json!("7"), "`7` is not supported"),
    ] {
        let mut network = bridge("one", 1, "eth{n}");
        network[key] = value;
        let world = World::create(json!([network]))?;
        let said = world.fails("add", &["--networks", "one"])?;
        assert!(said.contains(expected), "{key}: {said}");
        assert!(said.contains("weir.json:1:17: "), "{key}: {said}");
        assert!(said.contains("CNI error 227"), "{key}: {said}");
    }
    let twice = World::create(json!([bridge("one", 1, "a"), bridge("one", 2, "b")]))?;
    let said = twice.fails("add", &["--networks", "one"])?;
    assert!(said.contains("two networks are called `one`"), "{said}");
    Ok(())
}

#[test]
fn networks_are_chosen_in_one_way() -> Result<()> {
    let world = World::create(json!([default(bridge("one", 1, "eth{n}"))]))?;
    for words in [
        &[][..],
        &["--networks", "one", "--defaults"],
        &["one", "--networks", "one"],
        &["one", "--defaults"],
        &["--defaults", "--ifname", "eth5"],
    ] {
        let output = world.net("add", words)?;
        assert_eq!(output.status.code(), Some(2), "{words:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{output:?}");
    }
    // The ordinary way uses the configurations' directory alone.
    let said = world.fails("add", &["one"])?;
    assert!(said.contains("no such network in"), "{said}");
    assert_eq!(world.links()?, ["lo"]);
    Ok(())
}

#[test]
fn both_kinds_of_networks_are_listed() -> Result<()> {
    let world = World::create(json!([default(bridge("one", 1, "eth{n}")), loopback()]))?;
    let directory = world.node.root().join("etc/cni/net.d");
    fs::create_dir_all(&directory)?;
    let other = json!({ "cniVersion": "1.0.0", "name": "two", "type": "ptp" });
    fs::write(directory.join("two.conf"), other.to_string())?;
    let listed: Value =
        serde_json::from_str(&world.node.weir(&["net", "list", "--output", "json"])?)?;
    assert_eq!(listed["networks"], json!(["two"]));
    assert_eq!(
        listed["pod_networks"],
        json!([
            { "name": "one", "default": true, "interface": "eth{n}", "plugins": ["bridge"] },
            { "name": "lo", "default": false, "interface": "lo", "plugins": ["loopback"] },
        ])
    );
    let text = world.node.weir(&["net", "list"])?;
    assert_contains(&text, &["\n  two\n", "bridge  default\n"]);
    Ok(())
}

/// A container runtime that calls weir does not take these networks, whatever is configured.
#[test]
fn the_delegating_plugin_is_not_concerned() -> Result<()> {
    let world = World::create(json!([default(bridge("one", 1, "eth{n}"))]))?;
    let mut delegate = bridge("two", 2, "eth{n}");
    let own = delegate.as_object_mut().context("an object")?;
    own.remove("containerInterface");
    let config = json!({
        "cniVersion": "1.1.0", "name": "all", "type": "weir", "delegates": [delegate],
    });
    let add = weir(&world.node, "weir", "ADD", &world.container, &config);
    let result = world.node.run(&add)?.result();
    assert_eq!(result["ips"][0]["address"], "10.81.2.2/24");
    assert_eq!(world.links()?, ["eth0", "lo"]);
    assert!(!world.record().exists());
    let del = weir(&world.node, "weir", "DEL", &world.container, &config);
    world.node.run(&del)?.result();
    Ok(())
}
