//! DEL of what is not there any more (CNI section 4): a runtime may repeat it. It succeeds, and a shipped grant allows all
//! that a plugin asks for then.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::Node;

use super::NETWORK;

/// Plugins that need nothing but a network namespace; each list is a network.
fn lists() -> [Value; 3] {
    let ipam = json!({
        "type": "host-local", "ranges": [[{ "subnet": "10.71.0.0/24" }], [{ "subnet": "fd00:71::/64" }]],
        "routes": [{ "dst": "0.0.0.0/0" }],
    });
    let chained = [
        json!({ "type": "portmap", "capabilities": { "portMappings": true } }),
        json!({ "type": "firewall" }),
        json!({ "type": "bandwidth", "ingressRate": 8_000_000, "ingressBurst": 800_000 }),
        json!({ "type": "tuning", "sysctl": { "net.core.somaxconn": "500" } }),
        json!({ "type": "sbr" }),
    ];
    let bridge = json!({
        "type": "bridge", "bridge": "again0", "isGateway": true, "ipMasq": true, "macspoofchk": true, "ipam": ipam,
    });
    let ptp = json!({ "type": "ptp", "ipMasq": true, "ipam": ipam });
    let with_chained = |main| Value::from([vec![main], chained.to_vec()].concat());
    [
        with_chained(bridge),
        with_chained(ptp),
        json!([{ "type": "loopback" }]),
    ]
}

#[test]
fn cni_4_del_is_allowed_again_when_nothing_is_left() -> Result<()> {
    const PORTS: &str =
        r#"{"portMappings":[{"hostPort":8071,"containerPort":80,"protocol":"tcp"}]}"#;
    for plugins in lists() {
        let (node, container) = Node::with_container()?;
        let list = json!({ "cniVersion": "1.1.0", "name": NETWORK, "plugins": plugins });
        node.put_network("10-again.conflist", &list)?;
        let netns = container.netns();
        let netns = netns.to_str().context("text")?;
        for command in ["add", "del", "del", "del"] {
            node.weir(&["net", command, NETWORK, netns, "--capability-args", PORTS])
                .context(plugins.to_string())?;
        }
        let records = node.audit();
        assert!(records.iter().any(|record| record["command"] == "DEL"));
        let stopped = records
            .iter()
            .filter(|record| record["verdict"] != "allowed");
        assert_eq!(Vec::from_iter(stopped), Vec::<&Value>::new());
    }
    Ok(())
}
