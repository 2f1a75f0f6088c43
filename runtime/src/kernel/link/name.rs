//! Names of links: which ones there can be, and names of our own choice.

use std::hash::{BuildHasher, RandomState};

use crate::kernel::error::Error;

/// `IFNAMSIZ` without the NUL at its end.
const LONGEST: usize = 15;

/// The longest alias in bytes: `IFALIASZ` without the NUL at its end.
const LONGEST_ALIAS: usize = 255;

/// Checks a name before it goes to the kernel.
///
/// The kernel refuses most of these itself. It must not see a `%`, which it would replace by a
/// number, nor a NUL, at which it would stop reading: a grant allows the name as it is written.
///
/// Errors: `Invalid`.
pub fn check(name: &str) -> Result<(), Error> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "/:%".contains(c);
    if name.is_empty() || name.len() > LONGEST || name.contains(forbidden) || is_dots(name) {
        return Err(Error::invalid(format!(
            "`{}` is not a link's name: 1 to {LONGEST} bytes without spaces, `/`, `:` and `%`, \
             and neither `.` nor `..`",
            name.escape_debug()
        )));
    }
    Ok(())
}

fn is_dots(name: &str) -> bool {
    matches!(name, "." | "..")
}

/// Checks an alias. Errors: `Invalid`.
pub fn check_alias(alias: &str) -> Result<(), Error> {
    if alias.len() > LONGEST_ALIAS || alias.contains('\0') {
        return Err(Error::invalid(format!(
            "an alias of {} bytes: expected at most {LONGEST_ALIAS} bytes without NUL",
            alias.len()
        )));
    }
    Ok(())
}

/// A name that is most likely free: the prefix and eight random hexadecimal digits.
///
/// The kernel's own choice, `vethN`, would have to be searched for afterwards, and costs it a walk
/// over all names.
pub fn random(prefix: &str) -> String {
    // `RandomState` is seeded by the kernel's random numbers; each one of a thread differs.
    let number = RandomState::new().hash_one(std::process::id());
    format!("{prefix}{:08x}", number as u32)
}

/// A random MAC address, locally administered (IEEE 802: the second bit of the first byte is set, the
/// first is not).
pub fn random_mac() -> Vec<u8> {
    let number = RandomState::new().hash_one(std::process::id());
    let mut mac = number.to_be_bytes()[..6].to_vec();
    mac[0] = mac[0] & 0xfc | 0x02;
    mac
}
