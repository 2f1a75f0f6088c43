//! The key `ipam` of a plugin that delegates to an IPAM plugin.

use serde::Deserialize;

/// The key `ipam`: which IPAM plugin to run. Its other keys are the IPAM plugin's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Ipam {
    /// `type`; empty for none, which makes the network a layer-2 one.
    #[serde(rename = "type")]
    pub plugin: String,
}

impl Ipam {
    /// Whether an IPAM plugin is named.
    pub fn is_configured(&self) -> bool {
        !self.plugin.is_empty()
    }
}
