//! What objects must be: the checks of the API server for the kinds that are served.

use serde_json::{Map, Value};

use crate::route::Route;
use crate::status::Status;

/// The API server's own bound for all annotations of an object together.
const LONGEST_ANNOTATIONS: usize = 256 * 1024;

const LONGEST_NAME: usize = 253;

/// Checks an object that is to be stored, and removes what its kind does not know.
pub fn check(route: &Route, object: &mut Value) -> Result<(), Status> {
    check_name(route, object)?;
    check_annotations(route, object)?;
    match route.resource.kind {
        "NetworkAttachmentDefinition" => check_definition(route, object),
        "Event" => check_event(route, object),
        _ => Ok(()),
    }
}

fn check_name(route: &Route, object: &Value) -> Result<(), Status> {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if is_subdomain(name) {
        return Ok(());
    }
    let wrong = format!(
        "Invalid value: {name:?}: a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character"
    );
    invalid(route, object, "metadata.name", &wrong)
}

fn is_subdomain(name: &str) -> bool {
    let is_label = |label: &str| {
        let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let ends_well = !label.starts_with('-') && !label.ends_with('-');
        !label.is_empty() && ends_well && label.bytes().all(is_inner)
    };
    name.len() <= LONGEST_NAME && name.split('.').all(is_label)
}

fn check_annotations(route: &Route, object: &mut Value) -> Result<(), Status> {
    let Some(annotations) = object["metadata"].get("annotations") else {
        return Ok(());
    };
    let annotations = match annotations {
        Value::Null => Map::new(),
        Value::Object(annotations) => annotations.clone(),
        _ => return Err(undecodable(route, "metadata.annotations")),
    };
    let mut length = 0;
    for (key, value) in &annotations {
        let Value::String(value) = value else {
            return Err(undecodable(route, "metadata.annotations"));
        };
        length += key.len() + value.len();
    }
    if annotations.is_empty() {
        remove(&mut object["metadata"], "annotations");
    }
    if length > LONGEST_ANNOTATIONS {
        let wrong = format!("Too long: may not be more than {LONGEST_ANNOTATIONS} bytes");
        return invalid(route, object, "metadata.annotations", &wrong);
    }
    Ok(())
}

fn undecodable(route: &Route, field: &str) -> Status {
    let kind = route.resource.kind;
    Status::bad_request(format!(
        "{kind} in version \"{}\" cannot be handled as a {kind}: json: cannot unmarshal into Go struct field ObjectMeta.{field} of type string",
        route.resource.version
    ))
}

/// The structural schema of the CustomResourceDefinition: `spec` has a `config`, which is a string. What
/// it does not name is pruned.
fn check_definition(route: &Route, object: &mut Value) -> Result<(), Status> {
    let wrong_type = |field: &str, value: &Value, expected: &str| {
        let kind = kind(value);
        let wrong = format!(
            "Invalid value: {kind:?}: {field} in body must be of type {expected}: {kind:?}"
        );
        invalid(route, object, field, &wrong)
    };
    match object.get("spec") {
        None => {}
        Some(Value::Object(spec)) => {
            if let Some(config) = spec.get("config").filter(|config| !config.is_string()) {
                return wrong_type("spec.config", config, "string");
            }
        }
        Some(other) => return wrong_type("spec", other, "object"),
    }
    retain(object, &["apiVersion", "kind", "metadata", "spec"]);
    if let Some(spec) = object.get_mut("spec") {
        retain(spec, &["config"]);
    }
    Ok(())
}

fn check_event(route: &Route, object: &Value) -> Result<(), Status> {
    let about = &object["involvedObject"]["namespace"];
    let namespace = &object["metadata"]["namespace"];
    if about == namespace {
        return Ok(());
    }
    let wrong = format!("Invalid value: {about}: does not match event.namespace");
    invalid(route, object, "involvedObject.namespace", &wrong)
}

fn invalid<T>(route: &Route, object: &Value, field: &str, wrong: &str) -> Result<T, Status> {
    let mut about = route.about();
    let name = object["metadata"]["name"].as_str();
    name.unwrap_or_default().clone_into(&mut about.name);
    Err(Status::invalid(&about, route.resource.kind, field, wrong))
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn retain(object: &mut Value, keys: &[&str]) {
    if let Value::Object(object) = object {
        object.retain(|key, _| keys.contains(&&**key));
    }
}

fn remove(object: &mut Value, key: &str) {
    if let Value::Object(object) = object {
        object.remove(key);
    }
}
