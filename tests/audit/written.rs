//! The audit log as weir writes it: schema, size, rotation.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Container, Node, audit, binary, house};

fn schema(part: &str) -> Result<jsonschema::Validator> {
    let text = fs::read_to_string(house().join("docs/audit.schema.json"))?;
    let mut schema: Value = serde_json::from_str(&text)?;
    if !part.is_empty() {
        schema["oneOf"] = json!([{ "$ref": part }]);
    }
    Ok(jsonschema::draft202012::new(&schema)?)
}

fn assert_valid(validator: &jsonschema::Validator, value: &Value) {
    let mistakes: Vec<String> = validator
        .iter_errors(value)
        .map(|e| e.to_string())
        .collect();
    assert!(mistakes.is_empty(), "{mistakes:?}: {value:#}");
}

/// A node with a network of five plugins and one address.
struct Busy {
    node: Node,
    container: Container,
}

impl Busy {
    fn create() -> Result<Self> {
        let config = json!({
            "cniVersion": "1.0.0", "name": "busy",
            "plugins": [
                { "type": "bridge", "bridge": "busy0", "isGateway": true, "ipMasq": true,
                  "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.59.0.0/30" }]] } },
                { "type": "portmap", "capabilities": { "portMappings": true } },
                { "type": "firewall" },
                { "type": "tuning", "sysctl": { "net.ipv4.conf.eth0.arp_filter": "1" }, "mtu": 1400 },
                { "type": "bandwidth", "capabilities": { "bandwidth": true } },
            ],
        });
        let (node, container) = Node::with_container()?;
        node.put_network("busy.conflist", &config)?;
        Ok(Self { node, container })
    }

    /// Runs a command for a container, with or without reads on record.
    fn run(&self, command: &str, container: &Container, reads: bool) -> Result<Output> {
        let args = json!({
            "portMappings": [{ "hostPort": 8059, "containerPort": 80, "protocol": "tcp" }],
            "bandwidth": { "ingressRate": 8_000_000, "ingressBurst": 800_000,
                "egressRate": 8_000_000, "egressBurst": 800_000 },
        });
        let pod = "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0";
        self.node.inside(|| {
            let mut weir = Command::new(binary());
            weir.args(["net", command, "busy"]).arg(container.netns());
            weir.args(["--container-id", &container.id]);
            if command == "add" {
                weir.args(["--args", pod, "--capability-args", &args.to_string()]);
            }
            weir.env("WEIR_ROOT", self.node.root());
            weir.env("WEIR_AUDIT_READS", if reads { "1" } else { "0" });
            Ok(weir.env("CNI_PATH", self.node.bin_dir()).output()?)
        })
    }

    fn succeed(&self, command: &str, reads: bool) -> Result<()> {
        let output = self.run(command, &self.container, reads)?;
        ensure!(output.status.success(), "{command}: {output:?}");
        Ok(())
    }

    fn joined(&self) -> Result<String> {
        self.node.weir(&["audit", "--output", "json"])
    }
}

#[test]
fn every_line_is_of_the_schema() -> Result<()> {
    let busy = Busy::create()?;
    busy.succeed("add", true)?;
    busy.succeed("check", true)?;
    // No address is left, so the changes are undone.
    let other = busy.node.container()?;
    assert!(!busy.run("add", &other, true)?.status.success());
    busy.succeed("del", true)?;
    let (lines, joined) = (schema("")?, schema("#/$defs/joined")?);
    let written = audit::lines(&busy.node.audit_log());
    written.iter().for_each(|line| assert_valid(&lines, line));
    let mut verdicts = BTreeSet::new();
    for record in busy.joined()?.lines() {
        let record: Value = serde_json::from_str(record)?;
        assert_valid(&joined, &record);
        assert_eq!(
            record["node"].as_str().map(str::is_empty),
            Some(false),
            "{record:#}"
        );
        if record["command"] == "ADD" {
            assert_eq!(record["pod"], "shop/web-0", "{record:#}");
        }
        assert!(record["answer"].is_string(), "{record:#}");
        verdicts.insert(record["verdict"].as_str().unwrap_or_default().to_owned());
    }
    assert!(
        verdicts.contains("allowed") && verdicts.contains("undo"),
        "{verdicts:?}"
    );
    let mut broken = written[0].clone();
    broken["surprise"] = json!(1);
    assert!(!lines.is_valid(&broken), "the schema takes anything");
    Ok(())
}

/// The size of the log of a busy node in a day: an attachment of five plugins, once the node's tables exist.
#[test]
fn an_attachment_takes_few_bytes() -> Result<()> {
    let busy = Busy::create()?;
    busy.succeed("add", false)?;
    busy.succeed("del", false)?;
    let before = fs::metadata(busy.node.audit_log())?.len();
    busy.succeed("add", false)?;
    busy.succeed("check", false)?;
    busy.succeed("del", false)?;
    let bytes = fs::metadata(busy.node.audit_log())?.len() - before;
    assert!(
        bytes < 24_000,
        "{bytes} bytes for an ADD, a CHECK and a DEL"
    );
    Ok(())
}

/// Property: the shipped configuration of logrotate loses no record.
#[test]
fn logrotate_loses_nothing() -> Result<()> {
    let busy = Busy::create()?;
    busy.succeed("add", false)?;
    let log = busy.node.audit_log();
    let before = busy.joined()?;
    let shipped = fs::read_to_string(house().join("examples/logrotate/weir"))?;
    let config = busy.node.root().join("logrotate.conf");
    let here = log.parent().context("a directory")?.display().to_string();
    fs::write(&config, shipped.replace("/var/log/weir", &here))?;
    fs::set_permissions(&config, Permissions::from_mode(0o644))?;
    let output = Command::new("logrotate")
        .args(["--force", "--state"])
        .args([&busy.node.root().join("logrotate.state"), &config])
        .env("PATH", "/usr/sbin:/sbin:/usr/bin:/bin")
        .output()
        .context("run logrotate: install the package logrotate")?;
    ensure!(output.status.success(), "{output:?}");
    assert!(!log.exists(), "the next call makes it anew");
    busy.succeed("del", false)?;
    let rotated = log.with_extension("jsonl.1").display().to_string();
    let log = log.display().to_string();
    let of = |files: &[&str]| {
        let words: Vec<&str> = files.iter().flat_map(|file| ["--file", file]).collect();
        busy.node
            .weir(&[&["audit", "--output", "json"], &words[..]].concat())
    };
    assert_eq!(of(&[&rotated])?, before);
    let both = of(&[&rotated, &log])?;
    assert!(both.starts_with(&before) && both.len() > before.len());
    busy.node.weir(&["audit", "verify"])?;
    busy.node
        .weir(&["audit", "verify", "--file", &rotated, "--file", &log])?;
    Ok(())
}

#[test]
fn the_schema_knows_who_did_what() -> Result<()> {
    let line = |operation: &str, arguments: Value| {
        json!({
            "time": "2026-03-01T10:00:00.000001Z", "invocation": "0123456789abcdef", "seq": 0,
            "operation": operation, "arguments": arguments, "verdict": "allowed", "rules": [], "answer": "ok",
        })
    };
    let validator = schema("#/$defs/record")?;
    let user = json!({ "uid": 0, "login_uid": 1000, "sudo_uid": 1000 });
    assert_valid(&validator, &line("plugin.add", json!({ "user": user })));
    let found = json!({
        "document": "/etc/weir/grants.d/p.yaml", "after": "sha256:00", "modified": "2026-03-01T10:00:00Z",
        "found_by": { "uid": 0 },
    });
    assert_valid(&validator, &line("grant.change", found));
    // Of an older weir.
    assert_valid(&validator, &line("plugin.remove", json!({})));
    for wrong in [
        json!({ "login_uid": 1000 }),
        json!({ "uid": "root" }),
        json!({ "uid": -1 }),
    ] {
        let line = line("plugin.add", json!({ "user": wrong }));
        assert!(!validator.is_valid(&line), "{line:#}");
    }
    Ok(())
}
