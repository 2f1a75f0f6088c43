//! What a key and its value can be.

use crate::{Error, Result};

/// The most bytes of a key: what a file's name can have.
const MOST_KEY: usize = 255;

/// The most bytes of a value.
pub(super) const MOST_VALUE: usize = 64 * 1024;

/// The name of the lock's file, which no key can have.
pub(super) const LOCK: &str = "lock";

/// Whether a name is a key of the contract. Everything else in the directory is not the plugin's.
pub(super) fn is_key(name: &str) -> bool {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"._:-".contains(&b);
    (1..=MOST_KEY).contains(&name.len())
        && name.bytes().all(allowed)
        && ![".", "..", LOCK].contains(&name)
}

/// Checks that a text can be a key. Errors: `Invalid`.
pub fn check(key: &str) -> Result<()> {
    if is_key(key) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "`{}` is not a key; expected 1 to {MOST_KEY} bytes of `A-Z a-z 0-9 . _ : -`, other than `.`, \
         `..` and `{}`",
        key.escape_debug(),
        LOCK
    )))
}

/// Checks that these can be keys, and that a value for them is not too large. Errors: `Invalid`.
pub fn check_entry(keys: &[String], value: &[u8]) -> Result<()> {
    keys.iter().try_for_each(|key| check(key))?;
    check_value(keys.first().map_or("", String::as_str), value)
}

/// Checks that a value is not too large. Errors: `Invalid`.
fn check_value(key: &str, value: &[u8]) -> Result<()> {
    if value.len() <= MOST_VALUE {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "the value for `{key}` has {} bytes; a value has at most {MOST_VALUE}",
        value.len()
    )))
}
