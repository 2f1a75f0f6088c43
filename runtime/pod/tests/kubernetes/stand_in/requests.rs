//! The requests when nothing goes wrong: one for each call, and no more than weir's role allows.

use anyhow::Result;
use weir_pod::cluster::{Event, EventKind};
use weir_pod::kubernetes::Limits;
use weir_pod::reference::Reference;

use crate::support::Scene;

#[test]
fn each_call_is_one_request() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    let pod = scene.pod("web")?;
    let config = Some(r#"{ "type": "bridge" }"#);
    scene
        .server
        .create_definition("default", "lan", config, &[])?;
    let event = Event {
        kind: EventKind::Normal,
        reason: "AddedInterface".to_owned(),
        message: "Add eth0".to_owned(),
    };
    let lan = Reference::new("default", "lan").expect("a reference");
    assert_eq!(scene.server.requests()?, []);
    scene.cluster.pod(&pod)?;
    scene.cluster.definition(&lan)?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    scene.cluster.annotate(&pod, "status", None)?;
    scene.cluster.report(&pod, &[event.clone(), event])?;

    let definitions = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions";
    let status = (
        "PATCH",
        "/api/v1/namespaces/default/pods/web/status".to_owned(),
        "application/merge-patch+json",
    );
    let event = (
        "POST",
        "/api/v1/namespaces/default/events".to_owned(),
        "application/json",
    );
    let expected = [
        ("GET", "/api/v1/namespaces/default/pods/web".to_owned(), ""),
        ("GET", format!("{definitions}/lan"), ""),
        status.clone(),
        status,
        event.clone(),
        event,
    ];
    let requests = scene.server.requests()?;
    let requests: Vec<_> = (requests.iter())
        .map(|it| (&*it.verb, it.path.clone(), &*it.content_type))
        .collect();
    assert_eq!(requests, expected);
    Ok(())
}

#[test]
fn nobody_is_asked_before_the_first_call() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    std::fs::remove_file(scene.root.path().join("etc/weir.kubeconfig"))?;
    scene
        .root
        .cluster("not: [a kubeconfig", Limits::default())?;
    assert_eq!(scene.server.requests()?, []);
    Ok(())
}

#[test]
fn the_server_is_told_who_asks() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    scene.cluster.pod(&scene.pod("web")?)?;
    let requests = scene.server.requests()?;
    assert_eq!(requests[0].user, "system:serviceaccount:kube-system:weir");
    Ok(())
}
