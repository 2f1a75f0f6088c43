//! Capability `store`: state that outlives an invocation, under an exclusive lock.
//!
//! ```no_run
//! # fn main() -> Result<(), weir_sdk::Error> {
//! use weir_sdk::store::{self, Access, Location};
//!
//! let store = store::open(&Location::Private, Access::Write)?;
//! let free = ["blue".to_owned(), "green".to_owned()];
//! let claimed = store.claim(&free, b"container 1")?;
//! store.commit()?;
//! # Ok(())
//! # }
//! ```

pub use crate::bindings::weir::cni::store::{Access, Location, Transaction, open, read_file};

/// Writes text as a part of a key: each byte other than ASCII letters, digits, `.`, `_` and `-` becomes a colon and two
/// hexadecimal digits. No two texts become the same, and none has two colons in a row.
pub fn key_part(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let escaped = |byte: u8| {
        if is_plain(byte) {
            char::from(byte).to_string()
        } else {
            format!(":{byte:02x}")
        }
    };
    text.bytes().map(escaped).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::key_part;

    #[test]
    fn ordinary_names_stay_as_they_are() {
        assert_eq!(key_part("5f3c0a12-b_c.d"), "5f3c0a12-b_c.d");
        assert_eq!(key_part("eth0.100"), "eth0.100");
        assert_eq!(key_part("a@b"), "a:40b");
        assert_eq!(key_part("ü"), ":c3:bc");
    }

    proptest! {
        #[test]
        fn different_names_have_different_keys(a in ".{1,8}", b in ".{1,8}") {
            prop_assert_eq!(key_part(&a) == key_part(&b), a == b);
            let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte);
            prop_assert!(key_part(&a).bytes().all(is_allowed) && !key_part(&a).contains("::"));
        }
    }
}
