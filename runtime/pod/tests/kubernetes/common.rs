//! What any API server does.

use std::path::Path;

use anyhow::{Context, Result};
use weir_files::Paths;
use weir_kit::{ApiServer, Node};
use weir_pod::cluster::{Event, EventKind, PodName};
use weir_pod::kubernetes::{Kubernetes, Limits};
use weir_pod::reference::Reference;

use crate::support::Scene;

fn scene() -> Result<Scene> {
    Scene::new(Limits::default())
}

fn with_pod(name: &str) -> Result<(Scene, PodName)> {
    let scene = scene()?;
    let pod = scene.pod(name)?;
    Ok((scene, pod))
}

#[test]
fn a_pod_is_read_with_its_annotations() -> Result<()> {
    let scene = scene()?;
    let namespace = scene.server.namespace();
    let annotations = [("k8s.v1.cni.cncf.io/networks", "lan"), ("other", "é\n")];
    let uid = scene.server.create_pod(namespace, "read", &annotations)?;
    let name = PodName {
        namespace: namespace.to_owned(),
        name: "read".to_owned(),
        uid: None,
    };
    let pod = scene.cluster.pod(&name)?.context("the pod is there")?;
    assert_eq!((&*pod.namespace, &*pod.name), (namespace, "read"));
    assert_eq!(pod.uid, uid);
    for (key, value) in annotations {
        assert_eq!(pod.annotations[key], value);
    }
    Ok(())
}

#[test]
fn a_pod_that_is_not_there_is_none() -> Result<()> {
    let scene = scene()?;
    let name = PodName {
        namespace: scene.server.namespace().to_owned(),
        name: "missing".to_owned(),
        uid: None,
    };
    assert_eq!(scene.cluster.pod(&name)?, None);
    Ok(())
}

#[test]
fn a_pod_with_another_uid_is_none() -> Result<()> {
    let scene = scene()?;
    let mut name = scene.pod("replaced")?;
    assert!(scene.cluster.pod(&name)?.is_some());
    name.uid = Some("01234567-89ab-cdef-0123-456789abcdef".to_owned());
    assert_eq!(scene.cluster.pod(&name)?, None);
    Ok(())
}

#[test]
fn a_definition_is_read_with_its_configuration_and_annotations() -> Result<()> {
    let scene = scene()?;
    let namespace = scene.server.namespace();
    let config = r#"{ "cniVersion": "1.0.0", "type": "bridge" }"#;
    let annotations = [("k8s.v1.cni.cncf.io/resourceName", "example.com/nic")];
    scene
        .server
        .create_definition(namespace, "lan", Some(config), &annotations)?;
    let reference = Reference::new(namespace, "lan").expect("a reference");
    let definition = scene.cluster.definition(&reference)?;
    let definition = definition.context("the definition is there")?;
    assert_eq!(definition.reference, reference);
    assert_eq!(definition.config.as_deref(), Some(config));
    let (key, value) = annotations[0];
    assert_eq!(definition.annotations[key], value);
    Ok(())
}

#[test]
fn a_definition_can_be_without_configuration() -> Result<()> {
    let scene = scene()?;
    let namespace = scene.server.namespace();
    for (name, config) in [("without", None), ("empty", Some(""))] {
        scene
            .server
            .create_definition(namespace, name, config, &[])?;
        let reference = Reference::new(namespace, name).expect("a reference");
        let definition = scene.cluster.definition(&reference)?;
        assert_eq!(definition.context(name)?.config, None);
    }
    let missing = Reference::new(namespace, "missing").expect("a reference");
    assert_eq!(scene.cluster.definition(&missing)?, None);
    Ok(())
}

#[test]
fn one_annotation_is_set_and_removed_and_the_others_stay() -> Result<()> {
    let (scene, pod) = with_pod("annotated")?;
    let (namespace, name) = (&*pod.namespace, &*pod.name);
    let read = |key| scene.server.annotation(namespace, name, key);
    let others = [("another", Some("stays"))];
    scene.server.annotate_pod(namespace, name, &others)?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    assert_eq!(read("status")?.as_deref(), Some("[]"));
    assert_eq!(read("another")?.as_deref(), Some("stays"));
    scene.cluster.annotate(&pod, "status", None)?;
    assert_eq!(read("status")?, None);
    assert_eq!(read("another")?.as_deref(), Some("stays"));
    Ok(())
}

#[test]
fn an_annotation_survives_somebody_who_writes_after_the_pod_was_read() -> Result<()> {
    let (scene, pod) = with_pod("busy")?;
    let (namespace, name) = (&*pod.namespace, &*pod.name);
    scene.cluster.pod(&pod)?.context("the pod is there")?;
    let others = [("another", Some("written meanwhile"))];
    scene.server.annotate_pod(namespace, name, &others)?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    let another = scene.server.annotation(namespace, name, "another")?;
    assert_eq!(another.as_deref(), Some("written meanwhile"));
    Ok(())
}

#[test]
fn a_pod_that_is_gone_or_another_is_not_annotated_and_that_is_no_error() -> Result<()> {
    let scene = scene()?;
    let first = scene.pod("again")?;
    let (namespace, name) = (&*first.namespace, &*first.name);
    scene.server.delete_pod(namespace, name)?;
    scene.cluster.annotate(&first, "status", Some("[]"))?;
    let second = scene.pod("again")?;
    assert_ne!(first.uid, second.uid);
    scene.cluster.annotate(&first, "status", Some("[]"))?;
    assert_eq!(scene.server.annotation(namespace, name, "status")?, None);
    Ok(())
}

#[test]
fn events_tell_about_the_pod_in_order() -> Result<()> {
    let scene = scene()?;
    let pod = scene.pod("told")?;
    let event = |kind, reason: &str, message: &str| Event {
        kind,
        reason: reason.to_owned(),
        message: message.to_owned(),
    };
    let told = [
        event(EventKind::Normal, "AddedInterface", "Add eth0"),
        event(EventKind::Warning, "NoNetwork", "no such network: lan"),
    ];
    scene.cluster.report(&pod, &told)?;
    let mut events = scene.server.events(&pod.namespace)?;
    events.retain(|event| event["involvedObject"]["name"] == "told");
    events.sort_by_key(|event| event["metadata"]["name"].to_string());
    assert_eq!(events.len(), told.len(), "{events:?}");
    for (event, told) in events.iter().zip(&told) {
        let about = &event["involvedObject"];
        assert_eq!(about["kind"], "Pod");
        assert_eq!(about["apiVersion"], "v1");
        assert_eq!(about["namespace"], pod.namespace.as_str());
        assert_eq!(about["uid"].as_str(), pod.uid.as_deref());
        assert_eq!(event["type"], format!("{:?}", told.kind));
        assert_eq!(event["reason"], told.reason.as_str());
        assert_eq!(event["message"], told.message.as_str());
        assert_eq!(event["source"]["component"], "weir");
        assert_eq!(event["reportingComponent"], "weir");
        assert_eq!(event["count"], 1);
        assert!(event["firstTimestamp"].is_string() && event["lastTimestamp"].is_string());
    }
    Ok(())
}

#[test]
fn a_server_is_reached_from_a_node() -> Result<()> {
    let node = Node::create()?;
    let server = ApiServer::start_in(&node)?;
    let kubeconfig = server.install_kubeconfig(&node)?;
    let namespace = server.namespace();
    let name = PodName {
        namespace: namespace.to_owned(),
        name: "of-a-node".to_owned(),
        uid: Some(server.create_pod(namespace, "of-a-node", &[])?),
    };
    let paths = Paths::below(node.root());
    let pod = node.inside(|| {
        let kubeconfig = Some(Path::new(kubeconfig));
        let cluster = Kubernetes::connect(kubeconfig, &paths, Limits::default());
        Ok(cluster.pod(&name)?)
    })?;
    assert_eq!(pod.context("the pod is there")?.name, "of-a-node");
    Ok(())
}

#[test]
fn what_is_no_name_is_not_asked_for() -> Result<()> {
    let scene = scene()?;
    let name = PodName {
        namespace: "..".to_owned(),
        name: "web".to_owned(),
        uid: None,
    };
    let error = scene.cluster.pod(&name).unwrap_err();
    assert_eq!(error.code.0, 4);
    assert!(error.msg.contains("K8S_POD_NAMESPACE"), "{error}");
    Ok(())
}
