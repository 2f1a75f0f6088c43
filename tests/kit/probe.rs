//! The native plugin of the tests on a node: a program that does what its configuration says, and writes down how it
//! was called.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::node::Node;

/// Its directory, below the node's root.
pub const BIN_DIR: &str = "/native";

/// Its name.
pub const PROBE: &str = "probe";

/// A probe on a node.
pub struct Probe {
    program: PathBuf,
    calls: PathBuf,
}

impl Probe {
    /// Puts it on a node, not listed yet.
    pub fn on(node: &Node) -> Result<Self> {
        let directory = node.root().join(BIN_DIR.trim_start_matches('/'));
        fs::create_dir_all(&directory)?;
        let program = directory.join(PROBE);
        fs::copy(super::program("weir-native-probe"), &program)?;
        fs::set_permissions(&program, Permissions::from_mode(0o755))?;
        let calls = node.root().join("calls");
        Ok(Self { program, calls })
    }

    /// What `nativePlugins` has to say so that it may run on these networks.
    pub fn entry(&self, node: &Node, networks: &[&str]) -> Result<Value> {
        let program = self.program.to_str().context("a path")?;
        let mut words = vec!["plugin", "native", program];
        for network in networks {
            words.extend(["--network", network]);
        }
        Ok(serde_json::from_str(&node.weir(&words)?)?)
    }

    /// Lists it for these networks, in weir's own configuration.
    pub fn list(&self, node: &Node, networks: &[&str]) -> Result<()> {
        let listed = json!({ "nativePlugins": [self.entry(node, networks)?] });
        let file = node.root().join("etc/weir/weir.json");
        fs::create_dir_all(file.parent().context("a directory")?)?;
        fs::write(&file, listed.to_string())?;
        fs::set_permissions(file, Permissions::from_mode(0o600))?;
        Ok(())
    }

    /// A plugin's configuration that tells it to do this.
    pub fn plugin(&self, mut probe: Value) -> Value {
        probe["calls"] = json!(self.calls);
        json!({ "type": PROBE, "probe": probe })
    }

    /// The same for one that says that its ADD failed.
    pub fn failing(&self) -> Value {
        let error = json!({ "code": 100, "msg": "the probe fails" });
        self.plugin(json!({ "answer": error.to_string(), "status": 1 }))
    }

    /// What it was called for: `ADD net1`.
    pub fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(&self.calls).unwrap_or_default();
        let call = |line: &str| -> Value { serde_json::from_str(line).expect("a line of JSON") };
        let calls = calls.lines().map(call);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        calls
            .map(|call| {
                let environment = &call["environment"];
                let [command, ifname] =
                    ["CNI_COMMAND", "CNI_IFNAME"].map(|n| text(&environment[n]));
                format!("{command} {ifname}")
            })
            .collect()
    }
}
