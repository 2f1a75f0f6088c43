//! The plugin `route-override`: replaces the routes that other plugins gave the container's interface, IPv4 and IPv6. Its
//! keys are those of the community's plugin of that name.
//!
//! | key | what |
//! |---|---|
//! | `flushroutes` | removes all routes that lead beyond the interface's own subnets and link-local addresses |
//! | `flushgateway` | removes the default routes, and the gateways of the result's addresses |
//! | `delroutes` | removes the routes to each `dst` of the list |
//! | `addroutes` | adds a list of routes: `dst`, and `gw`, without which an address's gateway is taken, if there is one |
//! | `skipcheck` | CHECK succeeds whatever routes there are |

use std::net::IpAddr;

use weir_sdk::route::{self, Filter};
use weir_sdk::{AddResult, Error, IpConfig, Namespace, Plugin, Request, Route, check, interface};

/// The plugin.
pub struct RouteOverride;

/// What the network configuration says.
#[weir_sdk::config(default)]
#[derive(Default)]
pub struct Config {
    flushroutes: bool,
    flushgateway: bool,
    delroutes: Vec<Route>,
    addroutes: Vec<Route>,
    skipcheck: bool,
}

impl Plugin for RouteOverride {
    type Config = Config;

    fn add(request: Request<Config>) -> Result<AddResult, Error> {
        let config = &request.config;
        let mut result = request.chained()?.clone();
        for route in unwanted(&request, &result.ips)? {
            route::delete(Namespace::Container, &route)?;
        }
        let is_left = |route: &Route| !removes(config, &route.into(), &result.ips);
        result.routes.retain(|r| !config.flushroutes && is_left(r));
        if config.flushgateway {
            result.ips.iter_mut().for_each(|ip| ip.gateway = None);
        }
        interface::add_routes(&request.ifname, &config.addroutes, &result.ips)?;
        result.routes.extend_from_slice(&config.addroutes);
        Ok(result)
    }

    fn check(request: Request<Config>) -> Result<(), Error> {
        let AddResult { ips, routes, .. } = check::previous(&request)?;
        if request.config.skipcheck {
            return Ok(());
        }
        for route in routes {
            check::route(&route::Route::from(route).over(&request.ifname))?;
        }
        let is_known = |to| routes.iter().any(|known| known.dst.trunc() == to);
        let mut unwanted = unwanted(&request, ips)?.into_iter();
        match unwanted.find(|route| !is_known(route.destination())) {
            Some(route) => Err(check::wrong(format!("{route} is there again"))),
            None => Ok(()),
        }
    }
}

/// The interface's routes that are to be removed.
fn unwanted(request: &Request<Config>, ips: &[IpConfig]) -> Result<Vec<route::Route>, Error> {
    let over_interface = Filter::over(&request.container_interface()?);
    let mut routes = route::list(Namespace::Container, &over_interface)?;
    routes.retain(|route| removes(&request.config, route, ips));
    Ok(routes)
}

/// Whether a route of an interface with these addresses is to be removed.
fn removes(config: &Config, route: &route::Route, ips: &[IpConfig]) -> bool {
    let to = route.destination();
    let is_default = to.prefix_len() == 0;
    let is_link_local = match to.addr() {
        IpAddr::V4(address) => address.is_link_local(),
        IpAddr::V6(address) => address.is_unicast_link_local(),
    };
    let is_own = is_link_local || ips.iter().any(|ip| ip.address.trunc() == to);
    let leads_on = is_default || route.gateway.is_some() || !route.next_hops.is_empty();
    config.flushroutes && leads_on && !is_own
        || config.flushgateway && is_default
        || config.delroutes.iter().any(|named| named.dst.trunc() == to)
}

weir_sdk::export!(RouteOverride);
