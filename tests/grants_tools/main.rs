//! `weir grants`: what it says is what the gate does, and what it suggests is enough and no more.

mod explain;
mod learn;
mod suggested;

use std::fs;
use std::io::Write;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{
    Container, Grant, Node, STANDARD, assert_contains, assert_contains_without, binary, component,
    weir,
};

const PLUGIN: &str = "misbehaving";

fn bridge() -> Value {
    json!({
        "cniVersion": "1.1.0", "name": "tools", "type": "bridge", "bridge": "tools0",
        "isDefaultGateway": true, "ipMasq": true,
        "ipam": { "type": "host-local", "subnet": "10.61.7.0/24" }
    })
}

/// `weir grants …` on a node: its exit code, standard output, and standard error.
fn grants(node: &Node, words: &[&str]) -> Result<(i32, String, String)> {
    let mut all = vec!["grants"];
    all.extend(words);
    parts(node.inside(|| node.command(&all))?)
}

fn parts(output: Output) -> Result<(i32, String, String)> {
    let code = output.status.code().context("it ended by itself")?;
    let errors = String::from_utf8(output.stderr)?;
    Ok((code, String::from_utf8(output.stdout)?, errors))
}

/// The same, with what it printed as JSON.
#[track_caller]
fn json_of(node: &Node, words: &[&str]) -> Result<(i32, Value)> {
    let mut all = words.to_vec();
    all.extend(["--output", "json"]);
    let (code, printed, errors) = grants(node, &all)?;
    let value = serde_json::from_str(&printed);
    Ok((code, value.with_context(|| format!("{printed}{errors}"))?))
}

/// A file below the node's root.
fn file(node: &Node, name: &str, text: &str) -> Result<String> {
    let path = node.root().join(name);
    fs::write(&path, text)?;
    Ok(path.to_str().context("a path is text")?.to_owned())
}

/// Runs ADD, CHECK and DEL of the bridge, with reads recorded; all must succeed.
fn run_bridge(node: &Node, container: &Container) -> Result<()> {
    commands_of_bridge(node, container, "1")
}

/// The same, with reads recorded if `reads` is 1.
fn commands_of_bridge(node: &Node, container: &Container, reads: &str) -> Result<()> {
    let mut config = bridge();
    for command in ["ADD", "CHECK", "DEL"] {
        let mut call = weir(node, "bridge", command, container, &config);
        call.set("WEIR_AUDIT_READS", reads);
        let outcome = node.run(&call)?;
        ensure!(outcome.succeeded(), "{command}: {outcome:?}");
        if command == "ADD" {
            config["prevResult"] = outcome.document();
        }
    }
    Ok(())
}

/// `weir grants explain --record` with these lines on its standard input.
fn explain_records(node: &Node, lines: &[u8], words: &[&str]) -> Result<(i32, String, String)> {
    let mut explain = Command::new(binary());
    explain.args(["grants", "explain", "--record"]).args(words);
    explain.env("WEIR_ROOT", node.root()).stdin(Stdio::piped());
    let mut child = explain
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut stdin = child.stdin.take().context("standard input")?;
    let lines = lines.to_owned();
    let writer = std::thread::spawn(move || stdin.write_all(&lines));
    let output = child.wait_with_output()?;
    let _ = writer.join();
    parts(output)
}

/// The log's lines as they stand, with reads.
fn lines_of_a_bridge(node: &Node) -> Result<Vec<String>> {
    run_bridge(node, &node.container()?)?;
    let records = node.weir(&["audit", "--output", "json"])?;
    Ok(records.lines().map(str::to_owned).collect())
}

/// A line with other members, in the log's order: a record begins with its time.
fn changed(line: &str, change: impl FnOnce(&mut Value)) -> Result<String> {
    let mut record: Value = serde_json::from_str(line)?;
    change(&mut record);
    let members = record.as_object_mut().context("an object")?;
    let time = members.remove("time").context("a time")?;
    let rest = Value::from(std::mem::take(members)).to_string();
    Ok(format!("{{\"time\":{time},{}", &rest[1..]))
}

#[test]
fn a_list_tells_what_is_in_force() -> Result<()> {
    let node = Node::create()?;
    let (code, shipped) = json_of(&node, &["list"])?;
    assert_eq!(code, 0, "{shipped:#}");
    let of = |listed: &Value, name: &str, from: &str| -> Value {
        let all = listed.as_array().expect("a list").iter();
        let mut found = all.filter(|one| {
            one["name"] == name && one["from"].as_str().is_some_and(|f| f.ends_with(from))
        });
        found.next().cloned().unwrap_or_default()
    };
    assert_eq!(of(&shipped, "bridge", "shipped")["state"], "in-force");

    let digest = node.install_plugin(PLUGIN)?;
    let other = format!("sha256:{}", "1".repeat(64));
    let document = |plugin: &str, digest: &str| Grant::nothing(plugin).document(digest);
    node.put_grant("a-mine.yaml", &document(PLUGIN, &digest))?;
    let narrow = "apiVersion: weir.dev/v1alpha1\nkind: PluginGrant\nmetadata: { name: loopback }\n\
                  spec: { plugin: { name: loopback }, networks: [blue] }\n";
    node.put_grant("b-loopback.yaml", narrow)?;
    let second =
        document(PLUGIN, &digest).replace("  name: misbehaving\nspec", "  name: second\nspec");
    node.put_grant("c-second.yaml", &second)?;
    node.put_grant("d-nobody.yaml", &document("nobody", &digest))?;
    let (code, listed) = json_of(&node, &["list"])?;
    assert_eq!(code, 3, "{listed:#}");
    for (name, from, state) in [
        (PLUGIN, "a-mine.yaml", "in-force"),
        ("loopback", "b-loopback.yaml", "in-force"),
        ("loopback", "shipped", "replaced"),
        ("second", "c-second.yaml", "shadowed"),
        ("nobody", "d-nobody.yaml", "no-plugin"),
        ("static", "shipped", "in-force"),
    ] {
        let one = of(&listed, name, from);
        assert_eq!(one["state"], state, "{name} from {from}: {one:#}");
        assert_eq!(one["because"].is_string(), state != "in-force", "{one:#}");
    }
    let mine = of(&listed, PLUGIN, "a-mine.yaml");
    let shadows = mine["shadows"][0].as_str().unwrap_or_default();
    assert!(shadows.ends_with("c-second.yaml"), "{mine:#}");
    assert_eq!(
        of(&listed, "loopback", "b-loopback.yaml")["shadows"][0],
        "shipped"
    );
    assert_eq!(
        of(&listed, "loopback", "b-loopback.yaml")["networks"],
        json!(["blue"])
    );

    fs::remove_file(node.grants().join("c-second.yaml"))?;
    node.put_grant("a-mine.yaml", &document(PLUGIN, &other))?;
    let (code, listed) = json_of(&node, &["list", "--plugin", PLUGIN])?;
    assert_eq!((code, &listed[0]["state"]), (3, &json!("other-digest")));
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed:#}");

    node.put_grant("e-broken.yaml", "{")?;
    let text = node.stdout(&["grants", "list"], 3)?;
    assert!(
        text.starts_with("A grant is not valid: no plugin runs"),
        "{text}"
    );
    assert_contains(&text, &["e-broken.yaml", "bridge"]);
    Ok(())
}

#[test]
fn a_grant_is_shown_in_words() -> Result<()> {
    let node = Node::create()?;
    let text = node.stdout(&["grants", "show", "bridge"], 0)?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_contains(
        &text,
        &[
            "What the plugin bridge may do on the node's own networks",
            "On networks of NetworkAttachmentDefinitions",
            "which comes with weir",
            "may create, look at and change interfaces of kind bridge, on the host",
            "may run host-local and static",
            "at most 64 MiB of memory",
            "traffic shaping (traffic)",
        ],
    );
    let (_, shown) = json_of(&node, &["show", "bridge"])?;
    assert_eq!(shown[0]["allowed"][0]["capability"], "link");
    assert_eq!(shown[0]["document"]["kind"], "PluginGrant");
    // Every shipped grant, as a document, is the grant.
    for plugin in STANDARD.into_iter().filter(|plugin| *plugin != "loopback") {
        let yaml = node.stdout(&["grants", "show", plugin, "--yaml"], 0)?;
        let again = file(&node, "again.yaml", &yaml)?;
        let (code, text, errors) = grants(&node, &["diff", plugin, &again])?;
        assert_eq!(code, 0, "{plugin}: {text}{errors}");
    }
    let errors = node.stderr(&["grants", "show", "nobody"], 1)?;
    assert!(errors.contains("weir grants new nobody"), "{errors}");
    Ok(())
}

/// The error of one that is in force says that no plugin runs.
#[test]
fn a_document_that_is_not_in_force_stops_nothing() -> Result<()> {
    let node = Node::create()?;
    let path = file(&node, "broken.yaml", "kind: [")?;
    for words in [
        &["diff", "bridge", &path][..],
        &["show", "bridge", "--grant", &path],
        &["explain", "bridge", "link.get", "--grant", &path],
    ] {
        let (code, _, errors) = grants(&node, words)?;
        assert_eq!(code, 1, "{words:?}: {errors}");
        assert_contains_without(&errors, &["broken.yaml:1:"], &["no plugin runs"]);
    }
    Ok(())
}

/// As somebody who reviews a suggestion, which is not in force.
#[test]
fn a_document_is_shown_before_it_is_in_force() -> Result<()> {
    let node = Node::create()?;
    let rules = "{ link: [{ namespace: host, names: [nic0], verbs: [read] }] }";
    let grant = Grant {
        networks: "[blue]",
        capabilities: rules,
        ..Grant::nothing("mine")
    };
    let path = file(
        &node,
        "mine.yaml",
        &grant.document(&format!("sha256:{}", "1".repeat(64))),
    )?;
    let show = |plugin, more: &[&str]| {
        let words = [&["show", plugin, "--grant", &path][..], more].concat();
        grants(&node, &words)
    };
    let (code, text, errors) = show("mine", &[])?;
    assert_eq!(code, 0, "{errors}");
    assert_contains(
        &text,
        &[
            "plugin mine may do on blue",
            &path,
            "look at interfaces of every kind, hardware included, named nic0, on the host",
        ],
    );
    assert!(!text.contains("NOT IN FORCE"), "{text}");
    assert_eq!(show("mine", &["--network", "blue"])?.0, 0);
    for (plugin, more, expected) in [
        (
            "other",
            &[][..],
            "is a grant of plugin `mine`, not of `other`",
        ),
        ("weir", &[], "is a grant of plugin `mine`, not of `weir`"),
        (
            "mine",
            &["--network", "red"],
            "does not cover the network `red`",
        ),
    ] {
        let (code, _, errors) = show(plugin, more)?;
        assert_eq!(code, 1, "{errors}");
        assert_contains(&errors, &[expected]);
    }
    Ok(())
}

#[test]
fn a_check_warns() -> Result<()> {
    let node = Node::create()?;
    // Not of what is shipped.
    let (code, text, errors) = grants(&node, &["check", "--strict"])?;
    assert_eq!(code, 0, "{text}{errors}");
    let digest = node.install_plugin(PLUGIN)?;
    let wide = Grant {
        capabilities: r#"{ link: [{}], route: [{ namespace: container }, { namespace: container, verbs: [read] }] }"#,
        ..Grant::nothing(PLUGIN)
    };
    let wide = file(&node, "wide.yaml", &wide.document(&digest))?;
    let narrow = Grant {
        networks: "[pods]",
        capabilities: r#"{ link: [{ namespace: container, names: ["{ifname}"], verbs: [read] }] }"#,
        ..Grant::nothing(PLUGIN)
    };
    let narrow = file(&node, "narrow.yaml", &narrow.document(&digest))?;
    let (code, checked) = json_of(&node, &["check", &wide, &narrow])?;
    assert_eq!(code, 0);
    let codes = |one: &Value| -> Vec<String> {
        let remarks = one["remarks"].as_array().expect("remarks").iter();
        remarks
            .map(|r| {
                format!(
                    "{} {}",
                    r["rule"].as_str().unwrap_or("-"),
                    r["code"].as_str().unwrap_or("-")
                )
            })
            .collect()
    };
    assert_eq!(
        codes(&checked[0]),
        [
            "- every-network",
            "link[0] no-keys",
            "route[1] no-effect",
            "- no-rule"
        ]
    );
    assert_eq!(codes(&checked[1]), ["- no-rule"]);
    assert_eq!(grants(&node, &["check", "--strict", &wide])?.0, 3);
    assert_eq!(grants(&node, &["check", "--strict", &narrow])?.0, 0);
    // Beside the grant in force, which reads on the host.
    let in_force = Grant {
        capabilities: "{ link: [{ verbs: [read] }] }",
        ..Grant::nothing(PLUGIN)
    };
    node.put_grant("in-force.yaml", &in_force.document(&digest))?;
    let (code, text, _) = grants(&node, &["check", "--strict", &narrow])?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code, 3, "{text}");
    assert_contains(
        &text,
        &["on the host, as its grant in force does", "[no-read]"],
    );
    fs::remove_file(node.grants().join("in-force.yaml"))?;
    let broken = file(&node, "broken.yaml", "{")?;
    let (code, text, errors) = grants(&node, &["check", &broken, &narrow])?;
    assert_eq!(code, 1, "{text}");
    assert_contains(&errors, &["not valid", "broken.yaml"]);

    // Without files: all of the node, as they go together.
    node.put_grant("nobody.yaml", &Grant::nothing("nobody").document(&digest))?;
    let (code, checked) = json_of(&node, &["check"])?;
    assert_eq!(code, 0);
    assert_eq!(codes(&checked[0]), ["- no-plugin"]);
    let all = checked.as_array().context("a list")?;
    assert!(
        all.iter()
            .any(|one| one["plugin"] == "bridge" && one["from"] == "shipped")
    );
    // What weir itself brings is left out of the text.
    let (_, text, _) = grants(&node, &["check"])?;
    assert_contains_without(
        &text,
        &["nobody.yaml", "notes that `--shipped` prints"],
        &["plugin bridge"],
    );
    let (_, text, _) = grants(&node, &["check", "--shipped"])?;
    assert_contains(&text, &["shipped: a valid grant of plugin bridge"]);
    Ok(())
}

/// What a plugin writes into a record, its reader sees as what it is.
#[test]
fn a_record_cannot_drive_the_terminal() -> Result<()> {
    let node = Node::create()?;
    let lines = lines_of_a_bridge(&node)?;
    let create = lines.iter().find(|l| l.contains("\"link.create\""));
    let create = create.context("a link was created")?;
    let evil = "x\u{1b}[2J\u{9b}31m\u{7}\u{202e}\u{200b}\nallowed: everything";
    let hostile = changed(create, |record| record["arguments"]["name"] = json!(evil))?;
    let of_nobody = changed(create, |record| record["plugin"] = json!(evil))?;
    let unknown = changed(create, |record| record["operation"] = json!(evil))?;
    let all = [hostile, of_nobody, unknown].join("\n");
    let misleads = |c: char| c != '\n' && (c.is_control() || ['\u{202e}', '\u{200b}'].contains(&c));
    for words in [&[][..], &["--output", "json"]] {
        let (code, text, errors) = explain_records(&node, all.as_bytes(), words)?;
        assert_eq!(code, 3, "{text}{errors}");
        for said in [&text, &errors] {
            assert!(!said.contains(misleads), "{said:?}");
            assert!(said.contains("[2J"), "it is shown: {said}");
            let own = said
                .lines()
                .filter(|l| l.starts_with("allowed: everything"));
            assert_eq!(own.count(), 0, "{said}");
        }
    }
    let (_, json, _) = explain_records(&node, all.as_bytes(), &["--output", "json"])?;
    let explained: Value = serde_json::from_str(&json)?;
    assert_eq!(explained[0]["arguments"]["name"], evil);
    assert_eq!(explained[1]["plugin"], evil);
    Ok(())
}
#[test]
fn two_grants_differ() -> Result<()> {
    let node = Node::create()?;
    let digest = format!("sha256:{}", "3".repeat(64));
    let of = |capabilities: &'static str| Grant {
        capabilities,
        ..Grant::nothing("mine")
    };
    let first = of("{ link: [{ namespace: container, verbs: [read] }] }").document(&digest);
    let second =
        of("{ link: [{ namespace: container, verbs: [read, delete] }] }").document(&digest);
    let first = file(&node, "first.yaml", &first)?;
    let second = file(&node, "second.yaml", &second)?;
    assert_eq!(grants(&node, &["diff", &first, &first])?.0, 0);
    let text = node.stdout(&["grants", "diff", &first, &second], 3)?;
    assert!(text.contains("delete interfaces of every kind"), "{text}");
    let (code, found) = json_of(&node, &["diff", &second, &first])?;
    assert_eq!(code, 4, "it is only narrower");
    assert_eq!(found["possible"], json!([]));
    assert_eq!(found["impossible"][0]["rule"]["verbs"], json!(["delete"]));
    assert_eq!(grants(&node, &["diff", "nobody", &first])?.0, 1);

    let (one, two) = (component("bridge"), component("static"));
    let (one, two) = (one.to_str().context("text")?, two.to_str().context("text")?);
    assert_eq!(grants(&node, &["diff", one, one])?.0, 0);
    let (code, found) = json_of(&node, &["diff", one, two])?;
    assert_eq!(code, 3);
    let less = found["less"]["link"].as_array().context("a list")?;
    assert!(less.contains(&json!("create")), "{found:#}");
    assert!(found["less"]["firewall"].is_array(), "{found:#}");
    assert_eq!(found["more"], json!({}));
    assert_eq!(grants(&node, &["diff", one, &first])?.0, 1);
    Ok(())
}
