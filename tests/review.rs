//! `docs/review.md` shows real output: its commands run again, on the node that it tells of.
//!
//! With `UPDATE_DOCS=1` the page gets what they print now.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};
use weir_kit::{Container, Grant, Node, component, house, page};

/// A node with a network that `bridge`, `portmap` and `hostile` make, and two containers, of which one is gone; a lease of no
/// container; and in `/root` a wider grant for `hostile` and another component.
fn node_of_the_page() -> Result<(Node, Container)> {
    let node = Node::create()?;
    let networks = node.root().join("etc/cni/net.d");
    fs::create_dir_all(&networks)?;
    let pods = json!({ "cniVersion": "1.1.0", "name": "pods", "plugins": [
        { "type": "bridge", "bridge": "cni0", "isDefaultGateway": true, "ipMasq": true,
            "ipam": { "type": "host-local", "subnet": "10.61.9.0/24" } },
        { "type": "portmap", "capabilities": { "portMappings": true } },
        { "type": "hostile" },
    ] });
    fs::write(networks.join("10-pods.conflist"), pods.to_string())?;
    node.install_with(&Grant {
        networks: "[pods]",
        capabilities: r#"{ link: [{ namespace: container, names: ["{ifname}"], verbs: [read] }] }"#,
        ..Grant::nothing("hostile")
    })?;
    let (web_1, web_2) = (node.container()?, node.container()?);
    call(&node, "add", &web_1, "web-1", 8080)?;
    call(&node, "add", &web_2, "web-2", 8081)?;
    call(&node, "del", &web_2, "web-2", 8081)?;
    let leases = node.root().join("var/lib/cni/networks/pods");
    let lease = leases.join("10.61.9.77");
    fs::write(&lease, "web-0\r\neth0")?;
    // Old enough not to be of an ADD under way.
    let an_hour_ago = SystemTime::now() - Duration::from_secs(3600);
    File::options()
        .write(true)
        .open(lease)?
        .set_modified(an_hour_ago)?;
    let files = node.root().join("root");
    fs::create_dir_all(&files)?;
    let wider = Grant {
        networks: "[\"*\"]",
        capabilities: r#"{ link: [{ namespace: container, verbs: [read, update] }] }"#,
        ..Grant::nothing("hostile")
    };
    let digest = node.digest("hostile")?;
    fs::write(files.join("wider.yaml"), wider.document(&digest))?;
    fs::copy(component("labels"), files.join("exchanged.wasm"))?;
    Ok((node, web_1))
}

fn call(node: &Node, command: &str, container: &Container, id: &str, port: u16) -> Result<()> {
    let netns = container.netns();
    let netns = netns.to_str().context("a path is text")?;
    let mapping = json!({ "hostPort": port, "containerPort": 80, "protocol": "tcp" });
    let args = json!({ "portMappings": [mapping] }).to_string();
    let words = ["net", command, "pods", netns, "--container-id", id];
    node.weir(&[&words[..], &["--capability-args", &args]].concat())?;
    Ok(())
}

/// What a command prints on the node, as if its root were `/`.
fn printed(command: &str, node: &Node) -> Result<String> {
    let root = node.root().to_str().context("a path is text")?;
    let place = |word: &str| match word.strip_prefix('/') {
        Some(path) => format!("{root}/{path}"),
        None => word.to_owned(),
    };
    let words: Vec<String> = command.split_whitespace().map(place).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = node.inside(|| node.command(&words))?;
    let errors = String::from_utf8(output.stderr)?;
    ensure!(errors.is_empty(), "weir {command}: {errors}");
    Ok(String::from_utf8(output.stdout)?.replace(root, ""))
}

#[test]
fn the_review_of_a_plugin_shows_real_output() -> Result<()> {
    let path = "docs/review.md";
    let text = fs::read_to_string(house().join(path))?;
    let (node, _web_1) = node_of_the_page()?;
    let again = page::run_again(&text, |command| printed(command, &node))?;
    page::check(path, &text, &again)?;

    // What a SIEM takes in is as its schema says.
    let mut schema: Value = serde_json::from_str(&node.stdout(&["audit", "schema"], 0)?)?;
    schema["oneOf"] = json!([{ "$ref": "#/$defs/joined" }]);
    let schema = jsonschema::draft202012::new(&schema)?;
    let records = json_lines(&node.stdout(&["audit", "--output", "json"], 0)?)?;
    assert!(!records.is_empty());
    for record in &records {
        schema
            .validate(record)
            .map_err(|error| anyhow!("{error}: {record}"))?;
        assert_eq!(record["schema"], 1, "{record}");
    }
    let documents = json_lines(&node.stdout(&["audit", "--ecs"], 0)?)?;
    assert_eq!(documents.len(), records.len());
    let ids: BTreeSet<&str> = documents
        .iter()
        .filter_map(|document| document["event"]["id"].as_str())
        .collect();
    assert_eq!(ids.len(), documents.len(), "each has an id of its own");
    Ok(())
}

fn json_lines(text: &str) -> Result<Vec<Value>> {
    let values = text.lines().map(serde_json::from_str);
    Ok(values.collect::<Result<_, _>>()?)
}
