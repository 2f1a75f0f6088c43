//! The keys of the delegating plugin's configuration, where they show in what is done.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};

use crate::world::{World, names};

#[test]
fn a_configuration_of_multus_works_with_one_word_changed() -> Result<()> {
    let world = World::with_bridge("one-word", "10.51.0.0/24")?;
    let mut config = world.config_with(json!({
        "type": "multus",
        "capabilities": { "portMappings": true, "bandwidth": true },
        "confDir": "/etc/cni/net.d",
        "cniDir": "/var/lib/cni/multus",
        "binDir": "/opt/cni/bin",
        "logFile": "/var/log/multus.log",
        "logLevel": "verbose",
        "logToStderr": false,
        "logOptions": { "maxAge": 5, "maxSize": 100, "maxBackups": 5, "compress": true },
        "namespaceIsolation": false,
        "globalNamespaces": "default,other",
        "systemNamespaces": ["kube-system"],
        "retryDeleteOnError": true,
    }));
    config["type"] = json!("weir");
    let pod = world.pod("one-word", "one-word")?;
    let added = world.run_with("ADD", &pod, &config)?;
    added.result();
    assert_eq!(added.stderr, "", "logToStderr is false");
    let log = world.log();
    assert!(
        log.iter().any(|l| l["message"]
            .as_str()
            .unwrap_or_default()
            .contains("logFile")),
        "{log:#?}"
    );
    assert!(!world.node.root().join("var/log/multus.log").exists());
    world.del_with(&pod, &config)
}

#[test]
fn a_mistake_in_the_configuration_is_named_and_nothing_is_done() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("mistake", &[])?;
    let config = world.config_with(json!({ "namespaceIsolation": "yes" }));
    let error = world.run_with("ADD", &pod, &config)?.error();
    assert_eq!(error["code"], 7, "{error:#}");
    assert!(
        error["msg"]
            .as_str()
            .unwrap_or_default()
            .starts_with("namespaceIsolation: "),
        "{error:#}"
    );
    assert!(
        fs::read_dir(world.node.root().join("var/lib/weir/pods")).is_err(),
        "a record was made"
    );
    Ok(())
}

#[test]
fn the_runtimes_capabilities_are_the_default_networks() -> Result<()> {
    let world = World::create()?;
    let mut config = world.config();
    config["capabilities"] = json!({ "ips": true });
    config["runtimeConfig"] = json!({ "ips": ["10.40.7.7"] });
    world.define_bridge("nocap", "10.51.1.0/24")?;
    let pod = world.pod("caps", "nocap")?;
    world.run_with("ADD", &pod, &config)?.result();
    assert_eq!(world.node.taken("default-net"), ["10.40.7.7"]);
    assert_ne!(world.taken("nocap"), ["10.40.7.7"]);
    world.del(&pod)
}

/// Its own version may be older than those of the networks.
#[test]
fn a_result_that_its_version_cannot_express_is_taken_back() -> Result<()> {
    let world = World::with_bridge("old", "10.51.2.0/24")?;
    let config_of = |ipam: Value| {
        let mut config = world.config_with(json!({ "cniVersion": "0.2.0" }));
        let plugin = &mut config["delegates"][0]["plugins"][0];
        plugin["isGateway"] = json!(false);
        plugin["ipam"] = ipam;
        config
    };
    let ranges = json!([[{ "subnet": "10.40.0.0/16" }], [{ "subnet": "10.41.0.0/16" }]]);
    let two = json!({ "type": "host-local", "ranges": ranges });
    for (ipam, code, words) in [
        (two, 7, "1 address per family"),
        (json!({}), 999, "no valid IP addresses"),
    ] {
        let config = config_of(ipam);
        let pod = world.pod(&format!("old-{code}"), "old")?;
        world
            .run_with("ADD", &pod, &config)?
            .refused(code, &[words, "0.2.0"]);
        assert_eq!(names(&pod.container)?, [""; 0], "torn down");
        assert!(world.records().is_empty(), "{:?}", world.records());
        world.no_lease_stays("old");
    }
    Ok(())
}
