//! The plugin `vlan`: puts a container into a VLAN of an interface of the host, its master, or of one of its own.
//!
//! A master has each VLAN once, wherever its interface is: a network has one container on a node.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`].

pub mod config;
#[cfg(test)]
mod tests;

use weir_sdk::check::wrong;
use weir_sdk::link::{Details, Link, NewKind, NewVlan, VlanProtocol};
use weir_sdk::lower::{self, Lower, Settings};
use weir_sdk::{AddResult, Error, GcRequest, Plugin, Request, StatusRequest, codes, interface};

use config::Config;

/// The plugin.
pub struct Vlan;

/// The kind of the container's interface.
const KIND: &str = "vlan";

impl Plugin for Vlan {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let lower = config.master().find()?;
        let link = create(&request, &lower)?;
        let assigned = config.ipam.assign(lower::CONTAINER_INTERFACE)?;
        lower::configure(&lower, &link, &assigned)?;
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
        check_link(config, &link)
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
    created.map_err(|error| {
        // An interface of the name in the container is the other reason.
        let is_free = || matches!(request.find_container_interface(), Ok(None));
        if error.code == codes::EXISTS && is_free() {
            let msg = format!("vlanId: VLAN {id} is taken on master `{master}`");
            let details = "a master has each VLAN once, on the host and in all containers together";
            return Error::new(codes::EXISTS, msg).with_details(details);
        }
        error
    })
}

fn check_link(config: &Config, link: &Link) -> Result<(), Error> {
    let Link { name, mtu, .. } = link;
    match link.details {
        Details::Vlan(found) if i64::from(found) != config.vlan_id => {
            let expected = config.vlan_id;
            return Err(wrong(format!(
                "interface `{name}`: expected VLAN {expected}, found {found}"
            )));
        }
        _ => {}
    }
    if config.mtu != 0 && config.mtu != *mtu {
        let expected = config.mtu;
        return Err(wrong(format!(
            "interface `{name}`: expected MTU {expected}, found {mtu}"
        )));
    }
    Ok(())
}

weir_sdk::export!(Vlan);
