//! The plugin `firewall`: decides which traffic of a container is forwarded. It comes after the plugin
//! that attaches the container.
//!
//! Errors in the configuration have code 7, a backend that does not exist code 2, and STATUS without the
//! requested firewalld code 50. The SDK's codes are in [`weir_sdk::codes`].

mod accept;
mod bridge;
pub mod config;
mod isolation;
mod zone;

use weir_sdk::check;
use weir_sdk::owner::Owner;
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, StatusRequest};

use accept::Accepted;
use config::{Config, IngressPolicy};

/// The plugin.
pub struct Firewall;

impl Plugin for Firewall {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let previous = request.chained()?;
        let accepted = Accepted::of(&request, previous)?;
        accepted.add()?;
        if let Some(port) = accepted.isolated_port() {
            isolation::add(&accepted.owner, port)?;
        }
        zone::add(&request.config, previous)?;
        Ok(request.previous.unwrap_or_default())
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        let owner = Owner::of(&request);
        let previous = request.previous.as_ref();
        zone::remove(&request.config, || accept::addresses(&owner, previous))?;
        accept::remove(&owner, previous)?;
        match request.config.ingress_policy {
            IngressPolicy::Isolated => isolation::remove(&owner, previous),
            IngressPolicy::Open | IngressPolicy::SameBridge => Ok(()),
        }
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let previous = check::previous(&request)?;
        let accepted = Accepted::of(&request, previous)?;
        accepted.check()?;
        zone::check(&request.config, previous)?;
        match accepted.isolated_port() {
            Some(port) => isolation::check(&accepted.owner, port),
            None => Ok(()),
        }
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        zone::status(&request.config)
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        zone::remove(&request.config, || accept::garbage(&request))?;
        accept::retain(&request)?;
        isolation::retain(&request)
    }

    fn validate(config: &Config) -> Result<(), Error> {
        config.validate()
    }
}

weir_sdk::export!(Firewall);
