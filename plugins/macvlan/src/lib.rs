//! The plugin `macvlan`: gives a container an interface with a MAC of its own over an interface of the host, its master.
//!
//! Without `ipam` the network is a layer-2 one. The kernel chooses the MAC, unless one is requested; it refuses one that
//! another interface over the master has.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::check::wrong;
use weir_sdk::link::{Details, Link, MacvlanMode, NewKind, NewMacvlan};
use weir_sdk::lower::{self, Lower, Settings};
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, StatusRequest, interface};

use config::Config;

/// The plugin.
pub struct Macvlan;

/// The kind of the container's interface.
const KIND: &str = "macvlan";

impl Plugin for Macvlan {
    type Config = Config;

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
            assigned = config.ipam.assign(lower::CONTAINER_INTERFACE)?;
            lower::notify(&link);
            lower::configure(&lower, &link, &assigned)?;
        }
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

fn kind(config: &Config, lower: &Lower) -> Result<NewKind, Error> {
    Ok(NewKind::Macvlan(NewMacvlan {
        lower: lower.into(),
        lower_namespace: lower.namespace,
        mode: config.mode()?,
        bc_queue_len: Some(config.bcqueuelen).filter(|length| *length != 0),
    }))
}

fn check_mode(link: &Link, expected: MacvlanMode) -> Result<(), Error> {
    match link.details {
        Details::Macvlan(found) if found != expected => {
            let (name, expected, found) = (&link.name, word(expected), word(found));
            Err(wrong(format!(
                "interface `{name}`: expected mode {expected}, found {found}"
            )))
        }
        _ => Ok(()),
    }
}

fn word(mode: MacvlanMode) -> &'static str {
    match mode {
        MacvlanMode::Private => "private",
        MacvlanMode::Vepa => "vepa",
        MacvlanMode::Bridge => "bridge",
        MacvlanMode::Passthru => "passthru",
        MacvlanMode::Source => "source",
    }
}

weir_sdk::export!(Macvlan);
