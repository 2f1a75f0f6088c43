//! Pods that Multus attached, deleted after the switch to weir.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_tests::State;

use crate::world::{World, bridge, list, names};

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
    let root = world.node.root();
    let kept = root.join("var/lib/cni/multus");
    fs::create_dir_all(kept.join("results"))?;
    for name in ["default-net", "second"] {
        let ifname = if name == "second" { "data0" } else { "eth0" };
        let file = format!("{name}-{}-{ifname}", pod.container.id);
        fs::rename(
            root.join("var/lib/cni/results").join(&file),
            kept.join("results").join(&file),
        )?;
    }
    let delegate = |config: &Value, ifname: &str| json!({ "Name": config["name"], "ifnameRequest": ifname, "Bytes": base64(&config.to_string()) });
    let delegates = json!([delegate(&default, ""), delegate(&second, "data0")]);
    fs::write(kept.join(&pod.container.id), delegates.to_string())?;
    for record in world.records() {
        if record.to_string_lossy().contains(&pod.container.id) {
            fs::remove_file(record)?;
        }
    }

    world.del(&pod);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    assert!(world.node.taken("second").is_empty());
    let after = State::of(&world.node)?;
    assert_eq!(after.files, before.files);
    assert!(!kept.join(&pod.container.id).exists());
    world.del(&warm);
    Ok(())
}
