//! The key `ipam` of a plugin that delegates to an IPAM plugin, and of an IPAM plugin.

use serde::Deserialize;
use weir_cni::Error;

use super::{ArgsKey, NoKeys};

/// The configuration of an IPAM plugin: its keys in `ipam`, and what it knows in `runtimeConfig` and in `args.cni`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    default,
    bound = "I: Default + Deserialize<'de>, R: Default + Deserialize<'de>, A: Default + Deserialize<'de>"
)]
pub struct IpamConfig<I, R = NoKeys, A = NoKeys> {
    /// The plugin's own keys.
    pub ipam: I,
    /// Capability arguments.
    pub runtime_config: R,
    /// Arguments of the convention.
    pub args: ArgsKey<A>,
}

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

    /// Fails unless an IPAM plugin is named. `why` says why the plugin needs one. Errors: code 7.
    pub fn require(&self, why: &str) -> Result<(), Error> {
        if self.is_configured() {
            Ok(())
        } else {
            let msg = format!("ipam: key `type` is missing or empty: {why}");
            Err(Error::invalid_config(msg))
        }
    }
}
