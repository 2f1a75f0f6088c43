//! The error codes of a [`Pool`](super::Pool).

use weir_cni::Code;

/// A range set has no free address.
pub const NO_ADDRESS: Code = Code(110);
/// The container's interface has an address of the range set already.
pub const DUPLICATE: Code = Code(112);
/// CHECK: the container's interface has no address.
pub const NO_LEASE: Code = Code(113);
