//! The plugin `point-to-point`: connects a container and the host by a veth pair of their own, IPv4 and IPv6.
//!
//! The addresses are those that the IPAM plugin in the configuration assigns, each with its gateway, which becomes the
//! address of the host's end. The container reaches everything through it, and the host forwards.
//!
//! | key | what |
//! |---|---|
//! | `ipam` | `type` names the IPAM plugin; the other keys are that plugin's |

use weir_sdk::config::Ipam;
use weir_sdk::veth::{self, Settings};
use weir_sdk::{AddResult, Error, MainConfig, MainPlugin, Request, point_to_point, sysctl};

/// The plugin.
pub struct PointToPoint;

/// What the network configuration says.
#[weir_sdk::config]
pub struct Config {
    pub ipam: Ipam,
}

impl MainConfig for Config {
    fn ipam(&self) -> &Ipam {
        &self.ipam
    }
}

impl MainPlugin for PointToPoint {
    type Config = Config;
    const KIND: &str = "veth";

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let mut result = request.config.ipam.assign(veth::CONTAINER_INTERFACE)?;
        point_to_point::require_gateways(&result.ips)?;
        let veth = veth::create(&request, &Settings::up())?;
        point_to_point::configure(&veth, &result)?;
        sysctl::forward_for(&result.ips)?;
        result.interfaces = veth.interfaces(request.sandbox).into();
        Ok(result)
    }

    fn del(request: &Request<Config>) -> Result<(), Error> {
        veth::delete(request)
    }

    fn check(request: &Request<Config>) -> Result<(), Error> {
        veth::attached(request).map(drop)
    }
}

weir_sdk::export!(PointToPoint);
