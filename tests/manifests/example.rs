//! The example: a network that the built-in plugins can make, and a pod that selects it.

use anyhow::{Context, Result};
use weir_cni::NetworkConfigList;
use weir_kit::{Node, STANDARD, weir};

use super::documents::{one, text};

fn network() -> Result<NetworkConfigList> {
    let network = one("network.yaml", "NetworkAttachmentDefinition")?;
    let config = text(&network["spec"], "config")?;
    NetworkConfigList::parse(config).map_err(|error| anyhow::anyhow!("{error:?}"))
}

#[test]
fn the_networks_configuration_is_one() -> Result<()> {
    let definition = one("network.yaml", "NetworkAttachmentDefinition")?;
    let network = network()?;
    // As section 3.4.3 recommends.
    assert_eq!(definition["metadata"]["name"], network.name);
    for plugin in &network.plugins {
        let ipam = plugin.ipam_type().context("an IPAM plugin")?;
        for name in [plugin.plugin_type(), ipam] {
            assert!(STANDARD.contains(&name), "{name}");
        }
    }
    Ok(())
}

#[test]
fn the_networks_configuration_attaches_a_container() -> Result<()> {
    let network = network()?;
    let (node, container) = Node::with_container()?;
    for plugin in &network.plugins {
        let mut config = plugin.clone().into_value();
        config["name"] = network.name.clone().into();
        config["cniVersion"] = network.cni_version.as_str().into();
        let name = plugin.plugin_type().to_owned();
        let result = node
            .run(&weir(&node, &name, "ADD", &container, &config))?
            .result();
        assert_eq!(result["ips"][0]["address"], "10.77.0.2/24", "{result}");
        node.run(&weir(&node, &name, "DEL", &container, &config))?
            .result();
    }
    Ok(())
}

#[test]
fn the_pod_selects_the_network() -> Result<()> {
    let (network, pod) = (
        one("network.yaml", "NetworkAttachmentDefinition")?,
        one("pod.yaml", "Pod")?,
    );
    let selected = text(
        &pod["metadata"]["annotations"],
        "k8s.v1.cni.cncf.io/networks",
    )?;
    assert_eq!(network["metadata"]["name"], selected);
    assert_eq!(
        network["metadata"]["namespace"],
        pod["metadata"]["namespace"]
    );
    Ok(())
}
