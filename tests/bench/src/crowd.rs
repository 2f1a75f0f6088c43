//! A node full of other containers: taken addresses, links and mapped ports that have nothing to do with
//! ours.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::interrupt;
use crate::list::execution;
use crate::node::{GATEWAY, INTERFACE, Node};

/// Addresses that are taken.
pub const LEASES: u32 = 60_000;
/// Links on the host, as unattached veth pairs.
pub const LINKS: u32 = 1_000;

/// Ports that are mapped.
pub const MAPPINGS: u32 = 2_000;

/// How many of them each container has: half of TCP and half of UDP.
const MAPPINGS_OF_ONE: u32 = 20;

/// The lowest of the host's ports that are mapped.
const FIRST_PORT: u32 = 20_000;

/// The address after the subnet's gateway.
const FIRST: Ipv4Addr = Ipv4Addr::new(10, 88, 0, 2);
/// One near the end of the subnet, far from where the next ADD looks.
const FOREIGN: Ipv4Addr = Ipv4Addr::new(10, 88, 255, 250);

/// Fills a node on which one ADD was made.
pub fn gather(node: &Node) -> Result<()> {
    let store = node.store()?;
    for number in 0..LEASES {
        interrupt::check()?;
        // The one that a container had already is overwritten.
        let address = Ipv4Addr::from_bits(FIRST.to_bits() + number);
        fs::write(store.join(address.to_string()), content(number)).context("write a lease")?;
    }
    let last = Ipv4Addr::from_bits(FIRST.to_bits() + LEASES - 1);
    fs::write(store.join("last_reserved_ip.0"), last.to_string()).context("last_reserved_ip.0")?;
    node.host.ip(&links())
}

/// Another program takes an address in the store, as the reference plugin would.
pub fn foreign_lease(store: &Path) -> Result<()> {
    let path = store.join(FOREIGN.to_string());
    let mut file = File::create_new(path).context("another program's lease")?;
    Ok(file.write_all(content(u32::MAX).as_bytes())?)
}

/// And gives it back.
pub fn foreign_release(store: &Path) -> Result<()> {
    fs::remove_file(store.join(FOREIGN.to_string())).context("another program's lease")
}

/// The reference's format: container id, line break, interface name.
fn content(number: u32) -> String {
    format!("{:0>64}\r\neth0", format!("f{number:x}"))
}

fn links() -> String {
    let mut commands = String::new();
    for pair in 0..LINKS / 2 {
        let command = format!("link add crowd{pair}a type veth peer name crowd{pair}b");
        writeln!(commands, "{command}").expect("writing to a string");
    }
    commands
}

/// Maps ports with weir's own `portmap`, for containers that the bridge's subnet could have.
pub fn map_ports(node: &Node) -> Result<()> {
    for container in 0..MAPPINGS / MAPPINGS_OF_ONE {
        let configuration = execution(&mapping(container), Some(&attached(container)));
        let container_id = format!("crowd-{container}");
        node.run("portmap", "ADD", &container_id, &configuration)?;
    }
    let mapped = mapped(node)?;
    ensure!(
        mapped == MAPPINGS as usize,
        "{mapped} ports are mapped, not {MAPPINGS}"
    );
    Ok(())
}

fn mapping(container: u32) -> Value {
    let first = FIRST_PORT + container * MAPPINGS_OF_ONE / 2;
    let ports = (first..).take(MAPPINGS_OF_ONE as usize / 2);
    let mappings = ports.flat_map(|port| {
        ["tcp", "udp"]
            .map(|protocol| json!({"hostPort": port, "containerPort": 80, "protocol": protocol}))
    });
    let mappings: Vec<_> = mappings.collect();
    json!({"type": "portmap", "runtimeConfig": {"portMappings": mappings}})
}

/// The result of the plugins before.
fn attached(container: u32) -> Value {
    let address = Ipv4Addr::from_bits(FOREIGN.to_bits() - 1 - container);
    json!({
        "cniVersion": "1.0.0",
        "interfaces": [{"name": INTERFACE, "sandbox": "/run/netns/crowd"}],
        "ips": [{"interface": 0, "address": format!("{address}/16"), "gateway": GATEWAY}],
    })
}

/// How many mappings the kernel has.
fn mapped(node: &Node) -> Result<usize> {
    node.host.enter()?;
    let output = Command::new("nft")
        .args(["list", "map", "inet", "weir_portmap", "ports4"])
        .output()
        .context("run `nft`: install the package nftables")?;
    ensure!(output.status.success(), "`nft` failed: {output:?}");
    Ok(String::from_utf8(output.stdout)?.matches("crowd-").count())
}
