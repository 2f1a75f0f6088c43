//! Whose an address, a port of the host and a lease are.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Node, assert_contains};

/// A node with two containers on a network with ports of the host: `web-1` of a pod, and `web-2`.
pub fn attached() -> Result<(Node, [Container; 2])> {
    let node = Node::create()?;
    let pods = json!({ "cniVersion": "1.1.0", "name": "pods", "plugins": [
        { "type": "bridge", "bridge": "cni0", "isGateway": true,
            "ipam": { "type": "host-local", "ranges": [[{ "subnet": "10.61.9.0/24" }], [{ "subnet": "fd00:61::/64" }]] } },
        { "type": "portmap", "capabilities": { "portMappings": true } },
    ] });
    node.put_network("10-pods.conflist", &pods)?;
    let containers = [node.container()?, node.container()?];
    let add = |container: &Container, id: &str, words: &[&str]| {
        let netns = container.netns();
        let netns = netns.to_str().context("a path is text")?;
        let add = ["net", "add", "pods", netns, "--container-id", id];
        node.weir(&[&add[..], words].concat())
    };
    let ports = r#"{"portMappings": [{"hostPort": 8080, "containerPort": 80, "protocol": "tcp"}]}"#;
    let pod = "IgnoreUnknown=1;K8S_POD_NAMESPACE=default;K8S_POD_NAME=web";
    add(
        &containers[0],
        "web-1",
        &["--args", pod, "--capability-args", ports],
    )?;
    add(&containers[1], "web-2", &[])?;
    Ok((node, containers))
}

fn attachments(node: &Node, words: &[&str], status: i32) -> Result<Vec<Value>> {
    let listed = node.json(&[&["net", "attachments"], words].concat(), status)?;
    Ok(listed.as_array().context("a list")?.clone())
}

fn ids(listed: &[Value]) -> Vec<&str> {
    listed
        .iter()
        .filter_map(|one| one["containerId"].as_str())
        .collect()
}

#[test]
fn one_command_tells_whose_an_address_and_a_port_are() -> Result<()> {
    let (node, containers) = attached()?;
    let all = attachments(&node, &[], 0)?;
    assert_eq!(ids(&all), ["web-1", "web-2"], "{all:#?}");
    let web = &all[0];
    assert_eq!(web["pod"], json!({ "namespace": "default", "name": "web" }));
    assert_eq!(web["addresses"], json!(["10.61.9.2/24", "fd00:61::2/64"]));
    assert_eq!(
        (&web["network"], &web["interface"]),
        (&json!("pods"), &json!("eth0"))
    );
    assert_eq!(web["state"], "attached");
    assert_eq!(
        web["hostPorts"],
        json!([{ "hostPort": 8080, "containerPort": 80, "protocol": "tcp" }])
    );
    assert!(
        web["since"]
            .as_str()
            .is_some_and(|time| time.ends_with('Z')),
        "{web:#}"
    );
    for (words, expected) in [
        (&["--address", "10.61.9.3"][..], &["web-2"][..]),
        (&["--address", "fd00:61:0::2"], &["web-1"]),
        (&["--port", "8080"], &["web-1"]),
        (&["--pod", "default/web"], &["web-1"]),
        (&["--pod", "web"], &["web-1"]),
        (&["--container-id", "web-"], &["web-1", "web-2"]),
        (
            &["--network", "pods", "--container-id", "web-2"],
            &["web-2"],
        ),
        (&["--address", "10.61.9.9"], &[]),
        (&["--port", "8081"], &[]),
        (&["--network", "pod"], &[]),
        (&["--stale-leases"], &[]),
    ] {
        let status = if expected.is_empty() { 3 } else { 0 };
        assert_eq!(
            ids(&attachments(&node, words, status)?),
            expected,
            "{words:?}"
        );
    }
    let text = node.stdout(&["net", "attachments", "--port", "8080"], 0)?;
    assert_contains(
        &text,
        &[
            "default/web",
            "8080/tcp",
            "10.61.9.2/24,fd00:61::2/64",
            "web-1",
        ],
    );

    let netns = containers[0].netns();
    let netns = netns.to_str().context("a path is text")?;
    node.weir(&["net", "del", "pods", netns, "--container-id", "web-1"])?;
    assert_eq!(ids(&attachments(&node, &[], 0)?), ["web-2"]);
    assert_eq!(
        node.stdout(&["net", "attachments", "--port", "8080"], 3)?,
        "none\n"
    );
    Ok(())
}

#[test]
fn leases_of_no_attachment_are_marked() -> Result<()> {
    let (node, _containers) = attached()?;
    let leases = node.leases("pods");
    let lease = |address: &str, content: &str| -> Result<()> {
        fs::write(leases.join(address), content)?;
        let file = File::options().write(true).open(leases.join(address))?;
        file.set_modified(SystemTime::now() - Duration::from_secs(3600))?;
        Ok(())
    };
    lease("10.61.9.200", "gone\r\neth0")?;
    // Another interface of a container that is attached, and old formats.
    lease("10.61.9.201", "web-1\r\nnet1")?;
    lease("10.61.9.202", "web-1")?;
    lease("10.61.9.203", "gone\n")?;
    // An ADD may be under way.
    fs::write(leases.join("10.61.9.204"), "new\r\neth0")?;
    let stale = attachments(&node, &["--stale-leases"], 0)?;
    let addresses = |listed: &[Value]| -> Vec<String> {
        let all = listed.iter().map(|one| one["addresses"][0].to_string());
        all.map(|text| text.trim_matches('"').to_owned()).collect()
    };
    let mut found = addresses(&stale);
    found.sort();
    assert_eq!(
        found,
        ["10.61.9.200", "10.61.9.201", "10.61.9.203"],
        "{stale:#?}"
    );
    assert!(
        stale
            .iter()
            .all(|one| one["state"] == "lease-of-no-attachment")
    );
    let new = attachments(&node, &["--address", "10.61.9.204"], 0)?;
    assert_eq!(
        (new.len(), &new[0]["state"]),
        (1, &json!("new-lease")),
        "{new:#?}"
    );
    let text = node.stdout(&["net", "attachments", "--address", "10.61.9.200"], 0)?;
    assert_contains(&text, &["LEASE OF NO ATTACHMENT", "gone", "pods"]);
    // The attachment's own, although its result does not have the address.
    let leased = attachments(&node, &["--address", "10.61.9.202"], 0)?;
    assert_eq!(ids(&leased), ["web-1"], "{leased:#?}");
    let shown = leased[0]["addresses"].as_array().context("addresses")?;
    assert_eq!(shown.last(), Some(&json!("10.61.9.202")));
    Ok(())
}

/// What someone else could have written, and what is not a lease, is reported and not used.
#[test]
fn files_of_others_are_not_believed() -> Result<()> {
    let (node, _containers) = attached()?;
    let leases = node.leases("pods");
    let open = leases.join("10.61.9.210");
    fs::write(&open, "forged\r\neth0")?;
    fs::set_permissions(&open, fs::Permissions::from_mode(0o666))?;
    symlink("/etc/hostname", leases.join("10.61.9.211"))?;
    fs::write(leases.join("10.61.9.212"), vec![0xff; 1 << 20])?;
    fs::create_dir(leases.join("10.61.9.213"))?;
    let results = node.root().join("var/lib/cni/results");
    let forged = results.join("pods-forged-eth0");
    fs::copy(results.join("pods-web-2-eth0"), &forged)?;
    fs::set_permissions(&forged, fs::Permissions::from_mode(0o666))?;
    fs::write(results.join("pods-\u{1b}[2J-eth0"), "{")?;

    let listed = attachments(&node, &[], 0)?;
    assert_eq!(ids(&listed), ["web-1", "web-2"], "{listed:#?}");
    let errors = node.stderr(&["net", "attachments"], 0)?;
    assert_contains(
        &errors,
        &[
            "10.61.9.210",
            "10.61.9.211",
            "10.61.9.212",
            "10.61.9.213",
            "pods-forged-eth0",
        ],
    );
    Ok(())
}

/// A record without a result is shown as what it is.
#[test]
fn an_attachment_without_a_result_is_incomplete() -> Result<()> {
    let (node, _containers) = attached()?;
    let record = json!({ "version": 2, "network": "weir", "containerId": "half", "ifname": "eth0",
        "pod": { "namespace": "lab", "name": "half" }, "attachments": [
        { "network": "lab/data", "isDefault": false, "definition": "lab/data", "ifname": "net1",
            "config": { "cniVersion": "1.1.0", "name": "anything", "plugins": [{ "type": "bridge" }] } },
    ] });
    node.write("var/lib/weir/pods/weir/half:eth0.json", record.to_string())?;
    let listed = attachments(&node, &["--network", "lab/data"], 0)?;
    let [half] = listed.as_slice() else {
        panic!("{listed:#?}");
    };
    assert_eq!(
        (&half["state"], &half["pod"]["name"], &half["interface"]),
        (&json!("incomplete"), &json!("half"), &json!("net1"))
    );
    Ok(())
}
