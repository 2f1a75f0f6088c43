//! `weir demo`: what weir does, shown in namespaces of its own with real packets.

mod hostile;
mod packets;
mod port;
mod report;
mod world;

use std::net::IpAddr;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::cli::scratch_node::Container;
use report::Report;
use world::World;

/// The demo's network: a bridge with a gateway, IPv4 and IPv6.
fn network() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": "demo",
        "type": "bridge",
        "bridge": "weir0",
        "isDefaultGateway": true,
        "hairpinMode": true,
        "ipam": {
            "type": "host-local",
            "ranges": [
                [{ "subnet": "10.77.0.0/24" }],
                [{ "subnet": "fd77::/64" }]
            ]
        }
    })
}

/// Runs the demo, in a user and network namespace that end with it.
pub fn run() -> Result<()> {
    let world = World::enter()?;
    let report = Report::start();
    report.title("A network of two containers, by sandboxed plugins");
    report.say("The network configuration, as it would be in /etc/cni/net.d:");
    report.json(&network());

    report.step("install the binary and one link for each plugin", || {
        world.install()
    })?;
    let one = report.step("make the network namespace of container one", || {
        world.node.container("one")
    })?;
    let two = report.step("make the network namespace of container two", || {
        world.node.container("two")
    })?;

    let result_one = attach(&report, &world, &one)?;
    report.say("The result, as the container runtime gets it on standard output:");
    report.json(&result_one);
    let result_two = attach(&report, &world, &two)?;
    talk(&report, &one, &two, &result_one, &result_two)?;
    let ends = (address(&result_one, 0)?, gateway(&result_one)?);
    port::show(&report, &world, (&one, &result_one), &two, ends)?;
    report.step("CHECK container one", || {
        let config = with_previous(&result_one);
        world.plugin("bridge", "CHECK", &one, &config).map(drop)
    })?;

    hostile::show(&report, &world, &one)?;

    report.title("And nothing is left");
    for (container, result) in [(&one, &result_one), (&two, &result_two)] {
        report.step(&format!("DEL container {}", container.name()), || {
            world
                .plugin("bridge", "DEL", container, &with_previous(result))
                .map(drop)
        })?;
    }
    prove_nothing_is_left(&report, &world, &[&one, &two])?;
    report.end();
    Ok(())
}

fn attach(report: &Report, world: &World, container: &Container) -> Result<Value> {
    let name = container.name();
    let what = format!("ADD container {name} (as a container runtime runs it)");
    let result = report.step(&what, || {
        world.plugin("bridge", "ADD", container, &network())
    })?;
    result.context("ADD printed no result")
}

fn with_previous(result: &Value) -> Value {
    let mut config = network();
    config["prevResult"] = result.clone();
    config
}

fn talk(
    report: &Report,
    one: &Container,
    two: &Container,
    result_one: &Value,
    result_two: &Value,
) -> Result<()> {
    report.title("Real packets");
    for family in [0, 1] {
        let target = address(result_two, family)?;
        let what = format!("TCP from container one to container two, {target}");
        report.step(&what, || packets::exchange(one, two, target))?;
    }
    let (other, gateway) = (address(result_two, 0)?, gateway(result_one)?);
    for (target, who) in [(other, "container two"), (gateway, "the gateway")] {
        let what = format!("ping from container one to {who}, {target}");
        report.step(&what, || packets::ping(one, target))?;
    }
    Ok(())
}

/// The address of one family in a result.
fn address(result: &Value, index: usize) -> Result<IpAddr> {
    let network = text(&result["ips"][index]["address"])?;
    let (address, _) = network
        .split_once('/')
        .context("an address has a prefix length")?;
    Ok(address.parse()?)
}

fn gateway(result: &Value) -> Result<IpAddr> {
    Ok(text(&result["ips"][0]["gateway"])?.parse()?)
}

fn text(value: &Value) -> Result<&str> {
    let text = value.as_str();
    text.with_context(|| format!("`{value}` in the result is not a string"))
}

fn prove_nothing_is_left(report: &Report, world: &World, containers: &[&Container]) -> Result<()> {
    for container in containers {
        let (name, links) = (container.name(), container.links()?);
        ensure!(links == ["lo"], "container {name} still has {links:?}");
        report.fact(&format!("links in container {name}"), "lo");
    }
    let mut links = world.node.links()?;
    links.retain(|name| !["lo", "weir0"].contains(&name.as_str()));
    ensure!(links.is_empty(), "the host still has {links:?}");
    report.fact(
        "links on the host",
        "lo, and weir0: the network's bridge stays for the next container",
    );
    let leases = world.leases("demo")?;
    ensure!(leases.is_empty(), "there are still leases: {leases:?}");
    report.fact("leases", "none");
    Ok(())
}
