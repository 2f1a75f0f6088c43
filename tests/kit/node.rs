//! A node: a host namespace with a root directory for weir, and containers.

use std::fs;
use std::io::{Seek, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result, ensure};
use nix::net::if_::if_nameindex;
use serde_json::Value;
use tempfile::TempDir;

use super::namespace::Namespace;
use super::plugin::{Call, Outcome};
use super::shown::Shown;
use super::{audit, grants_used};

/// A host of its own: network namespace, `WEIR_ROOT`, and a data directory for the reference.
pub struct Node {
    namespace: Namespace,
    root: TempDir,
}

/// What a line for `ip` begins with that is about IPv6 alone.
const OF_IPV6: &str = "-6 ";

/// A policy that lets every plugin in: what tests install is not signed. `tests/distribution` tests others.
pub const POLICY: &str =
    "apiVersion: weir.dev/v1alpha1\nkind: PluginPolicy\nspec:\n  unsigned: [\"*\"]\n";

/// The plugins inside the binary.
pub const STANDARD: [&str; 17] = [
    "bandwidth",
    "bridge",
    "dummy",
    "firewall",
    "host-device",
    "host-local",
    "ipvlan",
    "loopback",
    "macvlan",
    "portmap",
    "ptp",
    "sbr",
    "static",
    "tap",
    "tuning",
    "vlan",
    "vrf",
];

/// A container: a network namespace with an id that no other test has.
pub struct Container {
    pub id: String,
    namespace: Namespace,
}

/// The addresses that are leased in a directory, sorted.
pub fn addresses_in(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut taken: Vec<String> = names
        .filter(|name| name.parse::<std::net::IpAddr>().is_ok())
        .collect();
    taken.sort();
    taken
}

static NEXT: AtomicU32 = AtomicU32::new(0);

fn unique() -> String {
    format!(
        "{}-{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    )
}

impl Node {
    /// A new one, with weir installed below its root and its loopback up.
    pub fn create() -> Result<Self> {
        let node = Self {
            namespace: Namespace::create()?,
            root: TempDir::with_prefix("weir-test-")?,
        };
        node.install()?;
        node.write("etc/weir/plugin-policy.yaml", POLICY)?;
        node.ip("link set lo up")?;
        // A new namespace has the machine's own, which whatever runs there may change meanwhile.
        node.inside(|| Ok(fs::write("/proc/sys/net/ipv4/ip_forward", "0")?))?;
        Ok(node)
    }

    /// A new one and a container of it.
    pub fn with_container() -> Result<(Self, Container)> {
        let node = Self::create()?;
        let container = node.container()?;
        Ok((node, container))
    }

    /// Does what `weir install` does, except that all nodes share one binary.
    fn install(&self) -> Result<()> {
        fs::create_dir_all(self.bin_dir())?;
        symlink(super::binary(), self.bin_dir().join("weir"))?;
        for plugin in STANDARD {
            self.link_plugin(plugin)?;
        }
        Ok(())
    }

    /// A container of this node.
    pub fn container(&self) -> Result<Container> {
        Ok(Container {
            id: format!("test-{}", unique()),
            namespace: Namespace::create()?,
        })
    }

    /// `WEIR_ROOT`.
    pub fn root(&self) -> &Path {
        self.root.path()
    }

    /// Where weir and its links are.
    pub fn bin_dir(&self) -> PathBuf {
        self.root.path().join("opt/cni/bin")
    }

    /// Its network namespace.
    pub fn netns(&self) -> PathBuf {
        self.namespace.path().expect("/proc is mounted")
    }

    /// The socket of the node's D-Bus, where weir looks for it.
    pub fn system_bus(&self) -> PathBuf {
        self.root.path().join("run/dbus/system_bus_socket")
    }

    /// The same in the form of `DBUS_SYSTEM_BUS_ADDRESS`, for other programs.
    pub fn system_bus_address(&self) -> String {
        format!("unix:path={}", self.system_bus().display())
    }

    /// The lease directory of a network with the default `dataDir`: of one of the node's own by its name, of a
    /// definition's by `namespace/name`.
    pub fn leases(&self, network: &str) -> PathBuf {
        let directory = self.root.path().join("var/lib/cni/networks");
        directory.join(network.replace('/', "@"))
    }

    /// Writes a network configuration where container runtimes read them, and returns its file.
    pub fn put_network(&self, file: &str, config: &Value) -> Result<PathBuf> {
        let directory = self.root.path().join("etc/cni/net.d");
        fs::create_dir_all(&directory)?;
        let file = directory.join(file);
        fs::write(&file, config.to_string())?;
        Ok(file)
    }

    /// Writes a file below the root, with the directories that it is in, and returns its path.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) -> Result<PathBuf> {
        let path = self.root.path().join(path);
        fs::create_dir_all(path.parent().context("a directory")?)?;
        fs::write(&path, content)?;
        Ok(path)
    }

    /// Has the node's sysfs describe a device on a bus, such as `pci`, with this link.
    pub fn put_device(&self, bus: &str, name: &str, link: &str) -> Result<()> {
        let sysfs = self.root.path().join("sys");
        let own = sysfs.join("devices/pci0000:00").join(name);
        let on_bus = sysfs.join("bus").join(bus).join("devices");
        fs::create_dir_all(own.join("net").join(link))?;
        fs::create_dir_all(&on_bus)?;
        symlink(format!("/sys/bus/{bus}"), own.join("subsystem"))?;
        Ok(symlink(&own, on_bus.join(name))?)
    }

    /// The addresses that are taken on a network, sorted.
    pub fn taken(&self, network: &str) -> Vec<String> {
        addresses_in(&self.leases(network))
    }

    /// The text of weir's log, which plugins write to as well. Errors: that there is none.
    pub fn log(&self) -> Result<String> {
        Ok(fs::read_to_string(
            self.root.path().join("var/log/weir/weir.log"),
        )?)
    }

    /// The audit log.
    pub fn audit_log(&self) -> PathBuf {
        self.root.path().join("var/log/weir/audit.jsonl")
    }

    /// The records of the audit log that are of operations.
    pub fn audit(&self) -> Vec<Value> {
        self.records(false)
    }

    /// The others: of plugins that were not run, or that came and went, and of grants that changed.
    pub fn events(&self) -> Vec<Value> {
        self.records(true)
    }

    fn records(&self, events: bool) -> Vec<Value> {
        let of_events = ["plugin", "grant", "denial", "forward"];
        let is_event = |record: &Value| of_events.iter().any(|word| record["capability"] == *word);
        let records = audit::records(&self.audit_log()).into_iter();
        records
            .filter(|record| is_event(record) == events)
            .collect()
    }

    /// Runs a call of a plugin in the node's namespace.
    pub fn run(&self, call: &Call) -> Result<Outcome> {
        self.inside(|| call.run())
    }

    /// Runs `ip` with these words in the host namespace and returns its output.
    pub fn ip(&self, words: &str) -> Result<String> {
        self.inside(|| output("ip", words))
    }

    /// Does what `ip` does with each of these lines. Of its options, they may have `-6`.
    pub fn ips(&self, lines: &[impl AsRef<str>]) -> Result<()> {
        batches_of_ip(&self.namespace, lines)
    }

    /// Runs `ip -j` and parses its output; nothing printed is an empty list.
    pub fn ip_json(&self, words: &str) -> Result<Value> {
        parse(&self.ip(&format!("-j -d {words}"))?)
    }

    /// Runs another tool in the host namespace.
    pub fn tool(&self, tool: &str, words: &str) -> Result<String> {
        self.inside(|| output(tool, words))
    }

    /// Runs a tool several times, with each of these words.
    pub fn tools(&self, tool: &str, runs: &[&str]) -> Result<()> {
        runs.iter()
            .try_for_each(|words| self.tool(tool, words).map(drop))
    }

    /// What `ip` shows of the host namespace.
    pub fn shown(&self) -> Result<Shown> {
        self.namespace.shown()
    }

    /// Runs `act` in a thread inside the host namespace.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        self.namespace.inside(act)
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        grants_used::keep(self.root.path());
    }
}

impl Container {
    /// `CNI_NETNS`.
    pub fn netns(&self) -> PathBuf {
        self.namespace.path().expect("/proc is mounted")
    }

    /// Runs `ip` in the container.
    pub fn ip(&self, words: &str) -> Result<String> {
        self.inside(|| output("ip", words))
    }

    /// Does what `ip` does with each of these lines. Of its options, they may have `-6`.
    pub fn ips(&self, lines: &[impl AsRef<str>]) -> Result<()> {
        batches_of_ip(&self.namespace, lines)
    }

    /// Its addresses as `ip` shows them, to compare before and after. The kernel's search for duplicates ends by itself, so its
    /// flag is left out.
    pub fn addresses(&self) -> Result<String> {
        Ok(self.ip("-o address")?.replace(" tentative", ""))
    }

    /// Runs `ip -j` in the container and parses its output.
    pub fn ip_json(&self, words: &str) -> Result<Value> {
        parse(&self.ip(&format!("-j -d {words}"))?)
    }

    /// The names of its links, `lo` among them.
    pub fn links(&self) -> Result<Vec<String>> {
        self.inside(|| {
            let links = if_nameindex().context("list the links")?;
            let names = links.iter().map(|link| link.name().to_string_lossy());
            Ok(names.map(|name| name.into_owned()).collect())
        })
    }

    /// What `ip` shows of it.
    pub fn shown(&self) -> Result<Shown> {
        self.namespace.shown()
    }

    /// Brings the calling thread inside the container.
    pub fn enter(&self) -> Result<()> {
        self.namespace.enter()
    }

    /// Runs `act` in a thread inside the container.
    pub fn inside<T: Send>(&self, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        self.namespace.inside(act)
    }
}

fn output(tool: &str, words: &str) -> Result<String> {
    printed(Command::new(tool).args(words.split_whitespace()))
}

/// One process for as many lines as can be: to start one takes longer than what a line does.
fn batches_of_ip(namespace: &Namespace, lines: &[impl AsRef<str>]) -> Result<()> {
    let is_of_ipv6 = |line: &str| line.starts_with(OF_IPV6);
    let mut batches =
        lines.chunk_by(|one, next| is_of_ipv6(one.as_ref()) == is_of_ipv6(next.as_ref()));
    batches.try_for_each(|batch| {
        let lines = batch.iter().map(|line| {
            let line = line.as_ref();
            line.strip_prefix(OF_IPV6).unwrap_or(line)
        });
        let mut ip = Command::new("ip");
        if is_of_ipv6(batch[0].as_ref()) {
            ip.arg(OF_IPV6.trim());
        }
        let lines = lines.collect::<Vec<_>>().join("\n");
        namespace
            .inside(|| batch_of_ip(&mut ip, &lines))
            .with_context(|| format!("the lines are\n{lines}"))
    })
}

fn batch_of_ip(ip: &mut Command, lines: &str) -> Result<()> {
    let mut input = tempfile::tempfile()?;
    writeln!(input, "{lines}")?;
    input.rewind()?;
    printed(ip.args(["-batch", "-"]).stdin(input)).map(drop)
}

/// Runs a tool, and returns what it printed. Errors: that it is not there, or its own.
pub(crate) fn printed(tool: &mut Command) -> Result<String> {
    let output = tool.output();
    let output = output.with_context(|| format!("run {tool:?}: is it installed?"))?;
    let errors = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{tool:?}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

fn parse(text: &str) -> Result<Value> {
    match text.trim() {
        "" => Ok(Value::Array(Vec::new())),
        text => Ok(serde_json::from_str(text)?),
    }
}
