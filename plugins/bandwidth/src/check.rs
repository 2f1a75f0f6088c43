//! CHECK: whether both directions are shaped as configured.

use weir_sdk::check::{self, wrong};
use weir_sdk::{Error, Request};

use crate::config::{Config, Shaping};
use crate::{codes, host_end, ifb, redirect, root};

/// Fails unless the attachment's traffic is shaped as configured.
pub fn check(request: &Request<Config>, shaping: &Shaping) -> Result<(), Error> {
    let previous = check::previous(request)?;
    if shaping.is_nothing() {
        return Ok(());
    }
    let host = host_end::find(request, previous).map_err(|error| match error.code {
        codes::NO_HOST_END => wrong(error.msg),
        _ => error,
    })?;
    if let Some(shaper) = &shaping.ingress {
        root::check(&host, shaper)?;
    }
    if let Some(shaper) = &shaping.egress {
        let ifb = ifb::check(request, previous, &host)?;
        redirect::check(&host, &ifb)?;
        root::check(&ifb, shaper)?;
    }
    Ok(())
}
