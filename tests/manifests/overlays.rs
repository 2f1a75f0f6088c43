//! The overlays beside `kubernetes`: their patches fit the manifests, and a cluster accepts the result.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::house;
use weir_kit::kubectl::kustomize;

use super::documents::{check_type, help};

/// What is applied to a cluster.
fn applied(overlay: &str) -> Result<Vec<Value>> {
    let rendered = kustomize(&house().join("examples").join(overlay))?;
    Ok(serde_saphyr::from_multiple(&rendered)?)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

const OVERLAYS: [&str; 2] = ["from-multus", "kubernetes-plugins"];

#[test]
fn what_is_applied_is_of_a_type_that_kubernetes_has() -> Result<()> {
    for overlay in OVERLAYS {
        for document in applied(overlay)? {
            check_type(&document).with_context(|| overlay.to_owned())?;
        }
    }
    Ok(())
}

/// Volumes and mounts are each other's, and a ConfigMap that is mounted is applied, too.
#[test]
fn each_mount_of_an_overlay_has_its_volume() -> Result<()> {
    for overlay in OVERLAYS {
        let documents = applied(overlay)?;
        let of_kind = |kind: &'static str| documents.iter().filter(move |d| d["kind"] == kind);
        let daemons = of_kind("DaemonSet").next().context("a DaemonSet")?;
        let spec = &daemons["spec"]["template"]["spec"];
        let names = |items: &Value| -> BTreeSet<String> {
            list(items).map(|item| item["name"].to_string()).collect()
        };
        let mounts = names(&spec["containers"][0]["volumeMounts"]);
        assert_eq!(mounts, names(&spec["volumes"]), "{overlay}");
        let there: Vec<&Value> = of_kind("ConfigMap")
            .map(|d| &d["metadata"]["name"])
            .collect();
        for volume in list(&spec["volumes"]) {
            let name = &volume["configMap"]["name"];
            assert!(name.is_null() || there.contains(&name), "{overlay}: {name}");
        }
    }
    Ok(())
}

#[test]
fn each_variable_of_an_overlay_is_an_option() -> Result<()> {
    let help = help()?;
    for overlay in OVERLAYS {
        for document in applied(overlay)? {
            let environment = &document["spec"]["template"]["spec"]["containers"][0]["env"];
            let given = list(environment).filter_map(|variable| variable["name"].as_str());
            let options = document["data"].as_object().into_iter().flatten();
            let options = options.map(|(key, _)| key.as_str());
            for name in given
                .chain(options)
                .filter(|name| name.starts_with("WEIR_INSTALL_"))
            {
                assert!(help.contains(name), "{overlay}: {name}");
            }
        }
    }
    Ok(())
}

/// With the comment in its kustomization taken away, as the guide says.
#[test]
fn the_credentials_of_a_registry_are_mounted() -> Result<()> {
    let copy = tempfile::tempdir()?;
    for directory in ["kubernetes", "kubernetes-plugins"] {
        let to = copy.path().join(directory);
        fs::create_dir(&to)?;
        for entry in fs::read_dir(house().join("examples").join(directory))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), to.join(entry.file_name()))?;
            }
        }
    }
    let overlay = copy.path().join("kubernetes-plugins");
    let file = overlay.join("kustomization.yaml");
    let text = fs::read_to_string(&file)?;
    let wanted = text.replace("  # - path: credentials.yaml", "  - path: credentials.yaml");
    assert_ne!(wanted, text);
    fs::write(&file, wanted)?;
    let documents: Vec<Value> = serde_saphyr::from_multiple(&kustomize(&overlay)?)?;
    for document in &documents {
        check_type(document)?;
    }
    let of_kind = |kind: &str| documents.iter().find(|d| d["kind"] == kind);
    let daemons = of_kind("DaemonSet").context("a DaemonSet")?;
    let spec = &daemons["spec"]["template"]["spec"];
    let mut mounts = list(&spec["containers"][0]["volumeMounts"]);
    let mount = mounts.find(|mount| mount["name"] == "registry");
    let mount = mount.and_then(|mount| mount["mountPath"].as_str());
    let options = of_kind("ConfigMap").context("options")?;
    assert_eq!(
        options["data"]["WEIR_INSTALL_PLUGIN_CREDENTIALS"],
        format!("{}/.dockerconfigjson", mount.context("a mount")?)
    );
    let mut volumes = list(&spec["volumes"]);
    assert!(volumes.any(|volume| volume["secret"]["secretName"] == "weir-registry"));
    Ok(())
}

/// The list in the ConfigMap is one that the installer reads: an empty one installs nothing and complains of nothing.
#[test]
fn the_shipped_list_of_plugins_is_read() -> Result<()> {
    let documents = applied("kubernetes-plugins")?;
    let map = documents
        .iter()
        .find(|d| d["metadata"]["name"] == "weir-plugins");
    let text = map.and_then(|map| map["data"]["plugins.yaml"].as_str());
    let text = text.context("a list")?;
    let parsed: Value = serde_saphyr::from_str(text)?;
    assert_eq!(parsed["kind"], "PluginInstallation");
    assert_eq!(parsed["spec"]["plugins"], json!([]));
    Ok(())
}
