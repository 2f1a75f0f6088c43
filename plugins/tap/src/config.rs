//! The configuration, key by key.

use weir_sdk::cni::validate_interface_name;
use weir_sdk::config::mac::{self, MacKey};
use weir_sdk::config::{ArgsKey, DnsKeys, Ipam};
use weir_sdk::link::NewTap;
use weir_sdk::{Args, Error, Mac, MainConfig};

/// A plugin configuration of the type `tap`.
#[weir_sdk::config(rename_all = "camelCase", default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The device's MAC, unless the runtime asks for another; empty for a random one.
    pub mac: String,
    /// Bytes; 0 for the kernel's default.
    pub mtu: u32,
    /// The SELinux context that the device is made in; empty for weir's own.
    pub selinux_context: String,
    /// The device can be opened several times, once for each queue.
    pub multi_queue: bool,
    /// The user who may open the device, by number; none for everyone who may open TAP devices at all.
    pub owner: Option<u32>,
    /// The group who may open it.
    pub group: Option<u32>,
    /// A bridge in the container that the device becomes a port of; empty for none.
    pub bridge: String,
    /// Which IPAM plugin; without one the network is a layer-2 one.
    pub ipam: Ipam,
    /// DNS settings, in place of the IPAM plugin's.
    pub dns: DnsKeys,
    /// Arguments of the convention.
    pub args: ArgsKey<MacKey>,
    /// Capability arguments.
    pub runtime_config: MacKey,
}

impl Config {
    /// Returns the MTU; none for the kernel's default.
    pub fn mtu(&self) -> Option<u32> {
        Some(self.mtu).filter(|mtu| *mtu != 0)
    }

    /// Returns the requested MAC: of `runtimeConfig`, else of `args.cni`, else of `CNI_ARGS`, else of the key `mac`.
    pub fn mac(&self, args: &Args) -> Result<Option<Mac>, Error> {
        mac::requested_or(&self.mac, &self.runtime_config, &self.args.cni, args)
    }

    /// Returns what is a TAP device's alone.
    pub fn device(&self) -> NewTap {
        NewTap {
            owner: self.owner,
            group: self.group,
            multi_queue: self.multi_queue,
            selinux_context: Some(self.selinux_context.clone()).filter(|text| !text.is_empty()),
        }
    }
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }

    fn validate(&self) -> Result<(), Error> {
        if !self.mac.is_empty() {
            mac::usable("mac", &self.mac)?;
        }
        if self.bridge.is_empty() {
            return Ok(());
        }
        validate_interface_name(&self.bridge)
            .map_err(|error| Error::invalid_config(format!("bridge: {}", error.msg)))
    }
}
