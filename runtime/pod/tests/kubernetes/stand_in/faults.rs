//! What an API server, and the way to it, do wrong: what is tried again and how long, and the messages.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_cni::{Code, Error};
use weir_kit::ApiServer;
use weir_pod::cluster::{Event, EventKind, PodName};
use weir_pod::codes;
use weir_pod::kubernetes::Limits;
use weir_pod::reference::Reference;

use crate::support::{KUBECONFIG, Root, SHORT, Scene, expect_said};

/// What a busy machine may add to a bound.
const SLACK: Duration = Duration::from_secs(2);

/// A scene with a pod `default/web`, in which the next requests fail.
fn scene(faults: Value) -> Result<(Scene, PodName)> {
    let scene = Scene::new(SHORT)?;
    let pod = scene.pod("web")?;
    scene.server.faults(faults)?;
    Ok((scene, pod))
}

fn always(answer: Value) -> Value {
    json!([{ "answer": answer }])
}

fn times(times: u32, answer: Value) -> Value {
    json!([{ "times": times, "answer": answer }])
}

fn refuse(status: u16) -> Value {
    json!({ "refuse": { "status": status } })
}

/// How many requests there were.
fn count(scene: &Scene) -> Result<usize> {
    Ok(scene.server.requests()?.len())
}

/// The error of reading a pod, and how long it took.
fn failure(scene: &Scene, pod: &PodName) -> (Error, Duration) {
    let begun = Instant::now();
    let error = scene.cluster.pod(pod).unwrap_err();
    (error, begun.elapsed())
}

/// Asks for a pod, which must fail by the deadline and say these words.
fn is_given_up(scene: &Scene, pod: &PodName, words: &[&str]) {
    let (error, took) = failure(scene, pod);
    assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    expect_said(&error, words);
    assert!(took < SHORT.call + SLACK, "{took:?}");
}

/// Checks that a call which began then has ended by its deadline.
fn ended_in_time(begun: Instant) -> Result<()> {
    let took = begun.elapsed();
    assert!(took < SHORT.call + SLACK, "{took:?}");
    Ok(())
}

#[test]
fn a_server_that_is_not_there_is_asked_again_within_the_bound() -> Result<()> {
    let root = Root::new()?;
    // It ends at once, and nobody else has its port as fast.
    let kubeconfig = ApiServer::start()?.kubeconfig();
    let cluster = root.cluster(&kubeconfig, SHORT)?;
    let begun = Instant::now();
    let pod = PodName {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: None,
    };
    let error = cluster.pod(&pod).unwrap_err();
    assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    let place = KUBECONFIG.trim_start_matches('/');
    expect_said(&error, &["get pod default/web", "refused", "tried ", place]);
    ended_in_time(begun)
}

#[test]
fn a_connection_that_is_cut_is_made_again() -> Result<()> {
    for answer in ["cut", "cutInside"] {
        let (scene, pod) = scene(times(2, answer.into()))?;
        assert!(scene.cluster.pod(&pod)?.is_some(), "{answer}");
        assert_eq!(count(&scene)?, 3, "{answer}");
    }
    Ok(())
}

#[test]
fn a_connection_that_is_always_cut_is_reported() -> Result<()> {
    let (scene, pod) = scene(always("cut".into()))?;
    is_given_up(&scene, &pod, &["get pod default/web", "tried "]);
    Ok(())
}

#[test]
fn too_many_requests_are_sent_again_when_the_server_says() -> Result<()> {
    let refuse = json!({ "refuse": { "status": 429, "retryAfter": 1 } });
    let (scene, pod) = scene(times(1, refuse))?;
    let begun = Instant::now();
    assert!(scene.cluster.pod(&pod)?.is_some());
    assert!(
        begun.elapsed() >= Duration::from_secs(1),
        "{:?}",
        begun.elapsed()
    );
    assert_eq!(count(&scene)?, 2);
    Ok(())
}

#[test]
fn a_server_that_wants_to_be_asked_after_the_bound_is_not_waited_for() -> Result<()> {
    let refuse = json!({ "refuse": { "status": 429, "retryAfter": 3600 } });
    let (scene, pod) = scene(always(refuse))?;
    let (error, took) = failure(&scene, &pod);
    assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    expect_said(&error, &["get pod default/web", "429", "too many requests"]);
    assert_eq!(count(&scene)?, 1);
    assert!(took < SHORT.call, "{took:?}");
    Ok(())
}

#[test]
fn a_failing_server_is_asked_again() -> Result<()> {
    for status in [500, 502, 503, 504] {
        let (scene, pod) = scene(times(2, refuse(status)))?;
        assert!(scene.cluster.pod(&pod)?.is_some(), "{status}");
        assert_eq!(count(&scene)?, 3, "{status}");
    }
    Ok(())
}

#[test]
fn a_server_that_keeps_failing_is_given_up_within_the_bound() -> Result<()> {
    let (scene, pod) = scene(always(refuse(503)))?;
    let (error, took) = failure(&scene, &pod);
    assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    expect_said(
        &error,
        &["get pod default/web", "503", "unable to handle", "tried "],
    );
    assert!(took < SHORT.call + SLACK, "{took:?}");
    let requests = count(&scene)?;
    assert!(
        (3..20).contains(&requests),
        "{requests} requests in {took:?}"
    );
    Ok(())
}

#[test]
fn a_page_of_a_proxy_is_shown_by_its_beginning() -> Result<()> {
    let page = format!("<html>Bad gateway{}</html>", " ".repeat(10_000));
    let (scene, pod) = scene(always(json!({ "say": { "status": 502, "body": page } })))?;
    let (error, _) = failure(&scene, &pod);
    expect_said(&error, &["get pod default/web", "502", "Bad gateway"]);
    assert!(error.msg.len() < 1000, "{}", error.msg.len());
    Ok(())
}

#[test]
fn a_server_that_hangs_is_asked_again() -> Result<()> {
    let (scene, pod) = scene(times(1, "hang".into()))?;
    let begun = Instant::now();
    assert!(scene.cluster.pod(&pod)?.is_some());
    assert!(begun.elapsed() >= SHORT.request, "{:?}", begun.elapsed());
    assert_eq!(count(&scene)?, 2);
    Ok(())
}

#[test]
fn a_server_that_always_hangs_is_given_up_within_the_bound() -> Result<()> {
    let (scene, pod) = scene(always("hang".into()))?;
    is_given_up(
        &scene,
        &pod,
        &["get pod default/web", "no answer within", "tried "],
    );
    Ok(())
}

#[test]
fn a_slow_answer_within_the_bound_is_an_answer() -> Result<()> {
    let (scene, pod) = scene(times(1, json!({ "delay": 200 })))?;
    assert!(scene.cluster.pod(&pod)?.is_some());
    assert_eq!(count(&scene)?, 1);
    Ok(())
}

#[test]
fn a_conflict_of_writers_is_written_again() -> Result<()> {
    let (scene, pod) = scene(times(2, refuse(409)))?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    assert_eq!(count(&scene)?, 3);
    let status = scene.server.annotation("default", "web", "status")?;
    assert_eq!(status.as_deref(), Some("[]"));
    Ok(())
}

#[test]
fn conflicts_without_an_end_are_given_up_within_the_bound() -> Result<()> {
    let (scene, pod) = scene(always(refuse(409)))?;
    let begun = Instant::now();
    let error = scene
        .cluster
        .annotate(&pod, "status", Some("[]"))
        .unwrap_err();
    let requests = count(&scene)?;
    assert!((3..10).contains(&requests), "{requests} requests");
    assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    expect_said(
        &error,
        &[
            "patch the status of pod default/web",
            "409",
            "has been modified",
        ],
    );
    ended_in_time(begun)
}

/// The deadline cuts the last try short, and what the server said before stays in the error.
#[test]
fn a_conflict_before_a_server_that_hangs_is_reported() -> Result<()> {
    let conflict = json!({ "times": 1, "answer": refuse(409) });
    let (scene, pod) = scene(json!([conflict, { "answer": "hang" }]))?;
    let error = scene
        .cluster
        .annotate(&pod, "status", Some("[]"))
        .unwrap_err();
    assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    expect_said(
        &error,
        &[
            "409",
            "has been modified",
            "the last time: no answer within",
        ],
    );
    Ok(())
}

/// API servers that take the uid of a patch for a precondition answer so.
#[test]
fn a_conflict_about_the_uid_means_another_pod() -> Result<()> {
    let status = json!({
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "reason": "Conflict",
        "message": "Operation cannot be fulfilled on pods \"web\": Precondition failed: UID in precondition: 1, UID in object meta: 2",
        "code": 409,
    });
    let say = json!({ "say": { "status": 409, "body": status.to_string() } });
    let (scene, pod) = scene(always(say))?;
    scene.cluster.annotate(&pod, "status", Some("[]"))?;
    assert_eq!(count(&scene)?, 1);
    Ok(())
}

#[test]
fn what_weir_may_not_do_is_reported_with_the_rule_that_allows_it() -> Result<()> {
    let (scene, pod) = scene(json!([]))?;
    scene.server.set_rules(json!([]))?;
    let lan = Reference::new("default", "lan").expect("a reference");
    let event = Event {
        kind: EventKind::Normal,
        reason: "AddedInterface".to_owned(),
        message: "Add eth0".to_owned(),
    };
    let refused = [
        (
            scene.cluster.pod(&pod).unwrap_err(),
            "get pod default/web",
            r#"apiGroups: [""], resources: ["pods"], verbs: ["get"]"#,
        ),
        (
            scene.cluster.definition(&lan).unwrap_err(),
            "get network-attachment-definition default/lan",
            r#"apiGroups: ["k8s.cni.cncf.io"], resources: ["network-attachment-definitions"], verbs: ["get"]"#,
        ),
        (
            scene.cluster.annotate(&pod, "status", None).unwrap_err(),
            "patch the status of pod default/web",
            r#"apiGroups: [""], resources: ["pods/status"], verbs: ["patch"]"#,
        ),
        (
            scene.cluster.report(&pod, &[event]).unwrap_err(),
            "create event about pod default/web",
            r#"apiGroups: [""], resources: ["events"], verbs: ["create"]"#,
        ),
    ];
    for (error, asked, rule) in &refused {
        assert_eq!(error.code, codes::CLUSTER);
        let user = "system:serviceaccount:kube-system:weir";
        expect_said(error, &[asked, "403", "is forbidden", user, rule]);
    }
    // Where a patch is refused, reading the pod to write it whole is tried.
    assert_eq!(count(&scene)?, refused.len() + 1);
    Ok(())
}

#[test]
fn a_cluster_without_definitions_is_told_apart_from_one_that_is_missing() -> Result<()> {
    let page = json!({ "say": { "status": 404, "body": "404 page not found\n" } });
    let (scene, _) = scene(always(page))?;
    let lan = Reference::new("default", "lan").expect("a reference");
    let error = scene.cluster.definition(&lan).unwrap_err();
    assert_eq!(error.code, codes::CLUSTER);
    expect_said(
        &error,
        &[
            "default/lan",
            "404",
            "CustomResourceDefinition network-attachment-definitions.k8s.cni.cncf.io",
        ],
    );
    assert_eq!(count(&scene)?, 1);
    Ok(())
}

#[test]
fn what_is_refused_for_good_is_asked_once() -> Result<()> {
    for status in [400, 405, 422] {
        let (scene, pod) = scene(always(refuse(status)))?;
        let (error, _) = failure(&scene, &pod);
        assert_eq!(error.code, codes::CLUSTER, "{status}");
        expect_said(&error, &["get pod default/web", &status.to_string()]);
        assert_eq!(count(&scene)?, 1, "{status}");
    }
    Ok(())
}

#[test]
fn an_answer_that_is_not_understood_is_reported() -> Result<()> {
    for body in ["", "<html>", "{}", r#"{"metadata":{"name":"web"}}"#] {
        let (scene, pod) = scene(always(json!({ "say": { "status": 200, "body": body } })))?;
        let (error, _) = failure(&scene, &pod);
        assert_eq!(error.code, codes::CLUSTER, "{body}");
        expect_said(&error, &["get pod default/web", "not such an object"]);
        assert_eq!(count(&scene)?, 1, "{body}");
    }
    Ok(())
}

#[test]
fn a_configuration_of_another_type_is_reported_with_the_object() -> Result<()> {
    let object = json!({
        "metadata": { "namespace": "default", "name": "lan", "uid": "1" },
        "spec": { "config": { "type": "bridge" } },
    });
    let say = json!({ "say": { "status": 200, "body": object.to_string() } });
    let (scene, _) = scene(always(say))?;
    let lan = Reference::new("default", "lan").expect("a reference");
    let error = scene.cluster.definition(&lan).unwrap_err();
    let object = "network-attachment-definition default/lan";
    expect_said(
        &error,
        &[object, "spec.config is an object", "expected a string"],
    );
    Ok(())
}

#[test]
fn an_event_whose_answer_is_lost_is_there_once() -> Result<()> {
    let lost = json!([{ "verb": "POST", "times": 1, "after": true, "answer": "cut" }]);
    let (scene, pod) = scene(lost)?;
    let event = |reason: &str| Event {
        kind: EventKind::Normal,
        reason: reason.to_owned(),
        message: String::new(),
    };
    scene
        .cluster
        .report(&pod, &[event("First"), event("Second")])?;
    let events = scene.server.events("default")?;
    let reasons: Vec<_> = events
        .iter()
        .filter_map(|it| it["reason"].as_str())
        .collect();
    assert_eq!(reasons, ["First", "Second"]);
    assert_eq!(count(&scene)?, 3);
    Ok(())
}

#[test]
fn all_events_together_have_one_bound() -> Result<()> {
    let (scene, pod) = scene(always("hang".into()))?;
    let event = Event {
        kind: EventKind::Normal,
        reason: "AddedInterface".to_owned(),
        message: String::new(),
    };
    let begun = Instant::now();
    let error = scene.cluster.report(&pod, &vec![event; 10]).unwrap_err();
    expect_said(&error, &["create event about pod default/web"]);
    ended_in_time(begun)
}

#[test]
fn a_call_after_a_failed_one_succeeds() -> Result<()> {
    let limits = Limits {
        request: Duration::from_millis(200),
        call: Duration::from_millis(300),
    };
    let scene = Scene::new(limits)?;
    let pod = scene.pod("web")?;
    scene.server.faults(always("hang".into()))?;
    failure(&scene, &pod);
    scene.server.faults(json!([]))?;
    scene.cluster.pod(&pod)?.context("the pod is there")?;
    Ok(())
}
