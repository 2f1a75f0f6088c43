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

use crate::{Attachment, Outcome, Request, Result};

pub use crate::bindings::weir::cni::store::{Access, Location, Transaction, open, read_file};

/// Records of a plugin, one for each attachment, in a directory that all networks share. `/run` is the place for what does
/// not outlive the containers' namespaces.
#[derive(Clone, Copy, Debug)]
pub struct Records(&'static str);

impl Records {
    /// Keeps the records in a directory, which the grant must name.
    pub const fn in_directory(path: &'static str) -> Self {
        Records(path)
    }

    /// Opens the directory's store. Errors: as for [`open`].
    pub fn open(&self, access: Access) -> Result<Transaction> {
        open(&Location::SharedDirectory(self.0.to_owned()), access)
    }

    /// Returns the key of an attachment: no other one has it, and [`key_of_container`](Self::key_of_container) begins it.
    pub fn key(attachment: &Attachment) -> String {
        Self::key_of_container(&attachment.container_id) + &key_part(&attachment.ifname)
    }

    /// Returns what the keys of a container's attachments begin with. No part has two colons in a row.
    pub fn key_of_container(container_id: &str) -> String {
        key_part(container_id) + "::"
    }

    /// Returns the key of a request's attachment.
    pub fn key_of<C>(request: &Request<C>) -> String {
        Self::key(&Attachment::new(&*request.container_id, &*request.ifname))
    }

    /// Writes the record of a request's attachment. Errors: `exhausted`, `failed`.
    pub fn save<C>(&self, request: &Request<C>, record: &[u8]) -> Result<()> {
        let store = self.open(Access::Write)?;
        store.put(&Self::key_of(request), record)?;
        store.commit()
    }

    /// Returns the record of a request's attachment; none without one. Errors: as for [`open`].
    pub fn load<C>(&self, request: &Request<C>) -> Result<Option<Vec<u8>>> {
        let store = self.open(Access::Read)?;
        store.get(&Self::key_of(request)).found()
    }

    /// Removes the record of a request's attachment, if there is one. Errors: as for [`open`].
    pub fn remove<C>(&self, request: &Request<C>) -> Result<()> {
        let store = self.open(Access::Write)?;
        store.delete(&Self::key_of(request)).found()?;
        store.commit()
    }
}

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
