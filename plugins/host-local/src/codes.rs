//! The plugin's own error codes.

use weir_sdk::Code;

/// A range set has no free address.
pub const NO_ADDRESS: Code = Code(110);
/// A requested address is taken, a gateway, or in no range.
pub const REQUEST_UNMET: Code = Code(111);
/// The container's interface has an address of the range set already.
pub const DUPLICATE: Code = Code(112);
/// CHECK: the container's interface has no address.
pub const NO_LEASE: Code = Code(113);
