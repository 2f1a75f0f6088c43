//! A node with a native plugin, a container, and a network of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use weir_kit::{Call, Container, Node, assert_contains, program, weir};

/// The network's name.
pub const NETWORK: &str = "net";

/// The plugin's name.
pub const PLUGIN: &str = "probe";

/// The bridge of a network with a native IPAM plugin.
pub const BRIDGE: &str = "nat0";

pub struct World {
    pub node: Node,
    pub container: Container,
}

impl World {
    /// With the probe in a directory of native plugins, not listed yet.
    pub fn create() -> Result<Self> {
        let (node, container) = Node::with_container()?;
        let world = Self { node, container };
        fs::create_dir(world.native())?;
        world.put(&program("weir-native-probe"), PLUGIN)?;
        Ok(world)
    }

    /// The same with the probe listed for the network.
    pub fn listed() -> Result<Self> {
        let world = Self::create()?;
        world.list(PLUGIN, json!({}))?;
        Ok(world)
    }

    /// Makes a world with the probe under another name, listed for the network.
    pub fn with_native(name: &str) -> Result<Self> {
        let world = Self::create()?;
        world.put(&world.native().join(PLUGIN), name)?;
        world.list(name, json!({}))?;
        Ok(world)
    }

    /// Makes a world with the probe listed, and returns the configuration that the probe gets in a network as well.
    pub fn with_probe() -> Result<(Self, Value)> {
        let world = Self::listed()?;
        let probe = world.with_files(json!({}));
        Ok((world, probe))
    }

    /// Makes the same world with a network of the probe alone, which does this.
    pub fn probed(probe: Value) -> Result<Self> {
        let world = Self::listed()?;
        world.probe(probe)?;
        Ok(world)
    }

    /// The directory of native plugins.
    pub fn native(&self) -> PathBuf {
        self.node.root().join("native")
    }

    /// Copies a program there.
    pub fn put(&self, from: &Path, name: &str) -> Result<()> {
        let to = self.native().join(name);
        fs::copy(from, &to).with_context(|| format!("copy `{}`", from.display()))?;
        fs::set_permissions(to, Permissions::from_mode(0o755))?;
        Ok(())
    }

    /// The digest of a program there, as another tool has it.
    pub fn digest(&self, name: &str) -> Result<String> {
        let file = self.native().join(name);
        let words = file.to_str().context("a path")?;
        let printed = self.node.tool("sha256sum", words)?;
        let digest = printed.split(' ').next().context("a digest")?;
        Ok(format!("sha256:{digest}"))
    }

    /// weir's own configuration.
    pub fn configure(&self, configuration: &Value) -> Result<()> {
        self.write("etc/weir/weir.json", &configuration.to_string())
    }

    /// Lists one program for the network, with other keys.
    pub fn list(&self, name: &str, others: Value) -> Result<()> {
        self.configure(&json!({ "nativePlugins": [self.entry(name, others)?] }))
    }

    /// The entry of a program for the network, with other keys.
    pub fn entry(&self, name: &str, others: Value) -> Result<Value> {
        let mut entry =
            json!({ "name": name, "digest": self.digest(name)?, "networks": [NETWORK] });
        let others: Map<String, Value> = serde_json::from_value(others)?;
        entry.as_object_mut().expect("an object").extend(others);
        Ok(entry)
    }

    /// The network, of these plugins.
    pub fn network(&self, plugins: Value) -> Result<()> {
        let list = json!({ "cniVersion": "1.1.0", "name": NETWORK, "plugins": plugins });
        self.write("etc/cni/net.d/net.conflist", &list.to_string())
    }

    /// The network, of the probe alone, which is told to do this.
    pub fn probe(&self, probe: Value) -> Result<()> {
        self.network(json!([{ "type": PLUGIN, "probe": self.with_files(probe) }]))
    }

    /// The network, of a bridge with this IPAM plugin, which the grant of `bridge` names.
    pub fn bridge(&self, ipam: Value) -> Result<()> {
        let plugin = ipam["type"].as_str().context("a plugin")?;
        self.node.let_run_ipam("bridge", plugin)?;
        self.network(json!([{ "type": "bridge", "bridge": BRIDGE, "ipam": ipam }]))
    }

    /// The configuration of such a bridge, as a runtime calls it by its name: with the probe, which does this.
    pub fn called_bridge(&self, version: &str, probe: Value) -> Value {
        json!({
            "cniVersion": version, "name": NETWORK, "type": "bridge", "bridge": BRIDGE,
            "ipam": { "type": PLUGIN, "probe": self.with_files(probe) },
        })
    }

    /// Calls the bridge of this configuration so, with programs of `path`.
    pub fn call(&self, command: &str, path: &Path, config: &Value) -> Call {
        let mut call = weir(&self.node, "bridge", command, &self.container, config);
        call.set("CNI_PATH", path);
        call
    }

    /// The same with the probe as its IPAM plugin, which does this.
    pub fn assigning(&self, probe: Value) -> Result<()> {
        self.bridge(json!({ "type": PLUGIN, "probe": self.with_files(probe) }))
    }

    /// What the probe gets, and where it writes what it was called with.
    pub fn with_files(&self, mut probe: Value) -> Value {
        probe["calls"] = json!(self.file("calls"));
        probe["child"] = json!(self.file("child"));
        probe
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.node.root().join(name)
    }

    /// Writes a file below the root that only its owner can write.
    pub fn write(&self, path: &str, text: &str) -> Result<()> {
        let path = self.file(path);
        fs::create_dir_all(path.parent().context("a directory")?)?;
        fs::write(&path, text)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok(())
    }

    /// `weir net COMMAND net`, with the directory of native plugins.
    pub fn net(&self, command: &str) -> Result<Output> {
        self.net_in(command, &self.native())
    }

    /// The same with another directory of native plugins.
    pub fn net_in(&self, command: &str, bin_dir: &Path) -> Result<Output> {
        let netns = self.container.netns();
        let bin_dir = bin_dir.to_str().context("a path")?;
        let mut words = vec!["net", command, NETWORK];
        if ["add", "del", "check"].contains(&command) {
            words.extend([netns.to_str().context("a path")?, "--container-id"]);
            words.push(&self.container.id);
        }
        words.extend(["--bin-dir", bin_dir]);
        self.node.inside(|| self.node.command(&words))
    }

    /// The result of an ADD that must succeed.
    #[track_caller]
    pub fn add(&self) -> Result<Value> {
        let output = self.net("add")?;
        assert!(output.status.success(), "{output:?}");
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// A command that must succeed.
    #[track_caller]
    pub fn succeeds(&self, command: &str) -> Result<()> {
        let output = self.net(command)?;
        assert!(output.status.success(), "{command}: {output:?}");
        Ok(())
    }

    /// What a command says that must fail.
    #[track_caller]
    pub fn fails(&self, command: &str) -> Result<String> {
        failed(&self.net(command)?)
    }

    /// Runs a command that must fail and say this. Returns all that it says.
    #[track_caller]
    pub fn fails_saying(&self, command: &str, words: &[&str]) -> Result<String> {
        let said = self.fails(command)?;
        assert_contains(&said, words);
        Ok(said)
    }

    /// Runs an ADD that must fail, say this, and have the native plugin's DEL run.
    #[track_caller]
    pub fn add_is_undone(&self, words: &[&str]) -> Result<()> {
        self.fails_saying("add", words)?;
        assert_eq!(self.commands(), ["ADD", "DEL"]);
        Ok(())
    }

    /// The environment of an ADD with these `CNI_ARGS`, and nothing else.
    pub fn environment(&self, args: Option<&str>) -> Value {
        let mut environment = json!({
            "CNI_COMMAND": "ADD",
            "CNI_CONTAINERID": self.container.id,
            "CNI_IFNAME": "eth0",
            "CNI_NETNS": self.container.netns(),
            "CNI_PATH": self.native(),
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "WEIR_NETWORK_SOURCE": "",
        });
        if let Some(args) = args {
            environment["CNI_ARGS"] = json!(args);
        }
        environment
    }

    /// How the probe was called.
    pub fn calls(&self) -> Vec<Value> {
        let calls = fs::read_to_string(self.file("calls")).unwrap_or_default();
        let calls = calls.lines().map(serde_json::from_str);
        calls.map(|call| call.expect("a line of JSON")).collect()
    }

    /// The commands that the probe was called for.
    pub fn commands(&self) -> Vec<String> {
        let calls = self.calls();
        let commands = calls.iter().map(|call| call["command"].as_str());
        commands.map(|c| c.unwrap_or_default().to_owned()).collect()
    }

    /// The records of native plugins: command, verdict, rules.
    pub fn records(&self) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let audit = self.node.audit();
        let native = audit.iter().filter(|r| r["operation"] == "native.execute");
        native
            .map(|r| {
                let rules = r.get("rules").map(Value::to_string);
                (
                    text(&r["arguments"]["command"]),
                    text(&r["verdict"]),
                    rules.unwrap_or_default(),
                )
            })
            .collect()
    }
}

/// What a failed command said.
#[track_caller]
pub fn failed(output: &Output) -> Result<String> {
    assert!(!output.status.success(), "{output:?}");
    assert!(output.stdout.is_empty(), "{output:?}");
    Ok(String::from_utf8(output.stderr.clone())?)
}
