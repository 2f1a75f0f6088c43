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
