//! The page for a browser.

use std::fs;

use anyhow::{Context, Result};
use roxmltree::Node as Element;
use serde_json::{Value, json};
use weir_kit::assert_contains;

use super::{LoggedNode, cell, known, known_and, parse, record, split, text_of, with};

#[test]
fn the_page_has_the_numbers() -> Result<()> {
    let without_grant = record("2026-03-01T10:00:00Z", "n8", json!({ "plugin": "gone" }));
    let node = LoggedNode::with(&known_and(without_grant))?;
    node.grant(
        "greedy",
        "{ link: [{ namespace: container, verbs: [read] }, { namespace: container, kinds: [veth] }] }",
    )?;
    let file = node.root.path().join("page.html");
    node.audit(&["--html", file.to_str().context("text")?])?;
    let page = fs::read_to_string(file)?;
    let page = parse(&page)?;

    assert_eq!(cell(&page, "bridge", "link")?, ["true", "2", "0", "1"]);
    assert_eq!(cell(&page, "bridge", "sysctl")?, ["true", "1", "0", "0"]);
    assert_eq!(cell(&page, "bridge", "store")?, ["false", "0", "0", "0"]);
    assert_eq!(cell(&page, "host-local", "store")?, ["true", "1", "0", "0"]);
    // Its grant is for a missing plugin.
    assert_eq!(cell(&page, "greedy", "link")?, ["false", "0", "2", "0"]);
    assert_eq!(cell(&page, "gone", "link")?, ["false", "1", "0", "0"]);
    assert_eq!(cell(&page, "ptp", "link")?, ["true", "0", "0", "0"]);
    // The numbers are not only in attributes.
    let row = text_of(with(&page, "data-plugin", "greedy")[0]);
    assert!(row.contains("✕ 2"), "{row}");

    // Rules, and how often each was used; one that only reads is not called unused.
    let rules = |name: &str| with(&page, "data-rule", name);
    let used: Vec<_> = rules("link[0]")
        .iter()
        .filter_map(|r| r.attribute("data-used"))
        .collect();
    assert_eq!(used, ["2", "0"], "of bridge and of greedy");
    let classes: Vec<_> = rules("link[1]")
        .iter()
        .filter_map(|r| r.attribute("class"))
        .collect();
    assert_eq!(classes, ["used", "never"]);
    assert_eq!(rules("link[0]")[1].attribute("class"), Some("reads"));
    let everything = text_of(page.root_element());
    for words in [
        "2 denials of greedy",
        "2026-03-01 10:00:00",
        "2026-03-02 00:00:00",
        "{ namespace: container, kinds: [veth] }",
        "no grant",
        "etc/weir/grants.d/greedy.yaml",
        "not in force",
        "(no plugin)",
        "namespace",
        "no rule for this capability",
    ] {
        assert!(
            everything.contains(words),
            "`{words}` is not in {everything}"
        );
    }
    // One bar of the picture for each column with denials: two days apart, two columns.
    let picture = page
        .descendants()
        .find(|e| e.has_tag_name("svg"))
        .context("a picture")?;
    let denied = picture
        .descendants()
        .filter(|e| e.has_tag_name("rect") && e.attribute("class") == Some("denied"));
    assert_eq!(denied.count(), 2);
    Ok(())
}

#[test]
fn the_page_keeps_to_the_filters() -> Result<()> {
    let node = LoggedNode::with(&known())?;
    let words = "--html - --plugin bridge --since 2026-03-01T10:00:01Z";
    let page = node.audit(&split(words))?;
    let page = parse(&page)?;
    assert_eq!(cell(&page, "bridge", "link")?, ["true", "1", "0", "1"]);
    assert!(with(&page, "data-plugin", "greedy").is_empty());
    let everything = text_of(page.root_element());
    assert!(everything.contains("Nothing was denied"), "{everything}");
    assert_contains(&everything, &["2026-03-01T10:00:01.000Z"]);
    // Without records there is a page as well.
    let output = node.run(&["--html", "-", "--plugin", "nobody"])?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("no plugin `nobody`"), "{said}");
    let page = String::from_utf8(output.stdout)?;
    assert!(text_of(parse(&page)?.root_element()).contains("Nothing is recorded"));
    Ok(())
}

#[test]
fn the_page_shows_what_changed() -> Result<()> {
    let at = |time: &str, changed: Value| record(time, "", changed);
    let node = LoggedNode::with(&known_and(at(
        "2026-03-01T10:00:00Z",
        json!({
            "plugin": "labels", "digest": "sha256:02", "capability": "plugin", "operation": "plugin.add", "rules": [],
            "arguments": { "replaced": "sha256:01", "user": { "uid": 0, "login_uid": 1000 } },
        }),
    )))?;
    let page = node.audit(&["--html", "-"])?;
    parse(&page)?;
    assert_contains(
        &page,
        &[
            "component <code>sha256:02</code> was installed in place of <code>sha256:01</code>",
            "user 0, logged in as 1000",
        ],
    );
    let unchanged = node.audit(&["--html", "-", "--plugin", "bridge"])?;
    let unchanged = text_of(parse(&unchanged)?.root_element());
    assert_contains(&unchanged, &["No change is recorded"]);
    Ok(())
}

/// Whatever is in the log is shown as text: nothing is loaded, and no script runs.
#[test]
fn the_page_cannot_be_taken_over() -> Result<()> {
    let evil =
        "\"'><script>alert(1)</script><img src=x onerror=alert(1)>&lt;]]></style>\u{0}\u{ffff}";
    let all = json!({ "plugin": evil, "container_id": evil, "operation": evil, "digest": evil,
        "capability": evil, "rules": [evil], "answer": evil, "ifname": evil });
    let mut denied = all.clone();
    denied["verdict"] = "denied".into();
    let mut changed = all.clone();
    changed["operation"] = "grant.change".into();
    changed["arguments"] = json!({ "document": evil, "modified": evil, "before": evil });
    let node = LoggedNode::with(&[
        record("2026-03-01T10:00:00Z", evil, all),
        record("2026-03-01T10:00:00Z", evil, denied),
        record("2026-03-01T10:00:00Z", evil, changed),
    ])?;
    let words = ["--html", "-", "--network", "*", "--plugin", "*<*"];
    let page = node.audit(&words)?;
    let document = parse(&page)?;
    let known = [
        "b", "body", "br", "caption", "code", "dd", "defs", "div", "dl", "dt", "footer", "g", "h1",
        "h2", "h3", "head", "header", "html", "li", "line", "main", "meta", "p", "path", "pattern",
        "rect", "section", "span", "strong", "style", "svg", "table", "tbody", "td", "text", "th",
        "thead", "title", "tr", "ul",
    ];
    for element in document.descendants().filter(Element::is_element) {
        let name = element.tag_name().name();
        assert!(known.contains(&name), "<{name}>");
        for attribute in element.attributes() {
            let name = attribute.name();
            let loads = ["src", "href", "srcset", "data", "action", "style"].contains(&name);
            assert!(
                !loads && !name.starts_with("on"),
                "{name}={}",
                attribute.value()
            );
        }
    }
    let everything = text_of(document.root_element());
    assert!(
        everything.contains("<script>alert(1)</script>"),
        "it is shown as text"
    );
    for reference in ["<script", "<img", "://", "@import", "url(http"] {
        assert!(!page.contains(reference), "{reference}");
    }
    assert!(page.contains("default-src 'none'"));
    Ok(())
}

#[test]
fn the_page_says_when_no_plugin_can_run() -> Result<()> {
    let node = LoggedNode::with(&known())?;
    node.grant("greedy", "{ links: [] }")?;
    let page = node.audit(&["--html", "-"])?;
    let everything = text_of(parse(&page)?.root_element());
    assert!(everything.contains("no plugin can run"), "{everything}");
    assert!(everything.contains("greedy.yaml"), "{everything}");
    assert_eq!(
        cell(&parse(&page)?, "bridge", "link")?,
        ["false", "2", "0", "1"]
    );
    Ok(())
}
