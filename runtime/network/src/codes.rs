//! CNI error codes of networks, 221 to 229: native plugins, and weir's own configuration.

/// No native plugin of that name is listed.
pub(crate) const NOT_LISTED: u32 = 221;
/// The native plugin is listed with another digest.
pub(crate) const OTHER_DIGEST: u32 = 222;
/// The native plugin is not listed for the network.
pub(crate) const OTHER_NETWORK: u32 = 223;
/// The native plugin's file is nothing that can be run under a digest.
pub(crate) const UNFIT: u32 = 224;
/// The native plugin ended without a result or an error that can be read.
pub(crate) const NO_ANSWER: u32 = 225;
/// The native plugin used up its time, or printed too much, and was killed.
pub(crate) const KILLED: u32 = 226;
/// weir's own configuration is not valid, not trusted, or cannot be read.
pub(crate) const SETTINGS: u32 = 227;
