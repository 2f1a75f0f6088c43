//! The plugin's own error codes.

use weir_sdk::Code;

/// The container's interface has no other end on the host that the previous result names.
pub const NO_HOST_END: Code = Code(110);
