//! One side of a comparison: a node on which either the reference plugins or weir's are run.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::plugin::REFERENCE;
use weir_kit::{Call, Container, Node, Outcome, floor, reference, weir};

use crate::parameters::Reader;

/// Whose plugins are called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    Reference,
    Weir,
    /// One program for every plugin.
    Floor,
}

impl Whose {
    /// Each way of one side taking over from the other.
    pub const EACH_WAY: [(Self, Self); 2] =
        [(Self::Reference, Self::Weir), (Self::Weir, Self::Reference)];
}

/// A node, the containers on it, and whose plugins attach them.
pub struct Side {
    pub whose: Whose,
    pub node: Node,
    pub containers: Vec<Container>,
    /// Where the reference plugins look for programs before all other places.
    pub first_in_path: Option<PathBuf>,
    pub readers: Mutex<Readers>,
}

/// What reads the parameters of each namespace.
#[derive(Default)]
pub struct Readers {
    pub host: Reader,
    pub containers: Vec<Reader>,
}

/// Where leases are without `dataDir`.
const DATA_DIR: &str = "/var/lib/cni/networks";

/// Where the backups of `tuning` are without `dataDir`.
pub const BACKUPS: &str = "/run/cni/tuning";

/// What the comparison runs, and the Debian package that has it.
const TOOLS: [(&str, &str); 6] = [
    ("/usr/lib/cni/bridge", "containernetworking-plugins"),
    ("/usr/lib/cni/host-local", "containernetworking-plugins"),
    ("ip", "iproute2"),
    ("iptables", "iptables"),
    ("ip6tables", "iptables"),
    ("nft", "nftables"),
];

impl Side {
    /// A node with this many containers, whose ids are the same on every side.
    pub fn create(whose: Whose, containers: usize) -> Result<Self> {
        require_tools()?;
        let node = Node::create()?;
        node.inside(hurry)?;
        let containers = (1..=containers).map(|number| {
            let mut container = node.container()?;
            container.inside(hurry)?;
            container.id = format!("differential-{number}");
            Ok(container)
        });
        Ok(Self {
            whose,
            containers: containers.collect::<Result<_>>()?,
            node,
            first_in_path: None,
            readers: Mutex::default(),
        })
    }

    /// Both sides: the reference first.
    pub fn pair(containers: usize) -> Result<[Self; 2]> {
        Ok([
            Self::create(Whose::Reference, containers)?,
            Self::create(Whose::Weir, containers)?,
        ])
    }

    /// Connects the last container to the host as what is outside, with a way back to the others.
    pub fn connect_outside(&self) -> Result<&Container> {
        let outside = self
            .containers
            .last()
            .context("a container for the outside")?;
        let pid_path = outside.netns().display().to_string();
        self.node.ips(&[
            "link add out type veth peer name eth0",
            &format!("link set eth0 netns {pid_path}"),
            "address add 192.0.2.1/24 dev out",
            "address add 2001:db8::1/64 dev out nodad",
            "link set out up",
        ])?;
        outside.ips(&[
            "address add 192.0.2.2/24 dev eth0",
            "address add 2001:db8::2/64 dev eth0 nodad",
            "link set eth0 up",
            "route add 10.1.0.0/24 via 192.0.2.1",
            "route add fd00:1::/64 via 2001:db8::1",
        ])?;
        Ok(outside)
    }

    /// Calls this side's plugin, the one that `type` names, for a container; or, where the
    /// configuration is a list, its `plugins` as a runtime does.
    pub fn call(
        &self,
        command: &str,
        container: usize,
        config: &Value,
        args: Option<&str>,
    ) -> Result<Outcome> {
        match config["plugins"].as_array() {
            None => self.call_of(self.whose, command, container, config, args),
            Some(plugins) => self.call_list(self.whose, command, container, config, plugins, args),
        }
    }

    /// Calls the plugins of a list, of either kind.
    pub fn call_as(
        &self,
        whose: Whose,
        command: &str,
        container: usize,
        list: &Value,
    ) -> Result<Outcome> {
        let plugins = list["plugins"].as_array().context("a list")?;
        self.call_list(whose, command, container, list, plugins, None)
    }

    /// Calls one plugin after the other; DEL begins with the last, and follows an ADD that failed. The
    /// outcome is that of the last call that was made for the command itself.
    fn call_list(
        &self,
        whose: Whose,
        command: &str,
        container: usize,
        list: &Value,
        plugins: &[Value],
        args: Option<&str>,
    ) -> Result<Outcome> {
        let mut plugins: Vec<&Value> = plugins.iter().collect();
        if command == "DEL" {
            plugins.reverse();
        }
        let mut previous = list.get("prevResult").cloned();
        let mut outcome = None;
        for plugin in plugins {
            let config = execution(list, plugin, previous.as_ref());
            let called = self.call_of(whose, command, container, &config, args)?;
            if !called.succeeded() {
                if command == "ADD" {
                    self.call_as(whose, "DEL", container, list)?;
                }
                return Ok(called);
            }
            if command == "ADD" {
                previous = Some(called.document());
            }
            outcome = Some(called);
        }
        outcome.context("a list has plugins")
    }

    /// Calls a plugin of either kind on this side's node.
    pub fn call_of(
        &self,
        whose: Whose,
        command: &str,
        container: usize,
        config: &Value,
        args: Option<&str>,
    ) -> Result<Outcome> {
        let container = &self.containers[container];
        let mut call = self.prepare(whose, command, container, config);
        if let Some(args) = args {
            call.set("CNI_ARGS", OsString::from(args));
        }
        self.node.run(&call)
    }

    fn prepare(&self, whose: Whose, command: &str, container: &Container, config: &Value) -> Call {
        match whose {
            Whose::Weir => weir(&self.node, plugin(config), command, container, config),
            Whose::Floor => floor(command, container, &self.relocated(config)),
            Whose::Reference => {
                let config = self.relocated(config);
                let mut call = reference(plugin(&config), command, container, &config);
                call.set("DBUS_SYSTEM_BUS_ADDRESS", self.node.system_bus_address());
                if let Some(first) = &self.first_in_path {
                    let path = std::env::var("PATH").unwrap_or_default();
                    call.set("PATH", format!("{}:{path}", first.display()));
                }
                call
            }
        }
    }

    /// The configuration with paths below the node's root, as `WEIR_ROOT` has it for weir.
    fn relocated(&self, config: &Value) -> Value {
        let mut config = config.clone();
        let below = |path: &str| format!("{}{path}", self.node.root().display());
        if plugin(&config) == "tuning" {
            let data_dir = below(config["dataDir"].as_str().unwrap_or(BACKUPS));
            config["dataDir"] = json!(data_dir);
        }
        let Some(ipam) = config.get_mut("ipam").and_then(Value::as_object_mut) else {
            return config;
        };
        let data_dir = ipam
            .get("dataDir")
            .and_then(Value::as_str)
            .unwrap_or(DATA_DIR);
        let data_dir = below(data_dir);
        ipam.insert("dataDir".to_owned(), json!(data_dir));
        if let Some(path) = ipam.get("resolvConf").and_then(Value::as_str).map(below) {
            ipam.insert("resolvConf".to_owned(), json!(path));
        }
        config
    }
}

/// Fails, with what was printed, for a call that failed.
pub fn must_succeed(outcome: &Outcome) -> Result<()> {
    ensure!(outcome.succeeded(), "{outcome:?}");
    Ok(())
}

/// The execution configuration of a list's plugin.
pub fn execution(list: &Value, plugin: &Value, previous: Option<&Value>) -> Value {
    let mut config = plugin.clone();
    for key in ["cniVersion", "name"] {
        config[key] = list[key].clone();
    }
    if let Some(previous) = previous {
        config["prevResult"] = previous.clone();
    }
    config
}

/// The plugin to call.
fn plugin(config: &Value) -> &str {
    config["type"]
        .as_str()
        .expect("every configuration has a type")
}

/// The previous result in a configuration, from version 0.4.0 on, which brought it to CHECK and DEL.
pub fn with_previous(config: &Value, previous: Option<&Value>) -> Value {
    let mut config = config.clone();
    let version = config["cniVersion"].as_str().unwrap_or_default();
    if let Some(previous) = previous.filter(|_| version >= "0.4.0") {
        config["prevResult"] = previous.clone();
    }
    config
}

/// Makes duplicate address detection, where it is on, find nothing at once instead of in two seconds.
fn hurry() -> Result<()> {
    for (parameter, value) in [("dad_transmits", "0"), ("router_solicitation_delay", "0")] {
        let path = Path::new("/proc/sys/net/ipv6/conf/default").join(parameter);
        fs::write(&path, value).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

fn require_tools() -> Result<()> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    for (tool, package) in TOOLS {
        let mut places = std::env::split_paths(&path);
        let is_there = Path::new(tool).exists() || places.any(|place| place.join(tool).exists());
        ensure!(
            is_there,
            "`{tool}` is missing: install the package {package}"
        );
    }
    ensure!(Path::new(REFERENCE).is_dir(), "{REFERENCE} is missing");
    Ok(())
}
