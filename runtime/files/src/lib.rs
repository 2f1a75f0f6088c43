//! Where weir's files are on a node, whose they are, and how one is replaced in one step.
//!
//! The ground that every other floor stands on, beside `weir-cni`: grants, records, caches, logs and plugins are
//! files, and each of them is found through [`Paths`], read only after a look at its [ownership](file_trust), and written with
//! [`replace`].
//!
//! This crate knows nothing of what is in the files. It must not interpret their content, talk to the kernel about
//! anything but files, or follow a path that a plugin or a tenant chose: what plugins keep is in the kernel layer's
//! stores.
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
//! // A reader sees the old content or the new, never a part of it.
//! replace(&note, b"{}", Durability::Process)?;
//!
//! // Opened only if nobody but weir's user and root could have written it or put it there.
//! let mut text = String::new();
//! file_trust::open(&note, paths.root())?.read_to_string(&mut text)?;
//! assert_eq!(text, "{}");
//! # Ok(())
//! # }
//! ```

pub mod file_trust;
pub mod memory;
pub mod paths;
pub mod rename;
mod replace;

pub use paths::Paths;
pub use replace::{Durability, clear_up, is_temporary, remove, replace, set_aside};
