//! `dummy`, `tap` and `vrf`, whose links are in the container alone.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::weir;

use super::{Place, strict};

fn config(plugin: &str, keys: Value) -> Value {
    let mut config = json!({"cniVersion": "1.1.0", "name": "bad", "type": plugin});
    let all = config.as_object_mut().expect("an object");
    all.extend(keys.as_object().expect("an object").clone());
    config
}

#[track_caller]
fn refused(place: &Place, config: &Value, code: u64, words: &[&str]) {
    let plugin = config["type"].as_str().expect("a type");
    let call = weir(&place.node, plugin, "ADD", &place.container, config);
    place.refused(&call, code, words);
}

#[test]
fn keys_of_dummy() -> Result<()> {
    let place = Place::create()?;
    refused(&place, &config("dummy", json!({})), 7, &["ipam", "type"]);
    let with_mtu = config("dummy", json!({"ipam": {"type": "static"}, "mtu": 1400}));
    refused(&place, &strict(with_mtu), 7, &["mtu", "unknown key"]);
    let name = json!({"ipam": {"type": "static"}, "dns": {"search": "a.example"}});
    refused(
        &place,
        &config("dummy", name),
        7,
        &["dns.search", "a.example"],
    );
    Ok(())
}

#[test]
fn keys_of_tap() -> Result<()> {
    let place = Place::create()?;
    for (keys, words) in [
        (json!({"owner": "qemu"}), ["owner", "qemu"]),
        (json!({"group": -1}), ["group", "-1"]),
        (json!({"multiQueue": "yes"}), ["multiQueue", "yes"]),
        (
            json!({"mac": "01:00:00:00:00:01"}),
            ["mac", "01:00:00:00:00:01"],
        ),
        (json!({"bridge": "a/b"}), ["bridge", "a/b"]),
        (json!({"bridge": "br0"}), ["bridge", "has no bridge `br0`"]),
    ] {
        refused(&place, &config("tap", keys), 7, &words);
    }
    Ok(())
}

#[test]
fn keys_of_vrf() -> Result<()> {
    let place = Place::create()?;
    let after = |keys: Value| {
        let mut config = config("vrf", keys);
        config["prevResult"] = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "eth0"}]});
        config
    };
    let first = config("vrf", json!({"vrfname": "red"}));
    refused(&place, &first, 7, &["prevResult"]);
    refused(&place, &after(json!({})), 7, &["vrfname", "missing"]);
    refused(&place, &after(json!({"vrfname": "a/b"})), 7, &["vrfname"]);
    let table = json!({"vrfname": "red", "table": "main"});
    refused(&place, &after(table), 7, &["table", "main"]);
    let gone = after(json!({"vrfname": "red"}));
    refused(&place, &gone, 101, &["no interface `eth0`"]);
    Ok(())
}

/// Who may open `/dev/net/tun` is the machine's to say.
mod needs_root {
    use super::*;

    #[test]
    fn what_the_kernel_refuses_a_tap() -> Result<()> {
        let place = Place::create()?;
        refused(
            &place,
            &config("tap", json!({"mtu": 70_000})),
            103,
            &["MTU 70000"],
        );
        let context = "system_u:system_r:container_t:s0";
        let labelled = config("tap", json!({"selinuxContext": context}));
        if !std::path::Path::new("/sys/fs/selinux/enforce").exists() {
            refused(&place, &labelled, 104, &[context, "SELinux is not enabled"]);
        }
        Ok(())
    }
}
