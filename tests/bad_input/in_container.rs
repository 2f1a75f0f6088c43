//! `dummy`, `tap` and `vrf`, whose links are in the container alone.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::with_keys;

use super::{AttachedNode, strict};

fn config(plugin: &str, keys: Value) -> Value {
    let config = json!({"cniVersion": "1.1.0", "name": "bad", "type": plugin});
    with_keys(config, keys)
}

#[test]
fn keys_of_dummy() -> Result<()> {
    let fixture = AttachedNode::create()?;
    fixture.refuses(&config("dummy", json!({})), 7, &["ipam", "type"]);
    let with_mtu = config("dummy", json!({"ipam": {"type": "static"}, "mtu": 1400}));
    fixture.refuses(&strict(with_mtu), 7, &["mtu", "unknown key"]);
    let name = json!({"ipam": {"type": "static"}, "dns": {"search": "a.example"}});
    fixture.refuses(&config("dummy", name), 7, &["dns.search", "a.example"]);
    Ok(())
}

#[test]
fn keys_of_tap() -> Result<()> {
    let fixture = AttachedNode::create()?;
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
        fixture.refuses(&config("tap", keys), 7, &words);
    }
    Ok(())
}

#[test]
fn keys_of_vrf() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let after = |keys: Value| {
        let mut config = config("vrf", keys);
        config["prevResult"] = json!({"cniVersion": "1.1.0", "interfaces": [{"name": "eth0"}]});
        config
    };
    let first = config("vrf", json!({"vrfname": "red"}));
    fixture.refuses(&first, 7, &["prevResult"]);
    fixture.refuses(&after(json!({})), 7, &["vrfname", "missing"]);
    fixture.refuses(&after(json!({"vrfname": "a/b"})), 7, &["vrfname"]);
    let table = json!({"vrfname": "red", "table": "main"});
    fixture.refuses(&after(table), 7, &["table", "main"]);
    let gone = after(json!({"vrfname": "red"}));
    fixture.refuses(&gone, 101, &["no interface `eth0`"]);
    Ok(())
}

/// Who may open `/dev/net/tun` is the machine's to say.
mod needs_root {
    use super::*;

    #[test]
    fn what_the_kernel_refuses_a_tap() -> Result<()> {
        let fixture = AttachedNode::create()?;
        fixture.refuses(&config("tap", json!({"mtu": 70_000})), 103, &["MTU 70000"]);
        let context = "system_u:system_r:container_t:s0";
        let labelled = config("tap", json!({"selinuxContext": context}));
        if !std::path::Path::new("/sys/fs/selinux/enforce").exists() {
            fixture.refuses(&labelled, 104, &[context, "SELinux is not enabled"]);
        }
        Ok(())
    }
}
