//! What a client asks to learn which resources there are.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::route::{RESOURCES, Resource};

/// The version that it reports.
const VERSION: (&str, &str) = ("1", "34");

/// The answer to a path that is about the API itself. None where it is not.
pub fn answer(path: &str) -> Option<Value> {
    let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
    Some(match parts[..] {
        ["version"] => version(),
        ["api"] => json!({ "kind": "APIVersions", "versions": ["v1"] }),
        ["apis"] => groups(),
        ["api", version] => resources("", version)?,
        ["apis", group, version] => resources(group, version)?,
        _ => return None,
    })
}

fn version() -> Value {
    let (major, minor) = VERSION;
    let git = format!("v{major}.{minor}.0");
    json!({ "major": major, "minor": minor, "gitVersion": git, "platform": "linux/amd64" })
}

fn groups() -> Value {
    let named = RESOURCES
        .iter()
        .filter(|resource| !resource.group.is_empty());
    let groups: BTreeSet<(&str, &str)> = named.map(|it| (it.group, it.version)).collect();
    let groups: Vec<Value> = (groups.iter())
        .map(|(group, version)| {
            let version =
                json!({ "groupVersion": format!("{group}/{version}"), "version": version });
            json!({ "name": group, "versions": [version], "preferredVersion": version })
        })
        .collect();
    json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups })
}

fn resources(group: &str, version: &str) -> Option<Value> {
    let inside: Vec<&Resource> = (RESOURCES.iter())
        .filter(|resource| resource.group == group && resource.version == version)
        .collect();
    let group_version = inside.first()?.api_version();
    let resources: Vec<Value> = inside.iter().copied().flat_map(entries).collect();
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": group_version,
        "resources": resources,
    }))
}

/// Of a resource and of each of its parts.
fn entries(resource: &Resource) -> Vec<Value> {
    let entry = |name: String, verbs: &[&str]| {
        json!({
            "name": name,
            "singularName": resource.kind.to_lowercase(),
            "namespaced": resource.is_namespaced,
            "kind": resource.kind,
            "verbs": verbs,
        })
    };
    let plural = resource.plural;
    let verbs = [
        "create", "delete", "get", "list", "patch", "update", "watch",
    ];
    let whole = entry(plural.to_owned(), &verbs);
    let parts = (resource.subresources.iter()).map(|part| {
        let verbs: &[&str] = match *part {
            "token" => &["create"],
            _ => &["get", "patch", "update"],
        };
        entry(format!("{plural}/{part}"), verbs)
    });
    [whole].into_iter().chain(parts).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_known_by_its_path() {
        let found = answer("/apis/k8s.cni.cncf.io/v1").expect("a group");
        assert_eq!(found["groupVersion"], "k8s.cni.cncf.io/v1");
        assert_eq!(found["resources"][0]["kind"], "NetworkAttachmentDefinition");
        assert_eq!(answer("/apis/k8s.cni.cncf.io/v2"), None);
        assert_eq!(answer("/apis/other/v1"), None);
        let groups = answer("/apis").expect("groups");
        assert_eq!(groups["groups"].as_array().map(Vec::len), Some(2));
    }
}
