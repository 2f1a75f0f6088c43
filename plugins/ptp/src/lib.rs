//! The plugin `ptp`: connects a container and the host by a veth pair of their own, without a bridge.
//!
//! The container reaches everything, its own subnet too, through the gateway, and the gateway's
//! address is the host's end of the pair.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::owner::Owner;
use weir_sdk::veth::{self, Settings};
use weir_sdk::{
    AddResult, Error, GcRequest, MainPlugin, Request, check, masquerade, point_to_point, sysctl,
};

use config::Config;

/// The plugin.
pub struct Ptp;

impl MainPlugin for Ptp {
    type Config = Config;
    const KIND: &str = "veth";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let mut result = config.ipam.assign(veth::CONTAINER_INTERFACE)?;
        point_to_point::require_gateways(&result.ips)?;
        sysctl::forward_for(&result.ips)?;
        let settings = Settings {
            mtu: config.mtu(),
            ..Settings::up()
        };
        let veth = veth::create(&request, &settings)?;
        point_to_point::configure(&veth, &result)?;
        if config.ip_masq {
            masquerade::add(&Owner::of(&request), &result.ips)?;
        }
        result.interfaces = veth.interfaces(request.sandbox).into();
        config.dns.apply(&mut result.dns);
        Ok(result)
    }

    fn del(request: &Request<Config>) -> Result<(), Error> {
        // The kernel frees what is removed from its tables while it takes the pair apart.
        if request.config.ip_masq {
            masquerade::remove_or_reference(&Owner::of(request), request.previous.as_ref())?;
        }
        veth::delete(request)
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        let veth = veth::attached(request)?;
        if request.config.ip_masq && veth::is_named_by_us(request, &veth.host.name) {
            masquerade::check(&Owner::of(request), &check::previous(request)?.ips)
        } else {
            Ok(())
        }
    }

    fn gc(request: &GcRequest<Config>) -> Result<(), Error> {
        if request.config.ip_masq {
            masquerade::retain(request)?;
        }
        Ok(())
    }
}

weir_sdk::export!(Ptp);
