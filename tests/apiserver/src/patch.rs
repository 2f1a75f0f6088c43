//! The kinds of patches, by their content type.

use serde_json::Value;

use crate::route::Route;
use crate::status::Status;

const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_MERGE_PATCH: &str = "application/strategic-merge-patch+json";

/// The object as a patch makes it.
pub fn apply(route: &Route, kind: &str, patch: &[u8], object: &Value) -> Result<Value, Status> {
    // The API server has no schema for custom resources that tells how lists are merged.
    let is_custom = !route.resource.group.is_empty();
    let accepted = if is_custom {
        vec![JSON_PATCH, MERGE_PATCH]
    } else {
        vec![JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH]
    };
    if !accepted.contains(&kind) {
        return Err(Status::unsupported_media_type(&accepted.join(", ")));
    }
    let patch: Value = serde_json::from_slice(patch)
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    match kind {
        JSON_PATCH => by_operations(route, patch, object),
        STRATEGIC_MERGE_PATCH if has_list(&patch) => Err(Status::bad_request(
            "a strategic merge patch with a list: this stand-in does not know the list's key",
        )),
        _ => {
            let mut patched = object.clone();
            json_patch::merge(&mut patched, &patch);
            Ok(patched)
        }
    }
}

fn by_operations(route: &Route, patch: Value, object: &Value) -> Result<Value, Status> {
    let patch: json_patch::Patch = serde_json::from_value(patch)
        .map_err(|error| Status::bad_request(format!("error decoding patch: {error}")))?;
    let mut patched = object.clone();
    json_patch::patch(&mut patched, &patch).map_err(|error| {
        let wrong =
            format!("the server rejected our request due to an error in our request: {error}");
        Status::invalid(&route.about(), route.resource.kind, "patch", &wrong)
    })?;
    Ok(patched)
}

fn has_list(patch: &Value) -> bool {
    match patch {
        Value::Array(_) => true,
        Value::Object(object) => object.values().any(has_list),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::route::resource;

    fn patched(plural: &str, kind: &str, patch: &Value) -> Result<Value, u16> {
        let route = Route {
            resource: resource(plural).expect("it is served"),
            namespace: Some("default".to_owned()),
            name: Some("it".to_owned()),
            subresource: None,
        };
        let object = json!({ "a": { "keep": "1", "gone": "2" } });
        let patch = patch.to_string();
        apply(&route, kind, patch.as_bytes(), &object).map_err(|status| status.code)
    }

    #[test]
    fn a_merge_patch_sets_and_removes() {
        let patch = json!({ "a": { "gone": null, "new": "3" } });
        let expected = json!({ "a": { "keep": "1", "new": "3" } });
        assert_eq!(patched("pods", MERGE_PATCH, &patch), Ok(expected.clone()));
        assert_eq!(patched("pods", STRATEGIC_MERGE_PATCH, &patch), Ok(expected));
    }

    #[test]
    fn a_json_patch_is_carried_out_or_not_at_all() {
        let add = json!({ "op": "add", "path": "/a/new", "value": "3" });
        let done = patched("pods", JSON_PATCH, &json!([add]));
        assert_eq!(done.expect("an object")["a"]["new"], "3");
        let test = json!({ "op": "test", "path": "/a/keep", "value": "other" });
        assert_eq!(patched("pods", JSON_PATCH, &json!([add, test])), Err(422));
    }

    #[test]
    fn other_kinds_are_refused() {
        let definitions = "network-attachment-definitions";
        for kind in ["application/apply-patch+yaml", "application/json", ""] {
            assert_eq!(patched("pods", kind, &json!({})), Err(415), "{kind}");
        }
        let strategic = patched(definitions, STRATEGIC_MERGE_PATCH, &json!({}));
        assert_eq!(strategic, Err(415));
        let list = json!({ "a": [1] });
        assert_eq!(patched("pods", STRATEGIC_MERGE_PATCH, &list), Err(400));
    }
}
