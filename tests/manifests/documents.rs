//! The manifests' documents, read strictly: each is of a type that Kubernetes has, without a key that the
//! type has not.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use k8s_openapi::api::apps::v1::DaemonSet;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use weir_kit::{binary, house};

/// Where they are.
pub fn directory() -> PathBuf {
    house().join("examples/kubernetes")
}

/// What `weir install --help` prints.
pub fn help() -> Result<String> {
    let mut command = Command::new(binary());
    let output = command.args(["install", "--help"]).output()?;
    Ok(String::from_utf8(output.stdout)?)
}

/// The documents of one file.
pub fn read(file: impl AsRef<Path>) -> Result<Vec<Value>> {
    let path = directory().join(file);
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_saphyr::from_multiple(&text).with_context(|| path.display().to_string())
}

/// The one document of a kind in a file.
pub fn one(file: &str, kind: &str) -> Result<Value> {
    let mut documents = read(file)?;
    documents.retain(|document| document["kind"] == kind);
    ensure!(
        documents.len() == 1,
        "{file}: {} of {kind}",
        documents.len()
    );
    documents.pop().context("a document")
}

/// All manifests, by their paths below the directory.
pub fn all() -> Result<BTreeMap<String, Vec<Value>>> {
    let mut manifests = BTreeMap::new();
    for below in ["", "uninstall"] {
        for entry in fs::read_dir(directory().join(below))? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if name.ends_with(".yaml") {
                let file = Path::new(below).join(name).display().to_string();
                manifests.insert(file.clone(), read(&file)?);
            }
        }
    }
    Ok(manifests)
}

/// The documents that are applied to a cluster.
pub fn objects() -> Result<Vec<Value>> {
    let documents = all()?.into_values().flatten();
    Ok(documents.filter(|d| d["kind"] != "Kustomization").collect())
}

/// A document is what is left of it when it was read as a type: a key that the type has not is lost.
fn is_of_type<T: Serialize + DeserializeOwned>(document: &Value) -> Result<()> {
    let read: T = serde_json::from_value(document.clone())?;
    let again = serde_json::to_value(&read)?;
    ensure!(
        again == *document,
        "as Kubernetes reads it:\n{again:#}\nnot:\n{document:#}"
    );
    Ok(())
}

pub fn check_type(document: &Value) -> Result<()> {
    let kind = format!(
        "{}/{}",
        text(document, "apiVersion")?,
        text(document, "kind")?
    );
    match kind.as_str() {
        "apiextensions.k8s.io/v1/CustomResourceDefinition" => {
            is_of_type::<CustomResourceDefinition>(document)
        }
        "rbac.authorization.k8s.io/v1/ClusterRole" => is_of_type::<ClusterRole>(document),
        "rbac.authorization.k8s.io/v1/ClusterRoleBinding" => {
            is_of_type::<ClusterRoleBinding>(document)
        }
        "apps/v1/DaemonSet" => is_of_type::<DaemonSet>(document),
        "v1/ConfigMap" => is_of_type::<ConfigMap>(document),
        "v1/Pod" => is_of_type::<Pod>(document),
        "v1/ServiceAccount" => is_of_type::<ServiceAccount>(document),
        // `definition` validates it by our own schema, and the other lists files.
        "k8s.cni.cncf.io/v1/NetworkAttachmentDefinition" => Ok(()),
        "kustomize.config.k8s.io/v1beta1/Kustomization" => Ok(()),
        kind => bail!("an unknown kind: {kind}"),
    }
}

/// A key's text.
pub fn text<'v>(document: &'v Value, key: &str) -> Result<&'v str> {
    document[key].as_str().with_context(|| format!("no {key}"))
}

#[test]
fn each_document_is_of_a_type_that_kubernetes_has() -> Result<()> {
    for (file, documents) in all()? {
        assert!(!documents.is_empty(), "{file}");
        for document in documents {
            check_type(&document).with_context(|| file.clone())?;
        }
    }
    let mut wrong = one("daemonset.yaml", "DaemonSet")?;
    wrong["spec"]["template"]["spec"]["hostnetwork"] = json!(true);
    assert!(
        check_type(&wrong).is_err(),
        "a key in the wrong case is found"
    );
    Ok(())
}

/// A kustomization applies every file of its directory except the examples of networks and pods.
#[test]
fn each_kustomization_names_what_there_is() -> Result<()> {
    let examples = [
        "device.yaml",
        "ipvlan.yaml",
        "macvlan.yaml",
        "network.yaml",
        "pod.yaml",
    ];
    for (below, left_out) in [("", &examples[..]), ("uninstall", &[])] {
        let file = Path::new(below).join("kustomization.yaml");
        let kustomization = one(&file.display().to_string(), "Kustomization")?;
        let mut named: Vec<String> = serde_json::from_value(kustomization["resources"].clone())?;
        named.sort();
        let mut there: Vec<String> = fs::read_dir(directory().join(below))?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_>>()?;
        there.retain(|name| name.ends_with(".yaml") && name != "kustomization.yaml");
        there.retain(|name| !left_out.contains(&name.as_str()));
        there.sort();
        assert_eq!(named, there, "{}", file.display());
    }
    Ok(())
}
