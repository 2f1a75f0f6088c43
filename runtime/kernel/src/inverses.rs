//! What takes operations back, for whoever carries them out: [`Linux`](super::Linux), or a model of it.
//!
//! An inverse that is an operation needs nothing of this: [`Changes::undo_with`](super::Changes::undo_with) notes it.

pub use crate::firewall::undo::Created;
pub use crate::link::undo::LinkHistory;
pub use crate::perform::KnownLinks;
pub use crate::route::undo::RemoveRoute;
pub use crate::store::transaction::RevertStore;
pub use crate::sysctl::undo::SetBack;
