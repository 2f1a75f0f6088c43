//! The plugin `macvlan`: gives a container an interface with a MAC of its own over an interface of the host, its master.
//!
//! Without `ipam` the network is a layer-2 one. The kernel chooses the MAC, unless one is requested; it refuses one that
//! another interface over the master has.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::link::{Details, NewKind, NewMacvlan};
use weir_sdk::lower::{self, Announcement, Lower, Settings};
use weir_sdk::{AddResult, Error, MainPlugin, Request, check, interface};

use config::Config;

/// The plugin.
pub struct Macvlan;

impl MainPlugin for Macvlan {
    type Config = Config;
    const KIND: &str = "macvlan";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let settings = Settings {
            mtu: config.mtu,
            mac: config.mac(&request.args)?,
        };
        let lower = config.master().find()?;
        let link = lower::create(&request, &lower, kind(config, &lower)?, settings)?;
        let mut assigned = AddResult::default();
        if config.ipam.is_configured() {
            assigned = config.ipam.assign(interface::CONTAINER_INTERFACE)?;
        }
        lower::configure(&lower, &link, &assigned, Announcement::Always)?;
        Ok(lower::result(&request, &link, assigned, &config.dns))
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        let link = lower::check(request, request.config.master(), Self::KIND)?;
        match link.details {
            Details::Macvlan(mode) => check::property(&link, "mode", config.mode()?, mode),
            _ => Ok(()),
        }
    }
}

fn kind(config: &Config, lower: &Lower) -> Result<NewKind, Error> {
    Ok(NewKind::Macvlan(NewMacvlan {
        lower: lower.into(),
        lower_namespace: lower.namespace,
        mode: config.mode()?,
        bc_queue_len: Some(config.bcqueuelen).filter(|length| *length != 0),
    }))
}

weir_sdk::export!(Macvlan);
