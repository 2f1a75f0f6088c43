//! Wrong requests: standard input, variables, the namespace, names that exist already.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;
use weir_kit::weir;

use super::{AttachedNode, config, refused, strict, with, with_ipam};

#[test]
fn standard_input() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let refused = |input: &[u8], code: u64, words: &[&str]| {
        fixture.refused(fixture.add(&config()).input(input), code, words);
    };
    refused(b"", 6, &["standard input is empty"]);
    refused(b" \n", 6, &["standard input is empty"]);
    refused(b"{\"cniVersion\": \"1.1.0\", ", 6, &["line 1"]);
    refused(b"not JSON", 6, &["line 1"]);
    refused(b"\xff\xfe{}", 6, &["UTF-8"]);
    refused(&vec![b' '; (4 << 20) + 1], 5, &["more than 4194304 bytes"]);
    let mut deep = b"{\"cniVersion\": \"1.1.0\", \"x\": ".to_vec();
    deep.extend(std::iter::repeat_n(b'[', 100_000));
    refused(&deep, 6, &["recursion"]);
    Ok(())
}

#[test]
fn json_of_the_wrong_type() -> Result<()> {
    let fixture = AttachedNode::create()?;
    for input in ["null", "[]", "42", "\"text\"", "true"] {
        let call = fixture.add(&config()).input(input).clone();
        fixture.refused(&call, 7, &["expected an object"]);
    }
    let wrong_types = [
        ("cniVersion", json!(1)),
        ("name", json!(["bad"])),
        ("type", json!({})),
        ("ipam", json!("host-local")),
        ("runtimeConfig", json!([])),
        ("prevResult", json!("yes")),
    ];
    for (key, value) in wrong_types {
        fixture.refused(&fixture.add(&with(key, value)), 7, &[key]);
    }
    fixture.refused(&fixture.add(&with("bridge", json!(5))), 7, &["bridge"]);
    fixture.refused(
        &fixture.add(&with("isGateway", json!("yes"))),
        7,
        &["isGateway"],
    );
    fixture.refused(&fixture.add(&with("mtu", json!(-1))), 7, &["mtu"]);
    fixture.refused(&fixture.add(&with("vlan", json!(5000))), 7, &["vlan"]);
    Ok(())
}

#[test]
fn unknown_keys_and_names() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let misspelt = with("isGatewy", json!(true));
    fixture.refused(&fixture.add(&strict(misspelt)), 7, &["isGatewy"]);
    let misspelt = with_ipam(json!({ "subnet": "10.20.0.0/24", "rangeBegin": "10.20.0.9" }));
    fixture.refused(&fixture.add(&strict(misspelt)), 7, &["rangeBegin"]);
    fixture.refused(
        &fixture.add(&with("name", json!("../../etc"))),
        7,
        &["../../etc"],
    );
    fixture.refused(&fixture.add(&with("name", json!(""))), 7, &["name"]);
    fixture.refused(&fixture.add(&with("bridge", json!("a/b"))), 7, &["a/b"]);
    fixture.refused(
        &fixture.add(&with("bridge", json!("much-too-long-a-name"))),
        7,
        &["bridge"],
    );
    let mut nameless = config();
    nameless
        .as_object_mut()
        .context("an object")?
        .remove("name");
    fixture.refused(&fixture.add(&nameless), 7, &["name"]);
    Ok(())
}

/// Other plugins of that name may know these keys: they are reported, and change nothing.
#[test]
fn unknown_keys_are_reported_where_strictness_is_not_asked_for() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let mut config = with("isGatewy", json!(true));
    config["ipam"]["rangeBegin"] = json!("10.20.0.9");
    fixture.node.run(&fixture.add(&config))?.result();
    let log = fixture.node.log()?;
    let told = |plugin: &str, message: &str| {
        let mut lines = log.lines().map(serde_json::from_str::<serde_json::Value>);
        lines.any(|line| {
            let line = line.expect("JSON Lines");
            line["plugin"] == plugin && line["level"] == "warn" && line["message"] == message
        })
    };
    assert!(
        told("bridge", "isGatewy: unknown key; did you mean `isGateway`?"),
        "{log}"
    );
    assert!(log.contains("ipam.rangeBegin: unknown key"), "{log}");
    Ok(())
}

#[test]
fn versions() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let supported = [
        "0.1.0", "0.2.0", "0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0",
    ];
    for version in ["9.9.9", "1.2.0", "one"] {
        let mut words = supported.to_vec();
        words.push(version);
        fixture.refused(&fixture.add(&with("cniVersion", json!(version))), 1, &words);
    }
    for (command, version) in [("CHECK", "0.3.1"), ("STATUS", "1.0.0"), ("GC", "0.4.0")] {
        let config = with("cniVersion", json!(version));
        let call = weir(
            &fixture.node,
            "bridge",
            command,
            &fixture.container,
            &config,
        );
        fixture.refused(&call, 1, &[command]);
    }
    Ok(())
}

#[test]
fn variables() -> Result<()> {
    let fixture = AttachedNode::create()?;
    for name in ["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"] {
        fixture.refused(fixture.add(&config()).unset(name), 4, &[name]);
        fixture.refused(fixture.add(&config()).set(name, ""), 4, &[name]);
    }
    let mut none = fixture.add(&config());
    none.unset("CNI_CONTAINERID")
        .unset("CNI_NETNS")
        .unset("CNI_IFNAME");
    fixture.refused(&none, 4, &["CNI_CONTAINERID", "CNI_NETNS", "CNI_IFNAME"]);

    let invalid = [
        ("CNI_COMMAND", "ATTACH"),
        ("CNI_COMMAND", ""),
        ("CNI_CONTAINERID", "../../escape"),
        ("CNI_CONTAINERID", "-dash"),
        ("CNI_CONTAINERID", "new\nline"),
        ("CNI_IFNAME", "a/b"),
        ("CNI_IFNAME", "sixteen-bytes-xx"),
        ("CNI_IFNAME", ".."),
        ("CNI_IFNAME", "two words"),
        ("CNI_ARGS", "no-equals-sign"),
        ("CNI_ARGS", "MAC=nonsense"),
        ("CNI_ARGS", "IP=nonsense"),
        ("CNI_ARGS", "UNKNOWN=1"),
    ];
    for (name, value) in invalid {
        let word = match value.split_once('=') {
            Some((key, _)) => key,
            None => name,
        };
        fixture.refused(fixture.add(&config()).set(name, value), 4, &[word]);
    }
    let mut two = fixture.add(&config());
    two.set("CNI_CONTAINERID", "-dash").set("CNI_IFNAME", "a/b");
    fixture.refused(&two, 4, &["CNI_CONTAINERID", "CNI_IFNAME"]);
    Ok(())
}

#[test]
fn namespaces() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let file = fixture.node.root().join("a-file");
    fs::write(&file, "")?;
    let paths = [
        PathBuf::from("/does/not/exist"),
        file.clone(),
        fixture.node.root().to_owned(),
        PathBuf::from("/dev/null"),
        PathBuf::from("/proc/self/ns/mnt"),
        // The host's namespace: that of the plugin's process.
        PathBuf::from("/proc/self/ns/net"),
    ];
    for path in &paths {
        let shown = path.to_str().context("text")?;
        fixture.refused(
            fixture.add(&config()).set("CNI_NETNS", path),
            8,
            &["CNI_NETNS", shown],
        );
    }
    // DEL continues without a namespace, but never in the host's.
    for path in &paths[..2] {
        let deleted = fixture
            .node
            .run(fixture.del(&config()).set("CNI_NETNS", path))?;
        assert!(deleted.succeeded(), "{}: {deleted:?}", path.display());
    }
    let own = "/proc/self/ns/net";
    fixture.refused(
        fixture.del(&config()).set("CNI_NETNS", own),
        8,
        &["host's own"],
    );
    Ok(())
}

#[test]
fn interfaces_and_links_that_exist() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let again = weir(&fixture.node, "bridge", "ADD", &fixture.attached, &config());
    fixture.refused(&again, 102, &["eth0", "exists"]);
    let addresses = fixture.attached.ip("-o -4 address show dev eth0")?;
    assert!(addresses.contains("10.20.0.2/24"), "{addresses}");

    fixture
        .container
        .ip("link add eth0 type veth peer name other")?;
    fixture.refused(&fixture.add(&config()), 102, &["eth0", "exists"]);
    let lo = fixture.add(&config()).set("CNI_IFNAME", "lo").clone();
    fixture.refused(&lo, 102, &["lo", "exists"]);

    fixture
        .node
        .ip("link add taken0 type veth peer name taken1")?;
    for name in ["taken0", "lo"] {
        fixture.refused(
            &fixture.add(&with("bridge", json!(name))),
            7,
            &["bridge", name],
        );
    }
    // An MTU that the kernel refuses, and a MAC that no interface can have.
    let fresh = fixture.node.container()?;
    let mut mtu = with("bridge", json!("fresh0"));
    mtu["mtu"] = json!(10);
    let call = weir(&fixture.node, "bridge", "ADD", &fresh, &mtu);
    refused(&fixture.node, &fresh, &call, 103, &["fresh0"]);
    let mut call = weir(&fixture.node, "bridge", "ADD", &fresh, &config());
    call.set("CNI_ARGS", "MAC=ff:ff:ff:ff:ff:ff");
    refused(&fixture.node, &fresh, &call, 4, &["CNI_ARGS", "MAC"]);
    Ok(())
}
