//! The plugin `bridge`: attaches a container to a bridge on the host by a veth pair.
//!
//! Errors in the configuration have code 7, the SDK's codes are in [`weir_sdk::codes`], and these
//! are this plugin's own:
//!
//! | code | when |
//! |---|---|
//! | 110 [`codes::GATEWAY_CONFLICT`] | the bridge has another address, and `forceAddress` is not set |
//! | 111 [`codes::NO_ADDRESS`] | the IPAM plugin returned no address |
//! | 112 [`codes::NOT_AS_ATTACHED`] | CHECK: an interface, address or route is not as ADD left it |

mod antispoof;
mod bridge;
mod check;
pub mod codes;
pub mod config;
mod container;
mod gateway;
mod masquerade;
mod owned;
mod routes;
mod veth;

use weir_sdk::{
    AddResult, Error, GcRequest, Interface, IpConfig, Plugin, Request, StatusRequest, ipam,
};

use config::Config;
use owned::Owner;
use veth::Veth;

/// The plugin.
pub struct Bridge;

/// Where the container's interface is in the result: after the bridge and the host's end.
const CONTAINER_INTERFACE: u32 = 2;

impl Plugin for Bridge {
    type Config = Config;
    const NAME: &'static str = "bridge";
    const VERSION: &'static str = env!("CARGO_PKG_VERSION");
    const DESCRIPTION: &'static str = "attaches containers to a bridge on the host";

    fn validate(config: &Config) -> Result<(), Error> {
        config.validate()
    }

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

        let veth = veth.wait_until_up(config)?;
        container::announce(&veth.container, &result.ips);
        result.interfaces = vec![bridge::interface(&bridge)?];
        result.interfaces.extend(interfaces(&veth, request.sandbox));
        result.interfaces.extend(vlan_gateway);
        if !config.dns.is_empty() {
            result.dns = config.dns.clone();
        }
        Ok(result)
    }

    fn del(request: Request<Config>) -> Result<(), Error> {
        let config = &request.config;
        let owner = Owner::of(&request);
        let previous = request.previous.as_ref();

        let steps = [
            veth::delete(&request),
            config
                .macspoofchk
                .then(|| antispoof::remove(&owner, previous)),
            config.ip_masq.then(|| masquerade::remove(&owner, previous)),
        ];
        steps.into_iter().flatten().collect::<Result<(), Error>>()?;
        // Last, and only then: nobody may get the address while something is left that has it.
        match config.ipam.is_configured() {
            true => ipam::del(),
            false => Ok(()),
        }
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        if request.config.ipam.is_configured() {
            ipam::check()?;
        }
        check::check(&request)
    }

    fn status(request: StatusRequest<Config>) -> Result<(), Error> {
        match request.config.ipam.is_configured() {
            true => ipam::status(),
            false => Ok(()),
        }
    }

    fn gc(request: GcRequest<Config>) -> Result<(), Error> {
        let config = &request.config;
        let steps = [
            config.macspoofchk.then(|| antispoof::retain(&request)),
            config.ip_masq.then(|| masquerade::retain(&request)),
            config.ipam.is_configured().then(ipam::gc),
        ];
        steps.into_iter().flatten().collect()
    }
}

/// What the IPAM plugin assigns, completed with gateways and default routes.
fn addresses(config: &Config) -> Result<AddResult, Error> {
    let mut assigned = ipam::add()?;
    if assigned.ips.is_empty() {
        let plugin = &config.ipam.plugin;
        let msg = format!("IPAM plugin \"{plugin}\" returned no IP address");
        return Err(Error::new(codes::NO_ADDRESS, msg));
    }
    for ip in &mut assigned.ips {
        let gateway = config
            .has_gateway()
            .then(|| gateway::default_for(&ip.address));
        *ip = IpConfig {
            interface: Some(CONTAINER_INTERFACE),
            gateway: ip.gateway.or(gateway),
            ..ip.clone()
        };
    }
    if config.is_default_gateway {
        routes::add_defaults(&mut assigned);
    }
    Ok(assigned)
}

/// The two ends of the veth pair: the host's, then the container's.
fn interfaces(veth: &Veth, sandbox: String) -> [Interface; 2] {
    let host = Interface {
        name: veth.host.name.clone(),
        mac: veth.host.mac_text(),
        mtu: Some(veth.host.mtu),
        ..Interface::default()
    };
    let container = Interface {
        name: veth.container.name.clone(),
        mac: veth.container.mac_text(),
        mtu: Some(veth.container.mtu),
        sandbox: Some(sandbox),
        ..Interface::default()
    };
    [host, container]
}

weir_sdk::export!(Bridge);
