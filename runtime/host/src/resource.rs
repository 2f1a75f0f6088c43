//! What stands behind the contract's resources: the bindings are generated over these types.

use weir_grant::store::Location;
use weir_kernel::DynTransaction;

/// An open store, and where it is.
pub struct Transaction {
    pub(crate) store: Box<DynTransaction>,
    pub(crate) location: Location,
    /// Bytes of its changes that count as kept.
    pub(crate) counted: usize,
}

/// A resource that nothing creates: `packet` is not carried out.
pub enum Socket {}
