//! What commands do where standard output cannot be written: a full disk, and a reader that has ended.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};
use weir_kit::help::leaves;
use weir_kit::{Container, Node, binary, component, house, program};

/// Commands that print nothing when all is well.
const SILENT: [&str; 4] = ["net del", "net check", "net gc", "net status"];

/// Commands that need a registry, or another server: `distribution` tries them on a full disk.
const WITH_REGISTRY: [&str; 5] = [
    "plugin push",
    "plugin pull",
    "plugin save",
    "plugin load",
    "net fetch",
];

/// A node with an attachment, whose audit log has records, and files that commands are about.
struct Case {
    node: Node,
    container: Container,
    example: PathBuf,
    config: PathBuf,
    records: PathBuf,
    /// An author's, to sign with.
    key: PathBuf,
}

impl Case {
    fn create() -> Result<Self> {
        let node = Node::create()?;
        let networks = node.root().join("etc/cni/net.d");
        fs::create_dir_all(&networks)?;
        let config = house().join("examples/pinned-gateway/network.conflist");
        fs::write(
            networks.join("shown.conflist"),
            r#"{ "cniVersion": "1.1.0", "name": "shown", "plugins": [{ "type": "loopback" }] }"#,
        )?;
        let case = Self {
            container: node.container()?,
            example: component("pinned-gateway"),
            records: node.root().join("records.jsonl"),
            key: node.write("release.pem", rcgen::KeyPair::generate()?.serialize_pem())?,
            config,
            node,
        };
        let words = format!("net add shown {} --ifname lo", case.netns());
        case.node.inside(|| {
            let output = case.command(&words).output()?;
            anyhow::ensure!(output.status.success(), "{output:?}");
            Ok(())
        })?;
        fs::copy(
            case.node.root().join("var/log/weir/audit.jsonl"),
            &case.records,
        )?;
        fs::set_permissions(&case.key, Permissions::from_mode(0o600))?;
        Ok(case)
    }

    fn netns(&self) -> String {
        self.container.netns().display().to_string()
    }

    fn command(&self, words: &str) -> Command {
        let mut command = Command::new(binary());
        command
            .args(words.split_whitespace())
            .env("WEIR_ROOT", self.node.root())
            .env("NETCONFPATH", self.node.root().join("etc/cni/net.d"))
            .env("TMPDIR", self.temporary());
        command
    }

    /// Where commands make directories of a moment.
    fn temporary(&self) -> PathBuf {
        let directory = self.node.root().join("tmp");
        fs::create_dir_all(&directory).expect("a directory");
        directory
    }

    /// A command line for each command, in the order in which they go together.
    fn commands(&self) -> Vec<String> {
        let show = |path: &Path| path.display().to_string();
        let (example, config) = (show(&self.example), show(&self.config));
        let records = show(&self.records);
        let netns = self.netns();
        let project = show(&self.node.root().join("project"));
        let sdk = show(&house());
        let bin = show(&self.node.bin_dir());
        let module = show(&house().join("target/go/go-probe.module"));
        let made = show(&self.node.root().join("made.wasm"));
        let both = [
            "grants list".to_owned(),
            "grants show bridge".to_owned(),
            "grants check".to_owned(),
            "grants explain bridge link.list namespace=host".to_owned(),
            format!("grants suggest loopback --records {records}"),
            "grants diff bridge ptp".to_owned(),
            format!("grants diff {example} {}", show(&component("hostile"))),
            format!("plugin inspect {example}"),
            format!("plugin verify {example}"),
            "plugin list".to_owned(),
            "grants who link.update namespace=host".to_owned(),
            "net list".to_owned(),
            "net attachments".to_owned(),
            format!("plugin test {example} {config}"),
            "audit".to_owned(),
            "audit --summary".to_owned(),
            "audit --unused".to_owned(),
            "audit verify".to_owned(),
            "version --build".to_owned(),
        ];
        let json = both.iter().map(|words| format!("{words} --output json"));
        let mut all: Vec<String> = json.chain(both.iter().cloned()).collect();
        all.extend([
            "--help".to_owned(),
            "grants explain --help".to_owned(),
            "--version".to_owned(),
            "completions zsh".to_owned(),
            "demo".to_owned(),
            format!("install --bin-dir {bin}"),
            format!("net add shown {netns} --ifname lo"),
            "grants show bridge --yaml".to_owned(),
            "grants schema".to_owned(),
            "grants new bridge".to_owned(),
            format!("plugin component {module} {made}"),
            format!(
                "plugin native {} --network shown",
                show(&program("weir-native-probe"))
            ),
            format!("grants learn {example} --config {config}"),
            "audit --html -".to_owned(),
            "audit checkpoint".to_owned(),
            "audit schema".to_owned(),
            "audit --ecs".to_owned(),
            format!("plugin new project {project} --sdk {sdk}"),
            format!(
                "plugin sign {example} --key {} --bundle {}",
                show(&self.key),
                show(&self.node.root().join("signature"))
            ),
            format!("plugin add {example}"),
            "plugin remove pinned-gateway".to_owned(),
            format!("uninstall --force --bin-dir {bin}"),
        ]);
        all
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_full_disk_is_reported_by_every_command() -> Result<()> {
    let case = Case::create()?;
    let mut tried = BTreeSet::new();
    for words in case.commands() {
        let full = File::options().write(true).open("/dev/full")?;
        let output = case.node.inside(|| {
            let mut command = case.command(&words);
            command.stdout(full).output().context("run weir")
        })?;
        let errors = said(&output);
        let told = "weir: cannot write to standard output: No space left on device";
        let lines: Vec<&str> = errors.lines().filter(|l| l.starts_with(told)).collect();
        assert_eq!(lines.len(), 1, "weir {words}: {output:?}");
        assert!(!errors.contains("panicked"), "weir {words}: {errors}");
        // Nothing else is to blame.
        assert!(!errors.contains("audit.jsonl"), "weir {words}: {errors}");
        assert_eq!(output.status.code(), Some(1), "weir {words}: {output:?}");
        tried.insert(words);
    }
    for leaf in leaves() {
        let is_tried = tried.iter().any(|words| words.starts_with(&leaf));
        let is_elsewhere = [&SILENT[..], &WITH_REGISTRY]
            .concat()
            .contains(&leaf.as_str());
        assert_ne!(is_tried, is_elsewhere, "weir {leaf}");
    }
    assert_eq!(fs::read_dir(case.temporary())?.count(), 0, "of a node");
    Ok(())
}

#[test]
fn following_the_log_ends_with_a_full_disk() -> Result<()> {
    let case = Case::create()?;
    let full = File::options().write(true).open("/dev/full")?;
    let output = case.command("audit --follow").stdout(full).output()?;
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let errors = said(&output);
    assert!(errors.contains("standard output"), "{errors}");
    Ok(())
}

/// As `head` has ended, when it has seen enough.
#[test]
fn a_reader_that_has_ended_ends_quietly() -> Result<()> {
    let case = Case::create()?;
    for words in case.commands() {
        let (reader, writer) = std::io::pipe()?;
        drop(reader);
        let output = case.node.inside(|| {
            let mut command = case.command(&words);
            command
                .stdout(writer)
                .stdin(Stdio::null())
                .output()
                .context("run weir")
        })?;
        assert_ne!(output.status.code(), Some(101), "weir {words}: {output:?}");
        let errors = said(&output);
        for word in ["panicked", "Broken pipe", "standard output"] {
            assert!(!errors.contains(word), "weir {words}: {errors}");
        }
        if words.starts_with("plugin test") {
            assert_eq!(output.status.code(), Some(0), "{words}: {output:?}");
        }
    }
    assert_eq!(
        fs::read_dir(case.temporary())?.count(),
        0,
        "temporary nodes leave nothing"
    );
    Ok(())
}
