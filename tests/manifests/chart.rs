//! The Helm chart: what Helm renders of it is what `kubectl kustomize` renders of the directories of `examples`.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_kit::kubectl::{helm, kustomize};
use weir_kit::{assert_contains, house};

use super::documents::{check_type, text};

/// The only difference: a hash of the options, so that containers with other options are rolled out.
const CHECKSUM: &str = "/spec/template/metadata/annotations/checksum~1options";

const NAMESPACE: &str = "kube-system";

/// What is rendered, by kind and name.
pub type Objects = BTreeMap<(String, String), Value>;

/// The chart, packed as a release packs it.
pub struct Chart {
    directory: TempDir,
    pub archive: PathBuf,
}

impl Chart {
    pub fn pack() -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let mut pack = Command::new(house().join("packaging/chart"));
        let pack = pack.arg(directory.path()).env("SOURCE_DATE_EPOCH", "0");
        ensure!(pack.status()?.success(), "packaging/chart fails");
        let name = format!("weir-{}.tgz", env!("CARGO_PKG_VERSION"));
        let archive = directory.path().join(name);
        Ok(Self { directory, archive })
    }

    /// What Helm makes of it with these values. Errors: it fails, with what it says.
    pub fn render(&self, values: &Value) -> Result<Objects> {
        self.render_in(NAMESPACE, values)
    }

    pub fn render_in(&self, namespace: &str, values: &Value) -> Result<Objects> {
        let file = self.directory.path().join("values.yaml");
        fs::write(&file, values.to_string())?;
        template(&self.archive, namespace, Some(&file))
    }
}

fn template(chart: &Path, namespace: &str, values: Option<&Path>) -> Result<Objects> {
    let mut arguments = vec![
        "template".into(),
        "weir".into(),
        chart.as_os_str().to_owned(),
    ];
    arguments.extend(["--include-crds", "--namespace", namespace].map(Into::into));
    if let Some(values) = values {
        arguments.extend(["--values".into(), values.as_os_str().to_owned()]);
    }
    let objects = by_name(&helm(arguments)?)?;
    for object in objects.values() {
        check_type(object)?;
    }
    Ok(objects)
}

fn by_name(rendered: &str) -> Result<Objects> {
    let mut objects = Objects::new();
    for document in serde_saphyr::from_multiple::<Value>(rendered)? {
        let kind = text(&document, "kind")?.to_owned();
        let name = text(&document["metadata"], "name")?.to_owned();
        let before = objects.insert((kind, name), document);
        ensure!(before.is_none(), "twice: {before:?}");
    }
    Ok(objects)
}

/// What a directory of `examples` is.
fn applied(directory: &str) -> Result<Objects> {
    by_name(&kustomize(&house().join("examples").join(directory))?)
}

pub fn object<'o>(objects: &'o Objects, kind: &str, name: &str) -> Result<&'o Value> {
    let found = objects.get(&(kind.to_owned(), name.to_owned()));
    found.with_context(|| format!("no {kind} {name} in {:?}", objects.keys()))
}

/// Takes the hash of the options out of the DaemonSet.
pub fn take_checksum(objects: &mut Objects) -> Result<String> {
    let key = ("DaemonSet".to_owned(), "weir".to_owned());
    let daemons = objects.get_mut(&key).context("a DaemonSet")?;
    let checksum = daemons.pointer(CHECKSUM).and_then(Value::as_str);
    let checksum = checksum.context("a hash of the options")?.to_owned();
    let metadata = daemons["spec"]["template"]["metadata"].as_object_mut();
    let annotations = metadata.and_then(|metadata| metadata.remove("annotations"));
    assert_eq!(annotations, Some(json!({ "checksum/options": checksum })));
    Ok(checksum)
}

#[track_caller]
fn assert_same(rendered: &Objects, expected: &Objects) {
    let names = |objects: &Objects| objects.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(rendered), names(expected));
    for (name, object) in expected {
        assert_eq!(rendered[name], *object, "{name:?}");
    }
}

#[test]
fn without_values_it_is_the_base() -> Result<()> {
    let mut rendered = Chart::pack()?.render(&json!({}))?;
    take_checksum(&mut rendered)?;
    assert_same(&rendered, &applied("kubernetes")?);
    Ok(())
}

#[test]
fn the_takeover_from_multus_is_its_overlay() -> Result<()> {
    let mut rendered = Chart::pack()?.render(&json!({ "fromMultus": true }))?;
    take_checksum(&mut rendered)?;
    assert_same(&rendered, &applied("from-multus")?);
    Ok(())
}

#[test]
fn the_plugins_of_a_list_are_its_overlay() -> Result<()> {
    let plugins = json!([{
        "name": "labels",
        "uri": "oci://registry.example.com/plugins/labels:1.2.0",
        "digest": format!("sha256:{}", "0".repeat(64)),
        "trust": "signature",
        "allowDowngrade": true,
    }]);
    let mut rendered = Chart::pack()?.render(&json!({ "plugins": plugins }))?;
    take_checksum(&mut rendered)?;
    let mut expected = applied("kubernetes-plugins")?;
    // Only what the list says is the values', and it is compared as it is read.
    list_of(&mut expected)?["spec"]["plugins"] = plugins;
    list_of(&mut rendered)?;
    assert_same(&rendered, &expected);
    Ok(())
}

/// The list of plugins in its ConfigMap, read there.
fn list_of(objects: &mut Objects) -> Result<&mut Value> {
    let key = ("ConfigMap".to_owned(), "weir-plugins".to_owned());
    let map = objects.get_mut(&key).context("a list of plugins")?;
    let list = &mut map["data"]["plugins.yaml"];
    *list = serde_saphyr::from_str(list.as_str().context("a list is text")?)?;
    Ok(list)
}

/// The rest of the release is what the DaemonSet that uninstalls needs.
#[test]
fn the_uninstallation_is_its_kustomization() -> Result<()> {
    let rendered = Chart::pack()?.render(&json!({ "uninstall": true }))?;
    let mut expected = applied("kubernetes")?;
    expected.remove(&("DaemonSet".to_owned(), "weir".to_owned()));
    expected.extend(applied("kubernetes/uninstall")?);
    assert_same(&rendered, &expected);
    Ok(())
}

#[test]
fn in_the_sources_it_is_the_same_as_packed() -> Result<()> {
    let packed = Chart::pack()?.render(&json!({}))?;
    let sources = house().join("packaging/helm");
    assert_same(&template(&sources, NAMESPACE, None)?, &packed);
    Ok(())
}

#[test]
fn helm_has_no_complaint() -> Result<()> {
    let chart = Chart::pack()?;
    let linted = helm([
        "lint".as_ref(),
        "--strict".as_ref(),
        chart.archive.as_os_str(),
    ])?;
    assert_contains(&linted, &["1 chart(s) linted, 0 chart(s) failed"]);
    Ok(())
}

#[test]
fn it_is_of_the_version_of_what_it_installs() -> Result<()> {
    let file = fs::read_to_string(house().join("packaging/helm/Chart.yaml"))?;
    let chart: Value = serde_saphyr::from_str(&file)?;
    for key in ["version", "appVersion"] {
        assert_eq!(chart[key], env!("CARGO_PKG_VERSION"), "{key}");
    }
    Ok(())
}

#[test]
fn all_of_it_is_in_the_namespace_of_the_release() -> Result<()> {
    let plugin = json!({ "name": "labels", "uri": "file:/labels", "digest": format!("sha256:{}", "0".repeat(64)) });
    for values in [json!({ "plugins": [plugin] }), json!({ "uninstall": true })] {
        let mut rendered = Chart::pack()?.render_in("elsewhere", &values)?;
        let mut namespaced = 0;
        for (name, object) in &mut rendered {
            if let Some(namespace) = object["metadata"].get("namespace") {
                assert_eq!(namespace, "elsewhere", "{name:?}");
                namespaced += 1;
            }
            assert!(
                !object.to_string().contains(NAMESPACE),
                "{name:?}: {object}"
            );
        }
        assert!(namespaced >= 3, "{:?}", rendered.keys());
        let binding = object(&rendered, "ClusterRoleBinding", "weir")?;
        assert_eq!(binding["subjects"][0]["namespace"], "elsewhere");
    }
    Ok(())
}
