//! The log forwarded to systemd's journal, with a stand-in for its socket.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{PermissionsExt, chown, lchown, symlink};
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_files::Paths;
use weir_gate::{Audit, Log, Subject};
use weir_kit::{Call, Container, Node, audit, bridge, weir};

use crate::removed;

/// A node whose log is forwarded.
fn node() -> Result<Node> {
    let node = Node::create()?;
    node.write(
        "etc/weir/weir.json",
        r#"{ "audit": { "forward": "journald" } }"#,
    )?;
    Ok(node)
}

fn place(node: &Node) -> PathBuf {
    Paths::below(node.root()).journal()
}

fn journal(node: &Node) -> Result<UnixDatagram> {
    let place = place(node);
    fs::create_dir_all(place.parent().context("a directory")?)?;
    let socket = UnixDatagram::bind(&place)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Writes records to the log of a node, in this process.
fn tell(node: &Node, records: usize) -> Result<()> {
    let log = Arc::new(Log::open(&Paths::below(node.root())));
    ensure!(log.failure().is_none(), "{:?}", log.failure());
    let mut audit = Audit::new(Subject::without_command("p", String::new()), log, false);
    for _ in 0..records {
        let told = audit.tell(&removed(), "a text\nof two lines");
        told.map_err(anyhow::Error::msg)?;
    }
    Ok(())
}

/// An entry's fields.
type Entry = BTreeMap<String, String>;

/// The entries that have come, each in a datagram.
fn entries(journal: &UnixDatagram) -> Result<Vec<Entry>> {
    let mut all = Vec::new();
    let mut buffer = vec![0; 1 << 18];
    loop {
        let length = match journal.recv(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(all),
            length => length?,
        };
        let entry = fields(str::from_utf8(&buffer[..length])?)?;
        assert_eq!(entry["SYSLOG_IDENTIFIER"], "weir-audit");
        assert_eq!(entry["MESSAGE_ID"].len(), 32, "{entry:?}");
        let is_priority = |text: &str| ["4", "5", "6"].contains(&text);
        assert!(is_priority(&entry["PRIORITY"]), "{entry:?}");
        all.push(entry);
    }
}

/// The fields of an entry, each of one line.
fn fields(entry: &str) -> Result<Entry> {
    let field = |line: &str| -> Result<(String, String)> {
        let (name, value) = line.split_once('=').context(line.to_owned())?;
        Ok((name.to_owned(), value.to_owned()))
    };
    entry.lines().map(field).collect()
}

/// The lines that have come.
fn received(journal: &UnixDatagram) -> Result<String> {
    let entries = entries(journal)?.into_iter();
    Ok(entries
        .map(|mut entry| entry.remove("MESSAGE").unwrap_or_default() + "\n")
        .collect())
}

/// The numbers of lines that were not forwarded, of the records that say so.
fn missed(node: &Node) -> Vec<Value> {
    let records = audit::records(&node.audit_log()).into_iter();
    records
        .filter(|record| record["operation"] == "forward.missed")
        .collect()
}

/// ADD of a bridge's network for a new container.
fn add(node: &Node) -> Result<(Call, Container)> {
    let container = node.container()?;
    let config = bridge("told", &["10.57.0.0/24"]);
    Ok((weir(node, "bridge", "ADD", &container, &config), container))
}

#[test]
fn the_journal_gets_every_line() -> Result<()> {
    let node = node()?;
    let journal = journal(&node)?;
    tell(&node, 3)?;
    let log = fs::read_to_string(node.audit_log())?;
    assert_eq!(received(&journal)?, log);
    assert_eq!(log.lines().count(), 8, "{log}");
    assert!(missed(&node).is_empty());
    Ok(())
}

#[test]
fn a_call_forwards_what_it_records() -> Result<()> {
    let node = node()?;
    let journal = journal(&node)?;
    node.run(&add(&node)?.0)?.result();
    let log = fs::read_to_string(node.audit_log())?;
    let told = received(&journal)?;
    // The kernel may keep fewer than an ADD sends: what it kept is the beginning.
    assert!(
        log.starts_with(&told) && told.lines().count() >= 8,
        "{told}"
    );
    Ok(())
}

/// Property: a reader of the journal needs no other line and no table of weir's to see what reaches beyond a container.
#[test]
fn an_entry_says_what_is_done_how_far_it_reaches_and_for_whom() -> Result<()> {
    let node = node()?;
    let journal = journal(&node)?;
    let (mut add, container) = add(&node)?;
    add.set(
        "CNI_ARGS",
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=web-0",
    );
    node.run(&add)?.result();
    let entries = entries(&journal)?;
    let is_create = |entry: &&Entry| {
        entry
            .get("WEIR_OPERATION")
            .is_some_and(|o| o == "link.create")
    };
    let created = entries.iter().find(is_create).context("a record")?;
    for (name, value) in [
        ("PRIORITY", "5"),
        ("WEIR_CAPABILITY", "link"),
        ("WEIR_VERDICT", "allowed"),
        ("WEIR_SEVERITY", "changes-host"),
        ("WEIR_PLUGIN", "bridge"),
        ("WEIR_NETWORK", "told"),
        ("WEIR_CONTAINER_ID", &container.id),
        ("WEIR_IFNAME", "eth0"),
        ("WEIR_POD", "shop/web-0"),
    ] {
        assert_eq!(
            created.get(name).map(String::as_str),
            Some(value),
            "{name}: {created:?}"
        );
    }
    assert!(created["WEIR_ACT"].starts_with("create "), "{created:?}");
    Ok(())
}

/// Property: a receiver that is away, or does not read, neither stops nor delays an ADD, and the log says what it missed.
#[test]
fn a_receiver_that_does_not_read_delays_nothing() -> Result<()> {
    let node = node()?;
    let config = bridge("told", &["10.57.0.0/24"]);
    let add = |node: &Node| -> Result<Duration> {
        let container = node.container()?;
        let began = Instant::now();
        let added = node.run(&weir(node, "bridge", "ADD", &container, &config))?;
        added.result();
        assert!(
            added.stderr.contains("of the audit log not forwarded"),
            "{added:?}"
        );
        Ok(began.elapsed())
    };
    // There is no journal.
    add(&node)?;
    let records = missed(&node);
    assert!(!records.is_empty());
    let answer = records[0]["answer"].as_str().context("an answer")?;
    assert!(answer.contains("run/systemd/journal/socket"), "{answer}");
    // There is one, which does not read.
    let journal = journal(&node)?;
    tell(&node, 2000)?;
    let before = missed(&node).len();
    let took = add(&node)?;
    assert!(took < Duration::from_secs(20), "{took:?}");
    let new = missed(&node).split_off(before);
    let answers = new
        .iter()
        .map(|record| record["answer"].as_str().unwrap_or_default());
    for answer in answers {
        assert!(answer.contains("does not take more at present"), "{answer}");
    }
    assert!(!new.is_empty());
    // Nor does it matter when it ends.
    drop(journal);
    add(&node)?;
    node.weir(&["audit", "verify"])?;
    Ok(())
}

#[test]
fn the_record_counts_the_lines() -> Result<()> {
    let node = node()?;
    tell(&node, 3)?;
    let records = missed(&node);
    let [record] = &records[..] else {
        anyhow::bail!("{records:#?}");
    };
    // What they share, three records, and the chain lines.
    assert_eq!(record["arguments"], json!({ "count": 8 }), "{record:#}");
    Ok(())
}

/// Nothing is sent to what has become of the socket.
fn assert_gets_nothing(spoil: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let node = node()?;
    let journal = journal(&node)?;
    spoil(&place(&node))?;
    tell(&node, 1)?;
    assert_eq!(received(&journal)?, "");
    assert_eq!(missed(&node).len(), 1);
    Ok(())
}

/// Property: the log goes only to a socket of root's, in directories of root's.
#[test]
fn a_socket_that_others_put_there_gets_nothing() -> Result<()> {
    assert_gets_nothing(|socket| {
        let directory = socket.parent().expect("a directory");
        fs::set_permissions(directory, Permissions::from_mode(0o777))
    })?;
    assert_gets_nothing(|socket| {
        fs::remove_file(socket)?;
        fs::write(socket, "")
    })?;
    let probe = tempfile::NamedTempFile::new()?;
    if chown(probe.path(), Some(1000), None).is_err() {
        // A user namespace with no other user.
        return Ok(());
    }
    assert_gets_nothing(|socket| chown(socket, Some(1000), None))?;
    assert_gets_nothing(|socket| {
        let there = socket.with_file_name("there");
        fs::rename(socket, &there)?;
        symlink(&there, socket)?;
        lchown(socket, Some(1000), None)
    })
}

#[test]
fn a_mistake_in_the_configuration_is_said_and_stops_nothing() -> Result<()> {
    for (audit, said) in [
        (r#"{ "forward": "syslog" }"#, "unknown variant `syslog`"),
        (r#"{ "forwards": "journald" }"#, "unknown field `forwards`"),
        ("{", "EOF while parsing"),
    ] {
        let node = Node::create()?;
        let config = format!(r#"{{ "audit": {audit} }}"#);
        node.write("etc/weir/weir.json", &config)?;
        tell(&node, 1)?;
        let records = missed(&node);
        assert_eq!(records.len(), 1, "{config}");
        let answer = records[0]["answer"].as_str().context("an answer")?;
        assert!(
            answer.contains(said) && answer.contains("weir.json"),
            "{answer}"
        );
    }
    // Other keys are not about the log.
    let node = Node::create()?;
    node.write("etc/weir/weir.json", "{ \"nativePlugin\": 1 }")?;
    tell(&node, 1)?;
    assert!(missed(&node).is_empty());
    Ok(())
}
