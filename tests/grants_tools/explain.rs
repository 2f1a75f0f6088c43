//! `weir grants explain`, for a person and for records of the log.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{Grant, Node, assert_contains, weir};

use super::{
    PLUGIN, changed, explain_records, file, grants, json_of, lines_of_a_bridge, run_bridge,
};

/// What is explained is what the gate decided, by the same rules.
#[test]
fn an_explanation_is_the_gates_verdict() -> Result<()> {
    let node = Node::create()?;
    run_bridge(&node, &node.container()?)?;
    // And something that is denied.
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: loopback }\n\
                  spec: { plugin: { name: loopback }, networks: ['*'], capabilities: { link: [{ verbs: [read] }] } }\n";
    node.put_grant("loopback.yaml", narrow)?;
    let config = json!({ "cniVersion": "1.1.0", "name": "tools", "type": "loopback" });
    let container = node.container()?;
    let mut call = weir(&node, "loopback", "ADD", &container, &config);
    call.set("CNI_IFNAME", "lo").set("WEIR_AUDIT_READS", "1");
    node.run(&call)?.error();

    let mut records = node.audit();
    records.retain(|record| record["verdict"] != "undo");
    let lines: Vec<String> = records.iter().map(Value::to_string).collect();
    let lines = lines.join("\n");
    let (code, printed, errors) = explain_records(&node, lines.as_bytes(), &["--output", "json"])?;
    assert_eq!(code, 3, "{errors}");
    let explained: Vec<Value> = serde_json::from_str(&printed)?;
    assert_eq!(explained.len(), records.len());
    let mut denied = 0;
    for (record, explained) in records.iter().zip(&explained) {
        assert_eq!(explained["operation"], record["operation"]);
        assert_eq!(explained["arguments"], record["arguments"]);
        let allowed = record["verdict"] == "allowed";
        assert_eq!(explained["allowed"], allowed, "{record:#}\n{explained:#}");
        let rules = explained["rules"].as_array().context("rules")?.iter();
        let names: Vec<Value> = if allowed {
            rules.map(|rule| rule["name"].clone()).collect()
        } else {
            denied += 1;
            let field = explained["field"].as_str().context("a field")?;
            rules
                .map(|rule| {
                    format!("{}: {field}", rule["name"].as_str().unwrap_or_default()).into()
                })
                .collect()
        };
        let recorded = match &record["closest"] {
            Value::Null => record["rules"].clone(),
            closest => {
                let of = |key: &str| closest[key].as_str().unwrap_or_default();
                json!([format!("{}: {}", of("rule"), of("field"))])
            }
        };
        assert_eq!(Value::from(names), recorded, "{record:#}");
    }
    ensure!(
        denied > 0 && records.len() > 20,
        "{denied} of {}",
        records.len()
    );
    Ok(())
}

#[test]
fn a_person_asks_for_an_explanation() -> Result<()> {
    let node = Node::create()?;
    let create = [
        "grants",
        "explain",
        "bridge",
        "link.create",
        "namespace=host",
        "name=cni0",
    ];
    let with = |more: &[&'static str]| [&create[..], more].concat();
    let text = node.stdout(&with(&["kind=bridge"]), 0)?;
    assert!(
        text.starts_with("allowed: link.create") && text.contains("link[0] {"),
        "{text}"
    );
    let text = node.stdout(&with(&["kind=dummy"]), 3)?;
    assert_contains(&text, &["does not allow it to create dummy `cni0` in host"]);
    assert_contains(&text, &["the closest rule does not match in `kinds`"]);
    let errors = node.stderr(&["grants", "explain", "bridge", "link.destroy"], 1)?;
    assert_contains(
        &errors,
        &["no operation `link.destroy`; expected `link.create`"],
    );
    let errors = node.stderr(&with(&["colour=red"]), 1)?;
    assert_contains(
        &errors,
        &["has no field `colour`; its fields are namespace, kind"],
    );
    // Placeholders are this invocation's.
    let read = [
        "grants",
        "explain",
        "bridge",
        "link.get",
        "namespace=container",
        "kind=veth",
        "name=net1",
    ];
    node.exits(&read, 3)?;
    node.exits(&[&read[..], &["--ifname", "net1"]].concat(), 0)?;
    // Another document, and another network.
    let digest = format!("sha256:{}", "2".repeat(64));
    let only_blue = Grant {
        networks: "[blue]",
        capabilities: "{ link: [{ kinds: [dummy] }] }",
        ..Grant::nothing("bridge")
    };
    let candidate = file(&node, "candidate.yaml", &only_blue.document(&digest))?;
    let asked = with(&["kind=dummy", "--grant"]);
    node.exits(&[&asked[..], &[candidate.as_str()]].concat(), 0)?;
    node.put_grant("bridge.yaml", &only_blue.document(&digest))?;
    let text = node.stdout(&with(&["kind=bridge", "--network", "green"]), 3)?;
    assert!(text.contains("covers the network `green`"), "{text}");
    Ok(())
}

/// Neither a crash nor a plugin that floods the log keeps people from their tools.
#[test]
fn a_damaged_log_serves_as_well() -> Result<()> {
    let node = Node::create()?;
    let lines = lines_of_a_bridge(&node)?;
    let whole = file(&node, "whole.jsonl", &(lines.join("\n") + "\n"))?;
    let given = lines.iter().find(|l| l.contains("\"address.add\""));
    let given = given.context("an address was given")?;

    let mut damaged = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        if index == 3 {
            // A crash cut a record inside a letter, and the next one followed it.
            damaged.extend(b"{\"time\":\"2026-03-01T10:00:00Z\",\"container_id\":\"\xc3");
        }
        damaged.extend(line.as_bytes());
        damaged.push(b'\n');
    }
    let short = changed(given, |record| {
        record["shortened_from"] = json!(99_999);
        record["arguments"]["address"] = json!("10.0.0.1/8");
    })?;
    let foreign = changed(given, |record| {
        record["operation"] = json!("address.forget")
    })?;
    // What was denied another plugin says nothing of where addresses are.
    let denied = changed(given, |record| {
        record["plugin"] = json!("hostile");
        record["verdict"] = json!("denied");
        record["arguments"]["address"] = json!("10.61.7.9/9");
    })?;
    for line in [&short, &foreign, &denied, &"no record".to_owned()] {
        damaged.extend(line.as_bytes());
        damaged.push(b'\n');
    }
    damaged.extend(&lines[0].as_bytes()[..40]);
    let path = node.root().join("damaged.jsonl");
    fs::write(&path, &damaged)?;
    let path = path.to_str().context("a path is text")?;

    let of = |path: &str| json_of(&node, &["suggest", "bridge", "--records", path]);
    let ((code, expected), (damaged_code, suggested)) = (of(&whole)?, of(path)?);
    assert_eq!((code, damaged_code), (0, 0));
    assert_eq!(suggested["document"], expected["document"]);
    assert_eq!(suggested["operations"], expected["operations"]);
    assert_eq!(
        (&expected["left_out"], &suggested["left_out"]),
        (
            &json!({ "shortened": 0, "foreign": 0, "unreadable": 0 }),
            &json!({ "shortened": 1, "foreign": 1, "unreadable": 3 })
        )
    );
    let (_, yaml, _) = grants(&node, &["suggest", "bridge", "--records", path])?;
    assert_contains(
        &yaml,
        &[
            "# 1 record is left out: its arguments are shortened",
            "no operation `address.forget`",
            "# 3 lines are not records",
        ],
    );

    // What is known is shown, and the answer is not yes: the missing part may be what is denied.
    let json = ["bridge", "--output", "json"];
    let (code, text, errors) = explain_records(&node, (lines.join("\n")).as_bytes(), &json)?;
    assert_eq!((code, errors.as_str()), (0, ""));
    let (damaged_code, damaged_text, errors) = explain_records(&node, &damaged, &json)?;
    assert_eq!((damaged_code, &damaged_text), (3, &text));
    assert_contains(
        &errors,
        &["shortened", "`address.forget`", "3 lines are not records"],
    );
    let only_short = explain_records(&node, short.as_bytes(), &["bridge"])?;
    assert_eq!((only_short.0, only_short.1.as_str()), (3, ""));
    Ok(())
}

/// A plugin that does not run is allowed nothing, whatever the rules of its grant say.
#[test]
fn an_explanation_is_of_the_grant_that_applies() -> Result<()> {
    let node = Node::create()?;
    let digest = node.install_plugin(PLUGIN)?;
    let other = format!("sha256:{}", "5".repeat(64));
    let all = |networks: &'static str| Grant {
        networks,
        capabilities: "{ link: [{}] }",
        ..Grant::nothing(PLUGIN)
    };
    let get = [
        "explain",
        PLUGIN,
        "link.get",
        "namespace=container",
        "kind=loopback",
        "name=lo",
    ];
    let ask = |words: &[&str]| json_of(&node, &[&get[..], words].concat());
    node.put_grant("b-mine.yaml", &all(r#"["*"]"#).document(&digest))?;
    assert_eq!(ask(&["--network", "blue"])?.0, 0);

    // The first that covers the network is for another component, and one that names this one goes before it.
    node.put_grant("a-other.yaml", &all("[blue]").document(&other))?;
    assert_eq!(ask(&["--network", "blue"])?.0, 0);
    node.put_grant("b-mine.yaml", &all("[green]").document(&digest))?;
    let (code, told) = ask(&["--network", "blue"])?;
    assert_eq!((code, &told["allowed"]), (3, &json!(false)), "{told:#}");
    let because = told["because"].as_str().unwrap_or_default();
    assert!(
        because.contains(&other) && because.contains(&digest),
        "{told:#}"
    );
    assert_eq!(told["rules"][0]["name"], "link[0]", "{told:#}");
    let (_, text, _) = grants(&node, &[&get[..], &["--network", "blue"]].concat())?;
    assert!(text.starts_with("denied: link.get"), "{text}");
    assert!(text.contains("is not in force for it: it is for"), "{text}");
    // On other networks, and where nobody says on which, the second is in force.
    assert_eq!(ask(&["--network", "green"])?.0, 0);
    assert_eq!(ask(&[])?.0, 0);

    // A record from a network that no grant covers is denied, and explained like the others.
    let lines = lines_of_a_bridge(&node)?;
    let get = lines.iter().find(|l| l.contains("\"link.get\""));
    let get = get.context("a link was looked at")?;
    let on = |network: &str| {
        changed(get, |record| {
            record["plugin"] = json!(PLUGIN);
            record["network"] = json!(network);
        })
    };
    let records = [on("green")?, on("red")?, on("blue")?].join("\n");
    let (code, told, _) = explain_records(&node, records.as_bytes(), &["--output", "json"])?;
    let told: Value = serde_json::from_str(&told)?;
    let allowed = |index: usize| told[index]["allowed"].clone();
    assert_eq!(code, 3);
    assert_eq!(
        [allowed(0), allowed(1), allowed(2)],
        [json!(true), json!(false), json!(false)],
        "{told:#}"
    );
    assert!(told[1]["grant"].is_null(), "{told:#}");
    assert_contains(
        &told[1]["because"].to_string(),
        &["covers the network `red`"],
    );
    Ok(())
}
