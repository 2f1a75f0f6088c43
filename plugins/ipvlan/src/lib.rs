//! The plugin `ipvlan`: gives a container an interface that shares the MAC of an interface of the host, its master.
//!
//! After another plugin in a list, the master may be that one's interface, and the addresses its addresses.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::check::wrong;
use weir_sdk::link::{Details, IpvlanMode, Link, NewIpvlan, NewKind};
use weir_sdk::lower::{self, Lower, Master, Settings};
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, StatusRequest, interface};

use config::Config;

/// The plugin.
pub struct Ipvlan;

/// The kind of the container's interface.
const KIND: &str = "ipvlan";

impl Plugin for Ipvlan {
    type Config = Config;

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
            None => config.ipam.assign(lower::CONTAINER_INTERFACE)?,
        };
        lower::notify(&link);
        lower::configure(&lower, &link, &assigned)?;
        let mut result = lower::result(&request, &link, assigned);
        config.dns.apply(&mut result.dns);
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        interface::delete_own(&request, KIND)?;
        // Last: the address must not be free while something still uses it.
        request.config.ipam.del()
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        config.ipam.check()?;
        let link = lower::check(&request, config.master(), KIND)?;
        check_mode(&link, config.mode()?)
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        request.config.ipam.status()
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        request.config.ipam.gc()
    }

    fn validate(config: &Config) -> Result<(), Error> {
        config.validate()
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
        ip.interface = Some(lower::CONTAINER_INTERFACE);
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

fn check_mode(link: &Link, expected: IpvlanMode) -> Result<(), Error> {
    match link.details {
        Details::Ipvlan(found) if found != expected => {
            let (name, expected, found) = (&link.name, word(expected), word(found));
            Err(wrong(format!(
                "interface `{name}`: expected mode {expected}, found {found}"
            )))
        }
        _ => Ok(()),
    }
}

fn word(mode: IpvlanMode) -> &'static str {
    match mode {
        IpvlanMode::L2 => "l2",
        IpvlanMode::L3 => "l3",
        IpvlanMode::L3s => "l3s",
    }
}

weir_sdk::export!(Ipvlan);
