//! A plugin of a list killed at many points of its ADD: one DEL of the list then leaves nothing in the container, and
//! nothing on the node.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use weir_kit::trace::kill_at_points;
use weir_kit::{Call, Container, Node, State, weir};

/// How many points of one ADD are tried.
const POINTS: usize = 30;

/// The plugin that is killed, after the one that makes the interface.
struct Chained {
    first: Value,
    killed: Value,
}

impl Chained {
    fn call(&self, node: &Node, command: &str, container: &Container, plugin: &Value) -> Call {
        let mut config = plugin.clone();
        config["cniVersion"] = json!("1.1.0");
        config["name"] = json!("crash");
        let name = plugin["type"].as_str().expect("a plugin has a type");
        weir(node, name, command, container, &config)
    }

    /// The ADD of the plugin that is to be killed, after the first plugin's.
    fn prepared(&self, node: &Node, container: &Container) -> Result<Call> {
        let added = node.run(&self.call(node, "ADD", container, &self.first))?;
        let mut killed = self.killed.clone();
        killed["prevResult"] = added.result();
        Ok(self.call(node, "ADD", container, &killed))
    }

    /// One DEL of each plugin, the last first. A runtime has no result of an ADD that was killed.
    fn delete(&self, node: &Node, container: &Container) -> Result<()> {
        for plugin in [&self.killed, &self.first] {
            let deleted = node.run(&self.call(node, "DEL", container, plugin))?;
            ensure!(deleted.succeeded(), "DEL after the kill: {deleted:?}");
        }
        Ok(())
    }

    /// Kills an ADD at each of the points, and compares after DEL.
    fn run(&self) -> Result<()> {
        let node = Node::create()?;
        // The first ADD of a node makes directories.
        let container = node.container()?;
        node.run(&self.prepared(&node, &container)?)?.result();
        self.delete(&node, &container)?;
        let before = State::of(&node)?;
        kill_at_points(POINTS, |point| {
            let container = node.container()?;
            let fresh = inside(&container)?;
            let add = self.prepared(&node, &container)?;
            let end = node.inside(|| add.run_until(point))?;
            self.delete(&node, &container)?;
            assert_eq!(inside(&container)?, fresh, "{point:?}");
            State::of(&node)?.assert_same(&before);
            assert_eq!(records(&node), Vec::<String>::new(), "{point:?}");
            Ok(end)
        })
    }
}

/// Links, routes and rules of a container.
fn inside(container: &Container) -> Result<[String; 4]> {
    Ok([
        container.links()?.join(" "),
        container.ip("route show table all")?,
        container.ip("rule show")?,
        container.ip("-6 rule show")?,
    ])
}

/// The files that plugins keep in `/run/cni`.
fn records(node: &Node) -> Vec<String> {
    let plugins = fs::read_dir(node.root().join("run/cni"));
    let directories = plugins.into_iter().flatten().flatten();
    let files = directories.filter_map(|directory| fs::read_dir(directory.path()).ok());
    let names = files.flatten().flatten().map(|file| file.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names
        .filter(|name| name != "lock" && !name.starts_with('.'))
        .collect()
}

#[test]
fn a_del_after_a_killed_add_of_sbr_leaves_no_rule() -> Result<()> {
    let ranges = json!([[{ "subnet": "10.30.0.0/24" }], [{ "subnet": "fd00:30::/64" }]]);
    let chained = Chained {
        first: json!({ "type": "ptp", "ipam": { "type": "host-local", "ranges": ranges } }),
        killed: json!({ "type": "sbr" }),
    };
    chained.run()
}

#[test]
fn a_del_after_a_killed_add_of_host_device_brings_the_device_back() -> Result<()> {
    let config = json!({
        "cniVersion": "1.1.0", "name": "crash", "type": "host-device", "device": "nic0",
        "ipam": { "type": "host-local", "subnet": "10.31.0.0/24" },
    });
    let node = Node::create()?;
    node.ip("link add name nic0 mtu 1400 type veth peer name nic1")?;
    let device = || {
        node.ip_json("link show nic0").map(|links| {
            let keys = ["ifname", "mtu", "ifalias", "address"];
            keys.map(|key| links[0][key].clone())
        })
    };
    let call = |command: &str, container: &Container| {
        weir(&node, "host-device", command, container, &config)
    };
    let container = node.container()?;
    // The first ADD of a node makes directories.
    node.run(&call("ADD", &container))?.result();
    node.run(&call("DEL", &container))?.result();
    let (before, host) = (device()?, State::of(&node)?);
    kill_at_points(POINTS, |point| {
        let container = node.container()?;
        let fresh = inside(&container)?;
        let add = call("ADD", &container);
        let end = node.inside(|| add.run_until(point))?;
        let deleted = node.run(&call("DEL", &container))?;
        let context = format!("killed at point {point:?}: {deleted:?}");
        ensure!(deleted.succeeded(), "{context}");
        assert_eq!(device()?, before, "{context}");
        assert_eq!(inside(&container)?, fresh, "{context}");
        State::of(&node)?.assert_same(&host);
        assert!(
            node.taken("crash").is_empty() && records(&node).is_empty(),
            "{context}"
        );
        Ok(end)
    })
}
