//! The host's own addresses and routes that a plugin's network overlaps.

use std::fmt;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::invocation::Invocation;
use super::owner::Owner;

/// A route of the host, or one of its own addresses, that a network overlaps: the one furthest from being the plugin's
/// own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overlap {
    pub destination: IpNet,
    /// The route's output link.
    pub link: String,
    /// The owner's mark of that link.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
}

impl Overlap {
    pub(crate) fn mark(&self) -> &str {
        &self.owner
    }

    /// Whether the route is over a link of the invocation's network.
    pub(crate) fn is_of_network(&self, invocation: &Invocation) -> bool {
        Owner::Network.has(&self.owner, invocation)
    }
}

/// The answer to the plugin, which need not know the host's routes. The record of the operation has them.
impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what the host has")
    }
}

/// ", which overlaps …", if there is an overlap.
pub(crate) fn overlapping(overlap: Option<&Overlap>) -> String {
    overlap.map_or_else(String::new, |overlap| format!(", which overlaps {overlap}"))
}
