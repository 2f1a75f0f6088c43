//! Where a network's plugins come from (section 3).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::assert_contains;

use crate::world::{World, bridge, interfaces, list, names};

fn on_disk(world: &World, file: &str, config: &Value) -> Result<()> {
    let directory = world.node.root().join("etc/cni/multus/net.d");
    fs::create_dir_all(&directory)?;
    Ok(fs::write(directory.join(file), config.to_string())?)
}

/// The addresses of a pod's second interface.
fn attached(world: &World, name: &str) -> Result<Vec<String>> {
    let pod = world.attached(name, name)?;
    let addresses = interfaces(&pod.container)?
        .remove("net1")
        .unwrap_or_default();
    world.del(&pod)?;
    world.api.delete_pod(&world.namespace, name)?;
    Ok(addresses)
}

#[test]
fn npwg_3_4_1_the_order_is_spec_config_then_a_list_on_disk_then_a_single_plugin() -> Result<()> {
    let world = World::create()?;
    let single = |subnet: &str| {
        let mut config = bridge("bsingle", subnet);
        config["name"] = json!("find");
        config["cniVersion"] = json!("1.1.0");
        config
    };
    world.define_empty("find")?;
    on_disk(&world, "90-find.conf", &single("10.43.0.0/24"))?;
    assert_eq!(attached(&world, "find")?, ["10.43.0.2"]);
    on_disk(
        &world,
        "99-find.conflist",
        &list("find", &[bridge("blist", "10.43.1.0/24")]),
    )?;
    assert_eq!(attached(&world, "find")?, ["10.43.1.2"]);
    world.api.delete_definition(&world.namespace, "find")?;
    world.define_as("find", "find", bridge("bspec", "10.43.2.0/24"))?;
    assert_eq!(attached(&world, "find")?, ["10.43.2.2"]);
    Ok(())
}

/// A file that such a definition selects counts as the node's own: not one that somebody else can have written.
#[test]
fn what_others_can_write_is_not_the_nodes_own() -> Result<()> {
    let world = World::with_empty("exposed")?;
    let own = list("exposed", &[bridge("bexposed", "10.43.9.0/24")]);
    on_disk(&world, "90-exposed.conflist", &own)?;
    let file = world
        .node
        .root()
        .join("etc/cni/multus/net.d/90-exposed.conflist");
    fs::set_permissions(&file, Permissions::from_mode(0o666))?;
    let pod = world.pod("selects", "exposed")?;
    assert_contains(
        &world.run("ADD", &pod)?.said(),
        &["is not trusted", "mode 0666"],
    );
    fs::set_permissions(&file, Permissions::from_mode(0o644))?;
    assert_eq!(attached(&world, "exposed")?, ["10.43.9.2"]);
    Ok(())
}

#[test]
fn npwg_3_4_1_a_definition_without_any_configuration_fails_the_pod() -> Result<()> {
    let world = World::with_empty("empty")?;
    let pod = world.pod("empty", "empty")?;
    world
        .run("ADD", &pod)?
        .refused(232, &["/empty", "multus/net.d"]);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    Ok(())
}

#[test]
fn npwg_3_4_2_a_configuration_without_a_name_has_the_name_of_its_object() -> Result<()> {
    let world = World::create()?;
    let mut config = bridge("bnameless", "10.43.3.0/24");
    config["cniVersion"] = json!("1.0.0");
    world.define("nameless", &config)?;
    let pod = world.attached("nameless", "nameless")?;
    assert_eq!(
        world.taken("nameless").len(),
        1,
        "the lease is under the object's name"
    );
    world.del(&pod)
}

#[test]
fn cluster_network_is_a_definition_a_network_on_disk_or_a_path() -> Result<()> {
    let world = World::create()?;
    let cluster_network =
        |name: &str| world.config_with(json!({ "clusterNetwork": name, "delegates": null }));
    let address = |pod: &str, config: &Value| -> Result<String> {
        let pod = world.pod_with(pod, &[])?;
        let result = world.run_with("ADD", &pod, config)?.result();
        let deleted = world.run_with("DEL", &pod, config)?;
        assert!(deleted.succeeded(), "{deleted:?}");
        Ok(result["ips"][0]["address"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    };
    on_disk(
        &world,
        "10-disk.conflist",
        &list("disk", &[bridge("bdisk", "10.43.4.0/24")]),
    )?;
    assert_eq!(
        address("by-name", &cluster_network("disk"))?,
        "10.43.4.2/24"
    );
    let file = "/etc/cni/multus/net.d/10-disk.conflist";
    assert_eq!(address("by-file", &cluster_network(file))?, "10.43.4.3/24");
    assert_eq!(
        address("by-directory", &cluster_network("/etc/cni/multus/net.d"))?,
        "10.43.4.4/24"
    );
    world.define_as("disk", "disk", bridge("bobject", "10.43.5.0/24"))?;
    assert_eq!(
        address("by-object", &cluster_network("disk"))?,
        "10.43.5.2/24"
    );

    let pod = world.pod_with("by-nothing", &[])?;
    let outcome = world.run_with("ADD", &pod, &cluster_network("nowhere"))?;
    outcome.refused(232, &[]);
    assert!(outcome.said().starts_with("clusterNetwork: `nowhere`"));
    Ok(())
}

#[test]
fn default_networks_are_attached_to_all_pods_but_those_of_system_namespaces() -> Result<()> {
    let world = World::with_bridge("extra", "10.43.6.0/24")?;
    world.define_bridge("own", "10.43.7.0/24")?;
    let keys = json!({ "defaultNetworks": ["extra"], "systemNamespaces": ["kube-system"] });
    let config = world.config_with(keys);
    let pod = world.pod("extra", "own")?;
    world.run_with("ADD", &pod, &config)?.result();
    let interfaces = interfaces(&pod.container)?;
    assert_eq!(interfaces["net1"], ["10.43.6.2"]);
    assert_eq!(interfaces["net2"], ["10.43.7.2"]);
    world.del_with(&pod, &config)?;

    let keys = json!({ "defaultNetworks": ["extra"], "systemNamespaces": [world.namespace] });
    let config = world.config_with(keys);
    let pod = world.pod_with("system", &[])?;
    world.run_with("ADD", &pod, &config)?.result();
    assert_eq!(names(&pod.container)?, ["eth0"]);
    world.del_with(&pod, &config)
}

#[test]
fn a_network_that_delegates_to_weir_is_refused() -> Result<()> {
    let world = World::create()?;
    let recursive = list(
        "again",
        &[json!({ "type": "weir", "delegates": [bridge("b", "10.43.8.0/24")] })],
    );
    world.define("again", &recursive)?;
    let pod = world.pod("again", "again")?;
    assert_contains(&world.run("ADD", &pod)?.message(), &["/again"]);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    Ok(())
}
