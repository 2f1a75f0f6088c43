//! `weir uninstall`: the node is as before the installation.

use std::fs;

use anyhow::Result;
use serde_json::json;
use weir_kit::assert_contains;

use crate::machine::{DEFAULT, Machine};

#[test]
fn what_was_there_is_there_again() -> Result<()> {
    let machine = Machine::with_default_network()?;
    machine.put_foreign("bridge", "the reference plugin")?;
    machine.put_foreign("dhcp", "of somebody else")?;
    machine.install("")?;
    let state = machine.root().join("var/lib/weir/stores/kept");
    fs::create_dir_all(&state)?;
    let said = machine.succeed("uninstall")?;
    assert_contains(&said, &["put back", "bin/bridge"]);
    assert_eq!(machine.names("opt/cni/bin")?, ["bridge", "dhcp"]);
    assert_eq!(machine.read("opt/cni/bin/bridge")?, "the reference plugin");
    assert_eq!(machine.names("etc/cni/net.d")?, [DEFAULT]);
    assert!(state.exists(), "state stays");

    assert_eq!(
        machine.succeed("uninstall")?,
        "",
        "there is nothing left to do"
    );
    machine.uninstalled("--purge", "var/lib/weir")
}

#[test]
fn what_was_put_there_since_stays() -> Result<()> {
    let machine = Machine::with_default_network()?;
    machine.put_foreign("bridge", "the reference plugin")?;
    machine.install("")?;
    fs::remove_file(machine.bin_dir().join("bridge"))?;
    machine.put_foreign("bridge", "a newer one")?;
    fs::write(machine.conf_dir().join("weir.d/somebody-elses"), "")?;
    let said = machine.succeed("uninstall")?;
    assert_contains(&said, &["left", "bridge.weir-replaced"]);
    assert_eq!(machine.read("opt/cni/bin/bridge")?, "a newer one");
    assert_eq!(machine.names("etc/cni/net.d/weir.d")?, ["somebody-elses"]);
    Ok(())
}

#[test]
fn it_is_refused_while_pods_are_attached() -> Result<()> {
    let machine = Machine::installed()?;
    let record = "var/lib/weir/pods/weir/0a1b:eth0.json";
    machine.put_file(record, "{}")?;
    machine.put_file("var/lib/weir/pods/weir/lock", "")?;
    let said = machine.fail("uninstall")?;
    assert_contains(&said, &["attached 1 ", "drain"]);
    assert!(machine.configuration().exists() && machine.is_link("bridge"));

    machine.succeed("uninstall --force")?;
    assert!(!machine.configuration().exists());
    machine.install("")?;
    fs::remove_file(machine.root().join(record))?;
    machine.uninstalled("", "opt/cni/bin/weir")
}

/// Without weir, that configuration would name a missing plugin, and no pod would start.
#[test]
fn it_is_refused_where_a_configuration_by_hand_needs_weir() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let by_hand = json!({ "cniVersion": "1.0.0", "name": "multus-cni-network", "type": "weir" });
    machine.write_conf("00-multus.conf", &by_hand)?;
    machine.succeed("install")?;
    let said = machine.fail("uninstall")?;
    assert_contains(&said, &["00-multus.conf", "type"]);
    assert!(machine.has_binary()?);
    Ok(())
}

/// A network needs a plugin that only weir provides: without it no pod would start.
#[test]
fn it_is_refused_where_a_network_would_be_without_its_plugin() -> Result<()> {
    let plugins = [
        (json!({ "type": "bridge" }), "bridge"),
        (
            json!({ "type": "native", "ipam": { "type": "host-local" } }),
            "host-local",
        ),
        (json!({ "type": "flannel" }), "bridge, host-local"),
        (
            json!({ "type": "native", "delegates": [{ "type": "ptp" }] }),
            "ptp",
        ),
    ];
    for (plugin, missing) in plugins {
        let machine = Machine::create()?;
        let network = json!({ "cniVersion": "1.0.0", "name": "pods", "plugins": [plugin] });
        machine.write_conf(DEFAULT, &network)?;
        machine.install("")?;
        let said = machine.fail("uninstall")?;
        let expected = format!("{DEFAULT}` needs {missing}, which would be missing");
        assert!(said.contains(&expected), "{said}");
        assert!(machine.configuration().exists() && machine.is_link("bridge"));
        machine.succeed("uninstall --force")?;
    }
    Ok(())
}

/// A plugin that is put back counts as installed.
#[test]
fn plugins_of_the_network_that_comes_back_are_needed_too() -> Result<()> {
    let machine = Machine::create()?;
    let network =
        |plugin| json!({ "cniVersion": "1.0.0", "name": "pods", "plugins": [{ "type": plugin }] });
    machine.write_conf("05-multus.conflist.weir-replaced", &network("ptp"))?;
    machine.write_conf(DEFAULT, &network("bridge"))?;
    machine.put_foreign("bridge", "the reference plugin")?;
    machine.install("")?;
    let said = machine.fail("uninstall")?;
    assert_contains(&said, &["05-multus.conflist.weir-replaced` needs ptp"]);
    // Another plugin replaces weir's link.
    fs::remove_file(machine.bin_dir().join("ptp"))?;
    machine.put_foreign("ptp", "the reference plugin")?;
    machine.succeed("uninstall")?;
    assert_eq!(machine.names("opt/cni/bin")?, ["bridge", "ptp"]);
    Ok(())
}

/// The configuration is removed first: a runtime never finds one without its plugin.
#[test]
fn the_configuration_is_gone_before_the_binary() -> Result<()> {
    let machine = Machine::installed()?;
    // A file that cannot be removed, in the place of a link.
    fs::create_dir_all(machine.bin_dir().join("ptp.weir-replaced/inside"))?;
    machine.fail("uninstall")?;
    assert!(!machine.configuration().exists() && !machine.kubeconfig().exists());
    assert!(machine.has_binary()? && machine.is_link("bridge"));
    Ok(())
}
