//! The plugin `ipvlan`: gives a container an interface that shares the MAC of an interface of the host, its master.
//!
//! After another plugin in a list, the master may be that one's interface, and the addresses its addresses.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::link::{Details, NewIpvlan, NewKind};
use weir_sdk::lower::{self, Announcement, Lower, Master, Settings};
use weir_sdk::{AddResult, Error, MainPlugin, Request, check, interface};

use config::Config;

/// The plugin.
pub struct Ipvlan;

impl MainPlugin for Ipvlan {
    type Config = Config;
    const KIND: &str = "ipvlan";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let chained = addresses_before(&request);
        if chained.is_none() {
            config
                .ipam
                .require("no plugin before this one has assigned addresses")?;
        }
        let settings = Settings {
            mtu: config.mtu,
            mac: None,
        };
        let lower = master(&request)?.find()?;
        let link = lower::create(&request, &lower, kind(config, &lower)?, settings)?;
        let assigned = match chained {
            Some(chained) => chained,
            None => config.ipam.assign(interface::CONTAINER_INTERFACE)?,
        };
        lower::configure(&lower, &link, &assigned, Announcement::Always)?;
        Ok(lower::result(&request, &link, assigned, &config.dns))
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        let link = lower::check(request, request.config.master(), Self::KIND)?;
        match link.details {
            Details::Ipvlan(mode) => check::property(&link, "mode", config.mode()?, mode),
            _ => Ok(()),
        }
    }
}

/// The master: the configuration's, else the only interface of the plugin before, else that of the default route.
fn master(request: &Request<Config>) -> Result<Master<'_>, Error> {
    let own = request.config.master();
    let Some(previous) = request.previous.as_ref().filter(|_| own.name.is_empty()) else {
        return Ok(own);
    };
    match previous.interfaces.as_slice() {
        [only] if !only.name.is_empty() => Ok(Master {
            name: &only.name,
            ..own
        }),
        others => Err(Error::invalid_config(format!(
            "master: missing, and prevResult has {} interfaces: expected one with a name",
            others.len()
        ))),
    }
}

/// What the plugin before assigned, where no IPAM plugin is named: its addresses become those of this interface.
fn addresses_before(request: &Request<Config>) -> Option<AddResult> {
    if request.config.ipam.is_configured() {
        return None;
    }
    let mut previous = request.previous.clone()?;
    for ip in &mut previous.ips {
        ip.interface = Some(interface::CONTAINER_INTERFACE);
    }
    (!previous.ips.is_empty()).then_some(previous)
}

fn kind(config: &Config, lower: &Lower) -> Result<NewKind, Error> {
    Ok(NewKind::Ipvlan(NewIpvlan {
        lower: lower.into(),
        lower_namespace: lower.namespace,
        mode: config.mode()?,
    }))
}

weir_sdk::export!(Ipvlan);
