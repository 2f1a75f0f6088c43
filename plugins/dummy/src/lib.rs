//! The plugin `dummy`: gives a container an interface that drops what is sent over it, for addresses that the container
//! has whatever becomes of its other interfaces.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

#[cfg(test)]
mod tests;

use weir_sdk::config::{DnsKeys, Ipam};
use weir_sdk::link::{NewKind, NewLink};
use weir_sdk::{AddResult, Error, MainConfig, MainPlugin, Namespace, Request, interface};

/// The plugin.
pub struct Dummy;

/// A plugin configuration of the type `dummy`.
#[weir_sdk::config(default)]
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Which IPAM plugin.
    pub ipam: Ipam,
    /// DNS settings, in place of the IPAM plugin's.
    pub dns: DnsKeys,
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }

    fn validate(&self) -> Result<(), Error> {
        let why = "an interface that drops all packets is there for its addresses";
        self.ipam.require(why)
    }
}

impl MainPlugin for Dummy {
    type Config = Config;
    const KIND: &str = "dummy";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let ifname = request.ifname.as_str();
        let new = NewLink::new(Namespace::Container, ifname, NewKind::Dummy);
        let link = interface::create(&request, new)?;
        let assigned = config.ipam.assign(interface::CONTAINER_INTERFACE)?;
        interface::configure(&link, &assigned)?;
        let interface = interface::of_container(&link, request.sandbox);
        Ok(interface::result(interface, assigned, &config.dns))
    }
}

weir_sdk::export!(Dummy);
