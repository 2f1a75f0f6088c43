//! The plugin `tap`: gives a container a persistent TAP device, which a virtual machine in the container opens as its
//! network card.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::check::{self, wrong};
use weir_sdk::link::{self, Link, NewKind, NewLink};
use weir_sdk::{AddResult, Context, Error, MainPlugin, Namespace, Request, interface};

use config::Config;

/// The plugin.
pub struct Tap;

impl MainPlugin for Tap {
    type Config = Config;
    const KIND: &str = "tun";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let ifname = request.ifname.as_str();
        let bridge = bridge(config)?;
        let link = interface::create(
            &request,
            NewLink {
                mac: config.mac(&request.args)?.map(Into::into),
                mtu: config.mtu(),
                master: bridge.as_ref().map(Into::into),
                ..NewLink::new(Namespace::Container, ifname, NewKind::Tap(config.device()))
            },
        )?;
        let mut assigned = AddResult::default();
        if config.ipam.is_configured() {
            assigned = config.ipam.assign(interface::CONTAINER_INTERFACE)?;
            interface::set_parameter(ifname, "ipv4.conf", "arp_notify", "1");
            interface::configure(&link, &assigned)?;
        }
        let interface = interface::of_container(&link, request.sandbox);
        Ok(interface::result(interface, assigned, &config.dns))
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        let link = check::attached(request, Self::KIND)?;
        match bridge(&request.config)? {
            Some(bridge) if link.master != Some(bridge.index) => Err(wrong(format!(
                "`{}` is not a port of bridge `{}`",
                link.name, bridge.name
            ))),
            _ => Ok(()),
        }
    }
}

/// Returns the bridge in the container that the device is to be a port of; none without the key.
fn bridge(config: &Config) -> Result<Option<Link>, Error> {
    let name = config.bridge.as_str();
    if name.is_empty() {
        return Ok(None);
    }
    let found = link::find(Namespace::Container, name);
    let found = found.context(format!("cannot look up bridge `{name}` in the container"))?;
    match found.filter(|link| link.kind == "bridge") {
        Some(bridge) => Ok(Some(bridge)),
        None => Err(Error::invalid_config(format!(
            "bridge: the container has no bridge `{name}`"
        ))
        .with_details(
            "the bridge is in the container, not on the host: whoever makes it must do so before this plugin runs",
        )),
    }
}

weir_sdk::export!(Tap);
