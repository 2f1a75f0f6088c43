//! The plugin `ptp`: connects a container and the host by a veth pair of their own, without a bridge.
//!
//! The container reaches everything, its own subnet too, through the gateway, and the gateway's
//! address is the host's end of the pair.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`], and this is
//! the plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 [`codes::NO_GATEWAY`] | the IPAM plugin returned an address without a gateway |

pub mod codes;
pub mod config;
mod container;
mod host;
#[cfg(test)]
mod tests;

use weir_sdk::check::{self, wrong};
use weir_sdk::link::Link;
use weir_sdk::owner::Owner;
use weir_sdk::veth::{self, Settings, Veth};
use weir_sdk::{
    AddResult, Error, GcRequest, Namespace, Plugin, Request, StatusRequest, masquerade,
};

use config::Config;

/// The plugin.
pub struct Ptp;

impl Plugin for Ptp {
    type Config = Config;
    const NAME: &'static str = "ptp";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let mut result = config.ipam.assign(container::INTERFACE)?;
        let ends = host::ends(&result.ips)?;
        host::forward(&ends)?;
        let settings = Settings {
            mtu: config.mtu(),
            host_up: true,
            container_up: true,
            ..Settings::default()
        };
        let veth = veth::create(&request, &settings)?;
        container::configure(&veth.container, &ends, &result)?;
        host::configure(&veth.host, &ends)?;
        if config.ip_masq {
            masquerade::add(&Owner::of(&request), &result.ips)?;
        }
        result.interfaces = veth.interfaces(request.sandbox).into();
        config.dns.apply(&mut result.dns);
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        // The kernel frees what is removed from its tables while it takes the pair apart.
        if request.config.ip_masq {
            masquerade::remove(&Owner::of(&request), request.previous.as_ref())?;
        }
        veth::delete(&request)?;
        // Last: the address must not be free while something still uses it.
        request.config.ipam.del()
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        request.config.ipam.check()?;
        let previous = check::previous(&request)?;
        let host_end = check_pair(&request, previous)?;
        check::addresses(&request.ifname, &previous.ips)?;
        check::routes(previous)?;
        if request.config.ip_masq && veth::is_named_by_us(&request, &host_end.name) {
            masquerade::check(&Owner::of(&request), &previous.ips)
        } else {
            Ok(())
        }
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        request.config.ipam.status()
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        if request.config.ip_masq {
            masquerade::retain(&request)?;
        }
        request.config.ipam.gc()
    }

    fn validate(config: &Config) -> Result<(), Error> {
        config.validate()
    }
}

/// The container's interface is there, and so is its other end on the host, which is returned.
fn check_pair(request: &Request<Config>, previous: &AddResult) -> Result<Link, Error> {
    let container = check::container_interface(request, previous, "veth")?;
    let host = previous
        .on_host()
        .next()
        .ok_or_else(|| wrong("prevResult: the host's end is not in interfaces"))?;
    let host = check::interface(host, Namespace::Host, "veth")?;
    if Veth::is_pair(&host, &container) {
        return Ok(host);
    }
    let (host, container) = (&host.name, &container.name);
    Err(wrong(format!(
        "`{host}` is not the other end of `{container}`"
    )))
}

weir_sdk::export!(Ptp);
