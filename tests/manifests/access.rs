//! What weir may do in a cluster: as much as it does, and nothing else.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use super::documents::{objects, one, text};

/// API group, resource, verb: each is a request that the delegating plugin makes.
const NEEDED: [(&str, &str, &str); 4] = [
    // The pod with its annotations.
    ("", "pods", "get"),
    // The status annotation.
    ("", "pods/status", "patch"),
    // A network that the pod selects.
    ("k8s.cni.cncf.io", "network-attachment-definitions", "get"),
    // An event about the pod.
    ("", "events", "create"),
];

fn strings(rule: &Value, key: &str) -> Result<Vec<String>> {
    serde_json::from_value(rule[key].clone()).with_context(|| format!("{key} of {rule}"))
}

#[test]
fn the_role_has_what_the_plugin_needs_and_nothing_else() -> Result<()> {
    let role = one("rbac.yaml", "ClusterRole")?;
    let mut granted = BTreeSet::new();
    for rule in role["rules"].as_array().context("rules")? {
        let keys: Vec<&str> = rule
            .as_object()
            .into_iter()
            .flat_map(|rule| rule.keys().map(String::as_str))
            .collect();
        assert_eq!(keys, ["apiGroups", "resources", "verbs"]);
        for group in strings(rule, "apiGroups")? {
            for resource in strings(rule, "resources")? {
                for verb in strings(rule, "verbs")? {
                    granted.insert((group.clone(), resource.clone(), verb));
                }
            }
        }
    }
    let needed = NEEDED.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(granted, BTreeSet::from(needed));
    Ok(())
}

#[test]
fn the_role_is_bound_to_the_account_of_the_daemon_set_alone() -> Result<()> {
    let binding = one("rbac.yaml", "ClusterRoleBinding")?;
    let role = one("rbac.yaml", "ClusterRole")?;
    let account = one("rbac.yaml", "ServiceAccount")?;
    assert_eq!(
        binding["roleRef"],
        json!({
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role["metadata"]["name"],
        })
    );
    assert_eq!(
        binding["subjects"],
        json!([{
            "kind": "ServiceAccount",
            "name": account["metadata"]["name"],
            "namespace": account["metadata"]["namespace"],
        }])
    );
    let daemons = one("daemonset.yaml", "DaemonSet")?;
    assert_eq!(
        daemons["metadata"]["namespace"],
        account["metadata"]["namespace"]
    );
    let spec = &daemons["spec"]["template"]["spec"];
    assert_eq!(spec["serviceAccountName"], account["metadata"]["name"]);

    let kinds: Vec<String> = objects()?
        .iter()
        .map(|object| text(object, "kind").map(str::to_owned))
        .collect::<Result<_>>()?;
    let roles = kinds.iter().filter(|kind| kind.contains("Role"));
    assert_eq!(
        roles.count(),
        2,
        "no other role, and no other binding: {kinds:?}"
    );
    Ok(())
}

/// A token is where one is needed.
#[test]
fn no_other_pod_has_a_token() -> Result<()> {
    let account = one("rbac.yaml", "ServiceAccount")?;
    assert_eq!(account["automountServiceAccountToken"], false);
    for (file, has_token) in [
        ("daemonset.yaml", true),
        ("uninstall/daemonset.yaml", false),
    ] {
        let daemons = one(file, "DaemonSet")?;
        let spec = &daemons["spec"]["template"]["spec"];
        assert_eq!(spec["automountServiceAccountToken"], false, "{file}");
        assert_eq!(spec["serviceAccountName"].is_string(), has_token, "{file}");
        let volumes = spec["volumes"].as_array().context("volumes")?;
        let projected = volumes.iter().any(|volume| volume["projected"].is_object());
        assert_eq!(projected, has_token, "{file}");
    }
    Ok(())
}
