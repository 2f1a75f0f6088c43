//! Outside Kubernetes: the default networks, and nothing else.

use anyhow::Result;
use serde_json::json;
use weir_kit::{Node, State, weir};

use crate::world::{bridge, list, names};

#[test]
fn without_a_pod_the_default_networks_are_attached() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let directory = node.root().join("etc/cni/multus/net.d");
    std::fs::create_dir_all(&directory)?;
    let disk = list("disk", &[bridge("bdisk", "10.47.1.0/24")]);
    std::fs::write(directory.join("10-disk.conflist"), disk.to_string())?;
    let config = json!({
        "cniVersion": "1.0.0", "name": "outside", "type": "weir",
        // Nobody asks it.
        "kubeconfig": "/nowhere/kubeconfig",
        "defaultNetworks": ["disk"],
        "delegates": [list("one", &[bridge("bone", "10.47.0.0/24")])],
    });
    let before = State::of(&node)?;
    let result = node
        .run(&weir(&node, "weir", "ADD", &container, &config))?
        .result();
    assert_eq!(result["cniVersion"], "1.0.0");
    assert_eq!(names(&container)?, ["eth0", "net1"]);
    let checked = node.run(&weir(&node, "weir", "CHECK", &container, &config))?;
    assert!(checked.succeeded(), "{checked:?}");
    let deleted = node.run(&weir(&node, "weir", "DEL", &container, &config))?;
    assert!(deleted.succeeded(), "{deleted:?}");
    assert_eq!(names(&container)?, Vec::<String>::new());
    assert_eq!(State::of(&node)?.files, before.files);
    Ok(())
}

#[test]
fn a_container_that_another_plugin_attached_is_deleted() -> Result<()> {
    let (node, container) = Node::with_container()?;
    let mut plain = bridge("bplain", "10.47.2.0/24");
    plain["cniVersion"] = json!("1.1.0");
    plain["name"] = json!("plain");
    node.run(&weir(&node, "bridge", "ADD", &container, &plain))?
        .result();
    let config = json!({
        "cniVersion": "1.1.0", "name": "outside", "type": "weir", "delegates": [plain],
    });
    let deleted = node.run(&weir(&node, "weir", "DEL", &container, &config))?;
    assert!(deleted.succeeded(), "{deleted:?}");
    assert!(node.taken("plain").is_empty());
    Ok(())
}
