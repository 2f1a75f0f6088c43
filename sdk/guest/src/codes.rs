//! The CNI error codes that failed operations become.
//!
//! | [`ErrorCode`] | CNI code |
//! |---|---|
//! | `denied` | 100 [`DENIED`] |
//! | `not-found` | 101 [`NOT_FOUND`] |
//! | `exists` | 102 [`EXISTS`] |
//! | `invalid` | 103 [`INVALID`] |
//! | `busy`, `timed-out` | 11, try again later |
//! | `unsupported` | 104 [`UNSUPPORTED`] |
//! | `exhausted` | 105 [`EXHAUSTED`] |
//! | `no-namespace` | 8, invalid network namespace |
//! | `failed` | 5, I/O failure |
//!
//! Plugins share three more: 106 [`NOT_AS_ATTACHED`], 107 [`NO_ADDRESS`], 108 [`NO_GATEWAY`].

use weir_cni::Code;

use crate::ErrorCode;

/// The plugin's grant does not allow an operation.
pub const DENIED: Code = Code(100);
/// A link, address, route or other object that was expected does not exist.
pub const NOT_FOUND: Code = Code(101);
/// An object of that name, address or key exists already.
pub const EXISTS: Code = Code(102);
/// The kernel or weir refused an argument.
pub const INVALID: Code = Code(103);
/// This host or kernel does not support the operation.
pub const UNSUPPORTED: Code = Code(104);
/// Disk space, memory or a limit of the grant is used up.
pub const EXHAUSTED: Code = Code(105);

/// CHECK: something is not as ADD left it.
pub const NOT_AS_ATTACHED: Code = Code(106);
/// The IPAM plugin returned no address.
pub const NO_ADDRESS: Code = Code(107);
/// The IPAM plugin returned an address without a gateway, and the network needs one.
pub const NO_GATEWAY: Code = Code(108);

/// Returns the CNI code for an operation's error code.
pub fn of(code: ErrorCode) -> Code {
    match code {
        ErrorCode::Denied => DENIED,
        ErrorCode::NotFound => NOT_FOUND,
        ErrorCode::Exists => EXISTS,
        ErrorCode::Invalid => INVALID,
        ErrorCode::Busy | ErrorCode::TimedOut => Code::TRY_AGAIN_LATER,
        ErrorCode::Unsupported => UNSUPPORTED,
        ErrorCode::Exhausted => EXHAUSTED,
        ErrorCode::NoNamespace => Code::INVALID_NETNS,
        ErrorCode::Failed => Code::IO_FAILURE,
    }
}
