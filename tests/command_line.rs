//! The command line on a node: what `weir install` puts in place, plugins, the audit log.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_files::Paths;
use weir_kit::{Node, STANDARD, assert_contains, binary, component_file, failure, weir};
use weir_sandbox as sandbox;

fn bridge() -> Value {
    json!({
        "cniVersion": "1.1.0", "name": "net", "type": "bridge", "bridge": "net0",
        "ipam": { "type": "host-local", "subnet": "10.55.0.0/24" },
    })
}

#[test]
fn install_replaces_a_running_binary() -> Result<()> {
    let node = Node::create()?;
    let own = node.bin_dir().join("weir");
    let inode = |path: &Path| Ok::<_, anyhow::Error>(fs::symlink_metadata(path)?.ino());
    let before = inode(&own)?;
    // It runs as long as its standard input is open.
    let mut running = Command::new(node.bin_dir().join("loopback"))
        .env_clear()
        .env("WEIR_ROOT", node.root())
        .env("CNI_COMMAND", "VERSION")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    // Something else stands under a plugin's name, and something under no plugin's.
    fs::remove_file(node.bin_dir().join("bridge"))?;
    fs::write(node.bin_dir().join("bridge"), "the reference plugin")?;
    fs::write(node.bin_dir().join("dhcp"), "somebody else's")?;
    let bin_dir = node.bin_dir();
    node.weir(&["install", "--bin-dir", bin_dir.to_str().context("text")?])?;

    assert_ne!(inode(&own)?, before, "a new file, put in place by a rename");
    assert_eq!(fs::read_link(bin_dir.join("bridge"))?, Path::new("weir"));
    let kept = fs::read(bin_dir.join("bridge.weir-replaced"))?;
    assert_eq!(kept, b"the reference plugin");
    assert_eq!(fs::read(bin_dir.join("dhcp"))?, b"somebody else's");
    assert_eq!(fs::metadata(&own)?.mode() & 0o777, 0o755);
    let mut names: Vec<String> = fs::read_dir(&bin_dir)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    let others = ["bridge.weir-replaced", "dhcp", "weir"];
    let mut expected = [&STANDARD[..], &others].concat();
    expected.sort_unstable();
    assert_eq!(names, expected);

    drop(running.stdin.take());
    let output = running.wait_with_output()?;
    assert!(
        output.status.success(),
        "the running one goes on: {output:?}"
    );
    let container = node.container()?;
    node.run(&weir(&node, "bridge", "ADD", &container, &bridge()))?
        .result();
    Ok(())
}

#[test]
fn install_says_what_is_in_its_way() -> Result<()> {
    let node = Node::create()?;
    let file = node.root().join("a-file");
    fs::write(&file, "")?;
    let shown = file.to_str().context("text")?;
    let failed = failure(node.weir(&["install", "--bin-dir", shown]))?;
    assert!(failed.contains("a-file"), "{failed}");
    // A directory under a plugin's name is somebody's, and stays.
    let bin_dir = node.root().join("bin");
    fs::create_dir_all(bin_dir.join("bridge/inside"))?;
    let failed = failure(node.weir(&["install", "--bin-dir", bin_dir.to_str().context("text")?]))?;
    assert!(failed.contains("bin/bridge"), "{failed}");
    let left: Vec<_> = fs::read_dir(&bin_dir)?
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with('.'))
        .collect();
    assert!(left.is_empty(), "{left:?}");
    Ok(())
}

#[test]
fn weir_root_relocates_everything() -> Result<()> {
    let (node, container) = Node::with_container()?;
    node.run(&weir(&node, "bridge", "ADD", &container, &bridge()))?
        .result();
    for path in [
        "var/lib/cni/networks/net/10.55.0.2",
        "var/log/weir/audit.jsonl",
        "run/weir",
    ] {
        assert!(node.root().join(path).exists(), "{path}");
    }
    // Only an absolute path can stand for `/`.
    let output = Command::new(binary())
        .args(["net", "status", "no-such-network-anywhere"])
        .env("WEIR_ROOT", "relative")
        .output()?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("`/etc/cni/net.d`"), "{said}");
    Ok(())
}

#[test]
fn plugins_come_and_go() -> Result<()> {
    let node = Node::create()?;
    let file = &component_file("misbehaving");
    let inspected = node.weir(&["plugin", "inspect", file])?;
    assert_contains(&inspected, &["sha256:", "bytes", "link", "store", "ipam"]);
    let file = &component_file("pinned-gateway");
    let builtin = node.weir(&["plugin", "inspect", "bridge"])?;
    assert!(builtin.contains("firewall"), "{builtin}");

    let added = node.weir(&["plugin", "add", file, "--name", "mine"])?;
    assert!(added.contains("weir grants new mine"), "{added}");
    let again = failure(node.weir(&["plugin", "add", file, "--name", "mine"]))?;
    assert!(again.contains("--replace"), "{again}");
    node.weir(&["plugin", "add", file, "--name", "mine", "--replace"])?;
    let listed = node.weir(&["plugin", "list"])?;
    let lines: Vec<&str> = listed.lines().collect();
    let line_of = |name: &str| lines.iter().find(|line| line.starts_with(name));
    assert!(
        line_of("mine ").is_some_and(|line| line.contains("installed")),
        "{listed}"
    );
    assert!(
        line_of("bridge ").is_some_and(|line| line.contains("built in")),
        "{listed}"
    );

    // Damage shows, and hides no other plugin.
    fs::write(node.installed("mine").join("manifest.json"), "{")?;
    let output = node.command(&["plugin", "list"])?;
    assert_eq!(output.status.code(), Some(3), "{output:?}");
    let listed = String::from_utf8(output.stdout)?;
    assert_contains(&listed, &["`mine` is damaged", "bridge"]);

    node.weir(&["plugin", "remove", "mine"])?;
    assert!(!node.installed("mine").exists());
    let gone = failure(node.weir(&["plugin", "remove", "mine"]))?;
    assert!(gone.contains("no such plugin: `mine`"), "{gone}");
    let builtin = failure(node.weir(&["plugin", "remove", "bridge"]))?;
    assert!(builtin.contains("bridge"), "{builtin}");
    Ok(())
}

#[test]
fn the_audit_log_can_be_asked() -> Result<()> {
    let node = Node::create()?;
    assert_eq!(
        node.weir(&["audit"])?,
        "",
        "a log that is not there is empty"
    );
    let (one, two) = (node.container()?, node.container()?);
    for container in [&one, &two] {
        let add = weir(&node, "bridge", "ADD", container, &bridge());
        node.run(&add)?.result();
    }
    let mut reach = bridge();
    reach["bridge"] = json!("lo");
    node.run(&weir(&node, "bridge", "ADD", &node.container()?, &reach))?
        .error();

    let count = |words: &[&str]| Ok::<_, anyhow::Error>(node.weir(words)?.lines().count());
    let all = count(&["audit"])?;
    assert_eq!(all, node.audit().len());
    let of_one = count(&["audit", "--container-id", &one.id])?;
    let of_two = count(&["audit", "--container-id", &two.id])?;
    assert!(
        of_one > 0 && of_two > 0 && of_one + of_two < all,
        "{of_one}, {of_two}, {all}"
    );
    let bridges = count(&["audit", "--plugin", "bridge"])?;
    let leases = count(&["audit", "--plugin", "host-local"])?;
    assert_eq!(bridges + leases, all);
    let denied = node.weir(&["audit", "--denied"])?;
    assert_eq!(denied.lines().count(), 1, "{denied}");
    assert_contains(&denied, &["denied", "link.get"]);
    let json = node.weir(&["audit", "--output", "json", "--denied"])?;
    let record: Value = serde_json::from_str(json.trim())?;
    assert_eq!(record["verdict"], "denied");

    // A line that a crash cut short is passed over.
    let log = node.root().join("var/log/weir/audit.jsonl");
    let mut text = fs::read(&log)?;
    text.extend_from_slice(b"{\"time\": \"20");
    fs::write(&log, text)?;
    assert_eq!(count(&["audit"])?, all);
    Ok(())
}

/// `weir audit | head` must not end in a panic.
#[test]
fn a_reader_that_has_seen_enough_ends_a_list_quietly() -> Result<()> {
    let node = Node::create()?;
    for words in [&["plugin", "list"][..], &["grants", "list"]] {
        let (reader, writer) = std::io::pipe()?;
        drop(reader);
        let output = Command::new(binary())
            .args(words)
            .env("WEIR_ROOT", node.root())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()?
            .wait_with_output()?;
        assert!(
            output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(())
}

/// As this program has, which is linked with the runtime and not with the program.
#[test]
fn a_weir_with_nothing_inside_says_so() {
    let missing = sandbox::missing_plugins().map(|missing| missing.to_string());
    let missing = missing.expect("nothing is inside");
    assert_contains(&missing, &["without the standard plugins"]);
    let catalogue = sandbox::Catalogue::new(&Paths::below("/nowhere"));
    let error = catalogue
        .find("bridge")
        .err()
        .expect("the plugin is not found");
    assert_eq!(error.code, sandbox::codes::NO_PLUGIN);
    assert!(error.details.contains(&missing), "{}", error.details);
    let hostile = sandbox::hostile()
        .expect_err("nothing is inside")
        .to_string();
    assert!(hostile.contains("`make build`"), "{hostile}");
    let error = catalogue
        .install("mine", b"\0asm\x0d\0\x01\0")
        .expect_err("no compiler");
    assert!(
        error.details.contains("without the compiler"),
        "{}",
        error.details
    );
}

/// Hostile: a name that somebody was made to paste.
#[test]
fn a_word_of_the_command_line_controls_no_terminal() -> Result<()> {
    const WORD: &str = "lis\u{1b}[31m\nweir: plugin labels is installed\r";
    for words in [
        &["plugin", WORD][..],
        &["plugin", "list", &format!("--output={WORD}")],
        &["plugin", "list", "--output", WORD],
    ] {
        let output = Command::new(binary()).args(words).output()?;
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        let said = String::from_utf8(output.stderr)?;
        assert!(!said.contains(['\u{1b}', '\r']), "{said:?}");
        assert!(
            !said.lines().any(|line| line.starts_with("weir: plugin")),
            "{said}"
        );
        assert_contains(
            &said,
            &["lis\\u{1b}[31m\\nweir: plugin labels is installed\\r"],
        );
    }
    Ok(())
}
