//! Where weir's files are on a node, who may change them, and how one is replaced atomically.
//!
//! The ground floor, beside `weir-cni`. Grants, records, caches, logs and plugins are files: each is found through
//! [`Paths`], read only after [`file_trust`] has checked who may change it, and written with [`replace`](replace()).
//!
//! This crate does not know the content of the files. It must not interpret it, ask the kernel about anything but files,
//! or follow a path that a plugin or a tenant chose: the state of plugins is in the kernel layer's stores.
//!
//! # Example
//!
//! ```
//! use std::io::Read;
//! use weir_files::{Durability, Paths, file_trust, replace};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let root = tempfile::tempdir()?;
//! # let root = root.path();
//! // On a node, `Paths::from_environment()`; in a test, a directory that stands for `/`.
//! let paths = Paths::below(root);
//! let note = paths.run().join("note.json");
//!
//! // A reader sees the old content or the new content, never a part of it.
//! replace(&note, b"{}", Durability::Process)?;
//!
//! // Opened only if weir's user and root alone could have written it or put it there.
//! let mut text = String::new();
//! file_trust::open(&note, paths.root())?.read_to_string(&mut text)?;
//! assert_eq!(text, "{}");
//! # Ok(())
//! # }
//! ```

mod directory;
pub mod file_trust;
pub mod memory;
pub mod paths;
pub mod rename;
mod replace;

pub use directory::{entries, is_at, lock, lock_directory};
pub use paths::Paths;
pub use replace::{Durability, clear_up, is_temporary, remove, replace, set_aside};
