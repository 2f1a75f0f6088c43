//! The plugin `portmap`: maps ports of the host to ports of a container. It comes after the plugin that
//! gives the container its addresses.
//!
//! Errors in the configuration have code 7, an unsupported backend code 2; the SDK's codes are in [`weir_sdk::codes`].

mod addresses;
mod conditions;
pub mod config;
mod elements;
mod former;
mod group;
mod localnet;
mod mapping;
mod stale;
mod tables;

use weir_sdk::owner::Owner;
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, log};

use addresses::Addresses;
use config::Config;
use elements::Mapped;

/// The plugin.
pub struct Portmap;

impl Plugin for Portmap {
    type Config = Config;

    fn validate(config: &Config) -> Result<(), Error> {
        config.validate()
    }

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let addresses = Addresses::of(&request)?;
        let mapped = Mapped::new(Owner::of(&request), config, &addresses)?;
        for warning in config.repeated() {
            log::warn(&warning, &[]);
        }
        if mapped.is_empty() {
            former::settle_quietly(&config.group()?);
        } else {
            // A port that is taken from another container is not given back when this ADD fails: what
            // can fail comes before.
            if config.snat {
                localnet::route(&addresses)?;
            }
            mapped.add()?;
            stale::forget(&mapped);
        }
        Ok(request.previous.unwrap_or_default())
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        if request.config.runtime_config.port_mappings.is_empty() {
            return Ok(());
        }
        let owner = Owner::of(&request);
        // A configuration that ADD refused, or no previous result: then the comments tell.
        let mapped = Addresses::of(&request)
            .and_then(|addresses| Mapped::new(owner.clone(), &request.config, &addresses))
            .ok();
        elements::remove(&owner, mapped.as_ref())?;
        if let Some(mapped) = mapped {
            stale::forget(&mapped);
        }
        Ok(())
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let addresses = Addresses::of(&request)?;
        Mapped::new(Owner::of(&request), &request.config, &addresses)?.check()
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        former::settle_quietly(&request.config.group()?);
        elements::retain(&request)
    }
}

weir_sdk::export!(Portmap);
