//! The overlays beside `kubernetes`: their patches fit the manifests, and a cluster accepts the result.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use weir_kit::house;

use super::documents::{check_type, help, objects};

/// The documents of a file of an overlay.
fn read(overlay: &str, file: &str) -> Result<Vec<Value>> {
    let path = house().join("examples").join(overlay).join(file);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_saphyr::from_multiple(&text).with_context(|| path.display().to_string())
}

/// What is applied to a cluster: `kubernetes` with the patches of an overlay, and its own documents.
fn applied(overlay: &str) -> Result<Vec<Value>> {
    let kustomization = read(overlay, "kustomization.yaml")?.remove(0);
    let mut documents = objects()?;
    for resource in list(&kustomization["resources"]) {
        let name = resource.as_str().context("a name")?;
        if name != "../kubernetes" {
            documents.extend(read(overlay, name)?);
        }
    }
    for patch in list(&kustomization["patches"]) {
        let target = &patch["target"];
        let is_target = |document: &&mut Value| {
            document["kind"] == target["kind"] && document["metadata"]["name"] == target["name"]
        };
        let document = documents.iter_mut().find(is_target);
        let document = document.with_context(|| format!("{overlay}: no {target}"))?;
        let text = patch["patch"].as_str().context("a patch is text")?;
        let operations: Value = serde_saphyr::from_str(text)?;
        for operation in list(&operations) {
            apply(document, operation).with_context(|| format!("{overlay}: {operation}"))?;
        }
    }
    Ok(documents)
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Carries out one operation of a JSON patch (RFC 6902), as far as the overlays use them.
fn apply(document: &mut Value, operation: &Value) -> Result<()> {
    let path = operation["path"].as_str().context("a path")?;
    let (parent, key) = path.rsplit_once('/').context("a path with a key")?;
    let value = &operation["value"];
    let parent = document.pointer_mut(parent).context("nothing is there")?;
    match (operation["op"].as_str(), parent) {
        (Some("test"), parent) => ensure!(parent[key] == *value, "it is {}", parent[key]),
        (Some("add"), Value::Array(items)) if key == "-" => items.push(value.clone()),
        (Some("add"), Value::Object(members)) => {
            let before = members.insert(key.to_owned(), value.clone());
            ensure!(before.is_none(), "there is {before:?}");
        }
        (Some("replace"), Value::Object(members)) => {
            let before = members.insert(key.to_owned(), value.clone());
            ensure!(before.is_some(), "there is none");
        }
        (Some("remove"), Value::Object(members)) => {
            ensure!(members.remove(key).is_some(), "there is none");
        }
        (operation, parent) => bail!("{operation:?} of {parent}"),
    }
    Ok(())
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

/// The list in the ConfigMap is one that the installer reads: an empty one installs nothing and complains of nothing.
#[test]
fn the_shipped_list_of_plugins_is_read() -> Result<()> {
    let maps = read("kubernetes-plugins", "list.yaml")?;
    let text = maps[0]["data"]["plugins.yaml"].as_str().context("a list")?;
    let parsed: Value = serde_saphyr::from_str(text)?;
    assert_eq!(parsed["kind"], "PluginInstallation");
    assert_eq!(parsed["spec"]["plugins"], json!([]));
    Ok(())
}
