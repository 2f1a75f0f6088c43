//! weir's own CNI error codes, from 200 on; plugins have 100 to 199.

/// No such plugin, or its files are damaged or of another version.
pub const NO_PLUGIN: u32 = 200;
/// The plugin imports something that no plugin may import.
pub const REFUSED_IMPORT: u32 = 201;
/// No grant covers the plugin, its digest or the network.
pub const NO_GRANT: u32 = 202;
/// The plugin is built for a version of the contract that this weir does not support.
pub const OTHER_CONTRACT: u32 = 203;
/// The network's configuration names the plugin by a URI, and it was not fetched.
pub const NOT_FETCHED: u32 = 204;
/// The plugin is named by a URI that is not valid, or in the configuration of a cluster object.
pub const REFUSED_URI: u32 = 205;
/// The plugin trapped.
pub const TRAPPED: u32 = 210;
/// The plugin used up the time of its grant.
pub const TIME: u32 = 211;
/// The plugin used up the memory of its grant.
pub const MEMORY: u32 = 212;
/// The plugin used up the calls of its grant.
pub const CALLS: u32 = 213;
/// The plugin passed more data in one call than its grant allows.
pub const TRANSFER: u32 = 214;
/// The plugin created or changed more objects than its grant allows.
pub const CHANGES: u32 = 215;
/// The plugin performed or tried more operations than the audit log takes from one invocation.
pub const RECORDS: u32 = 216;

/// weir's own configuration is not valid, not trusted, or cannot be read.
pub const SETTINGS: u32 = 227;

/// The grant does not allow what the plugin needed.
pub const DENIED: u32 = weir_host::DENIED;
/// The error for an ADD that cannot be recorded, and is not begun or is undone: code 5 of the specification.
pub fn unrecorded(why: &str) -> weir_cni::Error {
    weir_cni::Error::io_failure(format!(
        "its operations cannot be recorded in the audit log: {why}"
    ))
}
