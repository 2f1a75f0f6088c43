//! Changes of plugins and grants are in the audit log, and the tools report a plugin that does not run.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_gate::User;
use weir_kit::{Container, Grant, Node, Outcome, assert_contains, component, weir};

use crate::{json, path, said};

const PLUGIN: &str = "labels";

/// An ADD of the plugin alone.
fn add(node: &Node, container: &Container) -> Result<Outcome> {
    let config = json!({ "cniVersion": "1.1.0", "name": "recorded", "type": PLUGIN });
    node.run(&weir(node, PLUGIN, "ADD", container, &config))
}

/// The records of plugins that were not run.
fn refusals(node: &Node) -> Vec<Value> {
    let mut events = node.events();
    events.retain(|record| record["operation"] == "plugin.run");
    events
}

/// Writes to a file of the installed plugin.
fn damage(node: &Node, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
    let file = node.installed(PLUGIN).join(file);
    let mut bytes = fs::read(&file)?;
    change(&mut bytes);
    Ok(fs::write(file, bytes)?)
}

#[test]
fn an_invocation_that_is_refused_is_recorded() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let digest = node.install_plugin(PLUGIN)?;
    let grant = Grant::nothing(PLUGIN);
    let other = format!("sha256:{}", "6".repeat(64));
    let elsewhere = Grant {
        networks: "[elsewhere]",
        ..grant.clone()
    };
    for (document, words) in [
        (None, "has no grant"),
        (Some(grant.document(&other)), "but its grant is for"),
        (Some(elsewhere.document(&digest)), "covers the network"),
        (Some("{".to_owned()), "a grant is not valid"),
    ] {
        if let Some(document) = document {
            node.put_grant("mine.yaml", &document)?;
        }
        let before = refusals(&node).len();
        assert_eq!(add(&node, &container)?.code(), 202, "{words}");
        let refused = refusals(&node).split_off(before);
        assert_eq!(refused.len(), 1, "{refused:#?}");
        let record = &refused[0];
        for (key, value) in [
            ("command", json!("ADD")),
            ("container_id", json!(container.id)),
            ("ifname", json!("eth0")),
            ("network", json!("recorded")),
            ("plugin", json!(PLUGIN)),
            ("digest", json!(digest)),
            ("capability", json!("plugin")),
            ("verdict", json!("denied")),
            ("arguments", json!({ "code": 202 })),
        ] {
            assert_eq!(record[key], value, "{key}: {record:#}");
        }
        let answer = record["answer"].as_str().unwrap_or_default();
        assert!(answer.contains(words), "{words}: {answer}");
    }
    // The tools read it.
    let shown = node.weir(&["audit", "--denied", "--capability", "plugin"])?;
    assert_eq!(shown.lines().count(), 4, "{shown}");
    let shown = node.weir(&["audit", "--summary"])?;
    assert!(shown.contains("the plugin was not run"), "{shown}");
    let page = node.weir(&["audit", "--html", "-"])?;
    assert!(page.contains("the plugin was not run"), "{page}");
    Ok(())
}

/// Its components, its code and the manifest can each be exchanged.
#[test]
fn a_damaged_plugin_is_reported_as_damaged_and_its_refusal_recorded() -> Result<()> {
    type Damage = fn(&mut Vec<u8>);
    let damages: [(&str, Damage); 4] = [
        ("component.wasm", |bytes| bytes.push(0)),
        ("code.cwasm", |bytes| {
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
        }),
        ("manifest.json", |bytes| bytes.truncate(1)),
        ("manifest.json", |bytes| {
            let text = String::from_utf8_lossy(bytes).replace("\"seal\": \"", "\"seal\": \"00");
            *bytes = text.into_bytes();
        }),
    ];
    for (file, change) in damages {
        let (node, container) = Node::with_container()?;
        let all = Grant {
            capabilities: "{ link: [{}] }",
            ..Grant::nothing(PLUGIN)
        };
        node.install_with(&all)?;
        let list = ["grants", "list", "--plugin", PLUGIN, "--output", "json"];
        assert_eq!(json(&node, &list, 0)[0]["state"], "in-force");
        damage(&node, file, change)?;
        let listed = json(&node, &list, 3);
        assert_eq!(listed[0]["state"], "damaged", "{file}: {listed:#}");
        assert!(
            listed[0]["because"]
                .as_str()
                .is_some_and(|because| because.contains("weir plugin add --replace")),
            "{listed:#}"
        );
        let question = [
            "grants",
            "explain",
            PLUGIN,
            "link.get",
            "namespace=host",
            "kind=veth",
            "name=a",
            "--output",
            "json",
        ];
        let told = json(&node, &question, 3);
        assert_eq!(told["allowed"], false, "{file}: {told:#}");
        assert_eq!(told["grant_state"], "damaged", "{file}: {told:#}");
        let inspected = node.command(&["plugin", "inspect", PLUGIN, "--granted"])?;
        // 1 if there is nothing to inspect.
        let code = inspected.status.code();
        assert!(matches!(code, Some(1 | 3)), "{}", said(&inspected));
        assert_contains(&said(&inspected), &["is damaged"]);
        let checked = node.command(&["grants", "check", "--strict"])?;
        assert_eq!(checked.status.code(), Some(3), "{}", said(&checked));
        assert!(said(&checked).contains("[damaged]"), "{}", said(&checked));

        assert_eq!(add(&node, &container)?.code(), 200, "{file}");
        let refused = refusals(&node);
        assert_eq!(refused.len(), 1, "{refused:#?}");
        assert_eq!(refused[0]["arguments"]["code"], 200, "{refused:#?}");
        let answer = refused[0]["answer"].as_str().unwrap_or_default();
        assert!(answer.contains("is damaged"), "{answer}");
    }
    Ok(())
}

#[test]
fn what_comes_and_goes_is_recorded() -> Result<()> {
    let node = Node::create()?;
    let (first, second) = (component("labels"), component("pinned-gateway"));
    let add = |file, words: &[&str]| {
        let file = path(file)?;
        let all = [&["plugin", "add", file, "--name", "mine"], words].concat();
        node.weir(&all)?;
        node.digest("mine")
    };
    let one = add(&first, &[])?;
    let two = add(&second, &["--replace"])?;
    node.weir(&["plugin", "remove", "mine"])?;
    // A refused change, or one of a missing plugin, is not recorded.
    assert!(
        !node
            .command(&["plugin", "remove", "mine"])?
            .status
            .success()
    );
    let told: Vec<Value> = node
        .events()
        .iter_mut()
        .map(|r| {
            let mut user = r["arguments"]["user"].take();
            user.as_object_mut().map(|user| user.remove("sudo_uid"));
            assert_eq!(user, this_user(), "{r:#}");
            json!([
                r["operation"],
                r["digest"],
                r["arguments"]["replaced"],
                r["answer"]
            ])
        })
        .collect();
    assert_eq!(
        told,
        [
            json!(["plugin.add", one, null, "ok"]),
            json!(["plugin.add", two, one, "ok"]),
            json!(["plugin.remove", two, null, "ok"]),
        ]
    );
    for record in node.events() {
        assert_eq!(record["plugin"], "mine", "{record:#}");
        assert_eq!(record["command"], "", "{record:#}");
    }
    // If nothing can be recorded, nothing is installed.
    let log = node.root().join("var/log/weir/audit.jsonl");
    fs::remove_file(&log)?;
    fs::create_dir(&log)?;
    let output = node.command(&["plugin", "add", path(&first)?, "--name", "mine"])?;
    assert_eq!(output.status.code(), Some(1));
    assert!(said(&output).contains("audit.jsonl"), "{}", said(&output));
    assert!(!node.installed("mine").exists());
    Ok(())
}

/// The user who runs the tests, and so weir, as the kernel tells it.
fn this_user() -> Value {
    json!(User {
        sudo_uid: None,
        ..User::of_process()
    })
}

#[test]
fn a_grant_that_changed_is_recorded_by_the_next_invocation() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let digest = node.install_plugin(PLUGIN)?;
    let file = node.grants().join("mine.yaml");
    let shown = path(&file)?.to_owned();
    let sum = || -> Result<String> {
        let printed = node.tool("sha256sum", &shown)?;
        let sum = printed.split(' ').next().unwrap_or_default();
        Ok(format!("sha256:{sum}"))
    };
    let changes = || -> Result<Vec<Value>> {
        let before = node.events().len();
        add(&node, &container)?;
        let mut new = node.events().split_off(before);
        new.retain(|record| record["operation"] == "grant.change");
        for record in &mut new {
            let arguments = record["arguments"].as_object_mut().context("arguments")?;
            assert_eq!(arguments.remove("found_by"), Some(this_user()));
            let modified = arguments.remove("modified");
            assert_eq!(modified.is_some(), arguments.contains_key("after"));
        }
        Ok(new)
    };
    assert_eq!(changes()?, [] as [Value; 0]);
    node.put_grant("mine.yaml", &Grant::nothing(PLUGIN).document(&digest))?;
    let first = sum()?;
    // Commands that only read do not record it.
    node.weir(&["grants", "list"])?;
    let told = changes()?;
    assert_eq!(told.len(), 1, "{told:#?}");
    assert_eq!(
        told[0]["arguments"],
        json!({ "document": shown, "after": first })
    );
    assert_eq!(told[0]["plugin"], PLUGIN);
    assert_eq!(changes()?, [] as [Value; 0]);
    let wide = Grant {
        capabilities: "{ link: [{}] }",
        ..Grant::nothing(PLUGIN)
    };
    node.put_grant("mine.yaml", &wide.document(&digest))?;
    let second = sum()?;
    assert_eq!(
        changes()?[0]["arguments"],
        json!({ "document": shown, "before": first, "after": second })
    );
    fs::remove_file(&file)?;
    assert_eq!(
        changes()?[0]["arguments"],
        json!({ "document": shown, "before": second })
    );
    assert_eq!(changes()?, [] as [Value; 0]);
    // These records are not operations to explain or to suggest from.
    let log = node.root().join("var/log/weir/audit.jsonl");
    let suggest = [
        "grants",
        "suggest",
        PLUGIN,
        "--denied",
        "--records",
        path(&log)?,
    ];
    let output = node.command(&suggest)?;
    assert!(
        said(&output).contains("no operation of plugin"),
        "{}",
        said(&output)
    );
    Ok(())
}
