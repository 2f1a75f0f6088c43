//! The CustomResourceDefinition, by the rules that Kubernetes has for structural schemas.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::documents::{objects, one};

const NAME: &str = "network-attachment-definitions.k8s.cni.cncf.io";

/// All keywords that ours needs. There are more that a structural schema may have.
const KEYWORDS: [&str; 4] = [
    "description",
    "type",
    "properties",
    "x-kubernetes-validations",
];

/// Returns what is wrong with a schema. Each node has one of JSON's types, the values of `properties` are
/// schemas, and there is no key that this function does not check.
fn faults(schema: &Value, path: &str) -> Vec<String> {
    let Some(keys) = schema.as_object() else {
        return vec![format!("{path}: no schema")];
    };
    let mut faults = Vec::new();
    for key in keys.keys().filter(|key| !KEYWORDS.contains(&key.as_str())) {
        faults.push(format!("{path}: {key}"));
    }
    match schema["type"].as_str() {
        Some("object" | "string" | "boolean" | "integer" | "number") => {}
        other => faults.push(format!("{path}: type {other:?}")),
    }
    let is_object = schema["type"] == "object";
    if !is_object && keys.contains_key("properties") {
        faults.push(format!("{path}: properties of what is not an object"));
    }
    for (name, schema) in schema["properties"].as_object().into_iter().flatten() {
        faults.extend(self::faults(schema, &format!("{path}.{name}")));
    }
    faults
}

fn version() -> Result<Value> {
    let definition = one("crd.yaml", "CustomResourceDefinition")?;
    let versions = definition["spec"]["versions"].as_array();
    let versions = versions.context("versions")?;
    assert_eq!(versions.len(), 1);
    Ok(versions[0].clone())
}

#[test]
fn npwg_3_1_the_definition_is_the_standards() -> Result<()> {
    let definition = one("crd.yaml", "CustomResourceDefinition")?;
    assert_eq!(definition["metadata"]["name"], NAME);
    let spec = &definition["spec"];
    assert_eq!(spec["group"], "k8s.cni.cncf.io");
    assert_eq!(spec["scope"], "Namespaced");
    let names = &spec["names"];
    assert_eq!(names["plural"], "network-attachment-definitions");
    assert_eq!(names["singular"], "network-attachment-definition");
    assert_eq!(names["kind"], "NetworkAttachmentDefinition");
    let short = names["shortNames"].as_array().context("short names")?;
    assert!(short.contains(&json!("net-attach-def")), "{short:?}");
    let version = version()?;
    assert_eq!(
        (&version["name"], &version["served"], &version["storage"]),
        (&json!("v1"), &json!(true), &json!(true))
    );
    Ok(())
}

#[test]
fn its_schema_is_structural() -> Result<()> {
    let schema = version()?["schema"]["openAPIV3Schema"].take();
    assert_eq!(schema["type"], "object");
    assert_eq!(faults(&schema, ""), Vec::<String>::new());
    // `metadata` may be restricted in its name alone, and is not.
    assert_eq!(
        schema["properties"]["metadata"],
        json!({ "type": "object" })
    );
    let config = &schema["properties"]["spec"]["properties"]["config"];
    assert_eq!(config["type"], "string");
    // Section 3.2: everything in the object but its name is optional.
    assert!(schema.get("required").is_none());

    let untyped = json!({ "type": "object", "properties": { "spec": { "properties": {} } } });
    assert!(!faults(&untyped, "").is_empty());
    let misplaced = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    assert!(!faults(&misplaced, "").is_empty());
    Ok(())
}

#[test]
fn it_accepts_the_networks_of_the_examples_and_of_the_standard() -> Result<()> {
    let schema = version()?["schema"]["openAPIV3Schema"].take();
    let validator = jsonschema::validator_for(&schema)?;
    let objects = objects()?;
    let networks = objects
        .iter()
        .filter(|object| object["kind"] == "NetworkAttachmentDefinition");
    let mut seen = 0;
    for network in networks {
        assert!(validator.is_valid(network), "{network:#}");
        seen += 1;
    }
    assert!(seen > 0);
    // Section 3.2.4: a network that the implementation knows by the object's name.
    let named = json!({
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": { "name": "a-bridge-network" },
    });
    assert!(validator.is_valid(&named));
    let mut wrong = named.clone();
    wrong["spec"] = json!({ "config": { "type": "bridge" } });
    assert!(!validator.is_valid(&wrong), "config is text");
    Ok(())
}
