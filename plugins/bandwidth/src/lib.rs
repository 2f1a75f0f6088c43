//! The plugin `bandwidth`: limits what a container receives and sends.
//!
//! It comes after the plugin that attaches the container by a veth pair. What the container receives
//! is shaped when it leaves the host's end. What it sends arrives there, is redirected to an
//! ifb, and is shaped when it leaves that:
//!
//! ```text
//! eth0 <──────────── shaper ── vethX <── host        ingress
//! eth0 ── vethX ── redirect ── shaper ── ifb ──> host     egress
//! ```
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`], and this is
//! the plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 [`codes::NO_HOST_END`] | the container's interface has no other end on the host that `prevResult` names |

mod check;
pub mod codes;
pub mod config;
mod host_end;
mod ifb;
mod redirect;
mod root;
pub mod shaper;

use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request};

use config::Config;

/// The plugin.
pub struct Bandwidth;

impl Plugin for Bandwidth {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let shaping = request.config.shaping()?;
        let mut result = request.chained()?.clone();
        if shaping.is_nothing() {
            return Ok(result);
        }
        let host = host_end::find(&request, &result)?;
        if let Some(shaper) = &shaping.ingress {
            root::add(&host, shaper)?;
        }
        if let Some(shaper) = &shaping.egress {
            let ifb = ifb::create(&request, &host)?;
            root::add(&ifb, shaper)?;
            redirect::add(&host, &ifb)?;
            result.interfaces.push(ifb.interface());
        }
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        let ifbs = ifb::find(&request)?;
        // Before the ifbs are removed: they tell whose a redirection is.
        for host in host_end::left_over(&request)? {
            redirect::remove(&host, &ifbs)?;
            root::remove(&host)?;
        }
        ifb::remove(&ifbs)
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        check::check(&request, &request.config.shaping()?)
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        ifb::retain(&request)
    }

    fn validate(config: &Config) -> Result<(), Error> {
        config.shaping().map(drop)
    }
}

weir_sdk::export!(Bandwidth);
