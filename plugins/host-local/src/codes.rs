//! The plugin's own error codes.

use weir_sdk::Code;

pub use weir_sdk::ipam::codes::{DUPLICATE, NO_ADDRESS, NO_LEASE};

/// A requested address is taken, a gateway, or in no range.
pub const REQUEST_UNMET: Code = Code(111);
