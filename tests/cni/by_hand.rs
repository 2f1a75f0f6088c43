//! `weir net`, and what callers may say of the namespace: what is remembered of an attachment, and whose namespace it may be.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Grant, Node, assert_contains, weir};

/// A network of a plugin that says which `CNI_ARGS` it gets.
struct NetworkWithArgs {
    node: Node,
    container: Container,
    /// The network's.
    file: PathBuf,
}

impl NetworkWithArgs {
    fn create() -> Result<Self> {
        let (node, container) = Node::with_container()?;
        node.install_with(&Grant::nothing("puppet"))?;
        let network = json!({ "cniVersion": "1.1.0", "name": "told", "plugins": [
            { "type": "puppet", "orders": [{ "do": "input.parameters" }] },
        ] });
        Ok(Self {
            file: node.put_network("10-told.conflist", &network)?,
            node,
            container,
        })
    }

    fn net(&self, command: &str, words: &[&str]) -> Result<()> {
        let netns = self.container.netns();
        let netns = netns.to_str().context("a path is text")?;
        let all = [&["net", command, "told", netns], words].concat();
        self.node.weir(&all).map(drop)
    }

    /// The arguments that the plugin was called with, call by call.
    fn told(&self) -> Result<Vec<String>> {
        let log = self.node.log()?;
        let mut told = Vec::new();
        for line in log.lines() {
            let line: Value = serde_json::from_str(line)?;
            if line["message"] == "input.parameters" {
                let said: Value =
                    serde_json::from_str(line["fields"]["said"].as_str().context("a text")?)?;
                told.push(format!(
                    "{} {}",
                    line["command"].as_str().unwrap_or_default(),
                    said["args"]
                ));
            }
        }
        Ok(told)
    }
}

#[test]
fn check_and_del_by_hand_have_the_arguments_of_add() -> Result<()> {
    let network = NetworkWithArgs::create()?;
    network.net("add", &["--args", "IgnoreUnknown=1;K=V"])?;
    network.net("check", &[])?;
    network.net("del", &[])?;
    let told = network.told()?;
    assert_eq!(told.len(), 3, "{told:?}");
    for (told, command) in told.iter().zip(["ADD", "CHECK", "DEL"]) {
        assert!(told.starts_with(command), "{told}");
        assert_contains(told, &["K", "V"]);
    }
    // Others count where they are given.
    network.net("add", &["--args", "IgnoreUnknown=1;K=V"])?;
    network.net("del", &["--args", "IgnoreUnknown=1;OTHER=W"])?;
    let last = network.told()?.pop().context("told")?;
    assert!(last.contains("OTHER") && !last.contains("\"K\""), "{last}");
    Ok(())
}

#[test]
fn del_by_hand_needs_no_file_of_the_network() -> Result<()> {
    for broken in [None, Some("{")] {
        let network = NetworkWithArgs::create()?;
        network.net("add", &[])?;
        match broken {
            None => fs::remove_file(&network.file)?,
            Some(text) => fs::write(&network.file, text)?,
        }
        network.net("del", &[])?;
        let last = network.told()?.pop().context("told")?;
        assert!(last.starts_with("DEL"), "{last}");
        // Nothing is left to go by.
        assert!(network.net("del", &[]).is_err());
    }
    Ok(())
}

/// As libcni's plugins have it: `1` and `true`, in capitals or not.
#[test]
fn the_callers_own_namespace_needs_its_permission() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let config = json!({ "cniVersion": "1.1.0", "name": "own", "type": "loopback" });
    for command in ["ADD", "DEL"] {
        let mut call = weir(&node, "loopback", command, &container, &config);
        call.set("CNI_NETNS", "/proc/self/ns/net");
        call.set("CNI_IFNAME", "lo");
        for refused in ["", "0", "yes", "false"] {
            call.set("CNI_NETNS_OVERRIDE", refused);
            assert_eq!(node.run(&call)?.code(), 8, "{command}: {refused}");
        }
        for allowed in ["1", "true", "TRUE", "True"] {
            call.set("CNI_NETNS_OVERRIDE", allowed);
            node.run(&call)?.result();
        }
    }
    Ok(())
}
