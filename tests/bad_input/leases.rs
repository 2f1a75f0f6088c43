//! Ranges, directories and leases that cannot be used.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use anyhow::Result;
use serde_json::json;
use weir_kit::{Node, weir};

use super::{AttachedNode, config, refused, with, with_ipam};

#[test]
fn ranges() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let cases = [
        (json!({ "subnet": "10.21.0.0/31" }), "too small"),
        (json!({ "subnet": "10.21.0.0/32" }), "too small"),
        (json!({ "subnet": "fd00:21::/127" }), "too small"),
        (json!({ "subnet": "10.21.0.5/24" }), "host bits"),
        (json!({ "subnet": "10.21.0.0/33" }), "subnet"),
        (json!({ "subnet": "nonsense" }), "subnet"),
        (json!({}), "ranges"),
        (
            json!({ "subnet": "10.21.0.0/24", "gateway": "10.22.0.1" }),
            "gateway",
        ),
        (
            json!({ "subnet": "10.21.0.0/24", "rangeStart": "10.22.0.1" }),
            "rangeStart",
        ),
        (
            json!({ "subnet": "10.21.0.0/24", "rangeEnd": "10.22.0.1" }),
            "rangeEnd",
        ),
        (
            json!({ "subnet": "10.21.0.0/24", "rangeStart": "10.21.0.9", "rangeEnd": "10.21.0.8" }),
            "before",
        ),
        (
            json!({ "ranges": [[{ "subnet": "10.21.0.0/24" }], [{ "subnet": "10.21.0.128/25" }]] }),
            "overlaps",
        ),
        (
            json!({ "ranges": [[{ "subnet": "10.21.0.0/24" }, { "subnet": "10.21.0.0/25" }]] }),
            "overlap",
        ),
        (
            json!({ "ranges": [[{ "subnet": "10.21.0.0/24" }, { "subnet": "fd00::/64" }]] }),
            "",
        ),
        (json!({ "ranges": [[]] }), "range"),
    ];
    for (ipam, word) in cases {
        fixture.refused(&fixture.add(&with_ipam(ipam)), 7, &[word]);
    }
    Ok(())
}

#[test]
fn an_exhausted_range() -> Result<()> {
    let node = Node::create()?;
    let (first, second) = (node.container()?, node.container()?);
    let mut small = with_ipam(json!({ "subnet": "10.23.0.0/30" }));
    small["bridge"] = json!("small0");
    node.run(&weir(&node, "bridge", "ADD", &first, &small))?
        .result();
    let add = weir(&node, "bridge", "ADD", &second, &small);
    refused(
        &node,
        &second,
        &add,
        110,
        &["no IP addresses available", "10.23.0.1-10.23.0.2"],
    );
    // The node and its pods work: STATUS fails only if the network requests that.
    let status = weir(&node, "bridge", "STATUS", &second, &small);
    node.run(&status)?.result();
    let mut told = small.clone();
    told["ipam"]["failStatusWhenExhausted"] = json!(true);
    let status = weir(&node, "bridge", "STATUS", &second, &told);
    refused(&node, &second, &status, 50, &["no IP addresses available"]);
    // `weir net status` reports it in any case.
    let networks = node.root().join("etc/cni/net.d");
    fs::create_dir_all(&networks)?;
    fs::write(networks.join("bad.conf"), small.to_string())?;
    let output = node.inside(|| node.command(&["net", "status", "bad"]))?;
    let said = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("no IP addresses available"), "{said}");
    // A second set that is full gives the first set's address back.
    let mut two = small.clone();
    two["ipam"] = json!({
        "type": "host-local",
        "ranges": [[{ "subnet": "10.24.0.0/24" }], [{ "subnet": "10.23.0.0/30" }]],
    });
    refused(
        &node,
        &second,
        &weir(&node, "bridge", "ADD", &second, &two),
        110,
        &["range set 1"],
    );
    node.run(&weir(&node, "bridge", "DEL", &first, &small))?
        .result();
    node.run(&add)?.result();
    Ok(())
}

#[test]
fn directories_that_cannot_be_trusted() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let networks = fixture.node.root().join("var/lib/cni/networks");
    let own = networks.join("other");
    let other = with("name", json!("other"));

    let elsewhere = fixture.node.root().join("elsewhere");
    fs::create_dir(&elsewhere)?;
    symlink(&elsewhere, &own)?;
    fixture.refused(
        &fixture.add(&other),
        103,
        &["symbolic link", "networks/other"],
    );
    assert_eq!(
        fs::read_dir(&elsewhere)?.count(),
        0,
        "something was written through the link"
    );
    fs::remove_file(&own)?;

    fs::create_dir(&own)?;
    fs::set_permissions(&own, PermissionsExt::from_mode(0o777))?;
    fixture.refused(&fixture.add(&other), 103, &["mode 0777", "networks/other"]);
    assert_eq!(fs::read_dir(&own)?.count(), 0);
    fs::remove_dir(&own)?;

    fs::write(&own, "a file")?;
    fixture.refused(
        &fixture.add(&other),
        103,
        &["not a directory", "networks/other"],
    );
    fs::remove_file(&own)?;

    // The grant decides where leases may be.
    for directory in [
        "/etc",
        "/usr/lib/leases",
        "/",
        "/var/lib/cni/../../../etc",
        "relative",
    ] {
        let ipam = json!({ "subnet": "10.20.0.0/24", "dataDir": directory });
        let outcome = fixture.node.run(&fixture.add(&with_ipam(ipam.clone())))?;
        assert!(
            [100, 103].contains(&outcome.code()),
            "{directory}: {outcome:?}"
        );
        fixture.refused(
            &fixture.add(&with_ipam(ipam)),
            outcome.code(),
            &["dataDir", directory],
        );
    }

    fs::create_dir(&own)?;
    symlink("/dev/null", own.join("lock"))?;
    fixture.refused(&fixture.add(&other), 103, &["lock", "not a regular file"]);
    Ok(())
}

#[test]
fn damaged_leases() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let leases = node.leases("bad");
    fs::create_dir_all(&leases)?;
    // Each is a lease, whoever took it.
    fs::write(leases.join("10.20.0.2"), "")?;
    fs::write(leases.join("10.20.0.3"), "half-a-contai")?;
    fs::write(leases.join("10.20.0.4"), b"\xff\x00\xfe\r\n\r\n\r\n")?;
    fs::write(leases.join("10.20.0.5"), vec![b'x'; 100_000])?;
    fs::create_dir(leases.join("10.20.0.6"))?;
    symlink("/etc/passwd", leases.join("10.20.0.7"))?;
    fs::write(leases.join("last_reserved_ip.0"), "garbage")?;
    fs::write(leases.join("last_reserved_ip.1"), "")?;
    fs::write(leases.join("not a key"), "")?;
    let before = node.taken("bad");

    let result = node
        .run(&weir(&node, "bridge", "ADD", &container, &config()))?
        .result();
    assert_eq!(result["ips"][0]["address"], "10.20.0.8/24");
    let mut checked = config();
    checked["prevResult"] = result;
    node.run(&weir(&node, "bridge", "CHECK", &container, &checked))?
        .result();
    node.run(&weir(&node, "bridge", "STATUS", &container, &config()))?
        .result();
    node.run(&weir(&node, "bridge", "DEL", &container, &checked))?
        .result();
    assert_eq!(
        node.taken("bad"),
        before,
        "damaged leases stay for a person to look at"
    );
    Ok(())
}
