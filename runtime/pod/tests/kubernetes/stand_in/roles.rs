//! A role that allows `update` of `pods/status` and not `patch`, as Multus' does: the pod is read and written whole.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{ApiServer, peer};
use weir_pod::cluster::PodName;
use weir_pod::codes;

use crate::support::{SHORT, Scene, expect_said};

/// The rules of Multus' ClusterRole.
fn of_multus(file: &str) -> Result<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(&peer(file)?)?;
    let mut roles = documents.into_iter().filter(|d| d["kind"] == "ClusterRole");
    Ok(roles.next().context("a ClusterRole")?["rules"].take())
}

/// A pod `default/web` with an annotation of somebody else's, and weir with Multus' rights.
fn scene() -> Result<(Scene, PodName)> {
    let scene = Scene::new(SHORT)?;
    let pod = scene.pod("web")?;
    let others = [("another", Some("stays"))];
    scene.server.annotate_pod("default", "web", &others)?;
    let rules = of_multus("multus-4.3.0/multus-daemonset.yml")?;
    scene.server.set_rules(rules)?;
    Ok((scene, pod))
}

fn read(server: &ApiServer, key: &str) -> Result<Option<String>> {
    server.annotation("default", "web", key)
}

/// The verbs and the last part of the paths.
fn asked(scene: &Scene) -> Result<Vec<String>> {
    let requests = scene.server.requests()?.into_iter();
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    Ok(requests
        .map(|r| format!("{} {}", r.verb, last(&r.path)))
        .collect())
}

#[test]
fn with_the_rights_of_multus_the_status_is_updated() -> Result<()> {
    let (scene, pod) = scene()?;
    let before = scene.server.pod("default", "web")?;
    scene.cluster.pod(&pod)?.context("it is there")?;
    scene.server.forget_requests()?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    assert_eq!(asked(&scene)?, ["PATCH status", "GET web", "PUT status"]);
    assert_eq!(read(&scene.server, "status")?.as_deref(), Some("[]"));
    assert_eq!(read(&scene.server, "another")?.as_deref(), Some("stays"));
    let after = scene.server.pod("default", "web")?;
    for part in ["spec", "status"] {
        assert_eq!(after[part], before[part], "{part}");
    }
    scene.cluster.annotate(&pod, "status", None)?;
    assert_eq!(read(&scene.server, "status")?, None);
    // Nothing is written where nothing changes.
    scene.server.forget_requests()?;
    scene.cluster.annotate(&pod, "status", None)?;
    assert_eq!(asked(&scene)?, ["PATCH status", "GET web"]);
    Ok(())
}

/// The thick plugin's manifest has a role of its own.
#[test]
fn the_thick_plugins_rights_are_enough() -> Result<()> {
    let (scene, pod) = scene()?;
    let rules = of_multus("multus-4.3.0/multus-daemonset-thick.yml")?;
    scene.server.set_rules(rules)?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    assert_eq!(read(&scene.server, "status")?.as_deref(), Some("[]"));
    Ok(())
}

/// What the server answers to a writer who has read an older version.
fn conflict() -> Value {
    json!({ "refuse": { "status": 409 } })
}

/// What was read is refused once somebody else has written: it is read anew.
#[test]
fn who_writes_meanwhile_loses_nothing() -> Result<()> {
    let (scene, pod) = scene()?;
    scene
        .server
        .faults(json!([{ "verb": "PUT", "times": 2, "answer": conflict() }]))?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    let expected = [
        "PATCH status",
        "GET web",
        "PUT status",
        "GET web",
        "PUT status",
        "GET web",
        "PUT status",
    ];
    let asked = asked(&scene)?;
    assert_eq!(asked[asked.len() - expected.len()..], expected);
    assert_eq!(read(&scene.server, "another")?.as_deref(), Some("stays"));
    Ok(())
}

#[test]
fn conflicts_without_an_end_are_given_up() -> Result<()> {
    let (scene, pod) = scene()?;
    let conflicts = json!([{ "verb": "PUT", "answer": conflict() }]);
    scene.server.faults(conflicts)?;
    let annotated = scene.cluster.annotate(&pod, "status", Some("[]"));
    let error = annotated.unwrap_err();
    let words = ["update the status of pod default/web", "409", "tried "];
    expect_said(&error, &words);
    Ok(())
}

#[test]
fn a_pod_that_is_gone_or_another_is_not_updated_and_that_is_no_error() -> Result<()> {
    let (scene, first) = scene()?;
    scene.server.delete_pod("default", "web")?;
    scene.cluster.annotate(&first, "status", Some("[]"))?;
    scene.pod("web")?;
    scene.cluster.annotate(&first, "status", Some("[]"))?;
    assert_eq!(read(&scene.server, "status")?, None);
    Ok(())
}

/// Neither is allowed: the error names the rule that weir's own role has.
#[test]
fn missing_patch_and_update_are_reported() -> Result<()> {
    let (scene, pod) = scene()?;
    let pods =
        json!([{ "apiGroups": [""], "resources": ["pods", "pods/status"], "verbs": ["get"] }]);
    scene.server.set_rules(pods)?;
    let error = scene
        .cluster
        .annotate(&pod, "status", Some("[]"))
        .unwrap_err();
    assert_eq!(error.code, codes::CLUSTER);
    let rule = r#"resources: ["pods/status"], verbs: ["patch"]"#;
    expect_said(
        &error,
        &["patch the status of pod default/web", "403", rule],
    );
    Ok(())
}
