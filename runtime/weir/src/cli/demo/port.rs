//! A port of the host that is mapped to a container, by a second plugin.

use std::net::SocketAddr;

use anyhow::Result;
use serde_json::{Value, json};

use super::report::Report;
use super::world::World;
use super::{Attached, PORT, packets};

const HOST_PORT: u16 = 8080;

/// The plugin's configuration, with what the runtime adds to it.
fn configuration(previous: &Value) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": "demo",
        "type": "portmap",
        "runtimeConfig": {
            "portMappings": [
                { "hostPort": HOST_PORT, "containerPort": PORT, "protocol": "tcp" }
            ]
        },
        "prevResult": previous,
    })
}

/// Maps the port, connects to it from the host and from both containers, and removes it.
pub fn show(report: &Report, world: &World, to: &Attached, neighbour: &Attached) -> Result<()> {
    report.title("A port of the host");
    let config = configuration(&to.result);
    let inside = SocketAddr::new(to.address(), PORT);
    let outside = SocketAddr::new(to.gateway()?, HOST_PORT);
    let (to, neighbour) = (&to.container, &neighbour.container);
    let call = |command: &str| world.plugin("portmap", command, to, &config).map(drop);
    let what = format!(
        "ADD by portmap: port {HOST_PORT} of the host is mapped to port {PORT} of container {}",
        to.name()
    );
    report.step(&what, || call("ADD"))?;
    for (from, who) in [
        (None, "the host"),
        (Some(neighbour), "the other container"),
        (Some(to), "the container itself"),
    ] {
        report.step(&format!("TCP from {who} to {outside}"), || {
            packets::exchange(from, to, inside, outside)
        })?;
    }
    report.step("CHECK by portmap", || call("CHECK"))?;
    report.step("DEL by portmap", || call("DEL"))
}
