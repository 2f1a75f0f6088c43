//! weir's own CNI error codes, from 200 on; plugins have 100 to 199.

/// No such plugin, or its files are damaged or of another version.
pub const NO_PLUGIN: u32 = 200;
/// The plugin imports what no plugin may.
pub const REFUSED_IMPORT: u32 = 201;
/// No grant covers the plugin, its digest or the network.
pub const NO_GRANT: u32 = 202;
/// The plugin is built for a version of the contract that this weir does not run.
pub const OTHER_CONTRACT: u32 = 203;
/// The plugin trapped.
pub const TRAPPED: u32 = 210;
/// The plugin used up the time of its grant.
pub const TIME: u32 = 211;
/// The plugin used up the memory of its grant.
pub const MEMORY: u32 = 212;
/// The plugin used up the calls of its grant.
pub const CALLS: u32 = 213;
/// The plugin handed more over in one call than its grant allows.
pub const TRANSFER: u32 = 214;
/// The plugin made or changed more than its grant allows.
pub const CHANGES: u32 = 215;
/// It did, or tried, so much that it cannot all be recorded in the audit log.
pub const RECORDS: u32 = 216;

/// The grant does not allow what the plugin needed.
pub const DENIED: u32 = weir_host::DENIED;
/// That an ADD is not begun, or not kept: code 5 of the specification.
pub fn unrecorded(why: &str) -> weir_cni::Error {
    weir_cni::Error::io_failure(format!(
        "what it does cannot be recorded in the audit log: {why}"
    ))
}
