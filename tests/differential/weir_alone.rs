//! Version 1.1.0, and what the packaged reference does not know yet: weir against the specification.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::Node;

use crate::side::{Side, Whose, with_previous};

/// The result of ADD, after which CHECK and DEL must succeed as well.
fn result_of(config: &Value, prepare: impl FnOnce(&Node) -> Result<()>) -> Result<Value> {
    let side = Side::create(Whose::Weir, 1)?;
    prepare(&side.node)?;
    let mut result = side.call("ADD", 0, config, None)?.result();
    let known = with_previous(config, Some(&result));
    for command in ["CHECK", "DEL", "DEL"] {
        let outcome = side.call(command, 0, &known, None)?;
        anyhow::ensure!(outcome.succeeded(), "{command}: {outcome:?}");
    }
    let sandbox = side.containers[0].netns().display().to_string();
    for interface in result["interfaces"].as_array_mut().into_iter().flatten() {
        if interface["sandbox"] == sandbox {
            interface["sandbox"] = json!("{sandbox}");
        }
        let mac = interface["mac"].take();
        assert_eq!(mac.as_str().map(str::len), Some(17), "{interface}");
        interface["mac"] = json!("{mac}");
    }
    // The host's end, whose name is not foretold.
    if let Some(port) = result.pointer_mut("/interfaces/1/name") {
        assert!(
            port.as_str().context("a name")?.starts_with("veth"),
            "{port}"
        );
        *port = json!("{port}");
    }
    Ok(result)
}

fn config(ipam: Value) -> Value {
    let mut config = json!({
        "cniVersion": "1.1.0", "name": "net", "type": "bridge", "bridge": "br",
        "isDefaultGateway": true, "mtu": 1400, "ipam": ipam,
    });
    config["ipam"]["type"] = json!("host-local");
    config
}

#[test]
fn a_result_of_1_1_0_has_mtus_and_all_of_a_route() -> Result<()> {
    let route = json!({
        "dst": "192.0.2.0/24", "gw": "10.1.0.9", "mtu": 1300, "advmss": 1200, "priority": 7,
        "table": 100, "scope": 0,
    });
    let result = result_of(
        &config(json!({"subnet": "10.1.0.0/24", "routes": [route]})),
        |_| Ok(()),
    )?;
    let expected = json!({
        "cniVersion": "1.1.0",
        "interfaces": [
            {"name": "br", "mac": "{mac}", "mtu": 1400},
            {"name": "{port}", "mac": "{mac}", "mtu": 1400},
            {"name": "eth0", "mac": "{mac}", "mtu": 1400, "sandbox": "{sandbox}"},
        ],
        "ips": [{"address": "10.1.0.2/24", "gateway": "10.1.0.1", "interface": 2}],
        "routes": [route, {"dst": "0.0.0.0/0", "gw": "10.1.0.1"}],
    });
    assert_eq!(result, expected);
    Ok(())
}

#[test]
fn the_bridge_hands_on_what_resolv_conf_says() -> Result<()> {
    let ipam = json!({"subnet": "10.1.0.0/24", "resolvConf": "/etc/resolv.conf"});
    let result = result_of(&config(ipam), |node| {
        let directory = node.root().join("etc");
        std::fs::create_dir_all(&directory)?;
        let content = "nameserver 192.0.2.1\nsearch a.example b.example\noptions ndots:2\n";
        Ok(std::fs::write(directory.join("resolv.conf"), content)?)
    })?;
    let expected = json!({
        "nameservers": ["192.0.2.1"], "search": ["a.example", "b.example"], "options": ["ndots:2"],
    });
    assert_eq!(result["dns"], expected);
    Ok(())
}

/// 1.0.0 has none of the new keys, whatever the configuration says.
#[test]
fn a_result_of_1_0_0_has_no_keys_of_1_1_0() -> Result<()> {
    let mut config = config(json!({
        "subnet": "10.1.0.0/24", "routes": [{"dst": "192.0.2.0/24", "mtu": 1300}],
    }));
    config["cniVersion"] = json!("1.0.0");
    let result = result_of(&config, |_| Ok(()))?;
    let routes = json!([{"dst": "192.0.2.0/24"}, {"dst": "0.0.0.0/0", "gw": "10.1.0.1"}]);
    assert_eq!(result["routes"], routes);
    assert_eq!(
        result["interfaces"][0],
        json!({"name": "br", "mac": "{mac}"})
    );
    Ok(())
}

/// The reference takes a gateway that the containers cannot reach, and then fails to route through
/// it; weir names the key.
#[test]
fn a_gateway_outside_the_subnet_is_refused() -> Result<()> {
    let side = Side::create(Whose::Weir, 1)?;
    let config = config(json!({"subnet": "10.1.0.0/24", "gateway": "10.2.0.1"}));
    let outcome = side.call("ADD", 0, &config, None)?;
    assert_eq!(outcome.code(), 7);
    assert!(
        outcome
            .stdout
            .contains("gateway 10.2.0.1 is not in subnet 10.1.0.0/24"),
        "{outcome:?}"
    );
    Ok(())
}
