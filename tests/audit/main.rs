//! `weir audit`: filters, summary, following, and the page, on logs with known numbers.

mod acts;
mod chain;
mod follow;
mod forward;
mod page;
mod reading;
mod summary;
mod waiting;
mod written;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use roxmltree::{Document, Node as Element, ParsingOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_gate::{Event, User};
use weir_kit::{Node, binary, bridge, weir};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

const DIGEST: &str = "sha256:00000000000000000000000000000000000000000000000000000000000000aa";

/// An event that is short to write.
fn removed() -> Event<'static> {
    let user = User::of_process();
    Event::Removed { user }
}

/// A `WEIR_ROOT` with a log, and nothing that needs a network.
struct LoggedNode {
    root: TempDir,
}

impl LoggedNode {
    fn with(records: &[Value]) -> Result<Self> {
        let node = Self {
            root: TempDir::with_prefix("weir-audit-")?,
        };
        fs::create_dir_all(node.root.path().join("var/log/weir"))?;
        fs::write(node.log(), lines(records))?;
        Ok(node)
    }

    fn log(&self) -> PathBuf {
        self.root.path().join("var/log/weir/audit.jsonl")
    }

    fn append(&self, path: &Path, text: &str) -> Result<()> {
        let mut file = fs::File::options().append(true).create(true).open(path)?;
        Ok(file.write_all(text.as_bytes())?)
    }

    fn grant(&self, name: &str, capabilities: &str) -> Result<()> {
        let directory = self.root.path().join("etc/weir/grants.d");
        fs::create_dir_all(&directory)?;
        let document = format!(
            "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata:\n  name: {name}\nspec:\n  \
             plugin:\n    name: {name}\n    digest: {DIGEST}\n  networks: ['*']\n  capabilities: {capabilities}\n"
        );
        Ok(fs::write(directory.join(format!("{name}.yaml")), document)?)
    }

    fn command(&self, words: &[&str]) -> Command {
        audit(self.root.path(), words)
    }

    fn run(&self, words: &[&str]) -> Result<Output> {
        self.command(words).output().context("run weir")
    }

    /// The output of a command that succeeds without warnings.
    fn audit(&self, words: &[&str]) -> Result<String> {
        let output = self.run(words)?;
        ensure!(output.status.success(), "{words:?}: {output:?}");
        ensure!(output.stderr.is_empty(), "{words:?}: {output:?}");
        Ok(String::from_utf8(output.stdout)?)
    }

    /// The networks of the records that pass: each record of a known log has another.
    fn networks(&self, words: &[&str]) -> Result<Vec<String>> {
        let words = [words, &["--output", "json"]].concat();
        let text = self.audit(&words)?;
        let network = |line: &str| {
            let record: Value = serde_json::from_str(line)?;
            Ok(record["network"].as_str().context("a network")?.to_owned())
        };
        text.lines().map(network).collect()
    }

    /// The numbers of the networks, without their `n`, in one word.
    fn numbers(&self, words: &[&str]) -> Result<String> {
        let networks = self.networks(words)?;
        Ok(networks.iter().map(|network| &network[1..]).collect())
    }
}

/// `weir audit` with these words, on a node whose files are below `root`.
fn audit(root: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command.arg("audit").args(words).env("WEIR_ROOT", root);
    command
}

fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// A usual record with `changes`.
fn record(time: &str, network: &str, changes: Value) -> Value {
    let mut record = json!({
        "time": time, "command": "ADD", "container_id": "pod-1", "ifname": "eth0", "network": network,
        "plugin": "bridge", "digest": DIGEST, "capability": "link", "operation": "link.create",
        "arguments": { "namespace": "host", "name": "br0", "kind": "bridge", "up": true },
        "verdict": "allowed", "rules": ["link[0]"], "answer": "ok", "microseconds": 100,
    });
    let own = record.as_object_mut().expect("an object");
    own.extend(changes.as_object().expect("an object").clone());
    record
}

fn denial(time: &str, network: &str, requirement: &str, closest: Option<&str>) -> Value {
    let reason = match closest {
        Some(rule) => format!("closest rule: {rule}"),
        None => "it has no rule for this capability".to_owned(),
    };
    let mut record = record(
        time,
        network,
        json!({
            "plugin": "greedy", "verdict": "denied", "rules": closest.into_iter().collect::<Vec<_>>(),
            "answer": format!("the grant does not allow to {requirement} ({reason})"), // in older logs
        }),
    );
    record
        .as_object_mut()
        .expect("an object")
        .remove("microseconds");
    record
}

/// Seven records of two plugins; the networks are their numbers.
fn known() -> Vec<Value> {
    vec![
        record("2026-03-01T10:00:00.000001Z", "n1", json!({})),
        record(
            "2026-03-01T10:00:01.5Z",
            "n2",
            json!({ "container_id": "pod-2", "ifname": "net1", "rules": ["link[0]", "link[1]"] }),
        ),
        record(
            "2026-03-01T10:05:00Z",
            "n3",
            json!({ "capability": "sysctl", "operation": "sysctl.write", "rules": ["sysctl[0]"],
                "answer": "no such file", "microseconds": 7 }),
        ),
        record(
            "2026-03-01T10:05:01Z",
            "n4",
            json!({ "verdict": "undo", "operation": "link.delete", "rules": [], "microseconds": 43 }),
        ),
        record(
            "2026-03-01T11:00:00Z",
            "n5",
            json!({ "command": "GC", "container_id": "", "ifname": "", "capability": "store",
                "operation": "store.delete", "rules": ["store[0]"], "plugin": "host-local" }),
        ),
        denial(
            "2026-03-01T12:00:00Z",
            "n6",
            "delete physical `eth0` in host",
            Some("link[0]: namespace"),
        ),
        denial("2026-03-02T00:00:00Z", "n7", "write net.x in host", None),
    ]
}

/// The same with one more.
fn known_and(record: Value) -> Vec<Value> {
    let mut records = known();
    records.push(record);
    records
}

fn split(words: &str) -> Vec<&str> {
    words.split_whitespace().collect()
}

/// The page parsed strictly: every element is closed, every attribute quoted, all text escaped.
fn parse(page: &str) -> Result<Document<'_>> {
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    Ok(Document::parse_with_options(page, options)?)
}

/// The elements with an attribute of that value.
fn with<'a>(page: &'a Document<'_>, attribute: &str, value: &str) -> Vec<Element<'a, 'a>> {
    let all = page.descendants();
    all.filter(|e| e.attribute(attribute) == Some(value))
        .collect()
}

/// `granted`, `allowed`, `denied`, `undone` of a cell.
fn cell(page: &Document<'_>, plugin: &str, capability: &str) -> Result<[String; 4]> {
    let row = with(page, "data-plugin", plugin);
    let mut cells = row.first().context("the plugin's row")?.children();
    let cell = cells
        .find(|cell| cell.attribute("data-capability") == Some(capability))
        .with_context(|| format!("no column {capability}"))?;
    let of = |key| cell.attribute(key).unwrap_or_default().to_owned();
    Ok(["data-granted", "data-allowed", "data-denied", "data-undone"].map(of))
}

fn text_of(element: Element<'_, '_>) -> String {
    let texts = element.descendants().filter_map(|e| e.text());
    texts.collect::<Vec<_>>().join(" ")
}

/// The records of a real ADD and a real denial.
#[test]
fn a_real_log() -> Result<()> {
    let node = Node::create()?;
    let config = |device: &str| {
        let mut config = bridge("audited", &["10.58.0.0/24"]);
        config["bridge"] = json!(device);
        config
    };
    let container = node.container()?;
    node.run(&weir(&node, "bridge", "ADD", &container, &config("aud0")))?
        .result();
    node.run(&weir(
        &node,
        "bridge",
        "ADD",
        &node.container()?,
        &config("lo"),
    ))?
    .error();
    let records = node.audit();
    let count = |key: &str, value: &str, verdict: &str| {
        let of = |record: &&Value| {
            record["plugin"] == "bridge" && record[key] == value && record["verdict"] == verdict
        };
        records.iter().filter(of).count().to_string()
    };
    let page = node.weir(&["audit", "--html", "-"])?;
    let page = parse(&page)?;
    for capability in ["link", "address", "ipam"] {
        let expected = ["allowed", "denied", "undo"].map(|v| count("capability", capability, v));
        let cell = cell(&page, "bridge", capability)?;
        assert_eq!(cell[0], "true");
        assert_eq!(cell[1..], expected, "{capability}");
    }
    assert_ne!(count("capability", "link", "allowed"), "0");
    assert_ne!(count("capability", "link", "denied"), "0");
    let denied = node.weir(&["audit", "--denied", "--summary"])?;
    assert!(denied.contains("closest rule link["), "{denied}");
    Ok(())
}
