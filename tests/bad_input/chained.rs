//! `portmap` and `firewall`, which come after another plugin.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::with_keys;

use super::{AttachedNode, strict};

/// The result of the previous plugin.
fn previous() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "interfaces": [{"name": "bad0"}, {"name": "eth0", "sandbox": "/run/netns/made-up"}],
        "ips": [{"address": "10.20.0.9/24", "gateway": "10.20.0.1", "interface": 1}],
    })
}

fn chained(plugin: &str, keys: Value) -> Value {
    let config = json!({
        "cniVersion": "1.1.0", "name": "bad", "type": plugin, "prevResult": previous(),
    });
    with_keys(config, keys)
}

fn mapping(keys: Value) -> Value {
    let mapping = json!({"hostPort": 8080, "containerPort": 80, "protocol": "tcp"});
    with_keys(mapping, keys)
}

fn mapped(mappings: &[Value]) -> Value {
    chained(
        "portmap",
        json!({"runtimeConfig": {"portMappings": mappings}}),
    )
}

#[test]
fn ports() -> Result<()> {
    let fixture = AttachedNode::create()?;
    for (keys, words) in [
        (json!({"hostPort": 0}), ["hostPort", "1 to 65535, found 0"]),
        (json!({"hostPort": 65536}), ["hostPort", "found 65536"]),
        (json!({"hostPort": -1}), ["hostPort", "found -1"]),
        (
            json!({"containerPort": 0}),
            ["containerPort", "1 to 65535, found 0"],
        ),
        (
            json!({"containerPort": 65536}),
            ["containerPort", "found 65536"],
        ),
        (json!({"containerPort": "http"}), ["containerPort", "http"]),
        (json!({"protocol": "icmp"}), ["protocol", "sctp"]),
        (json!({"hostIP": "localhost"}), ["hostIP", "an IP address"]),
    ] {
        let config = mapped(&[mapping(json!({})), mapping(keys)]);
        let [key, said] = words;
        let path = format!("runtimeConfig.portMappings[1].{key}");
        fixture.refuses(&config, 7, &[&path, said]);
    }
    Ok(())
}

#[test]
fn keys_of_portmap() -> Result<()> {
    let fixture = AttachedNode::create()?;
    let with = |keys: Value| with_keys(mapped(&[mapping(json!({}))]), keys);
    for (keys, code, words) in [
        (json!({"backend": "ebtables"}), 2, ["backend", "ebtables"]),
        (json!({"backend": 1}), 7, ["backend", "found 1"]),
        (json!({"snat": "yes"}), 7, ["snat", "true or false"]),
        (json!({"markMasqBit": 32}), 7, ["markMasqBit", "0 to 31"]),
        (json!({"markMasqBit": -1}), 7, ["markMasqBit", "found -1"]),
        (
            json!({"markMasqBit": 3, "externalSetMarkChain": "KUBE-MARK-MASQ"}),
            7,
            ["markMasqBit", "externalSetMarkChain"],
        ),
        (
            json!({"externalSetMarkChain": "MINE"}),
            2,
            ["externalSetMarkChain", "MINE"],
        ),
        (
            json!({"conditionsV4": ["-s", "nowhere"]}),
            7,
            ["conditionsV4", "nowhere"],
        ),
        (
            json!({"conditionsV6": ["ip", "saddr", "10.0.0.1"]}),
            7,
            ["conditionsV6", "ip6"],
        ),
        (
            strict(json!({"portMappings": []})),
            7,
            ["portMappings", "unknown key"],
        ),
    ] {
        fixture.refuses(&with(keys), code, &words);
    }
    Ok(())
}

#[test]
fn keys_of_firewall() -> Result<()> {
    let fixture = AttachedNode::create()?;
    for (keys, code, words) in [
        (json!({"backend": "ebtables"}), 2, ["backend", "ebtables"]),
        (
            json!({"backend": "firewalld"}),
            104,
            ["firewalld does not run", "leave the key out"],
        ),
        (
            json!({"ingressPolicy": "closed"}),
            7,
            ["ingressPolicy", "closed"],
        ),
        (
            json!({"iptablesAdminChainName": "a b"}),
            7,
            ["iptablesAdminChainName", "a b"],
        ),
        (
            strict(json!({"ingresPolicy": "open"})),
            7,
            ["ingresPolicy", "ingressPolicy"],
        ),
        // The bridge exists, but no port of this container.
        (
            json!({"ingressPolicy": "isolated"}),
            7,
            ["ingressPolicy", "after bridge"],
        ),
    ] {
        fixture.refuses(&chained("firewall", keys), code, &words);
    }
    Ok(())
}

#[test]
fn no_previous_result() -> Result<()> {
    let fixture = AttachedNode::create()?;
    for plugin in ["portmap", "firewall"] {
        let mut config = chained(plugin, json!({}));
        config
            .as_object_mut()
            .expect("an object")
            .remove("prevResult");
        fixture.refuses(&config, 7, &["prevResult"]);
    }
    Ok(())
}
