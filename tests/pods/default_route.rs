//! The selection's key `default-route`, through a whole pod.

use anyhow::Result;
use serde_json::json;

use crate::world::{World, selection};

#[test]
fn the_named_attachment_has_the_default_route_and_check_and_status_know() -> Result<()> {
    let world = World::with_bridge("route", "10.52.0.0/24")?;
    let keys = json!({ "default-route": ["10.52.0.1"] });
    let pod = world.attached("route", &selection("route", keys))?;
    let routes = pod.container.ip("-4 route show default")?;
    assert!(routes.contains("via 10.52.0.1 dev net1"), "{routes}");
    assert_eq!(routes.lines().count(), 1, "{routes}");
    let checked = world.run("CHECK", &pod)?;
    assert!(checked.succeeded(), "{checked:?}");
    let status = world.status(&pod)?;
    assert!(status[0].get("default-route").is_none(), "{status:#?}");
    assert_eq!(status[1]["default-route"], json!(["10.52.0.1"]));
    world.del(&pod)
}

#[test]
fn a_gateway_out_of_reach_fails_the_pod_and_leaves_nothing() -> Result<()> {
    let world = World::with_bridge("reach", "10.52.1.0/24")?;
    let keys = json!({ "default-route": ["192.0.2.1"] });
    let pod = world.pod("reach", &selection("reach", keys))?;
    let error = world.run("ADD", &pod)?.error();
    let text = error["msg"].as_str().unwrap_or_default();
    assert!(
        text.contains("192.0.2.1") && text.contains("/reach"),
        "{error:#}"
    );
    assert!(world.records().is_empty());
    assert!(world.taken("reach").is_empty() && world.node.taken("default-net").is_empty());
    Ok(())
}
