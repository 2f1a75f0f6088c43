//! The options for the keys of the delegating plugin's configuration.

use anyhow::Result;
use serde_json::{Value, json};

use crate::machine::{DEFAULT, Machine};

/// The keys of the configuration that come from options.
fn keys(machine: &Machine) -> Result<Value> {
    let mut plugin = machine.plugin()?;
    let keys = plugin.as_object_mut().expect("an object");
    for key in ["type", "capabilities", "delegates", "kubeconfig"] {
        assert!(keys.remove(key).is_some(), "{key}");
    }
    Ok(plugin)
}

#[test]
fn options_become_the_keys_that_multus_has() -> Result<()> {
    let machine = Machine::installed()?;
    assert_eq!(keys(&machine)?, json!({}));
    machine.install(
        "--namespace-isolation --global-namespaces default,shared --system-namespaces kube-system,infra \
         --multus-namespace infra --log-level debug --readiness-indicator-file --network-name nodes",
    )?;
    assert_eq!(
        keys(&machine)?,
        json!({
            "namespaceIsolation": true,
            "globalNamespaces": "default,shared",
            "systemNamespaces": ["kube-system", "infra"],
            "multusNamespace": "infra",
            "logLevel": "debug",
            "readinessindicatorfile": format!("/etc/cni/net.d/{DEFAULT}"),
        })
    );
    assert_eq!(machine.read_json(machine.configuration())?["name"], "nodes");
    machine.install("--readiness-indicator-file /run/flannel/subnet.env")?;
    assert_eq!(
        keys(&machine)?,
        json!({ "readinessindicatorfile": "/run/flannel/subnet.env" })
    );
    Ok(())
}

#[test]
fn with_more_networks_for_every_pod_all_are_named() -> Result<()> {
    let machine = Machine::with_default_network()?;
    machine.install("--default-networks storage,backup")?;
    assert_eq!(
        machine.plugin()?,
        json!({
            "type": "weir",
            "capabilities": { "mac": true, "portMappings": true },
            "kubeconfig": "/etc/cni/net.d/weir.d/weir.kubeconfig",
            "clusterNetwork": format!("/etc/cni/net.d/{DEFAULT}"),
            "defaultNetworks": ["storage", "backup"],
            "confDir": "/etc/cni/net.d",
        })
    );
    Ok(())
}

#[test]
fn options_are_variables_as_well() -> Result<()> {
    let machine = Machine::with_default_network()?;
    let mut command = machine.command("install --kubernetes");
    command
        .env("WEIR_INSTALL_NAMESPACE_ISOLATION", "true")
        .env("WEIR_INSTALL_GLOBAL_NAMESPACES", "shared")
        .env("WEIR_INSTALL_READINESS_INDICATOR_FILE", "default-network");
    let output = command.output()?;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(
        keys(&machine)?,
        json!({
            "namespaceIsolation": true,
            "globalNamespaces": "shared",
            "readinessindicatorfile": format!("/etc/cni/net.d/{DEFAULT}"),
        })
    );
    Ok(())
}

#[test]
fn a_misspelt_variable_installs_nothing() -> Result<()> {
    let machine = Machine::with_default_network()?;
    for words in [
        "install --kubernetes",
        "install --kubernetes --check",
        "install",
    ] {
        let mut command = machine.command(words);
        command.env("WEIR_INSTALL_NAMESPACE_ISOLATON", "true");
        let output = command.output()?;
        let said = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{said}");
        let meant = "did you mean WEIR_INSTALL_NAMESPACE_ISOLATION?";
        assert!(said.contains(meant), "{said}");
    }
    assert!(machine.names("opt/cni/bin")?.is_empty());
    Ok(())
}

#[test]
fn wrong_options_are_refused() -> Result<()> {
    let machine = Machine::with_default_network()?;
    machine.refuses(
        "",
        &[
            ("--namespace-isolation", "--kubernetes"),
            (
                "--kubernetes --global-namespaces default",
                "--namespace-isolation",
            ),
            ("--kubernetes --multus-namespace Kube", "Kube"),
            ("--kubernetes --system-namespaces a,,b", "namespace"),
            ("--kubernetes --log-level loud", "verbose"),
            (
                "--kubernetes --readiness-indicator-file relative",
                "absolute",
            ),
            ("--kubernetes --conf-name 00-weir.conf", ".conflist"),
            ("--kubernetes --conf-name a/b.conflist", ".conflist"),
            ("--kubernetes --wait soon", "--wait"),
            ("--kubernetes --watch --check", "--check"),
            (
                "--kubernetes --kubeconfig /a --kubeconfig-path /b",
                "--kubeconfig-path",
            ),
        ],
    )
}
