//! Names of links: valid ones, and random ones.

use std::hash::{BuildHasher, RandomState};

use weir_grant::link::flaw_of_name;

use crate::error::{Error, Result};

/// Checks a name before it goes to the kernel. Errors: `Invalid`.
pub fn check(name: &str) -> Result<()> {
    flaw_of_name(name).map_or(Ok(()), |why| Err(Error::invalid(why)))
}

/// A name that is most likely free: the prefix and eight random hexadecimal digits.
///
/// The name that the kernel would choose, `vethN`, costs it a walk over all names and weir a search.
pub(super) fn random(prefix: &str) -> String {
    format!("{prefix}{:08x}", random_number() as u32)
}

/// `RandomState` is seeded by the kernel's random numbers; each one of a thread differs.
pub(super) fn random_number() -> u64 {
    RandomState::new().hash_one(std::process::id())
}

/// A random MAC address, locally administered (IEEE 802: the second bit of the first byte is set, the
/// first is not).
pub(super) fn random_mac() -> Vec<u8> {
    let mut mac = random_number().to_be_bytes()[..6].to_vec();
    mac[0] = mac[0] & 0xfc | 0x02;
    mac
}
