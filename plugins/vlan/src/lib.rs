//! The plugin `vlan`: puts a container into a VLAN of an interface of the host, its master, or of one of its own.
//!
//! A master has each VLAN once, wherever its interface is: a network has one container on a node.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::interface::Existing;
use weir_sdk::link::{Details, Link, NewKind, NewVlan, VlanProtocol};
use weir_sdk::lower::{self, Announcement, Lower, Settings};
use weir_sdk::{AddResult, Error, MainPlugin, Request, check, codes, interface};

use config::Config;

/// The plugin.
pub struct Vlan;

impl MainPlugin for Vlan {
    type Config = Config;
    const KIND: &str = "vlan";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let lower = config.master().find()?;
        let link = create(&request, &lower)?;
        let assigned = config.ipam.assign(interface::CONTAINER_INTERFACE)?;
        lower::configure(&lower, &link, &assigned, Announcement::Once)?;
        Ok(lower::result(&request, &link, assigned, &config.dns))
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        let link = lower::check(request, request.config.master(), Self::KIND)?;
        if let Details::Vlan(id) = link.details {
            check::property(&link, "VLAN", config.vlan()?, id)?;
        }
        match config.mtu {
            0 => Ok(()),
            expected => check::property(&link, "MTU", expected, link.mtu),
        }
    }
}

fn create(request: &Request<Config>, lower: &Lower) -> Result<Link, Error> {
    let (id, master) = (request.config.vlan()?, &lower.link.name);
    if !lower.link.up {
        let msg = format!("master: interface `{master}` is down: set it up first");
        return Err(Error::try_again_later(msg));
    }
    let settings = Settings {
        mtu: request.config.mtu,
        mac: None,
    };
    let kind = NewKind::Vlan(NewVlan {
        lower: lower.into(),
        lower_namespace: lower.namespace,
        id,
        protocol: VlanProtocol::Ieee8021q,
    });
    let created = lower::create(request, lower, kind, settings);
    created.map_err(|failed| {
        if failed.existing != Some(Existing::Kind) {
            return failed.error;
        }
        let msg = format!("vlanId: VLAN {id} is taken on master `{master}`");
        let details = "a master has each VLAN once, on the host and in all containers together";
        Error::new(codes::EXISTS, msg).with_details(details)
    })
}

weir_sdk::export!(Vlan);
