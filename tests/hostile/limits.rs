//! Each limit of a grant: at it, just below it and just above it.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::puppet::Puppet;
use super::wat::{Text, put_grant};
use super::{AttackedNode, over_time};

const KIB: usize = 1 << 10;

fn puppet(limits: &str) -> Result<Puppet> {
    Puppet::limited("{}", limits)
}

/// Property: so many calls as the grant says, and not one more.
#[test]
fn the_calls_are_counted_to_the_last() -> Result<()> {
    let puppet = puppet("{ calls: 20 }")?;
    // What was answered is one call more, to the log.
    let calls = |calls: u64| json!({ "do": "store.open", "times": calls - 1 });
    for allowed in [19, 20] {
        puppet.run(vec![calls(allowed)], "")?.result();
    }
    let outcome = puppet.run(vec![calls(21)], "")?;
    puppet
        .fixture
        .assert_ended(&outcome, 213, &["than `limits.calls: 20`"]);
    Ok(())
}

/// Property: what one call hands over has so many bytes as the grant says, and not one more.
#[test]
fn what_a_call_hands_over_is_counted_to_the_last_byte() -> Result<()> {
    let puppet = puppet("{ transfer: 64KiB }")?;
    // The key has one byte.
    let write = |bytes: usize| json!({ "do": "sysctl.write", "key": "k", "size": bytes - 1 });
    for allowed in [64 * KIB - 1, 64 * KIB] {
        puppet.assert_denied(vec![write(allowed)])?;
    }
    let known = puppet.fixture.node.audit().len();
    let outcome = puppet.run(vec![write(64 * KIB + 1)], "")?;
    let words = ["handed over more in one call than `limits.transfer: 64KiB`"];
    puppet.fixture.assert_ended(&outcome, 214, &words);
    assert_eq!(puppet.fixture.node.audit().len(), known, "it was not made");
    Ok(())
}

/// Property: an error that a plugin returns crosses like all else.
#[test]
fn an_error_is_counted_to_the_last_byte() -> Result<()> {
    let puppet = puppet("{ transfer: 64KiB }")?;
    for allowed in [64 * KIB - 1, 64 * KIB] {
        let outcome = puppet.run(Vec::new(), &"e".repeat(allowed))?;
        assert_eq!(outcome.code(), 150);
    }
    let outcome = puppet.run(Vec::new(), &"e".repeat(64 * KIB + 1))?;
    let words = ["handed over more in one call than `limits.transfer: 64KiB`"];
    puppet.fixture.assert_ended(&outcome, 214, &words);
    Ok(())
}

fn log(fixture: &AttackedNode) -> Result<Vec<String>> {
    let path = fixture.node.root().join("var/log/weir/weir.log");
    let text = fs::read_to_string(&path).unwrap_or_default();
    let _ = fs::remove_file(path);
    Ok(text.lines().map(str::to_owned).collect())
}

/// Property: a plugin's lines in the log have so many bytes as the grant says, whatever they are made
/// of: what is escaped counts as it is there, and a line without a word counts, too.
#[test]
fn the_log_is_counted_to_the_last_byte() -> Result<()> {
    let puppet = puppet("{ log: 1MiB }")?;
    // In turn: what comes again at once is not written again. The last one is the longer one.
    let lines = || {
        let names = ["route.list", "store.open"].repeat(2).into_iter();
        names.map(|name| json!({ "do": name })).collect()
    };
    puppet.run(lines(), "")?.result();
    let written = log(&puppet.fixture)?;
    assert_eq!(written.len(), 4, "{written:#?}");
    // With the byte that ends each.
    let bytes: usize = written[..3].iter().map(|line| line.len() + 1).sum();
    for (limit, kept) in [(bytes - 1, 2), (bytes, 3), (bytes + 1, 3)] {
        puppet.grant("{}", &format!("{{ log: {limit}B }}"))?;
        puppet.run(lines(), "")?.result();
        let written = log(&puppet.fixture)?;
        let last = written.last().context("a line")?;
        let dropped = format!("{} lines exceeded the grant's `limits.log`", 4 - kept);
        assert!(last.contains(&dropped), "{limit}: {written:#?}");
        assert_eq!(written.len(), kept + 1, "{limit}: {written:#?}");
    }
    Ok(())
}

/// Property: what a plugin hands over does not fill the disk by way of the audit log: each record is
/// there, and says how much of it is not.
#[test]
fn a_record_of_the_audit_log_is_bounded() -> Result<()> {
    let puppet = puppet("{ log: 1MiB }")?;
    let orders = [
        json!({ "do": "sysctl.write", "key": "net.x", "size": 1_000_000 }),
        json!({ "do": "store.read-file", "path": "/p".repeat(400_000) }),
        json!({ "do": "firewall.apply", "chain": "c".repeat(900_000) }),
        json!({ "do": "firewall.apply", "chain": "own", "statement": "accept", "many": 5000 }),
    ];
    puppet.assert_denied(orders.into())?;
    let records = puppet.fixture.node.audit();
    records.iter().for_each(assert_bounded);
    assert_eq!(
        records[0]["arguments"]["key"], "net.x",
        "what is short is whole"
    );
    Ok(())
}

fn with(mut order: Value, key: &str, value: Value) -> Value {
    order[key] = value;
    order
}

#[track_caller]
fn assert_bounded(record: &Value) {
    let length = record.to_string().len();
    assert!(length <= 16 * KIB, "a record of {length} bytes");
    let whole = record["shortened_from"].as_u64().unwrap_or_default();
    assert!(whole > 30_000, "{record}");
    let digest = record["arguments_sha256"].as_str().unwrap_or_default();
    assert!(digest.len() == 64 && digest.bytes().all(|b| b.is_ascii_hexdigit()));
}

/// Property: what was carried out can be told from the log, however much a plugin handed over with it:
/// on which object, and by a digest, with what.
#[test]
fn a_shortened_record_says_of_what_it_is() -> Result<()> {
    const ALL: &str = "{ firewall: [ {} ], neighbour: [ {} ] }";
    let puppet = Puppet::limited(ALL, "{ log: 1MiB }")?;
    puppet
        .fixture
        .node
        .ip("link add own0 type veth peer name own1")?;
    let rules = |many: u64| {
        let order = json!({ "do": "firewall.apply", "chain": "own", "statement": "counter" });
        let commented = with(order, "alias", "c".repeat(100).into());
        with(commented, "many", many.into())
    };
    puppet.assert_each(vec![rules(200), rules(201), rules(201)], "ok")?;
    // Which are not the link's, so that the kernel layer refuses them: the gate has allowed it.
    let announced = json!({ "do": "neighbour.announce", "link": "own0", "many": 5000 });
    puppet.assert_each(vec![announced], "invalid")?;
    let records = puppet.fixture.node.audit();
    assert_eq!(records.len(), 4, "{records:#?}");
    for record in &records {
        assert_bounded(record);
    }
    let verdicts: Vec<_> = records.iter().map(|record| &record["verdict"]).collect();
    assert_eq!(verdicts, ["allowed", "allowed", "allowed", "refused"]);
    for record in &records[..3] {
        let arguments = &record["arguments"];
        assert_eq!(arguments["namespace"], "host", "{record:#}");
        assert_eq!(arguments["family"], "inet", "{record:#}");
        assert_eq!(arguments["table"], "weir_puppet", "{record:#}");
    }
    let link = &records[3]["arguments"]["link"];
    assert_eq!(link["name"], "own0", "{link:#}");
    assert_eq!(link["kind"], "veth", "{link:#}");
    // The same is told from what only begins alike.
    let digest = |n: usize| &records[n]["arguments_sha256"];
    assert_eq!(digest(1), digest(2));
    assert_ne!(digest(0), digest(1));
    Ok(())
}

/// Property: so much memory as the grant says, to the last page.
#[test]
fn the_memory_is_counted_to_the_last_page() -> Result<()> {
    let fifteen_more =
        "(if (i32.eq (memory.grow (i32.const 15)) (i32.const -1)) (then unreachable))";
    let fixture = Text::adding(fifteen_more).fixture("{}", "{}")?;
    for (pages, fits) in [(15, false), (16, true), (17, true)] {
        put_grant(
            &fixture.node,
            "{}",
            &format!("{{ memory: {}KiB }}", 64 * pages),
        )?;
        let outcome = fixture.add(json!({}))?;
        if fits {
            drop(outcome.result())
        } else {
            fixture.assert_ended(&outcome, 212, &["needed more memory than"])
        }
    }
    Ok(())
}

/// Property: so much time as the grant says: a plugin that needs less has it, and one that needs more
/// ends with it.
#[test]
fn the_time_is_kept() -> Result<()> {
    let turns = Text {
        add: "(local $turn i32)
            (loop $turns
                (local.set $turn (i32.add (local.get $turn) (i32.const 1)))
                (br_if $turns (i32.ne (local.get $turn) (i32.const 200000000))))",
        ..Text::default()
    };
    let fixture = turns.fixture("{}", "{ time: 60s }")?;
    let began = Instant::now();
    fixture.add(json!({}))?.result();
    let needed = began.elapsed();
    put_grant(&fixture.node, "{}", "{ time: 1ms }")?;
    let began = Instant::now();
    fixture.ends(json!({}), 211, &[&over_time("1ms")])?;
    assert!(began.elapsed() < needed + Duration::from_secs(1));
    Ok(())
}

/// Property: what is too large to pass from weir to a plugin ends in the plugin's own memory.
#[test]
fn an_answer_larger_than_the_plugins_memory_ends_it() -> Result<()> {
    let puppet = Puppet::limited("{ store: [ {} ] }", "{ memory: 2MiB }")?;
    let store = puppet
        .fixture
        .node
        .root()
        .join("var/lib/weir/stores/puppet/hostile");
    fs::create_dir_all(&store)?;
    let long = "k".repeat(200);
    for n in 0..8000 {
        fs::write(store.join(format!("{long}{n}")), "")?;
    }
    let orders: Vec<Value> = ["store.open", "store.transaction.keys"]
        .map(|function| json!({ "do": function }))
        .into();
    let outcome = puppet.run(orders, "")?;
    assert_eq!(outcome.code(), 212);
    Ok(())
}
