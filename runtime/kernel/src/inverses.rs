//! Inverses of operations, for [`Linux`](super::Linux) and for a model of it.
//!
//! An inverse that is an operation is noted by [`Changes::undo_with`](super::Changes::undo_with) and needs no type here.

pub use crate::firewall::undo::Created;
pub use crate::link::undo::LinkHistory;
pub use crate::perform::KnownLinks;
pub use crate::route::undo::RemoveRoute;
pub use crate::store::transaction::RevertStore;
pub use crate::sysctl::undo::RestoreValue;
