//! The chart's value `uninstall`, with an API server: the DaemonSet must be gone before weir is removed.

use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::http_server::{Answer, Server};
use weir_kit::kubectl::helm;
use weir_kit::{assert_contains, failure};

use super::chart::Chart;

const DAEMON_SET: &str = "/apis/apps/v1/namespaces/kube-system/daemonsets/weir";

/// What Helm asks before it asks for the DaemonSet.
fn discovery(path: &str) -> Option<Value> {
    let version = json!({ "groupVersion": "apps/v1", "version": "v1" });
    let resource =
        json!({ "name": "daemonsets", "kind": "DaemonSet", "namespaced": true, "verbs": ["get"] });
    match path.split('?').next()? {
        "/version" => Some(json!({ "major": "1", "minor": "33", "gitVersion": "v1.33.0" })),
        "/api" => Some(json!({ "kind": "APIVersions", "versions": ["v1"] })),
        "/apis" => Some(json!({
            "kind": "APIGroupList",
            "apiVersion": "v1",
            "groups": [{ "name": "apps", "versions": [version], "preferredVersion": version }],
        })),
        "/api/v1" => {
            Some(json!({ "kind": "APIResourceList", "groupVersion": "v1", "resources": [] }))
        }
        "/apis/apps/v1" => Some(json!({
            "kind": "APIResourceList",
            "groupVersion": "apps/v1",
            "resources": [resource],
        })),
        _ => None,
    }
}

/// One that has the DaemonSet.
fn api_server() -> Server {
    Server::start(move |request| {
        let object = json!({
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": { "name": "weir", "namespace": "kube-system" },
        });
        let own = (request.path == DAEMON_SET).then_some(object);
        let Some(body) = own.or_else(|| discovery(&request.path)) else {
            return Answer::status(404);
        };
        let answer = Answer::ok(body.to_string().as_bytes());
        answer.with("Content-Type", "application/json")
    })
}

/// What Helm would do in a cluster.
fn remove(chart: &Chart, server: &Server) -> Result<String> {
    let directory = tempfile::tempdir()?;
    let kubeconfig = directory.path().join("kubeconfig");
    let content = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "test", "cluster": { "server": format!("http://{}", server.address) } }],
        "users": [{ "name": "test", "user": {} }],
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        "current-context": "test",
    });
    fs::write(&kubeconfig, content.to_string())?;
    let mut arguments = vec![
        "template".into(),
        "weir".into(),
        chart.archive.clone().into_os_string(),
    ];
    arguments.extend(["--dry-run=server"].map(Into::into));
    arguments.extend(["--namespace", "kube-system", "--set", "uninstall=true"].map(Into::into));
    arguments.extend(["--kubeconfig".into(), kubeconfig.into_os_string()]);
    helm(arguments)
}

/// Without one it is removed: `chart::the_uninstallation_is_its_kustomization`.
#[test]
fn weir_is_not_removed_beside_the_daemon_set_that_would_put_it_back() -> Result<()> {
    let refused = failure(remove(&Chart::pack()?, &api_server()))?;
    let command = "delete the DaemonSet first: kubectl -n kube-system delete daemonset weir";
    assert_contains(&refused, &[command]);
    Ok(())
}
