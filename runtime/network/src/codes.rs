//! CNI error codes of networks: native plugins, weir's own configuration, and records.

/// No native plugin of that name is listed.
pub(crate) const NOT_LISTED: u32 = 221;
/// The native plugin is listed with another digest.
pub(crate) const OTHER_DIGEST: u32 = 222;
/// The native plugin is not listed for the network.
pub(crate) const OTHER_NETWORK: u32 = 223;
/// The native plugin's file cannot be run under a digest.
pub(crate) const UNFIT: u32 = 224;
/// The native plugin ended without a readable result or error.
pub(crate) const NO_ANSWER: u32 = 225;
/// The native plugin used up its time, or printed too much, and was killed.
pub(crate) const KILLED: u32 = 226;
/// weir's own configuration is not valid, not trusted, or cannot be read.
pub(crate) const SETTINGS: u32 = weir_sandbox::codes::SETTINGS;
/// The record of a container's attachments does not allow the command, or is not trusted.
pub const RECORD: u32 = 236;
