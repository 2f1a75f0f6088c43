//! Leases as host-local writes them: one file per address, named after it.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use crate::request::Request;

const LAST: &str = "last_reserved_ip.0";

/// Takes the first free address after the one that was last taken.
pub fn take(store: &Path, request: &Request) -> Result<Ipv4Addr> {
    fs::create_dir_all(store).context("dataDir")?;
    let _lock = lock(store)?;
    let gateway = request.gateway.to_bits();
    let broadcast = gateway | (u32::MAX >> request.prefix);
    let last = last_taken(store).filter(|l| (gateway..broadcast).contains(l));
    let last = last.unwrap_or(gateway);
    for candidate in (last + 1..broadcast).chain(gateway + 1..=last) {
        let address = Ipv4Addr::from_bits(candidate);
        if create(store, request, address)? {
            fs::write(store.join(LAST), address.to_string()).context(LAST)?;
            return Ok(address);
        }
    }
    bail!("no address is free")
}

/// Gives the address back.
pub fn release(store: &Path, address: Ipv4Addr) -> Result<()> {
    let _lock = lock(store)?;
    fs::remove_file(store.join(address.to_string())).context("lease")
}

/// Fails unless the address is this attachment's.
pub fn holds(store: &Path, request: &Request, address: Ipv4Addr) -> Result<()> {
    let _lock = lock(store)?;
    let lease = fs::read_to_string(store.join(address.to_string())).context("lease")?;
    ensure!(
        lease == content(request),
        "the lease is another attachment's"
    );
    Ok(())
}

fn lock(store: &Path) -> Result<File> {
    let file = File::create(store.join("lock")).context("lock")?;
    file.lock().context("lock")?;
    Ok(file)
}

fn last_taken(store: &Path) -> Option<u32> {
    let text = fs::read_to_string(store.join(LAST)).ok()?;
    Some(text.parse::<Ipv4Addr>().ok()?.to_bits())
}

/// Whether the lease could be made; an address that is taken has one.
fn create(store: &Path, request: &Request, address: Ipv4Addr) -> Result<bool> {
    match File::create_new(store.join(address.to_string())) {
        Ok(mut file) => {
            file.write_all(content(request).as_bytes())
                .context("lease")?;
            Ok(true)
        }
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error).context("lease"),
    }
}

fn content(request: &Request) -> String {
    format!("{}\r\n{}", request.container_id, request.interface)
}
