//! A node that goes back from weir to the reference with containers running: `weir uninstall` has the reference make its
//! rules before weir's go, so that no connection fails meanwhile, and the reference's DEL leaves nothing.

mod handed_over;
mod refused;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use weir_kit::binary;
use weir_kit::plugin::REFERENCE;

use crate::side::{Side, Whose};
use crate::stale::{COMES, GOES, PORT, Variant, attach, bridged};

use Whose::{Reference, Weir};

/// What weir's links have taken the place of.
const REPLACED: [&str; 6] = [
    "bridge",
    "firewall",
    "host-local",
    "portmap",
    "ptp",
    "static",
];

/// A node on which weir has taken the place of the reference plugins.
struct Switch {
    side: Side,
    variant: Variant,
}

impl Switch {
    /// One with a container that weir has attached, with a port.
    fn attached() -> Result<Self> {
        let switch = Self::create(Variant::Nftables)?;
        switch.attach(GOES, &bridged(PORT))?;
        Ok(switch)
    }

    fn create(variant: Variant) -> Result<Self> {
        let mut side = Side::create(Weir, 4)?;
        variant.choose(&mut side)?;
        side.connect_outside()?;
        let switch = Self { side, variant };
        for name in REPLACED {
            symlink(format!("{REFERENCE}/{name}"), switch.replaced(name))?;
        }
        fs::create_dir_all(switch.results())?;
        Ok(switch)
    }

    /// With the chains that the reference leaves for ever.
    fn used() -> Result<Self> {
        let switch = Self::create(Variant::Nftables)?;
        let known = attach(&switch.side, Reference, COMES, &bridged(PORT))?;
        let deleted = switch.side.call_as(Reference, "DEL", COMES, &known)?;
        ensure!(deleted.succeeded(), "DEL: {deleted:?}");
        Ok(switch)
    }

    fn replaced(&self, plugin: &str) -> PathBuf {
        let bin_dir = self.side.node.bin_dir();
        bin_dir.join(format!("{plugin}.weir-replaced"))
    }

    fn results(&self) -> PathBuf {
        self.side.node.root().join("var/lib/cni/results")
    }

    fn cached(&self, container: usize) -> PathBuf {
        self.cached_as(&self.side.containers[container].id)
    }

    fn cached_as(&self, id: &str) -> PathBuf {
        self.results().join(format!("net-{id}-eth0"))
    }

    /// ADD by weir, and what libcni keeps of it.
    fn attach(&self, container: usize, config: &Value) -> Result<Value> {
        let known = attach(&self.side, Weir, container, config)?;
        self.cache(container, &known)?;
        Ok(known)
    }

    fn cache(&self, container: usize, known: &Value) -> Result<()> {
        self.cache_as(&self.side.containers[container].id, container, known)
    }

    fn cache_as(&self, id: &str, container: usize, known: &Value) -> Result<()> {
        let Self { side, .. } = self;
        let mut list = known.clone();
        list.as_object_mut().context("a list")?.remove("prevResult");
        let mut args = json!({});
        for plugin in list["plugins"].as_array_mut().context("plugins")? {
            let plugin = plugin.as_object_mut().context("a plugin")?;
            if let Some(config) = plugin.remove("runtimeConfig") {
                args["portMappings"] = config["portMappings"].clone();
                plugin.insert("capabilities".to_owned(), json!({"portMappings": true}));
            }
        }
        let document = json!({
            "kind": "cniCacheV1", "containerId": id, "ifName": "eth0",
            "networkName": "net", "netns": side.containers[container].netns(),
            "config": BASE64_STANDARD.encode(list.to_string()), "capabilityArgs": args,
            "result": known["prevResult"],
        });
        fs::write(self.cached_as(id), document.to_string()).context("the cache")
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(binary());
        let path = std::env::var("PATH").unwrap_or_default();
        let first = self.side.first_in_path.clone().unwrap_or_default();
        command
            .arg("uninstall")
            .args(words.split_whitespace())
            .env("WEIR_ROOT", self.side.node.root())
            .env("WEIR_INSTALL_BIN_DIR", self.side.node.bin_dir())
            .env(
                "DBUS_SYSTEM_BUS_ADDRESS",
                self.side.node.system_bus_address(),
            )
            .env("PATH", format!("{}:{path}", first.display()));
        command
    }

    fn run(&self, words: &str) -> Result<Output> {
        self.side.node.inside(|| Ok(self.command(words).output()?))
    }

    /// DEL by the reference, as a runtime repeats it: it fails once where its own chain is not there.
    fn delete_again(&self, container: usize, known: &Value) -> Result<()> {
        let mut failed = Vec::new();
        for _ in 0..3 {
            let deleted = self.side.call_as(Reference, "DEL", container, known)?;
            if deleted.succeeded() {
                return Ok(());
            }
            failed.push(deleted);
        }
        bail!("DEL: {failed:?}")
    }

    fn uninstall(&self, words: &str) -> Result<String> {
        let output = self.run(words)?;
        ensure!(output.status.success(), "weir uninstall: {output:?}");
        Ok(String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?)
    }

    /// What it says; nothing may have changed.
    fn refusal(&self) -> Result<String> {
        let before = self.state()?;
        let output = self.run("")?;
        ensure!(output.status.code() == Some(1), "not refused: {output:?}");
        ensure!(
            self.state()? == before,
            "before:\n{before:#?}\nafter:\n{:#?}",
            self.state()?
        );
        Ok(String::from_utf8(output.stderr)?)
    }

    /// Rules of both kinds, and the directory of plugins.
    fn state(&self) -> Result<Vec<String>> {
        let mut state = self.variant.rules(&self.side)?;
        state.extend(self.own_tables()?);
        let names = fs::read_dir(self.side.node.bin_dir())?;
        let names = names.map(|name| Ok(name?.file_name().to_string_lossy().into_owned()));
        let mut names = names.collect::<Result<Vec<_>>>()?;
        names.sort();
        state.extend(names);
        Ok(state)
    }

    /// No table of weir's is on the node any more.
    fn has_no_table(&self) -> Result<()> {
        let own = self.own_tables()?;
        ensure!(own.is_empty(), "{own:?}");
        Ok(())
    }

    /// The lines of weir's tables.
    fn own_tables(&self) -> Result<Vec<String>> {
        let listed = self.side.node.tool("nft", "--stateless list ruleset")?;
        let mut own = Vec::new();
        let mut is_own = false;
        for line in listed.lines() {
            if line.starts_with("table ") {
                is_own = line.contains(" weir_");
            }
            if is_own {
                own.push(line.to_owned());
            }
        }
        Ok(own)
    }

    fn rules(&self) -> Result<Vec<String>> {
        self.variant.rules(&self.side)
    }

    /// Fails unless the rules are these.
    fn has_rules(&self, before: &[String]) -> Result<()> {
        let now = self.rules()?;
        ensure!(now == before, "before:\n{before:#?}\nafter:\n{now:#?}");
        Ok(())
    }
}

/// The same network with the address of another container.
fn with_address(config: &Value, known: &Value) -> Result<Value> {
    let ips = known["prevResult"]["ips"].as_array().context("ips")?;
    let addresses: Vec<Value> = ips
        .iter()
        .map(|ip| json!({"address": ip["address"], "gateway": ip["gateway"]}))
        .collect();
    let mut config = config.clone();
    config["plugins"][0]["ipam"] = json!({
        "type": "static", "addresses": addresses, "routes": [{"dst": "0.0.0.0/0"}],
    });
    Ok(config)
}

/// With a configuration of Multus a node has definitions.
fn put_multus(switch: &Switch) -> Result<()> {
    let multus = json!({"cniVersion": "1.0.0", "name": "multus", "type": "multus"});
    let node = &switch.side.node;
    node.put_network("00-multus.conf", &multus).map(drop)
}
