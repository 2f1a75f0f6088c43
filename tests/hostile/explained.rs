//! What the author of a plugin reads when it ends badly: the reason first, and where to change what.

use anyhow::{Context, Result};
use serde_json::json;
use weir_kit::{Grant, Node, assert_contains, component, house, weir};

use super::imports::smuggle;
use super::wat::{Text, placed};
use super::{AttackedNode, READ};

fn fixture() -> Result<AttackedNode> {
    AttackedNode::create(&Grant {
        capabilities: READ,
        ..Grant::nothing("misbehaving")
    })
}

/// The message and the details of a plugin that trapped.
#[track_caller]
fn trapped(fixture: &AttackedNode, act: &str) -> Result<(String, String)> {
    let outcome = fixture.add(json!({ "act": act }))?;
    fixture.assert_ended(&outcome, 210, &[]);
    let error = outcome.error();
    let text = |key: &str| error[key].as_str().map(str::to_owned).context("text");
    Ok((text("msg")?, text("details")?))
}

#[test]
fn a_panic_is_the_message() -> Result<()> {
    let (message, _) = trapped(&fixture()?, "panic")?;
    let begin = "plugin `misbehaving`: panicked at ";
    assert!(message.starts_with(begin), "{message}");
    assert!(message.contains("src/lib.rs:"), "{message}");
    let end = ": the dam broke at mark 7";
    assert!(message.ends_with(end), "{message}");
    Ok(())
}

#[test]
fn what_it_printed_before_and_its_last_call_are_the_details() -> Result<()> {
    let (message, details) = trapped(&fixture()?, "speak and panic")?;
    let end = ": index out of bounds: the len is 3 but the index is 7";
    assert!(message.ends_with(end), "{message}");
    assert_eq!(details, "its last call was `log.write`; the water rises");
    Ok(())
}

/// Property: the plugin chooses the message, which is bounded and drives no terminal.
#[test]
fn the_message_of_a_panic_is_bounded_and_printable() -> Result<()> {
    let (message, details) = trapped(&fixture()?, "panic at length")?;
    assert!(message.contains(r"\u{1b}[2Jthe dam broke xxx"), "{message}");
    assert!(message.ends_with('…'), "{message}");
    assert!(message.chars().count() < 600, "{message}");
    assert!(!details.contains("the dam"), "{details}");
    let texts = [&message, &details];
    assert!(
        texts.iter().all(|text| !text.chars().any(char::is_control)),
        "{texts:?}"
    );
    Ok(())
}

/// A plugin without WASI logs its panic.
#[test]
fn a_panic_that_was_logged_is_the_message() -> Result<()> {
    let of_field = |key: &str| {
        let more = format!(
            r#"(data (i32.const 64) "the plugin panicked") (data (i32.const 128) "{key}")
               (data (i32.const 160) "panicked at src/lib.rs:1:1:\nthe dam broke")
               (data (i32.const 256) "\80\00\00\00\05\00\00\00\a0\00\00\00\29\00\00\00")"#
        );
        let text = Text {
            imports: r#"(import "weir:cni/log@0.2.0" "write" (func $log (param i32 i32 i32 i32 i32)))"#,
            more: &more,
            add: "(call $log (i32.const 3) (i32.const 64) (i32.const 19) (i32.const 256) (i32.const 1)) unreachable",
            ..Text::default()
        };
        text.fixture("{}", "{ log: 0B }")
    };
    of_field("panic")?.ends(
        json!({}),
        210,
        &["plugin `text`: panicked at src/lib.rs:1:1: the dam broke"],
    )?;
    of_field("other")?.ends(json!({}), 210, &["plugin `text`: trapped: "])
}

/// Property: a stack that grew too large is told from other mistakes, whether it is the engine's or in the plugin's memory.
#[test]
fn a_stack_overflow_is_reported() -> Result<()> {
    let fixture = fixture()?;
    let (message, _) = trapped(&fixture, "recurse")?;
    let begin = "plugin `misbehaving`: overflowed its stack: ";
    assert!(message.starts_with(begin), "{message}");
    // Where it ends is the compiler's choice: with or without the address of the fault.
    let (message, _) = trapped(&fixture, "recurse in memory")?;
    assert!(message.contains("its stack"), "{message}");
    Ok(())
}

/// Property: a fault is called an overflow of the stack only where one can be.
#[test]
fn a_fault_in_memory_is_explained_by_its_address() -> Result<()> {
    for (add, message) in [
        (
            "(i32.store (i32.const -16) (i32.const 1))",
            "plugin `text`: overflowed its stack: ",
        ),
        (
            "(memory.fill (i32.const -16) (i32.const 0) (i32.const 8))",
            "out of bounds memory access, as when its stack overflows",
        ),
        (
            "(i32.store (i32.const 0x10000000) (i32.const 1))",
            "plugin `text`: trapped: wasm trap: out of bounds memory access",
        ),
    ] {
        let fixture = Text::adding(add).fixture("{}", "{}")?;
        let error = fixture.add(json!({}))?.told(210, &[message]);
        let is_overflow = error["msg"].to_string().contains("stack");
        assert_eq!(is_overflow, message.contains("stack"), "{error:#}");
    }
    Ok(())
}

#[test]
fn a_plugin_that_called_nothing_is_said_to() -> Result<()> {
    let (message, details) = trapped(&fixture()?, "trap")?;
    assert_contains(&message, &["plugin `misbehaving`: trapped: "]);
    assert_eq!(details, "it had not called the contract");
    Ok(())
}

/// Property: of two plugins that share the time, the one whose grant ends it is named.
#[test]
fn an_ipam_plugin_has_the_time_of_its_main_plugin() -> Result<()> {
    let forever = Text::adding("(loop $forever (br $forever))");
    let node = Node::create()?;
    node.install_with(&Grant {
        capabilities: "{ ipam: [text] }",
        limits: "{ time: 1s }",
        ..Grant::nothing("misbehaving")
    })?;
    let file = forever.component(&node, &house().join("wit"))?;
    let text = placed(node, &file, "{}", "{ time: 30s }")?;
    let node = &text.node;
    let config = json!({
        "cniVersion": "1.1.0", "name": "hostile", "type": "misbehaving", "act": "ipam",
        "ipam": { "type": "text" },
    });
    let outcome = node.run(&weir(node, "misbehaving", "ADD", &text.container, &config))?;
    outcome.refused(
        211,
        &[
            "plugin `misbehaving`: did not finish within its time, `limits.time: 1s`",
            "etc/weir/grants.d/misbehaving.yaml`; its last call was `ipam.run`",
        ],
    );
    let runs = node.audit();
    let run = runs
        .iter()
        .find(|record| record["operation"] == "ipam.run")
        .context("a record")?;
    let told = "within the time of the plugin that runs it";
    assert_contains(&run["answer"].to_string(), &[told]);
    Ok(())
}

/// Property: what a plugin may not import is refused with what the contract has in its place.
#[test]
fn files_and_sockets_point_to_the_contract() -> Result<()> {
    let (node, container) = Node::with_container()?;
    for (name, instead) in [
        ("files", "`weir_sdk::store::read_file`"),
        ("sockets", "`weir_sdk` in place of `std::net`"),
    ] {
        smuggle(&node, name, &component(name))?;
        let config = json!({ "cniVersion": "1.1.0", "name": "hostile", "type": name });
        let outcome = node.run(&weir(&node, name, "ADD", &container, &config))?;
        outcome.refused(201, &[instead]);
        let file = &weir_kit::component_file(name);
        assert!(node.exits(&["plugin", "add", file], 1)?.contains(instead));
        assert!(
            node.exits(&["plugin", "inspect", file], 3)?
                .contains(instead)
        );
    }
    Ok(())
}

/// Property: a denial says to the caller what was missing, and not the rule that would allow it: the caller may be a tenant.
#[test]
fn a_caller_is_not_told_the_rule_that_would_allow_it() -> Result<()> {
    let fixture = AttackedNode::create(&Grant::nothing("misbehaving"))?;
    let outcome = fixture.add(json!({ "act": "read", "target": "lo" }))?;
    outcome.told(100, &["the grant does not allow"]);
    let said = outcome.said();
    for word in ["spec.capabilities", "verbs: [", "grants.d"] {
        assert!(!said.contains(word), "{said}");
    }
    Ok(())
}
