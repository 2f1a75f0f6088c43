//! Objects as the API server keeps them.

use super::*;

fn route(plural: &str, name: Option<&str>) -> Route {
    let resource = resource(plural).expect("it is served");
    Route {
        resource,
        namespace: resource.is_namespaced.then(|| "default".to_owned()),
        name: name.map(str::to_owned),
        subresource: None,
    }
}

fn pod(name: &str) -> Value {
    json!({ "metadata": { "name": name }, "spec": { "nodeName": "node" } })
}

fn with_pod() -> (Store, Route, Value) {
    let mut store = Store::new();
    let pod = store.create(&route("pods", None), pod("web"));
    (store, route("pods", Some("web")), pod.expect("a pod"))
}

fn version(object: &Value) -> u64 {
    let version = object["metadata"]["resourceVersion"].as_str();
    version.and_then(|it| it.parse().ok()).expect("a version")
}

#[test]
fn a_new_object_gets_what_the_server_gives() {
    let (_, _, pod) = with_pod();
    assert_eq!(
        (&pod["kind"], &pod["apiVersion"]),
        (&json!("Pod"), &json!("v1"))
    );
    assert_eq!(pod["metadata"]["namespace"], "default");
    for field in ["uid", "resourceVersion", "creationTimestamp"] {
        assert!(pod["metadata"][field].is_string(), "{field}: {pod}");
    }
}

#[test]
fn a_name_is_taken_once() {
    let (mut store, _, _) = with_pod();
    let status = store.create(&route("pods", None), pod("web")).unwrap_err();
    assert_eq!(
        (status.code, &status.body()["reason"]),
        (409, &json!("AlreadyExists"))
    );
}

#[test]
fn a_name_can_be_generated() {
    let mut store = Store::new();
    let unnamed = json!({ "metadata": { "generateName": "web-" } });
    let pod = store.create(&route("pods", None), unnamed).expect("a pod");
    let name = pod["metadata"]["name"].as_str().expect("a name");
    assert!(name.starts_with("web-") && name.len() > 4, "{name}");
}

#[test]
fn a_name_must_be_one() {
    let mut store = Store::new();
    for name in ["", "Web", "-web", "a..b"] {
        let status = store.create(&route("pods", None), pod(name)).unwrap_err();
        assert_eq!(status.code, 422, "{name}");
    }
}

#[test]
fn a_namespace_must_be_there() {
    let mut store = Store::new();
    let elsewhere = Route {
        namespace: Some("elsewhere".to_owned()),
        ..route("pods", None)
    };
    let status = store.create(&elsewhere, pod("web")).unwrap_err();
    assert_eq!(status.code, 404);
    assert_eq!(status.body()["details"]["kind"], "namespaces");
}

#[test]
fn versions_grow_with_each_change_and_with_no_other_update() {
    let (mut store, route, pod) = with_pod();
    let same = store
        .update(&route, pod.clone(), Update::Put)
        .expect("the pod");
    assert_eq!(version(&same), version(&pod));
    let mut new = pod.clone();
    new["metadata"]["annotations"] = json!({ "a": "b" });
    let new = store.update(&route, new, Update::Put).expect("the pod");
    assert!(version(&new) > version(&pod));
    assert_eq!(new["metadata"]["uid"], pod["metadata"]["uid"]);
}

#[test]
fn a_stale_version_is_a_conflict() {
    let (mut store, route, pod) = with_pod();
    let mut first = pod.clone();
    first["metadata"]["annotations"] = json!({ "a": "1" });
    store.update(&route, first, Update::Put).expect("the pod");
    for by in [Update::Put, Update::Patch] {
        let mut second = pod.clone();
        second["metadata"]["annotations"] = json!({ "a": "2" });
        let status = store.update(&route, second, by).unwrap_err();
        assert_eq!(
            (status.code, &status.body()["reason"]),
            (409, &json!("Conflict"))
        );
    }
}

#[test]
fn another_uid_is_a_failed_precondition_of_a_put_and_an_invalid_field_of_a_patch() {
    let (mut store, route, mut pod) = with_pod();
    pod["metadata"]["uid"] = "another".into();
    let status = store.update(&route, pod.clone(), Update::Put).unwrap_err();
    assert_eq!(status.code, 409);
    let status = store.update(&route, pod, Update::Patch).unwrap_err();
    let body = status.body();
    assert_eq!(status.code, 422);
    assert_eq!(body["details"]["causes"][0]["field"], "metadata.uid");
}

#[test]
fn a_custom_resource_is_put_with_its_version() {
    let mut store = Store::new();
    let plural = "network-attachment-definitions";
    let object = json!({ "metadata": { "name": "lan" } });
    let made = store.create(&route(plural, None), object.clone());
    made.expect("a definition");
    let status = store.update(&route(plural, Some("lan")), object, Update::Put);
    assert_eq!(status.unwrap_err().code, 422);
}

#[test]
fn the_status_and_the_rest_are_changed_apart() {
    let (mut store, route, pod) = with_pod();
    let mut new = pod.clone();
    new["spec"]["nodeName"] = "another".into();
    new["status"] = json!({ "phase": "Running" });
    let of_status = Route {
        subresource: Some("status"),
        ..route.clone()
    };
    let changed = store.update(&of_status, new.clone(), Update::Patch);
    let changed = changed.expect("the pod");
    assert_eq!(changed["status"]["phase"], "Running");
    assert_eq!(changed["spec"]["nodeName"], "node");
    new["metadata"] = changed["metadata"].clone();
    new["status"] = json!({ "phase": "Failed" });
    let changed = store.update(&route, new, Update::Put).expect("the pod");
    assert_eq!(changed["status"]["phase"], "Running");
    assert_eq!(changed["spec"]["nodeName"], "another");
}

#[test]
fn a_deletion_can_be_meant_for_one_object() {
    let (mut store, route, pod) = with_pod();
    for wrong in [
        json!({ "uid": "another" }),
        json!({ "resourceVersion": "1" }),
    ] {
        assert_eq!(store.delete(&route, &wrong).unwrap_err().code, 409);
    }
    let right = json!({ "uid": pod["metadata"]["uid"] });
    store.delete(&route, &right).expect("it is gone");
    assert_eq!(store.get(&route).unwrap_err().code, 404);
}

#[test]
fn a_namespace_goes_with_all_that_is_in_it() {
    let (mut store, pod, _) = with_pod();
    let namespace = route("namespaces", Some("default"));
    store.delete(&namespace, &Value::Null).expect("it is gone");
    assert_eq!(store.get(&pod).unwrap_err().code, 404);
}

#[test]
fn a_configuration_is_a_string_and_what_is_unknown_is_pruned() {
    let mut store = Store::new();
    let all = route("network-attachment-definitions", None);
    let of = |spec: Value| json!({ "metadata": { "name": "lan" }, "spec": spec });
    for (spec, field) in [
        (json!({ "config": { "type": "bridge" } }), "spec.config"),
        (json!({ "config": null }), "spec.config"),
        (json!("config"), "spec"),
    ] {
        let status = store.create(&all, of(spec)).unwrap_err();
        assert_eq!(status.code, 422);
        assert_eq!(status.body()["details"]["causes"][0]["field"], field);
    }
    let made = store.create(&all, of(json!({ "config": "{}", "other": 1 })));
    assert_eq!(
        made.expect("a definition")["spec"],
        json!({ "config": "{}" })
    );
}

#[test]
fn annotations_are_strings_and_not_too_long() {
    let (mut store, route, pod) = with_pod();
    for (value, code) in [(json!(1), 400), (json!("a".repeat(256 * 1024)), 422)] {
        let mut new = pod.clone();
        new["metadata"]["annotations"] = json!({ "key": value });
        let status = store.update(&route, new, Update::Patch).unwrap_err();
        assert_eq!(status.code, code);
    }
}

#[test]
fn an_event_is_in_the_namespace_of_what_it_is_about() {
    let mut store = Store::new();
    let about = |namespace: &str| json!({ "metadata": { "name": "e" }, "involvedObject": { "namespace": namespace } });
    let all = route("events", None);
    let status = store.create(&all, about("kube-system")).unwrap_err();
    assert_eq!(status.code, 422);
    store.create(&all, about("default")).expect("an event");
}

#[test]
fn a_watch_begins_where_a_list_ended_unless_that_is_forgotten() {
    let (mut store, _, pod) = with_pod();
    let listed = store.version();
    assert_eq!(listed, version(&pod));
    store
        .create(&route("pods", None), self::pod("next"))
        .expect("a pod");
    let (since, _) = store.watch(listed).expect("a watch");
    let names: Vec<_> = since
        .iter()
        .map(|it| &it.object["metadata"]["name"])
        .collect();
    assert_eq!(names, ["next"]);
    for number in 0..REMEMBERED {
        let pod = self::pod(&format!("pod-{number}"));
        store.create(&route("pods", None), pod).expect("a pod");
    }
    assert_eq!(store.watch(listed).map(|_| ()).unwrap_err().code, 410);
}
