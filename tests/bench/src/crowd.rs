//! A node full of other containers: taken addresses and links that have nothing to do with ours.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Write as _;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};

use crate::interrupt;
use crate::node::Node;

/// Addresses that are taken.
pub const LEASES: u32 = 60_000;
/// Links on the host, as unattached veth pairs.
pub const LINKS: u32 = 1_000;

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
