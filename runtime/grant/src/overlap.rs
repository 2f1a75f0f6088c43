//! What a network that is put on the host would take from what the host has: its addresses and routes.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// A route of the host, of its own addresses as well, that a network overlaps: the one that is least the plugin's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlap {
    pub destination: IpNet,
    /// The link that it leads over.
    pub link: String,
    /// The mark of whose that link is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
}

/// What a plugin is told, which need not know the host's routes. The record of the operation has them.
impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what the host has")
    }
}
