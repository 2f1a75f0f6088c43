//! The plugin's own error codes.

use weir_sdk::Code;

/// The bridge has another address than the gateway's, and `forceAddress` is not set.
pub const GATEWAY_CONFLICT: Code = Code(110);
