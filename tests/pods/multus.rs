//! Pods that Multus attached, deleted after the switch to weir.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::State;

use crate::world::{Pod, World, bridge, list, names};

/// Text as Multus keeps it.
fn base64(text: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut encoded = String::new();
    for chunk in text.as_bytes().chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place)) as usize & 63] as char;
            encoded.push(if place <= chunk.len() { letter } else { '=' });
        }
    }
    encoded
}

/// A network of a pod as Multus keeps it.
fn delegate(config: &Value, ifname: &str) -> Value {
    let bytes = base64(&config.to_string());
    json!({ "Name": config["name"], "ifnameRequest": ifname, "Bytes": bytes })
}

/// Has it that Multus attached a pod that weir did, with these results and in this file.
fn hand_to_multus(
    world: &World,
    pod: &Pod,
    networks: &[(&str, &str)],
    file: &str,
) -> Result<PathBuf> {
    let root = world.node.root();
    let kept = root.join("var/lib/cni/multus");
    fs::create_dir_all(kept.join("results"))?;
    for (name, ifname) in networks {
        let result = format!("{name}-{}-{ifname}", pod.container.id);
        fs::rename(
            root.join("var/lib/cni/results").join(&result),
            kept.join("results").join(&result),
        )?;
    }
    for record in world.records() {
        if record.to_string_lossy().contains(&pod.container.id) {
            fs::remove_file(record)?;
        }
    }
    let path = kept.join(&pod.container.id);
    fs::write(&path, file)?;
    Ok(path)
}

#[test]
fn a_pod_that_multus_attached_is_deleted_with_what_multus_kept() -> Result<()> {
    let world = World::create()?;
    let default = list("default-net", &[bridge("pods0", "10.40.0.0/16")]);
    let second = list("second", &[bridge("bsecond", "10.48.0.0/24")]);
    let warm = world.pod_with("warm", &[])?;
    world.add(&warm);
    world.define("second", &second)?;
    let before = State::of(&world.node)?;

    // weir attaches, and what it keeps is put where and as Multus keeps it.
    let pod = world.pod("switch", "second@data0")?;
    world.add(&pod);
    let delegates = json!([delegate(&default, ""), delegate(&second, "data0")]);
    let networks = [("default-net", "eth0"), ("second", "data0")];
    let file = hand_to_multus(&world, &pod, &networks, &delegates.to_string())?;

    world.del(&pod);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    assert!(world.node.taken("second").is_empty());
    let after = State::of(&world.node)?;
    assert_eq!(after.files, before.files);
    assert!(!file.exists());
    world.del(&warm);
    Ok(())
}

/// The file is where people find it.
fn assert_set_aside(world: &World, file: &Path) {
    let aside = format!("{}.damaged", file.display());
    assert!(!file.exists() && Path::new(&aside).exists());
    let told = |line: &Value| {
        line["level"] == "error"
            && line["message"]
                .as_str()
                .is_some_and(|m| m.contains(".damaged"))
    };
    assert!(world.log().iter().any(told), "{:?}", world.log());
}

#[test]
fn what_multus_kept_and_nobody_understands_keeps_no_pod_from_being_deleted() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("torn", &[])?;
    world.add(&pod);
    let file = hand_to_multus(&world, &pod, &[], "[{ \"Name\": \"default-n")?;
    world.del(&pod);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    assert_set_aside(&world, &file);
    Ok(())
}

#[test]
fn one_network_that_nobody_understands_keeps_no_other_attached() -> Result<()> {
    let world = World::create()?;
    let default = list("default-net", &[bridge("pods0", "10.40.0.0/16")]);
    let pod = world.pod_with("half", &[])?;
    world.add(&pod);
    let delegates = json!([delegate(&default, ""), { "Name": "other", "Bytes": "?" }]);
    let networks = [("default-net", "eth0")];
    let file = hand_to_multus(&world, &pod, &networks, &delegates.to_string())?;
    world.del(&pod);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    assert!(world.node.taken("default-net").is_empty());
    assert_set_aside(&world, &file);
    Ok(())
}
