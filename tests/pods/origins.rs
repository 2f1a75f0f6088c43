//! Whose words a network's configuration is: a file of the node's owner, a tenant's definition, or what a pod
//! asks for. What is the node's own cannot be had by calling something so.

use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{assert_contains, program, with_keys};

use crate::world::{World, bridge, list, names};

const CODE_OF_GRANTS: u64 = 202;

/// The definition `name` selects the file of its name.
fn select_file(world: &World, name: &str, config: &Value) -> Result<()> {
    let directory = world.node.root().join("etc/cni/multus/net.d");
    fs::create_dir_all(&directory)?;
    fs::write(
        directory.join(format!("{name}.conflist")),
        config.to_string(),
    )?;
    world.define_empty(name)
}

fn file(world: &World, name: &str) -> std::path::PathBuf {
    world.node.root().join("etc/weir/grants.d").join(name)
}

/// A cluster with a definition that selects a network `shared` of the node's.
fn shared(subnet: &str) -> Result<World> {
    let world = World::create()?;
    select_file(
        &world,
        "shared",
        &list("shared", &[bridge("bshared", subnet)]),
    )?;
    Ok(world)
}

#[test]
fn a_definition_that_is_called_as_the_nodes_network_takes_no_lease_of_it() -> Result<()> {
    let world = World::create()?;
    let forged = list("default-net", &[bridge("bforged", "10.44.8.0/24")]);
    world.define("forged", &forged)?;
    let pod = world.attached("forged", "forged")?;
    assert_eq!(world.node.taken("default-net").len(), 1, "the pod's eth0");
    assert_eq!(world.taken("forged").len(), 1);
    let cached = fs::read_dir(world.node.root().join("var/lib/cni/results"))?;
    let cached: Vec<String> = cached
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    let own = format!("{}@forged-", world.namespace);
    assert!(
        cached.iter().any(|name| name.starts_with(&own)),
        "{cached:?}"
    );
    world.del(&pod)?;
    world.no_lease_stays("forged");
    Ok(())
}

/// Its leases were the network's by name once, beside those of the node's own.
#[test]
fn a_lease_from_before_is_released_and_no_other() -> Result<()> {
    let world = World::create()?;
    world.define_as("former", "default-net", bridge("bformer", "10.44.9.0/24"))?;
    let _other = world.plain("other")?;
    let pod = world.attached("former", "former")?;
    let leases = |name: &str| world.node.leases(name);
    let own = format!("{}/former", world.namespace);
    fs::rename(
        leases(&own).join("10.44.9.2"),
        leases("default-net").join("10.44.9.2"),
    )?;
    world.run("CHECK", &pod).context("CHECK")?;
    world.del(&pod)?;
    assert_eq!(world.node.taken("default-net").len(), 1, "the other pod's");
    assert!(world.taken("former").is_empty());
    Ok(())
}

#[test]
fn a_definition_that_selects_a_file_of_the_nodes_is_the_nodes_own() -> Result<()> {
    let world = shared("10.44.0.0/24")?;
    let pod = world.pod("shared", "shared")?;
    world.narrow_bridge(&["*"])?;
    world.add(&pod);
    assert_eq!(world.node.taken("shared").len(), 1);
    world.del(&pod)?;
    assert!(world.node.taken("shared").is_empty());
    Ok(())
}

#[test]
fn all_networks_of_the_node_are_no_definitions() -> Result<()> {
    let world = World::with_bridge("tenant", "10.44.1.0/24")?;
    let pod = world.pod("tenant", "tenant")?;
    for networks in [&["*"][..], &["*", "tenant"], &["*", "t*"]] {
        world.narrow_bridge(networks)?;
        assert_eq!(
            world.run("ADD", &pod)?.code(),
            CODE_OF_GRANTS,
            "{networks:?}"
        );
    }
    world.narrow_bridge(&["*", "*/*"])?;
    world.add(&pod);
    world.del(&pod)
}

#[test]
fn a_grant_without_a_section_for_tenants_allows_them_nothing() -> Result<()> {
    let world = World::with_bridge("tenant", "10.44.2.0/24")?;
    let pod = world.pod("tenant", "tenant")?;
    let grant = world.narrow_bridge(&["*", "*/*", "x"])?;
    let text = fs::read_to_string(&grant)?;
    let (without, _) = text.split_once("  tenants:").context("a section")?;
    fs::write(&grant, without)?;
    world
        .run("ADD", &pod)?
        .refused(CODE_OF_GRANTS, &["spec.tenants"]);
    assert_eq!(names(&pod.container)?, Vec::<String>::new());
    Ok(())
}

/// Each asks the same plugin on the same network; what the words are decides.
#[test]
fn on_the_nodes_own_network_a_pod_has_what_the_grant_lets_it_ask_for() -> Result<()> {
    let world = shared("10.44.3.0/24")?;
    let namespace = world.namespace.clone();
    let asking = |keys: Value| {
        let element = json!({ "name": "shared", "namespace": namespace });
        json!([with_keys(element, keys)]).to_string()
    };
    let pod = world.pod("asks-mac", &asking(json!({ "mac": "02:00:00:00:44:03" })))?;
    let words = ["`mac`", "`shared`", "`bridge`", "spec.tenants.pods"];
    world.run("ADD", &pod)?.refused(CODE_OF_GRANTS, &words);
    let pod = world.attached("asks-ips", &asking(json!({ "ips": ["10.44.3.77"] })))?;
    assert_eq!(world.node.taken("shared"), ["10.44.3.77"]);
    world.del(&pod)?;
    let grant = world.narrow_bridge(&["*", "x"])?;
    let wider = fs::read_to_string(&grant)?.replace("pods: [ips,", "pods: [mac, ips,");
    fs::write(&grant, wider)?;
    let pod = world.attached("may-ask", &asking(json!({ "mac": "02:00:00:00:44:03" })))?;
    world.del(&pod)
}

/// A listed program runs outside the sandbox: the networks in its entry are the node's own, too.
#[test]
fn a_native_plugin_is_not_listed_for_who_calls_a_network_so() -> Result<()> {
    let world = World::create()?;
    let native = world.node.root().join("native");
    fs::create_dir(&native)?;
    fs::copy(program("weir-native-probe"), native.join("probe"))?;
    let digest = world
        .node
        .tool("sha256sum", native.join("probe").to_str().context("text")?)?;
    let digest = digest.split(' ').next().context("a digest")?;
    let listed = json!({ "nativePlugins": [
        { "name": "probe", "digest": format!("sha256:{digest}"), "networks": ["default-net", "*"] },
    ] });
    fs::create_dir_all(file(&world, "").parent().context("a directory")?)?;
    fs::write(
        world.node.root().join("etc/weir/weir.json"),
        listed.to_string(),
    )?;
    let probe = json!({ "type": "probe", "probe": { "calls": world.node.root().join("calls") } });
    world.define("forged", &list("default-net", &[probe]))?;
    let pod = world.pod("forged", "forged")?;
    let config = world.config_with(json!({ "binDir": "/native" }));
    let message = world.run_with("ADD", &pod, &config)?.message();
    assert_contains(&message, &["is not listed for the network"]);
    assert!(!world.node.root().join("calls").exists(), "it ran");
    Ok(())
}
