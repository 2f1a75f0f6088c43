//! The plugin `firewall`: decides which traffic of a container is forwarded. It comes after the plugin
//! that attaches the container.
//!
//! Errors in the configuration have code 7, a backend that there is not has code 2, STATUS without the
//! firewalld that is asked for has code 50, and the SDK's codes
//! are in [`weir_sdk::codes`].

mod accept;
mod bridge;
pub mod config;
mod isolation;
mod zone;

use weir_sdk::check;
use weir_sdk::owner::Owner;
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, StatusRequest};

use bridge::Attached;
use config::{Config, IngressPolicy};

/// The plugin.
pub struct Firewall;

impl Plugin for Firewall {
    type Config = Config;
    const NAME: &'static str = "firewall";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const DESCRIPTION: &'static str = "decides which traffic of a container is forwarded";

    fn validate(config: &Config) -> Result<(), Error> {
        config.validate()
    }

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let previous = request.chained()?;
        let owner = Owner::of(&request);
        let attached = attached(config, previous)?;
        accept::add(&owner, config, previous, attached.as_ref())?;
        if let Some(attached) = &attached
            && config.ingress_policy == IngressPolicy::Isolated
        {
            isolation::add(&owner, &attached.port)?;
        }
        zone::add(config, previous)?;
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
        let config = &request.config;
        let previous = check::previous(&request)?;
        let owner = Owner::of(&request);
        let attached = attached(config, previous)?;
        accept::check(&owner, config, previous, attached.as_ref())?;
        zone::check(config, previous)?;
        match (&attached, config.ingress_policy) {
            (Some(attached), IngressPolicy::Isolated) => isolation::check(&owner, &attached.port),
            _ => Ok(()),
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
}

/// The bridge and port that a policy other than `open` is about.
fn attached(config: &Config, previous: &AddResult) -> Result<Option<Attached>, Error> {
    match config.ingress_policy {
        IngressPolicy::Open => Ok(None),
        policy => Attached::of(policy, previous).map(Some),
    }
}

weir_sdk::export!(Firewall);
