//! The types behind the contract's resources; the bindings use them.

use weir_grant::store::Location;
use weir_kernel::DynTransaction;

/// An open store, and where it is.
pub struct Transaction {
    pub(crate) store: Box<DynTransaction>,
    pub(crate) location: Location,
    /// The bytes of its changes that are counted as uncommitted.
    pub(crate) counted: usize,
}

/// A resource that is never created: weir does not implement `packet`.
pub enum Socket {}
