//! What only the stand-in for an API server can be told to do, and to count.

mod takeover;

use anyhow::Result;
use serde_json::json;

use crate::world::{STATUS, World, names};

#[test]
fn an_add_makes_three_requests_and_a_del_at_most_two() -> Result<()> {
    let world = World::with_bridge("count", "10.46.0.0/24")?;
    let pod = world.attached_anew("count", "count")?;
    let requests = world.requests()?;
    assert_eq!(requests.len(), 3, "{requests:?}");
    world.api.forget_requests()?;
    world.del(&pod)?;
    let requests = world.requests()?;
    assert!(requests.len() <= 2, "{requests:?}");
    Ok(())
}

#[test]
fn a_status_that_cannot_be_written_does_not_fail_the_pod() -> Result<()> {
    let world = World::create()?;
    world.api.faults(json!([
        { "verb": "PATCH", "resource": "pods/status", "times": 100, "answer": { "refuse": { "status": 403 } } },
    ]))?;
    let pod = world.plain("forbidden")?;
    assert_eq!(names(&pod.container)?, ["eth0"]);
    assert_eq!(
        world
            .api
            .annotation(&world.namespace, "forbidden", STATUS)?,
        None
    );
    let log = world.log();
    let warned = log.iter().any(|line| {
        line["level"] == "warn"
            && line["message"]
                .as_str()
                .unwrap_or_default()
                .contains("pods/status")
    });
    assert!(warned, "{log:#?}");
    world.event(&pod, "NetworkStatusNotWritten")?;
    world.del(&pod)
}

#[test]
fn passing_faults_are_survived() -> Result<()> {
    let world = World::with_bridge("flaky", "10.46.1.0/24")?;
    world.api.faults(json!([
        { "verb": "GET", "resource": "pods", "times": 1, "answer": { "refuse": { "status": 429, "retryAfter": 1 } } },
        { "verb": "GET", "resource": "network-attachment-definitions", "times": 1, "answer": { "refuse": { "status": 503 } } },
        { "verb": "PATCH", "resource": "pods/status", "times": 2, "answer": { "refuse": { "status": 409 } } },
    ]))?;
    let pod = world.attached("flaky", "flaky")?;
    assert_eq!(world.status(&pod)?.len(), 2);
    world.del(&pod)
}
