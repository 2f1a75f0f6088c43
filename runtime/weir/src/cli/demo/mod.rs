//! `weir demo`: shows what weir does, in new namespaces with real packets.

mod hostile;
mod packets;
mod port;
mod report;
mod world;

use std::net::{IpAddr, SocketAddr};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_cni::{IpConfig, from_json};

use crate::cli::output::show;
use crate::cli::scratch_node::{Container, ScratchNode};
use report::Report;
use world::World;

/// The port of a server in a container.
const PORT: u16 = 80;

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
    let node = ScratchNode::enter("weir demo")?;
    let world = World { node };
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

    let one = Attached::to(one, &report, &world)?;
    report.say("The result, as the container runtime gets it on standard output:");
    report.json(&one.result);
    let two = Attached::to(two, &report, &world)?;
    talk(&report, &one, &two)?;
    port::show(&report, &world, &one, &two)?;
    report.step("CHECK container one", || one.call(&world, "CHECK"))?;

    hostile::show(&report, &world, &one.container)?;

    report.title("And nothing is left");
    for attached in [&one, &two] {
        let what = format!("DEL container {}", attached.container.name());
        report.step(&what, || attached.call(&world, "DEL"))?;
    }
    prove_nothing_is_left(&report, &world, [&one.container, &two.container])?;
    report.end();
    Ok(())
}

/// A container that is attached to the demo's network.
struct Attached {
    container: Container,
    result: Value,
    /// Its addresses, IPv4 first.
    ips: Vec<IpConfig>,
}

impl Attached {
    fn to(container: Container, report: &Report, world: &World) -> Result<Self> {
        let name = container.name();
        let what = format!("ADD container {name} (as a container runtime runs it)");
        let result = report.step(&what, || {
            world.plugin("bridge", "ADD", &container, &network())
        })?;
        let result = result.context("ADD printed no result")?;
        let ips = from_json(&result).map_err(show)?.ips;
        ensure!(!ips.is_empty(), "the result has no address");
        Ok(Self {
            ips,
            container,
            result,
        })
    }

    fn call(&self, world: &World, command: &str) -> Result<()> {
        let mut config = network();
        config["prevResult"] = self.result.clone();
        let called = world.plugin("bridge", command, &self.container, &config);
        called.map(drop)
    }

    fn address(&self) -> IpAddr {
        self.ips[0].address.addr()
    }

    fn gateway(&self) -> Result<IpAddr> {
        self.ips[0].gateway.context("the result has no gateway")
    }
}

fn talk(report: &Report, one: &Attached, two: &Attached) -> Result<()> {
    report.title("Real packets");
    for ip in &two.ips {
        let target = ip.address.addr();
        let what = format!("TCP from container one to container two, {target}");
        let server = SocketAddr::new(target, PORT);
        report.step(&what, || {
            packets::exchange(Some(&one.container), &two.container, server, server)
        })?;
    }
    let (other, gateway) = (two.address(), one.gateway()?);
    for (target, who) in [(other, "container two"), (gateway, "the gateway")] {
        let what = format!("ping from container one to {who}, {target}");
        report.step(&what, || packets::ping(&one.container, target))?;
    }
    Ok(())
}

fn prove_nothing_is_left(
    report: &Report,
    world: &World,
    containers: [&Container; 2],
) -> Result<()> {
    for container in containers {
        let (name, links) = (container.name(), container.links()?);
        ensure!(
            links == ["lo"],
            "container {name} still has {}",
            links.join(", ")
        );
        report.fact(&format!("links in container {name}"), "lo");
    }
    let mut links = world.node.links()?;
    links.retain(|name| !["lo", "weir0"].contains(&name.as_str()));
    ensure!(links.is_empty(), "the node still has {}", links.join(", "));
    report.fact(
        "links on the node",
        "lo, and weir0: the network's bridge stays for the next container",
    );
    let leases = world.leases("demo")?;
    ensure!(
        leases.is_empty(),
        "there are still leases: {}",
        leases.join(", ")
    );
    report.fact("leases", "none");
    Ok(())
}
