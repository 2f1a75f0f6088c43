//! Plugins called by their names: by runtimes, and by another delegating plugin, which says nothing of where a
//! configuration comes from.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Node, assert_contains, weir, with_keys};

#[path = "callers/multus.rs"]
mod multus;

/// The node's own network, as a runtime's file has it.
fn own() -> Value {
    json!({
        "cniVersion": "1.0.0",
        "name": "cbr0",
        "plugins": [
            bridge("cni0", "10.61.0.0/24"),
            { "type": "portmap", "capabilities": { "portMappings": true } },
        ],
    })
}

fn bridge(device: &str, subnet: &str) -> Value {
    json!({
        "type": "bridge",
        "bridge": device,
        "isGateway": true,
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": subnet }]] },
    })
}

/// A plugin's execution configuration, on that network.
fn execution(plugin: &Value, name: &str) -> Value {
    let mut config = plugin.clone();
    config["name"] = json!(name);
    config["cniVersion"] = json!("1.0.0");
    config
        .as_object_mut()
        .expect("an object")
        .remove("capabilities");
    config
}

struct World {
    node: Node,
    container: Container,
}

impl World {
    fn create() -> Result<Self> {
        let (node, container) = Node::with_container()?;
        // As every node of a cluster does: a tenant's network does not make it.
        node.inside(|| Ok(fs::write("/proc/sys/net/ipv4/ip_forward", "1")?))?;
        Ok(Self { node, container })
    }

    /// A file of the runtime's.
    fn configure(&self, file: &str, config: &Value) -> Result<()> {
        self.node.put_network(file, config).map(drop)
    }

    fn with_multus(self) -> Result<Self> {
        let multus = json!({
            "cniVersion": "1.0.0",
            "name": "multus-cni-network",
            "type": "multus-shim",
            "clusterNetwork": "/etc/cni/net.d/10-cbr0.conflist",
        });
        self.configure("00-multus.conf", &multus)?;
        Ok(self)
    }

    /// Runs ADD of a plugin on the network of a name, which must be that network's in the audit log.
    fn is_on(&self, name: &str, plugin: &Value) -> Result<()> {
        assert_eq!(self.add(&execution(plugin, name))?, name);
        Ok(())
    }

    /// ADD, and whose network the audit log says that it was.
    fn add(&self, config: &Value) -> Result<String> {
        let plugin = config["type"].as_str().context("a type")?;
        let call = weir(&self.node, plugin, "ADD", &self.container, config);
        self.node.run(&call)?.result();
        let records = self.node.audit();
        let last = records.last().context("a record")?;
        let network = last["definition"].as_str().or(last["network"].as_str());
        Ok(network.context("a network")?.to_owned())
    }
}

/// containerd, CRI-O, nerdctl, Podman, Nomad: nothing on the node hands out what tenants wrote.
#[test]
fn without_another_delegating_plugin_each_call_is_the_nodes_own() -> Result<()> {
    let world = World::create()?;
    // Nomad and Flannel hand over what is in no file.
    let unwritten = bridge("nomad", "10.62.0.0/24");
    world.is_on("nomad", &unwritten)?;
    let world = World::create()?;
    world.configure("10-cbr0.conflist", &own())?;
    let flannel = json!({ "cniVersion": "0.3.1", "name": "flannel",
        "plugins": [{ "type": "flannel", "delegate": { "isDefaultGateway": true } }] });
    world.configure("10-flannel.conflist", &flannel)?;
    let made_by_flannel = bridge("cni0", "10.61.7.0/24");
    world.is_on("flannel", &made_by_flannel)
}

/// A user of Podman or nerdctl is root; what the kubelet passes on is a pod's.
#[test]
fn a_users_ports_are_not_a_pods() -> Result<()> {
    let world = World::create()?;
    let main = execution(&bridge("podman0", "10.64.0.0/24"), "podman");
    let call = weir(&world.node, "bridge", "ADD", &world.container, &main);
    let result = world.node.run(&call)?.result();
    let mut ports = execution(&json!({ "type": "portmap" }), "podman");
    ports["runtimeConfig"] =
        json!({ "portMappings": [{ "hostPort": 22, "containerPort": 22, "protocol": "tcp" }] });
    ports["prevResult"] = result;
    let mut call = weir(&world.node, "portmap", "ADD", &world.container, &ports);
    call.set(
        "CNI_ARGS",
        "IgnoreUnknown=1;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b",
    );
    let error = world.node.run(&call)?.error();
    let text = error["msg"].as_str().unwrap_or_default();
    assert!(text.contains("tenants.firewall[0]: ports"), "{error:#}");
    world.node.run(call.unset("CNI_ARGS"))?.result();
    Ok(())
}

/// weir itself decides about definitions, and calls no plugin by its name.
#[test]
fn weir_is_no_other_delegating_plugin() -> Result<()> {
    let world = World::create()?;
    let own =
        json!({ "cniVersion": "1.0.0", "name": "pods", "type": "weir", "delegates": [own()] });
    world.configure("00-weir.conf", &own)?;
    let podmans = bridge("podman1", "10.63.0.0/24");
    world.is_on("podman", &podmans)
}

#[test]
fn under_multus_what_a_file_of_roots_has_is_the_nodes_own() -> Result<()> {
    let world = World::create()?.with_multus()?;
    world.configure("10-cbr0.conflist", &own())?;
    let mut config = execution(&own()["plugins"][0], "cbr0");
    assert_eq!(world.add(&config)?, "cbr0");
    // What runtimes and Multus add is not part of a configuration file.
    let world = World::create()?.with_multus()?;
    world.configure("10-cbr0.conflist", &own())?;
    config["args"] = json!({ "cni": { "ips": ["10.61.0.99"] } });
    config["runtimeConfig"] = json!({ "io.kubernetes.cri.pod-annotations": {} });
    assert_eq!(world.add(&config)?, "cbr0");
    assert_eq!(world.node.taken("cbr0"), ["10.61.0.99"]);
    Ok(())
}

#[test]
fn under_multus_a_name_proves_nothing() -> Result<()> {
    let world = World::create()?.with_multus()?;
    world.configure("10-cbr0.conflist", &own())?;
    let forged = execution(&bridge("evil0", "10.61.0.0/24"), "cbr0");
    assert_eq!(world.add(&forged)?, "-/cbr0");
    assert!(world.node.taken("cbr0").is_empty(), "the node's own leases");
    assert_eq!(world.node.taken("-/cbr0").len(), 1);
    Ok(())
}

/// A pod's words on the node's own network, by way of Multus.
#[test]
fn under_multus_a_pod_asks_for_what_the_grant_lets_it() -> Result<()> {
    let world = World::create()?.with_multus()?;
    world.configure("10-cbr0.conflist", &own())?;
    let mut config = execution(&own()["plugins"][0], "cbr0");
    config["args"] = json!({ "cni": { "mac": "02:00:00:00:00:01" } });
    let call = weir(&world.node, "bridge", "ADD", &world.container, &config);
    let error = world.node.run(&call)?.error();
    assert_eq!(error["code"], 202, "{error:#}");
    let text = format!("{} {}", error["msg"], error["details"]);
    assert_contains(&text, &["`mac`", "`cbr0`", "`bridge`", "spec.tenants.pods"]);
    Ok(())
}

#[test]
fn under_multus_a_file_that_others_can_write_proves_nothing() -> Result<()> {
    let world = World::create()?.with_multus()?;
    world.configure("10-cbr0.conflist", &own())?;
    let file = world.node.root().join("etc/cni/net.d/10-cbr0.conflist");
    fs::set_permissions(&file, Permissions::from_mode(0o666))?;
    let config = execution(&own()["plugins"][0], "cbr0");
    assert_eq!(world.add(&config)?, "-/cbr0");
    Ok(())
}

/// A plugin that has its network from tenants is one, whatever it is called.
#[test]
fn a_delegating_plugin_is_known_by_its_keys() -> Result<()> {
    for keys in [
        json!({ "delegates": [] }),
        json!({ "clusterNetwork": "cbr0" }),
    ] {
        let world = World::create()?;
        let other = json!({ "cniVersion": "1.0.0", "name": "other", "type": "elsewhere" });
        world.configure("00-other.conf", &with_keys(other, keys.clone()))?;
        let config = execution(&bridge("evil0", "10.61.0.0/24"), "cbr0");
        assert_eq!(world.add(&config)?, "-/cbr0", "{keys}");
    }
    Ok(())
}
