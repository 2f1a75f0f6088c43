//! An API server that is not there, or does not know the pod.

use std::time::Instant;

use anyhow::Result;
use serde_json::json;
use weir_kit::assert_contains;

use crate::world::{World, names};

#[test]
fn an_unreachable_api_server_fails_an_add_and_not_a_del() -> Result<()> {
    let world = World::create()?;
    let pod = world.plain("unreachable")?;
    let other = world.pod_with("other", &[])?;
    let kubeconfig = world
        .api
        .kubeconfig()
        .replace(&world.api.url(), "https://127.0.0.1:1");
    std::fs::write(world.node.root().join("etc/dead.kubeconfig"), kubeconfig)?;
    let config = world.config_with(json!({ "kubeconfig": "/etc/dead.kubeconfig" }));
    let error = world.run_with("ADD", &other, &config)?.error();
    assert_eq!(error["code"], 11, "{error:#}");
    let text = error["msg"].as_str().unwrap_or_default();
    assert!(
        text.contains(&format!("{}/other", world.namespace)),
        "{error:#}"
    );
    assert_eq!(names(&other.container)?, Vec::<String>::new());
    let start = Instant::now();
    world.del_with(&pod, &config)?;
    assert!(
        start.elapsed().as_secs() < 10,
        "DEL waited for {:?}",
        start.elapsed()
    );
    assert!(world.records().is_empty());
    Ok(())
}

#[test]
fn a_pod_that_is_gone_is_not_attached() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("vanished", &[])?;
    world.api.delete_pod(&world.namespace, "vanished")?;
    world.refused(&pod, 230, &[])?;
    // Another one by the same name is another one.
    world.pod_with("vanished", &[])?;
    assert_contains(
        &world.run("ADD", &pod)?.message(),
        &["another pod has its name"],
    );
    Ok(())
}

#[test]
fn no_kubeconfig_and_no_service_account_is_no_kubernetes() -> Result<()> {
    let world = World::create()?;
    let pod = world.pod_with("no-cluster", &[])?;
    let config = world.config_with(json!({ "kubeconfig": null }));
    let result = world.run_with("ADD", &pod, &config)?.result();
    assert!(result["ips"][0]["address"].is_string(), "{result:#}");
    world.del_with(&pod, &config)
}
