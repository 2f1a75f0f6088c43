//! firewalld's zone, where firewalld runs: its chains drop what the plugin's own table accepts, unless
//! the container's addresses are bound to a zone that lets them pass.
//!
//! firewalld does not record who owns a source; the sets of [`crate::accept`] do.

use std::net::IpAddr;

use weir_sdk::check::wrong;
use weir_sdk::{
    AddResult, Code, Context, Error, ErrorCode, OperationError, Outcome, codes, firewalld,
};

use crate::config::{Backend, Config};

/// Binds the container's addresses to the zone.
pub fn add(config: &Config, previous: &AddResult) -> Result<(), Error> {
    if !is_needed(config)? {
        return Ok(());
    }
    for address in previous.addresses() {
        bind(config.zone(), address)?;
    }
    Ok(())
}

fn bind(zone: &str, address: IpAddr) -> Result<(), Error> {
    match firewalld::add_source(zone, address) {
        Err(error) if error.code == ErrorCode::Exists => {
            match firewalld::zone_of_source(address)? {
                Some(bound) if bound == zone => Ok(()),
                Some(bound) => Err(Error::from(error).with_details(format!(
                    "it is in zone `{bound}`: take it out (firewall-cmd --zone={bound} \
                 --remove-source={address}), or set firewalldZone"
                ))),
                None => Err(error.into()),
            }
        }
        bound => bound.context(format!("firewalldZone `{zone}`")),
    }
}

/// Whether the addresses must be bound to a zone. Errors: `codes::UNSUPPORTED` where the configuration asks for it
/// and it does not run.
fn is_needed(config: &Config) -> Result<bool, Error> {
    let is_running = is_running(config)?;
    match config.backend {
        Backend::Firewalld if !is_running => Err(does_not_run(codes::UNSUPPORTED)),
        _ => Ok(is_running),
    }
}

fn does_not_run(code: Code) -> Error {
    let message = "backend: firewalld does not run on this node";
    Error::new(code, message)
        .with_details("start firewalld, or leave the key out: then it is used where it runs")
}

fn is_running(config: &Config) -> Result<bool, OperationError> {
    match config.backend {
        Backend::Nftables | Backend::Other(_) => Ok(false),
        Backend::Whichever | Backend::Firewalld => firewalld::is_running(),
    }
}

/// Fails unless the container's addresses are bound to the zone. Errors: `codes::NOT_AS_ATTACHED`.
pub fn check(config: &Config, previous: &AddResult) -> Result<(), Error> {
    if !is_needed(config)? {
        return Ok(());
    }
    for address in previous.addresses() {
        let bound = firewalld::zone_of_source(address)?;
        if bound.as_deref() != Some(config.zone()) {
            return Err(wrong(format!(
                "{address} is not in firewalld's zone `{}`",
                config.zone()
            )));
        }
    }
    Ok(())
}

/// Removes addresses from the zone: those that `whose` returns, which is called only if firewalld runs.
pub fn remove(
    config: &Config,
    whose: impl FnOnce() -> Result<Vec<IpAddr>, Error>,
) -> Result<(), Error> {
    if !is_running(config)? {
        return Ok(());
    }
    for address in whose()? {
        firewalld::remove_source(config.zone(), address)
            .found()
            .context(format!("firewalldZone `{}`", config.zone()))?;
    }
    Ok(())
}

/// Fails where the configuration asks for firewalld and it does not run. Errors: code 50.
pub fn status(config: &Config) -> Result<(), Error> {
    match config.backend {
        Backend::Firewalld if !is_running(config)? => Err(does_not_run(Code::PLUGIN_NOT_AVAILABLE)),
        _ => Ok(()),
    }
}
