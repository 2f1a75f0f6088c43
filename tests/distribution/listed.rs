//! A list of plugins for every node whose registry has TLS with an authority of its own, and asks for a password.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{ApiServer, Node, assert_contains, binary, component};

use crate::credentials::RIGHT;
use crate::registry::Registry;
use crate::text;

/// Installs a list on a node. Returns what it complains about.
fn install(node: &Node, kubeconfig: &str, plugins: &Value, words: &[&str]) -> Result<String> {
    let list = json!({
        "apiVersion": "weir.dev/v1alpha1",
        "kind": "PluginInstallation",
        "spec": { "plugins": plugins },
    });
    let list = node.write("plugins.yaml", list.to_string())?;
    let mut weir = Command::new(binary());
    weir.args(["install", "--kubernetes", "--kubeconfig", kubeconfig])
        .arg("--plugin-list")
        .arg(list)
        .arg("--bin-dir")
        .arg(node.bin_dir())
        .args(words)
        .env("WEIR_ROOT", node.root());
    let output = node.inside(|| weir.output().context("run weir"))?;
    ensure!(output.status.success(), "{output:?}");
    Ok(String::from_utf8(output.stderr)?)
}

#[test]
fn a_list_names_a_registry_with_a_password_and_an_authority_of_its_own() -> Result<()> {
    let node = Node::create()?;
    let api = ApiServer::start_in(&node)?;
    let kubeconfig = api.install_kubeconfig(&node)?;
    let default = json!({ "cniVersion": "1.0.0", "name": "pods", "type": "ptp" });
    node.put_network("10-pods.conf", &default)?;
    let registry = node.inside(Registry::guarded_and_encrypted)?;
    let credentials = json!({ "auths": { registry.host(): { "auth": RIGHT } } });
    let credentials = node.write("pull-secret.json", credentials.to_string())?;
    let authority = registry.authority();
    let (credentials, authority) = (text(&credentials)?, text(&authority)?);
    let reference = registry.reference("plugins/pinned-gateway:1.2.0");
    let file = component("pinned-gateway");
    let push = ["plugin", "push", text(&file)?, &reference];
    let with = ["--credentials", credentials, "--ca-file", authority];
    let pushed = node.json(&[&push[..], &with].concat(), 0)?;

    let uri = format!("oci://{reference}");
    let plugins = json!([{ "name": "pinned-gateway", "uri": uri, "digest": pushed["component"] }]);
    let with = ["--plugin-credentials", credentials];
    let said = install(&node, kubeconfig, &plugins, &with)?;
    assert_contains(&said, &["plugin `pinned-gateway` of the list", "400"]);
    let with = ["--plugin-ca-file", authority];
    let said = install(&node, kubeconfig, &plugins, &with)?;
    assert_contains(
        &said,
        &["plugin `pinned-gateway` of the list", "wants credentials"],
    );
    let with = [
        "--plugin-credentials",
        credentials,
        "--plugin-ca-file",
        authority,
    ];
    assert_eq!(install(&node, kubeconfig, &plugins, &with)?, "");
    let listed = node.json(&["plugin", "list"], 0)?.to_string();
    assert_contains(
        &listed,
        &[&uri, pushed["component"].as_str().context("a digest")?],
    );
    Ok(())
}
