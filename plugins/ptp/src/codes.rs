//! The plugin's own error codes.

use weir_sdk::Code;

/// The IPAM plugin returned an address without a gateway.
pub const NO_GATEWAY: Code = Code(110);
