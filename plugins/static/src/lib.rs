//! The IPAM plugin `static`: assigns the addresses that the configuration or the runtime names. It
//! keeps no state, so nothing prevents an address from being used twice.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

mod addresses;
pub mod config;

use weir_sdk::check::{self, wrong};
use weir_sdk::{AddResult, Error, IpConfig, Plugin, Request, World};

use config::Config;

/// The plugin.
pub struct Static;

impl Plugin for Static {
    type Config = Config;
    const WORLD: World = World::IpamPlugin;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        Ok(AddResult {
            ips: addresses::assigned(&request.args, config)?,
            routes: config.ipam.routes.clone(),
            dns: config.ipam.dns.clone(),
            ..AddResult::default()
        })
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let previous = check::previous(&request)?;
        let assigned = addresses::assigned(&request.args, &request.config)?;
        assigned.iter().try_for_each(|ip| check_one(ip, previous))
    }
}

/// The previous result has the address, with this gateway where one is known.
fn check_one(assigned: &IpConfig, previous: &AddResult) -> Result<(), Error> {
    let address = assigned.address;
    let found = previous.ips.iter().find(|ip| ip.address == address);
    let found = found.ok_or_else(|| wrong(format!("prevResult: address {address} is missing")))?;
    match (assigned.gateway, found.gateway) {
        (Some(expected), Some(gateway)) if expected != gateway => Err(wrong(format!(
            "prevResult: address {address}: expected gateway {expected}, found {gateway}"
        ))),
        _ => Ok(()),
    }
}

weir_sdk::export!(Static);
