//! A firewalld of a test's own, on a D-Bus of its own: it rules in the node's network namespace, and the
//! plugins on that node find it where they find the system's.
//!
//! The program is the one that `tests/firewalld/prepare` left in `target/firewalld`.

use std::fs;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use super::node::{Node, printed};

/// How long each of the two may take to start, and how often they are asked.
const START_TIMEOUT: Duration = Duration::from_secs(30);
const START_POLL: Duration = Duration::from_millis(20);

/// Debian's own, which has firewalld's modules.
const PYTHON: &str = "/usr/bin/python3";

const SERVICE: &str = "org.fedoraproject.FirewallD1";
const OBJECT: &str = "/org/fedoraproject/FirewallD1";

/// Everybody may do everything: it is as reachable as the test's own files.
const POLICY: &str = r#"<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>ADDRESS</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow send_type="method_call"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
"#;

/// firewalld has temporary files in `/run`, which are not to be the machine's.
const WITH_OWN_RUN: &str = r#"mount -t tmpfs tmpfs /run && exec "$@""#;

/// A program that ends when this is dropped, or the thread that started it does.
struct Daemon(Child);

impl Daemon {
    /// Starts it in the node's network namespace.
    fn start(node: &Node, words: &[&str]) -> Result<Self> {
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "nsenter"])
            .arg(format!("--net={}", node.netns().display()))
            .args(["unshare", "--mount", "sh", "-c", WITH_OWN_RUN, "sh"])
            .args(words)
            .env("DBUS_SYSTEM_BUS_ADDRESS", node.system_bus_address())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        Ok(Self(command.spawn().context("run setpriv")?))
    }

    fn wait_until(&mut self, what: &str, is_ready: impl Fn() -> bool) -> Result<()> {
        let deadline = Instant::now() + START_TIMEOUT;
        while !is_ready() {
            if let Some(status) = self.0.try_wait()? {
                bail!("{what} ended: {status}; is it installed?");
            }
            ensure!(Instant::now() < deadline, "{what} does not answer");
            thread::sleep(START_POLL);
        }
        Ok(())
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A system's D-Bus on which nobody has a name.
pub struct Bus {
    _daemon: Daemon,
}

impl Bus {
    /// Starts it on a node.
    pub fn start(node: &Node) -> Result<Self> {
        let socket = node.system_bus();
        fs::create_dir_all(socket.parent().context("a directory of sockets")?)?;
        let policy = node.root().join("bus.conf");
        fs::write(
            &policy,
            POLICY.replace("ADDRESS", &node.system_bus_address()),
        )?;
        let policy = format!("--config-file={}", policy.display());
        let words = ["dbus-daemon", &policy, "--nofork", "--nopidfile"];
        let mut daemon = Daemon::start(node, &words)?;
        daemon.wait_until("dbus-daemon", || UnixStream::connect(&socket).is_ok())?;
        Ok(Self { _daemon: daemon })
    }
}

/// A firewalld with its packaged configuration: what is not in a zone is in `public`.
pub struct Firewalld<'n> {
    node: &'n Node,
    _daemon: Daemon,
    _bus: Bus,
}

impl<'n> Firewalld<'n> {
    /// Starts it on a node, and waits until it rules.
    pub fn start(node: &'n Node) -> Result<Self> {
        let bus = Bus::start(node)?;
        let prepared = super::house().join("target/firewalld");
        let program = prepared.join("usr/sbin/firewalld");
        ensure!(
            program.exists(),
            "{} is missing: run tests/firewalld/prepare",
            program.display()
        );
        let changes = node.root().join("etc/firewalld");
        fs::create_dir_all(&changes)?;
        let mut daemon = Daemon::start(
            node,
            &[
                PYTHON,
                "-Es",
                path(&program)?,
                "--nofork",
                "--nopid",
                "--default-config",
                path(&prepared.join("usr/lib/firewalld"))?,
                "--system-config",
                path(&changes)?,
                "--log-file",
                path(&node.root().join("firewalld.log"))?,
            ],
        )?;
        daemon.wait_until("firewalld", || state(node).is_ok_and(|s| s == "RUNNING"))?;
        Ok(Self {
            node,
            _daemon: daemon,
            _bus: bus,
        })
    }

    /// The addresses that are bound to a zone, as it writes them.
    pub fn sources(&self, zone: &str) -> Result<Vec<String>> {
        let answer = self.call("zone.getSources", &[zone])?;
        Ok(strings(&answer))
    }

    /// Binds an address to a zone.
    pub fn add_source(&self, zone: &str, source: &str) -> Result<()> {
        self.call("zone.addSource", &[zone, source]).map(drop)
    }

    /// Forgets what is not in its permanent configuration.
    pub fn reload(&self) -> Result<()> {
        self.call("reload", &[]).map(drop)
    }

    fn call(&self, method: &str, arguments: &[&str]) -> Result<String> {
        let method = format!("{SERVICE}.{method}");
        send(self.node, OBJECT, &method, arguments)
    }
}

fn path(path: &Path) -> Result<&str> {
    path.to_str().context("a path in UTF-8")
}

fn state(node: &Node) -> Result<String> {
    let arguments = [SERVICE, "state"];
    let answer = send(
        node,
        OBJECT,
        "org.freedesktop.DBus.Properties.Get",
        &arguments,
    )?;
    strings(&answer).pop().context("a state")
}

fn send(node: &Node, object: &str, method: &str, arguments: &[&str]) -> Result<String> {
    let arguments = arguments.iter().map(|text| format!("string:{text}"));
    printed(
        Command::new("dbus-send")
            .arg(format!("--bus={}", node.system_bus_address()))
            .args([
                "--print-reply",
                &format!("--dest={SERVICE}"),
                object,
                method,
            ])
            .args(arguments),
    )
}

/// The strings of an answer, as dbus-send prints them.
fn strings(answer: &str) -> Vec<String> {
    let quoted = answer
        .lines()
        .filter_map(|line| line.split_once("string \""));
    quoted
        .map(|(_, rest)| rest.trim_end().trim_end_matches('"').to_owned())
        .collect()
}
