//! A port of the host that leads to a container: a second plugin in the network's list.

use std::net::{IpAddr, SocketAddr};

use anyhow::Result;
use serde_json::{Value, json};

use super::container::Container;
use super::packets;
use super::report::Report;
use super::world::World;

const HOST_PORT: u16 = 8080;
const CONTAINER_PORT: u16 = 80;

/// The plugin's configuration, with what the runtime adds to it.
fn configuration(previous: &Value) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": "demo",
        "type": "portmap",
        "runtimeConfig": {
            "portMappings": [
                { "hostPort": HOST_PORT, "containerPort": CONTAINER_PORT, "protocol": "tcp" }
            ]
        },
        "prevResult": previous,
    })
}

/// Maps the port, reaches it from the host and from another container, and takes it away.
pub fn show(
    report: &Report,
    world: &World,
    (to, result): (&Container, &Value),
    neighbour: &Container,
    (address, gateway): (IpAddr, IpAddr),
) -> Result<()> {
    report.title("A port of the host");
    let config = configuration(result);
    let call = |command: &str| world.plugin("portmap", command, to, &config).map(drop);
    let what = format!(
        "ADD by portmap: port {HOST_PORT} of the host leads to port {CONTAINER_PORT} of container {}",
        to.name()
    );
    report.step(&what, || call("ADD"))?;
    let inside = SocketAddr::new(address, CONTAINER_PORT);
    let outside = SocketAddr::new(gateway, HOST_PORT);
    for (from, who) in [
        (None, "the host"),
        (Some(neighbour), "the other container"),
        (Some(to), "the container itself"),
    ] {
        report.step(&format!("TCP from {who} to {outside}"), || {
            packets::exchange_through(from, to, inside, outside)
        })?;
    }
    report.step("CHECK by portmap", || call("CHECK"))?;
    report.step("DEL by portmap", || call("DEL"))
}
