//! The parts of API objects that weir reads and writes.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::super::cluster::{Definition, Pod, PodName};
use super::super::reference::Reference;

#[derive(Deserialize)]
struct Object {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
struct Metadata {
    namespace: String,
    name: String,
    uid: String,
    #[serde(default)]
    annotations: Option<BTreeMap<String, String>>,
}

/// The specification of a NetworkAttachmentDefinition (section 3.2).
#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    config: Value,
}

/// Reads a pod. Errors: a mistake in the answer.
pub(super) fn pod(answer: &[u8]) -> Result<Pod, String> {
    let Object { metadata, .. } = read(answer)?;
    Ok(Pod {
        namespace: metadata.namespace,
        name: metadata.name,
        uid: metadata.uid,
        annotations: metadata.annotations.unwrap_or_default(),
    })
}

/// Reads a NetworkAttachmentDefinition. Errors: a mistake in the answer.
pub(super) fn definition(answer: &[u8], reference: &Reference) -> Result<Definition, String> {
    let Object { metadata, spec } = read(answer)?;
    let config = match spec.config {
        Value::Null => None,
        Value::String(config) => Some(config).filter(|config| !config.is_empty()),
        other => {
            return Err(format!(
                "spec.config is {}; expected a string with a network configuration as JSON",
                kind(&other)
            ));
        }
    };
    Ok(Definition {
        reference: reference.clone(),
        config,
        annotations: metadata.annotations.unwrap_or_default(),
    })
}

fn read<T: DeserializeOwned>(answer: &[u8]) -> Result<T, String> {
    serde_json::from_slice(answer)
        .map_err(|error| format!("the answer is not such an object: {error}"))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// The annotation of the mirror of a static pod: kubelet's uid of the pod.
const MIRROR: &str = "kubernetes.io/config.mirror";

/// Whether a pod is the one that the runtime names, by kubelet's uid.
pub(super) fn is_named(pod: &Pod, name: &PodName) -> bool {
    match &name.uid {
        None => true,
        Some(uid) => *uid == pod.uid || pod.annotations.get(MIRROR) == Some(uid),
    }
}

/// The merge patch that sets or removes one annotation. With a uid it fails if another object has the name.
pub(super) fn annotation(uid: Option<&str>, key: &str, value: Option<&str>) -> Value {
    let mut metadata = Map::new();
    if let Some(uid) = uid {
        metadata.insert("uid".into(), uid.into());
    }
    metadata.insert("annotations".into(), json!({ key: value }));
    json!({ "metadata": metadata })
}

/// A whole object with one annotation set or removed; none if that changes nothing, or another object has the name.
/// Errors: a mistake in the answer.
pub(super) fn annotated(
    answer: &[u8],
    uid: Option<&str>,
    key: &str,
    value: Option<&str>,
) -> Result<Option<Value>, String> {
    let mut object: Value = read(answer)?;
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    let metadata = metadata.ok_or("the answer is an object without metadata")?;
    if uid.is_some_and(|uid| metadata.get("uid").is_none_or(|found| found != uid)) {
        return Ok(None);
    }
    let annotations = metadata.entry("annotations").or_insert(Value::Null);
    if annotations.is_null() {
        *annotations = json!({});
    }
    let annotations = annotations.as_object_mut();
    let annotations = annotations.ok_or("metadata.annotations is not an object")?;
    let before = match value {
        Some(value) => annotations.insert(key.to_owned(), value.into()),
        None => annotations.remove(key),
    };
    let is_changed = before.as_ref().and_then(Value::as_str) != value;
    Ok(is_changed.then_some(object))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference() -> Reference {
        Reference::new("default", "lan").expect("a reference")
    }

    fn of_config(config: Value) -> Result<Definition, String> {
        let metadata = json!({ "namespace": "default", "name": "lan", "uid": "1" });
        let object = json!({ "metadata": metadata, "spec": { "config": config } });
        definition(object.to_string().as_bytes(), &reference())
    }

    #[test]
    fn a_pod_is_its_metadata() {
        let answer = br#"{"kind":"Pod","metadata":{"namespace":"a","name":"b","uid":"c",
            "annotations":{"k":"v"},"managedFields":[{}]},"spec":{"containers":[]},"status":{}}"#;
        let pod = pod(answer).expect("a pod");
        assert_eq!((&*pod.namespace, &*pod.name, &*pod.uid), ("a", "b", "c"));
        assert_eq!(pod.annotations["k"], "v");
    }

    #[test]
    fn annotations_can_be_missing_or_null() {
        for annotations in ["", r#","annotations":null"#] {
            let answer =
                format!(r#"{{"metadata":{{"namespace":"a","name":"b","uid":"c"{annotations}}}}}"#);
            let pod = pod(answer.as_bytes()).expect("a pod");
            assert!(pod.annotations.is_empty());
        }
    }

    /// The kubelet has static pods from files: what the API server has is a mirror, with a uid of its own.
    #[test]
    fn a_static_pod_is_named_by_the_uid_of_the_kubelet() {
        let answer = br#"{"metadata":{"namespace":"a","name":"b","uid":"of-the-mirror",
            "annotations":{"kubernetes.io/config.mirror":"of-the-file"}}}"#;
        let pod = super::pod(answer).expect("a pod");
        let name = |uid: Option<&str>| PodName {
            namespace: "a".to_owned(),
            name: "b".to_owned(),
            uid: uid.map(str::to_owned),
        };
        for uid in [None, Some("of-the-mirror"), Some("of-the-file")] {
            assert!(is_named(&pod, &name(uid)), "{uid:?}");
        }
        assert!(!is_named(&pod, &name(Some("of-another"))));
    }

    #[test]
    fn an_answer_without_a_uid_is_no_object() {
        let error = pod(br#"{"metadata":{"namespace":"a","name":"b"}}"#).unwrap_err();
        assert!(error.contains("uid"), "{error}");
    }

    #[test]
    fn a_configuration_is_a_string() {
        let text = r#"{"type":"bridge"}"#;
        let given = of_config(text.into()).expect("a definition");
        assert_eq!(given.config.as_deref(), Some(text));
        for (wrong, told) in [
            (json!({ "type": "bridge" }), "an object"),
            (json!([1]), "a list"),
            (json!(1), "a number"),
            (json!(true), "a boolean"),
        ] {
            let error = of_config(wrong).unwrap_err();
            assert!(
                error.contains(told) && error.contains("spec.config"),
                "{error}"
            );
        }
    }

    #[test]
    fn an_empty_configuration_is_none() {
        for empty in [json!(""), Value::Null] {
            assert_eq!(of_config(empty).expect("a definition").config, None);
        }
        let bare = br#"{"metadata":{"namespace":"default","name":"lan","uid":"1"}}"#;
        assert_eq!(definition(bare, &reference()).expect("one").config, None);
    }

    #[test]
    fn an_object_is_written_as_it_was_read_but_for_one_annotation() {
        let answer = br#"{"kind":"Pod","metadata":{"uid":"u","resourceVersion":"7","annotations":{"k":"v","o":"w"}},
            "status":{"phase":"Running","n":12345678901234567890}}"#;
        let changed = |uid, value| annotated(answer, uid, "k", value).expect("a pod");
        let mut expected: Value = serde_json::from_slice(answer).expect("JSON");
        expected["metadata"]["annotations"]["k"] = "new".into();
        assert_eq!(changed(Some("u"), Some("new")), Some(expected));
        let removed = changed(None, None).expect("it was there");
        assert_eq!(removed["metadata"]["annotations"], json!({ "o": "w" }));
        assert_eq!(changed(Some("u"), Some("v")), None, "as it was");
        assert_eq!(changed(Some("another"), Some("new")), None);
        for bare in [
            r#"{"metadata":{"uid":"u"}}"#,
            r#"{"metadata":{"uid":"u","annotations":null}}"#,
        ] {
            let set = annotated(bare.as_bytes(), None, "k", Some("v")).expect("a pod");
            assert_eq!(
                set.expect("changed")["metadata"]["annotations"],
                json!({ "k": "v" })
            );
            assert_eq!(annotated(bare.as_bytes(), None, "k", None), Ok(None));
        }
        for wrong in ["[]", "{}", r#"{"metadata":{"annotations":7}}"#] {
            assert!(
                annotated(wrong.as_bytes(), None, "k", None).is_err(),
                "{wrong}"
            );
        }
    }

    #[test]
    fn a_patch_names_one_annotation_and_the_uid_where_it_is_known() {
        assert_eq!(
            annotation(Some("u"), "k", Some("v")),
            json!({ "metadata": { "uid": "u", "annotations": { "k": "v" } } })
        );
        assert_eq!(
            annotation(None, "k", None),
            json!({ "metadata": { "annotations": { "k": null } } })
        );
    }
}
