//! The plugin's own error codes.

use weir_sdk::Code;

/// The routing table is another VRF's, or the VRF has another table.
pub const TABLE_TAKEN: Code = Code(110);
