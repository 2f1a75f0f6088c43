//! What crosses between plugin and host, byte by byte, and exports that never come back.

use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use super::wat::Text;
use super::{over_memory, over_time};

const FOREVER: &str = "(loop $forever (br $forever))";

/// `log.write` of what is at an address; the level is in range.
const LOG: &str =
    r#"(import "weir:cni/log@0.2.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#;

const SYSCTL: &str =
    r#"(import "weir:cni/sysctl@0.2.0" "read" (func $read (param i32 i32 i32 i32)))"#;

/// Property: a trap in whichever export is an error of that call, and of no other.
#[test]
fn a_trap_in_each_export_is_reported() -> Result<()> {
    let fixture = Text {
        add: "unreachable",
        others: "unreachable",
        version: "unreachable",
        ..Text::default()
    }
    .fixture("{}", "{}")?;
    for command in ["ADD", "DEL", "CHECK", "STATUS", "GC"] {
        let attachments =
            json!({ "cni.dev/valid-attachments": [], "prevResult": { "cniVersion": "1.1.0" } });
        let outcome = fixture.run(command, attachments, &[])?;
        fixture.assert_ended(&outcome, 210, &["trapped", "unreachable"]);
    }
    fixture.run("VERSION", json!({}), &[])?.result();
    Ok(())
}

/// Property: a plugin has its time and no more, wherever it spends it: while it starts, when it is
/// asked for memory, and after it has returned.
#[test]
fn an_endless_loop_ends_wherever_it_is() -> Result<()> {
    let start = Text {
        more: "(func $spin (loop $forever (br $forever))) (start $spin)",
        ..Text::default()
    };
    let realloc = Text {
        realloc: "(loop $forever (br $forever)) (i32.const 4096)",
        ..Text::default()
    };
    let after = Text {
        after: FOREVER,
        ..Text::default()
    };
    for text in [start, realloc, after] {
        let fixture = text.fixture("{}", "{ time: 300ms }")?;
        let began = Instant::now();
        let outcome = fixture.add(json!({}))?;
        assert!(began.elapsed() < Duration::from_secs(5), "{text:?}");
        fixture.assert_ended(&outcome, 211, &[&over_time("300ms")]);
    }
    Ok(())
}

/// Property: what weir asks a plugin to allocate is allocated within the plugin's time as well.
#[test]
fn an_endless_loop_inside_a_host_call_ends() -> Result<()> {
    // The request has crossed already when `add` sets the flag.
    let fixture = Text {
        imports: SYSCTL,
        more: r#"(global $trap (mut i32) (i32.const 0)) (data (i32.const 64) "net.ipv4.ip_forward")"#,
        realloc: "
            (local $at i32)
            (if (global.get $trap) (then (loop $forever (br $forever))))
            (local.set $at
                (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
            (global.set $next (i32.add (local.get $at) (local.get 3)))
            (local.get $at)",
        add: "
            (global.set $trap (i32.const 1))
            (call $read (i32.const 0) (i32.const 64) (i32.const 19) (i32.const 2048))",
        ..Text::default()
    }
    .fixture("{}", "{ time: 300ms }")?;
    fixture.ends(json!({}), 211, &[&over_time("300ms")])?;
    assert_eq!(fixture.records("sysctl.read").len(), 1);
    Ok(())
}

/// Property: a plugin never has more memory than its limit, not even at first.
#[test]
fn four_gibibytes_at_first_are_refused() -> Result<()> {
    let fixture = Text {
        pages: 65_536,
        ..Text::default()
    }
    .fixture("{}", "{}")?;
    fixture.ends(json!({}), 212, &[&over_memory("64MiB")])
}

/// Property: a text crosses whole and within the limit, however long the plugin says that it is.
#[test]
fn a_string_of_a_gibibyte_does_not_cross() -> Result<()> {
    // Beyond the plugin's memory.
    let beyond = Text {
        imports: LOG,
        add: "(call $log (i32.const 1) (i32.const 64) (i32.const 0x40000000) (i32.const 0) (i32.const 0))",
        ..Text::default()
    };
    let fixture = beyond.fixture("{}", "{}")?;
    fixture.ends(json!({}), 210, &["trapped"])?;
    // Within it.
    let within = Text {
        pages: 16_400,
        ..beyond
    };
    let fixture = within.fixture("{}", "{ memory: 2GiB }")?;
    fixture.ends(
        json!({}),
        214,
        &["handed over more in one call than `limits.transfer: 1MiB`"],
    )
}

/// Property: the host sees texts that are UTF-8, numbers that the contract knows, and handles that it
/// gave out. Everything else ends the plugin before anything is done.
#[test]
fn what_the_contract_does_not_have_ends_the_plugin() -> Result<()> {
    const BYTES: &str = r#"(data (i32.const 64) "\ff\fenet.ipv4\c0\80")"#;
    let in_a_key = Text {
        imports: SYSCTL,
        more: BYTES,
        add: "(call $read (i32.const 0) (i32.const 64) (i32.const 12) (i32.const 2048))",
        ..Text::default()
    };
    let in_the_log = Text {
        imports: LOG,
        more: BYTES,
        add: "(call $log (i32.const 1) (i32.const 64) (i32.const 12) (i32.const 0) (i32.const 0))",
        ..Text::default()
    };
    let in_a_link = Text {
        imports: r#"(import "weir:cni/link@0.2.0" "delete"
            (func $delete (param i32 i32 i32 i32 i32)))"#,
        more: BYTES,
        add: "(call $delete (i32.const 0) (i32.const 0) (i32.const 64) (i32.const 12) (i32.const 2048))",
        ..Text::default()
    };
    let a_third_namespace = Text {
        imports: SYSCTL,
        more: r#"(data (i32.const 64) "net.ipv4.ip_forward")"#,
        add: "(call $read (i32.const 2) (i32.const 64) (i32.const 19) (i32.const 2048))",
        ..Text::default()
    };
    let a_handle_of_its_own = Text {
        imports: r#"(import "weir:cni/store@0.2.0" "[method]transaction.commit"
            (func $commit (param i32 i32)))"#,
        add: "(call $commit (i32.const 7) (i32.const 2048))",
        ..Text::default()
    };
    for text in [
        in_a_key,
        in_the_log,
        in_a_link,
        a_third_namespace,
        a_handle_of_its_own,
    ] {
        let fixture = text.fixture("{ sysctl: [ {} ], link: [ {} ], store: [ {} ] }", "{}")?;
        fixture.ends(json!({}), 210, &["trapped"])?;
        assert!(
            fixture.node.audit().is_empty(),
            "{:#?}",
            fixture.node.audit()
        );
    }
    Ok(())
}

/// Property: a result is read from the plugin's own memory, or not at all.
#[test]
fn a_result_that_lies_elsewhere_is_none() -> Result<()> {
    // The list of interfaces, 2^30 of them; an error's text that is not UTF-8.
    const LONG: &str = r#"(data (i32.const 3000) "\00\00\00\00\40\00\00\00\00\00\00\40")"#;
    const TEXT: &str = r#"(data (i32.const 3000) "\01\00\00\00\96\00\00\00\00\10\00\00\02\00\00\00")
           (data (i32.const 4096) "\ff\fe")"#;
    for (more, returns) in [
        ("", "(i32.const -8)"),
        ("", "(i32.const 65532)"),
        ("", "(i32.const 1025)"),
        (LONG, "(i32.const 3000)"),
        (TEXT, "(i32.const 3000)"),
    ] {
        let text = Text {
            more,
            returns,
            ..Text::default()
        };
        let fixture = text.fixture("{}", "{}")?;
        let outcome = fixture.add(json!({}))?;
        let code = outcome.code();
        assert!([210, 214].contains(&code), "{returns}: {outcome:?}");
        fixture.assert_ended(&outcome, code, &[]);
    }
    Ok(())
}
