//! The plugin `dummy`: gives a container an interface that drops what is sent over it, for addresses that the container
//! has whatever becomes of its other interfaces.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

#[cfg(test)]
mod tests;

use weir_sdk::config::{DnsKeys, Ipam};
use weir_sdk::link::{NewKind, NewLink};
use weir_sdk::{
    AddResult, Error, GcRequest, Namespace, Plugin, Request, StatusRequest, check, interface,
};

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

/// The kind of the interface.
const KIND: &str = "dummy";

/// Where the interface is in the result.
const INTERFACE: u32 = 0;

impl Plugin for Dummy {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let ifname = request.ifname.as_str();
        let new = NewLink::new(Namespace::Container, ifname, NewKind::Dummy);
        let link = interface::create(&request, new)?;
        let mut result = config.ipam.assign(INTERFACE)?;
        interface::configure(ifname, &result)?;
        result.interfaces = vec![interface::of_container(&link, request.sandbox)];
        config.dns.apply(&mut result.dns);
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        interface::delete_own(&request, KIND)?;
        // Last: the address must not be free while something still uses it.
        request.config.ipam.del()
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        request.config.ipam.check()?;
        check::attached(&request, KIND).map(drop)
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        request.config.ipam.status()
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        request.config.ipam.gc()
    }

    fn validate(config: &Config) -> Result<(), Error> {
        config
            .ipam
            .require("an interface that drops all packets is there for its addresses")
    }
}

weir_sdk::export!(Dummy);
