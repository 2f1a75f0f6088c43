//! The order in which the addresses of a range set are assigned: round-robin.
//!
//! A container that is started again and again gets an address a second time only after all others have been assigned.
//! The address that was assigned last is the value of `last_reserved_ip.<index of the range set>`, as in the reference
//! plugin's files.

use std::net::IpAddr;

use weir_sdk::ipam::{Pool, RangeSet};
use weir_sdk::{Error, Outcome};

/// Iterates over all addresses of a set, beginning after the one that was assigned last.
pub fn candidates<'s>(
    pool: &Pool,
    index: usize,
    set: &'s RangeSet,
) -> Result<impl Iterator<Item = IpAddr> + 's, Error> {
    let last = pool.store().get(&last_reserved_key(index)).found()?;
    let last = last.as_deref().map(String::from_utf8_lossy);
    // Without an address, as after a crash, the round starts again.
    Ok(set.after(last.and_then(|last| last.trim().parse().ok())))
}

/// Notes the address that was assigned last.
pub fn note(pool: &Pool, index: usize, address: IpAddr) -> Result<(), Error> {
    let value = address.to_string();
    let store = pool.store();
    Ok(store.put(&last_reserved_key(index), value.as_bytes())?)
}

fn last_reserved_key(index: usize) -> String {
    format!("last_reserved_ip.{index}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_are_the_references() {
        assert_eq!(last_reserved_key(1), "last_reserved_ip.1");
    }
}
