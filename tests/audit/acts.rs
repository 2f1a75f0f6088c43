//! The act that mattered is seen at first glance: in words, by its severity, before everything else.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::assert_contains;

use super::{LoggedNode, cell, parse, record, text_of, with};

/// Three hundred harmless records of a plugin from elsewhere, and one that matters; and built-in plugins' own.
fn log() -> Vec<Value> {
    let of = |network: &str, operation: &str, arguments: Value| {
        record(
            "2026-03-01T10:00:00Z",
            network,
            json!({ "plugin": "labels", "operation": operation, "arguments": arguments, "rules": ["x[0]"] }),
        )
    };
    let mut records: Vec<Value> = (0..300)
        .map(|n| {
            let name = format!("veth{n}");
            let peer = json!({ "namespace": "container", "name": "eth0", "up": true });
            let veth = json!({ "namespace": "host", "name": name, "kind": "veth", "up": true, "peer": peer });
            of("pods", "link.create", veth)
        })
        .collect();
    let forged = json!({ "namespace": "host", "key": "net.ipv4.conf.all.rp_filter", "value": "0" });
    records.insert(150, of("pods", "sysctl.write", forged.clone()));
    records.push(record(
        "2026-03-01T11:00:00Z",
        "pods",
        json!({ "operation": "sysctl.write", "arguments": forged }),
    ));
    records
}

#[test]
fn the_page_opens_with_the_act_that_mattered() -> Result<()> {
    let node = LoggedNode::with(&log())?;
    let page = node.audit(&["--html", "-"])?;
    let page = parse(&page)?;
    let headline = page.descendants().find(|e| e.has_tag_name("h1"));
    let headline = text_of(headline.context("a headline")?);
    assert_contains(
        &headline,
        &[
            "labels",
            "disabled a protection",
            "set net.ipv4.conf.all.rp_filter to 0 in host",
            "Nothing was denied",
        ],
    );

    let rows: Vec<_> = page
        .descendants()
        .filter(|e| e.has_attribute("data-severity"))
        .collect();
    let severities: Vec<_> = rows
        .iter()
        .filter_map(|e| e.attribute("data-severity"))
        .collect();
    assert_eq!(severities, ["disables-protection", "changes-host"]);
    let [grave, usual] = [0, 1].map(|at| text_of(rows[at]));
    assert_contains(
        &grave,
        &[
            "disables a protection",
            "set net.ipv4.conf.all.rp_filter to 0 in host, which turns off the check for forged source addresses",
        ],
    );
    assert_contains(
        &usual,
        &["300", "the first of 300 acts like it", "changes the host"],
    );

    // It is the first section, and the built-in plugins are not in it.
    let sections = page.descendants().filter(|e| e.has_tag_name("section"));
    let first = sections.into_iter().next().context("a section")?;
    assert_eq!(first.attribute("class"), Some("foreign"));
    assert!(!text_of(first).contains("bridge"), "{}", text_of(first));
    Ok(())
}

#[test]
fn a_page_without_third_parties_says_so() -> Result<()> {
    let node = LoggedNode::with(&[record("2026-03-01T10:00:00Z", "n", json!({}))])?;
    let page = node.audit(&["--html", "-"])?;
    let everything = text_of(parse(&page)?.root_element());
    assert_contains(
        &everything,
        &["What third parties changed on the host", "✓ Nothing."],
    );
    Ok(())
}

/// What `weir grants check` warns of is on the page, for the grants of third parties.
#[test]
fn the_page_has_the_warnings_of_their_grants() -> Result<()> {
    let node = LoggedNode::with(&log())?;
    node.grant(
        "labels",
        "{ sysctl: [{ namespace: host, verbs: [write] }] }",
    )?;
    let page = node.audit(&["--html", "-"])?;
    let everything = text_of(parse(&page)?.root_element());
    assert_contains(
        &everything,
        &[
            "Warnings about their grants",
            "it may set every parameter below",
            // And the rule in words beside its YAML.
            "set every parameter below net., on the host",
            "{ namespace: host, verbs: [write] }",
        ],
    );
    Ok(())
}

/// A rule that is used to read only has no records, and is not one to take away for that.
#[test]
fn what_is_granted_to_read_is_not_called_unused() -> Result<()> {
    let node = LoggedNode::with(&log())?;
    let page = node.audit(&["--html", "-"])?;
    let page = parse(&page)?;
    // The shipped grant of portmap lets it read links, and write packet filters.
    assert_eq!(cell(&page, "portmap", "link")?, ["true", "0", "0", "0"]);
    let class = |capability: &str| {
        let row = with(&page, "data-plugin", "portmap");
        let cell = row[0]
            .children()
            .find(|c| c.attribute("data-capability") == Some(capability));
        cell.and_then(|cell| cell.attribute("class"))
            .map(str::to_owned)
    };
    assert_eq!(class("link").as_deref(), Some("reads"));
    assert_eq!(class("firewall").as_deref(), Some("unused"));
    Ok(())
}

#[test]
fn records_show_their_severity_and_are_selected_by_it() -> Result<()> {
    let node = LoggedNode::with(&log())?;
    let told = node.audit(&[
        "--severity=disables-protection",
        "--plugin=labels",
        "--output=json",
    ])?;
    let told: Value = serde_json::from_str(&told)?;
    assert_eq!(told["severity"], "disables-protection");
    assert_contains(
        told["act"].as_str().context("words")?,
        &["rp_filter to 0 in host"],
    );
    assert_eq!(
        node.audit(&["--severity", "changes-host"])?.lines().count(),
        302
    );
    let none = node.audit(&["--severity", "leaves-container"])?;
    assert_eq!(none, "");
    Ok(())
}

#[test]
fn the_summary_has_the_acts() -> Result<()> {
    let node = LoggedNode::with(&log())?;
    let summary: Value = serde_json::from_str(&node.audit(&["--summary", "--output", "json"])?)?;
    let acts = &summary["plugins"]["labels"]["acts"];
    assert_eq!(acts.as_array().map(Vec::len), Some(2));
    assert_eq!(acts[0]["severity"], "disables-protection");
    assert_eq!(
        (&acts[1]["count"], &acts[1]["different"]),
        (&json!(300), &json!(300))
    );
    assert_eq!(acts[1]["networks"], json!(["pods"]));
    let text = node.audit(&["--summary"])?;
    assert_contains(
        &text,
        &[
            "Beyond the container:",
            "       1 × set net.ipv4.conf.all.rp_filter to 0 in host, which turns off the check for forged source addresses \
             (disables a protection)",
            "(changes the host; the first of 300 like it)",
        ],
    );
    Ok(())
}

/// A third party that wrote a grave value where it was already, and changed something lesser.
fn without_effect(previous: &str) -> Vec<Value> {
    let set = |key: &str, value: &str, previous: &str| {
        record(
            "2026-03-01T10:00:00Z",
            "pods",
            json!({
                "plugin": "labels", "operation": "sysctl.write", "rules": ["sysctl[0]"],
                "arguments": { "namespace": "host", "key": key, "value": value },
                "previous": { "value": previous },
            }),
        )
    };
    vec![
        set("net.ipv4.conf.all.rp_filter", "0", previous),
        set("net.core.somaxconn", "4096", "128"),
    ]
}

#[test]
fn what_is_as_it_was_before_is_no_headline() -> Result<()> {
    for (previous, headline, told) in [
        (
            "0",
            "changed the host set net.core.somaxconn to 4096 in host (was 128)",
            "as it was before",
        ),
        (
            "1",
            "disabled a protection set net.ipv4.conf.all.rp_filter to 0 in host",
            "was 1",
        ),
    ] {
        let node = LoggedNode::with(&without_effect(previous))?;
        let text = node.audit(&["--operation", "sysctl.write"])?;
        assert_contains(
            &text,
            &[
                &format!("by sysctl[0]  (disables a protection; {told})"),
                "(changes the host; was 128)",
            ],
        );
        let summary = node.audit(&["--summary"])?;
        assert_contains(&summary, &[&format!("(disables a protection; {told})")]);
        let page = node.audit(&["--html", "-"])?;
        let page = parse(&page)?;
        let title = page.descendants().find(|e| e.has_tag_name("h1"));
        let title = text_of(title.context("a headline")?);
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_contains(&title, &[headline]);
        let row = &with(&page, "data-severity", "disables-protection")[0];
        assert_contains(&text_of(*row), &[told]);
        let unchanged = if previous == "0" { "true" } else { "false" };
        assert_eq!(row.attribute("data-unchanged"), Some(unchanged));
    }
    // Alone, it is still said, for what it is.
    let node = LoggedNode::with(&without_effect("0")[..1])?;
    let page = node.audit(&["--html", "-"])?;
    assert_contains(&page, &["wrote the value that was already set"]);
    assert!(!page.contains("disabled a protection"), "{page}");
    Ok(())
}

/// A plugin cannot hide a grave attempt behind many harmless ones.
#[test]
fn the_gravest_denials_come_first() -> Result<()> {
    let denied = |operation: &str, requirement: String, arguments: Value| {
        record(
            "2026-03-01T10:00:00Z",
            "pods",
            json!({
                "plugin": "labels", "operation": operation, "arguments": arguments, "verdict": "denied", "rules": [],
                "answer": format!("the grant does not allow to {requirement} (it has no rule for this capability)"), // in older logs
            }),
        )
    };
    let mut records: Vec<Value> = (0..400)
        .map(|n| {
            let key = format!("net.core.x{}", n % 200);
            let arguments = json!({ "namespace": "host", "key": key, "value": "1" });
            denied("sysctl.write", format!("write {key} in host"), arguments)
        })
        .collect();
    let open = json!({ "access": "write", "location": { "directory": "/etc/cron.d" } });
    let wanted = "write the store in `/etc/cron.d`";
    records.push(denied("store.open", wanted.to_owned(), open));
    let node = LoggedNode::with(&records)?;

    let text = node.audit(&["--denied", "--operation", "store.open"])?;
    assert_contains(&text, &["(leaves the container or the sandbox)"]);
    let summary = node.audit(&["--summary"])?;
    let first = summary
        .split_once("  Denied:\n")
        .and_then(|(_, denials)| denials.lines().next());
    assert_eq!(
        first,
        Some(
            "       1 × write the store in `/etc/cron.d` (store.open; no rule for this capability; leaves the container or the sandbox)"
        )
    );
    let page = node.audit(&["--html", "-"])?;
    let page = parse(&page)?;
    let rows: Vec<_> = page
        .descendants()
        .filter_map(|e| e.attribute("data-denied").map(|word| (word, e)))
        .filter(|(_, e)| e.has_tag_name("tr"))
        .collect();
    assert_eq!(rows.len(), 100);
    assert_eq!((rows[0].0, rows[1].0), ("leaves-container", "changes-host"));
    assert_contains(&text_of(rows[0].1), &["▲▲▲", "/etc/cron.d"]);
    Ok(())
}

/// The page says whether the node's own log is intact; of files that were named, it says nothing.
#[test]
fn the_page_says_whether_the_log_is_intact() -> Result<()> {
    let node = LoggedNode::with(&log())?;
    let log = node.log().display().to_string();
    let chain = |words: &[&str]| -> Result<Option<String>> {
        let page = node.audit(words)?;
        let page = parse(&page)?;
        let line = page
            .descendants()
            .find(|e| e.attribute("class") == Some("chain"));
        Ok(line.map(text_of))
    };
    let own = chain(&["--html", "-"])?.context("a line")?;
    assert_contains(
        &own,
        &["cannot tell", "no line of the log is in a hash chain"],
    );
    assert_eq!(chain(&["--html", "-", "--file", &log])?, None);
    Ok(())
}
