//! The plugin's own error codes.

use weir_sdk::Code;

/// The administrator's list of allowed parameters does not have one that is configured.
pub const NOT_ALLOWED: Code = Code(110);

/// That list cannot be used: it is not text, or a line is not a regular expression.
pub const BAD_ALLOWLIST: Code = Code(111);
