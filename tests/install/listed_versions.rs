//! The list names another version of a plugin that it has installed.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::guest::{granted, of_version};
use weir_kit::{assert_contains, component};
use weir_sandbox::digest;

use crate::listed::Cluster;

/// An entry for `labels` in a version, which the web server has from now on.
fn entry(cluster: &Cluster, version: &str) -> Result<Value> {
    let bytes = of_version("labels", version)?;
    let path = format!("/labels-{version}.wasm");
    cluster.web.put(&path, &bytes);
    let mut entry = cluster.entry("labels", &path)?;
    entry["digest"] = json!(digest(&bytes).to_string());
    Ok(entry)
}

/// What the pod says of the only plugin of a list.
fn told(cluster: &Cluster, entry: &Value) -> Result<String> {
    cluster.list(&json!([entry]))?;
    cluster.install()?;
    Ok(cluster.told()?.to_string())
}

#[test]
fn an_older_version_needs_the_word_of_the_list() -> Result<()> {
    let cluster = Cluster::create()?;
    let (new, mut old) = (entry(&cluster, "0.3.0")?, entry(&cluster, "0.2.9")?);
    assert_contains(&told(&cluster, &new)?, &["installed"]);
    let refused = [
        "failed",
        "stays at version `0.3.0`",
        "`0.2.9` is older",
        "allowDowngrade: true",
    ];
    assert_contains(&told(&cluster, &old)?, &refused);
    assert_eq!(cluster.plugin("labels")?["digest"], new["digest"]);

    // Nor is it let in because the installed component is damaged: what was recorded of it counts.
    fs::write(cluster.node.installed("labels").join("component.wasm"), "")?;
    assert_contains(&told(&cluster, &old)?, &refused);

    old["allowDowngrade"] = json!(true);
    assert_contains(&told(&cluster, &old)?, &["installed"]);
    assert_eq!(cluster.plugin("labels")?["version"], "0.2.9");
    Ok(())
}

#[test]
fn a_failed_update_leaves_the_old_version() -> Result<()> {
    let cluster = Cluster::create()?;
    let old = entry(&cluster, "0.2.0")?;
    assert_contains(&told(&cluster, &old)?, &["installed"]);
    let before = cluster.plugin("labels")?;
    let new = entry(&cluster, "0.3.0")?;
    for broken in [&b""[..], b"\0asm", &fs::read(component("route-override"))?] {
        cluster.web.put("/labels-0.3.0.wasm", broken);
        let is = digest(broken).to_string();
        assert_contains(&told(&cluster, &new)?, &["failed", "is component", &is]);
        assert_eq!(cluster.plugin("labels")?, before);
    }
    cluster.web.remove("/labels-0.3.0.wasm");
    assert_contains(&told(&cluster, &new)?, &["failed", "not there"]);
    assert_eq!(cluster.plugin("labels")?, before);
    Ok(())
}

/// DEL and CHECK of an attachment run the version that made it.
#[test]
fn the_version_of_an_attachment_is_kept() -> Result<()> {
    let cluster = Cluster::create()?;
    let node = &cluster.node;
    let old = entry(&cluster, "0.2.0")?;
    assert_contains(&told(&cluster, &old)?, &["installed"]);
    let of_old = old["digest"].as_str().context("a digest")?;
    node.put_grant("labels-0.2.0.yaml", &granted("labels", of_old)?)?;
    let network = json!({ "cniVersion": "1.1.0", "name": "marked", "plugins": [
        { "type": "bridge", "bridge": "marked0", "ipam": { "type": "host-local", "subnet": "10.77.0.0/24" } },
        { "type": "labels", "labels": { "rack": "b7" } },
    ]});
    node.put_network("50-marked.conflist", &network)?;
    let container = node.container()?;
    let netns = container.netns();
    let netns = netns.to_str().context("text")?;
    node.exits(&["net", "add", "marked", netns], 0)?;

    let new = entry(&cluster, "0.3.0")?;
    assert_contains(&told(&cluster, &new)?, &["installed"]);
    let line = cluster.plugin("labels")?;
    assert_eq!(line["digest"], new["digest"]);
    assert_eq!(line["kept"][0]["digest"], old["digest"], "{line:#}");
    node.exits(&["net", "check", "marked", netns], 0)?;
    node.exits(&["net", "del", "marked", netns], 0)?;
    let records = node.audit().into_iter();
    let mut ran = records.filter(|r| r["plugin"] == "labels" && r["command"] == "DEL");
    let ran = ran.next().context("a record of DEL")?;
    assert_eq!(ran["digest"], old["digest"], "{ran:#}");
    Ok(())
}
