//! What pods leave behind on a node, in the kernel and in files.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;
use weir_kit::containerd::Containerd;

use crate::pods::BRIDGE;

/// The link by which the node is reached from elsewhere, where it has one.
pub const UPLINK: &str = "node0";

/// Where attachments have files: leases and results of libcni, weir's stores, namespaces of containerd,
/// backups of `tuning`.
const FILES: [&str; 4] = [
    "/var/lib/cni",
    "/var/lib/weir/stores",
    "/run/netns",
    "/run/cni",
];

/// What a network keeps for its next pod.
const KEPT: [&str; 3] = ["lock", ".weir~old", "last_reserved_ip.0"];

/// Sets of the networks that pods are in.
const NETWORKS: [&str; 2] = ["local4", "local6"];

/// Everything on a node that belongs to a pod, one thing each.
pub fn of_pods(containerd: &Containerd) -> Result<BTreeSet<String>> {
    let mut all = links(containerd)?;
    all.extend(disciplines(containerd)?);
    all.extend(elements(containerd)?);
    for directory in FILES {
        all.extend(files(containerd, directory)?);
    }
    Ok(all)
}

/// Fails unless there is nothing.
pub fn expect_none(containerd: &Containerd) -> Result<()> {
    let left = of_pods(containerd)?;
    ensure!(left.is_empty(), "{left:#?}");
    Ok(())
}

/// Fails unless there is so much of each kind, which words in its text tell apart.
pub fn expect(containerd: &Containerd, kinds: &[(&str, usize)]) -> Result<()> {
    let all = of_pods(containerd)?;
    for (kind, expected) in kinds {
        let found = all.iter().filter(|thing| thing.contains(kind)).count();
        ensure!(found == *expected, "{found} of {kind}: {all:#?}");
    }
    Ok(())
}

/// All but the loopback, the bridge, and the node's own.
fn links(containerd: &Containerd) -> Result<BTreeSet<String>> {
    let links = json(containerd, "ip", &["-j", "link", "show"])?;
    let links = links.as_array().into_iter().flatten();
    let names = links.filter_map(|link| link["ifname"].as_str());
    let of_pods = names.filter(|name| !["lo", BRIDGE, UPLINK].contains(name));
    Ok(of_pods.map(|name| format!("link {name}")).collect())
}

/// Without the kernel's own, which have no handle.
fn disciplines(containerd: &Containerd) -> Result<BTreeSet<String>> {
    let disciplines = containerd.run("tc", &["qdisc", "show"])?;
    let set_up = disciplines.lines().filter(|line| !line.contains(" 0: "));
    Ok(set_up.map(str::to_owned).collect())
}

/// Of every set and map of nftables but those of networks.
fn elements(containerd: &Containerd) -> Result<BTreeSet<String>> {
    let objects = ruleset(containerd)?;
    let sets = objects
        .iter()
        .flat_map(|object| [&object["set"], &object["map"]])
        .filter(|set| !NETWORKS.iter().any(|name| set["name"] == *name));
    let in_set = |set: &Value| {
        let elements = set["elem"].as_array().cloned().unwrap_or_default();
        let name = format!("{} {}", set["table"], set["name"]);
        elements
            .into_iter()
            .map(move |element| format!("{name}: {element}"))
    };
    Ok(sets.flat_map(in_set).collect())
}

/// The objects of the rule set without their handles, which only grow.
pub fn ruleset(containerd: &Containerd) -> Result<Vec<Value>> {
    let mut ruleset = json(containerd, "nft", &["-j", "list", "ruleset"])?;
    let mut objects: Vec<Value> = ruleset["nftables"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    for value in objects.iter_mut().filter_map(Value::as_object_mut) {
        for object in value.values_mut().filter_map(Value::as_object_mut) {
            object.remove("handle");
        }
    }
    Ok(objects)
}

fn files(containerd: &Containerd, directory: &str) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    let entries = fs::read_dir(containerd.path(directory));
    for entry in entries.into_iter().flatten() {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{directory}/{name}");
        if entry.file_type()?.is_dir() {
            all.extend(files(containerd, &path)?);
        } else if !KEPT.contains(&name.as_str()) {
            all.insert(format!("file {path}"));
        }
    }
    Ok(all)
}

/// The JSON that a program prints, run on the node.
pub fn json(containerd: &Containerd, program: &str, arguments: &[&str]) -> Result<Value> {
    Ok(serde_json::from_str(&containerd.run(program, arguments)?)?)
}
