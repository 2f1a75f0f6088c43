//! The plugin's own error codes.

use weir_sdk::Code;

/// The bridge has another address than the gateway's, and `forceAddress` is not set.
pub const GATEWAY_CONFLICT: Code = Code(110);
/// The IPAM plugin returned no address.
pub const NO_ADDRESS: Code = Code(111);
/// CHECK: an interface, address or route is not as ADD left it.
pub const NOT_AS_ATTACHED: Code = Code(112);
