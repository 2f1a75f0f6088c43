//! The plugin `bridge`: attaches a container to a bridge on the host by a veth pair.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`], and these
//! are this plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 [`codes::GATEWAY_CONFLICT`] | the bridge has another address, and `forceAddress` is not set |

mod antispoof;
mod bridge;
mod check;
pub mod codes;
pub mod config;
mod container;
mod gateway;
mod veth;

use weir_sdk::owner::Owner;
use weir_sdk::{AddResult, Error, GcRequest, MainPlugin, Request, interface, masquerade, route};

use config::Config;

/// The plugin.
pub struct Bridge;

/// Where the container's interface is in the result: after the bridge and the host's end.
const CONTAINER_INTERFACE: u32 = 2;

impl MainPlugin for Bridge {
    type Config = Config;
    const KIND: &str = "veth";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let owner = Owner::of(&request);
        let mac = config.mac(&request.args)?;
        let bridge = bridge::ensure(config)?;
        let veth = veth::create(&request, &owner, &bridge, mac)?;

        let mut result = AddResult::default();
        let mut vlan_gateway = None;
        if config.ipam.is_configured() {
            result = addresses(config)?;
            container::configure(config, &veth.container, &result)?;
            if config.has_gateway() {
                vlan_gateway = gateway::configure(config, &bridge, &result.ips)?;
            }
            if config.ip_masq {
                masquerade::add(&owner, &result.ips)?;
            }
        }

        let veth = veth::wait_until_up(veth, config)?;
        interface::announce(&veth.container, &result.ips);
        result.interfaces = vec![bridge::interface(&bridge)?];
        result.interfaces.extend(veth.interfaces(request.sandbox));
        result.interfaces.extend(vlan_gateway);
        config.dns.apply(&mut result.dns);
        Ok(result)
    }

    fn del(request: &Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        let owner = Owner::of(request);
        let previous = request.previous.as_ref();
        let steps = [
            // The kernel frees what it removes from tables while it takes the pair apart.
            config
                .ip_masq
                .then(|| masquerade::remove_or_reference(&owner, previous)),
            Some(weir_sdk::veth::delete(request)),
            config
                .macspoofchk
                .then(|| antispoof::remove(&owner, previous)),
        ];
        steps.into_iter().flatten().collect()
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        check::check(request)
    }

    fn gc(request: &GcRequest<Config>) -> Result<(), Error> {
        let config = &request.config;
        let steps = [
            config.macspoofchk.then(|| antispoof::retain(request)),
            config.ip_masq.then(|| masquerade::retain(request)),
        ];
        steps.into_iter().flatten().collect()
    }
}

/// What the IPAM plugin assigns, completed with gateways and default routes.
fn addresses(config: &Config) -> Result<AddResult, Error> {
    let mut assigned = config.ipam.assign(CONTAINER_INTERFACE)?;
    if config.has_gateway() {
        for ip in &mut assigned.ips {
            ip.gateway = ip.gateway.or(Some(gateway::default_for(&ip.address)));
        }
    }
    if config.is_default_gateway {
        route::add_defaults(&mut assigned);
    }
    Ok(assigned)
}

weir_sdk::export!(Bridge);
