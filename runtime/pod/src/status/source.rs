//! The status of an attachment, from its result (sections 5.1.1 and 5.3).

use std::net::IpAddr;

use serde_json::Value;
use weir_cni::{Interface, IpConfig, Route};

use super::Status;
use crate::default_route::{Attached, is_main};

/// The status of an attachment. `device_info` describes its device, if it has one.
///
/// Its interface is the first of the result in a sandbox, or `CNI_IFNAME`, with all addresses, if the result names no
/// interfaces, as before 0.3.0.
pub(crate) fn of(attached: &Attached, is_default: bool, device_info: Option<Value>) -> Status {
    let result = &attached.result;
    let sandboxed = result.interfaces.iter().position(is_sandboxed);
    let interface = sandboxed.map(|index| &result.interfaces[index]);
    let ips: Vec<&IpConfig> = result
        .ips
        .iter()
        .filter(|ip| ip.interface.map(|index| index as usize) == sandboxed)
        .collect();
    let gateways = default_gateways(&result.routes, &ips);
    Status {
        name: attached.network.clone(),
        interface: match (interface, result.interfaces.is_empty()) {
            (Some(interface), _) => Some(interface.name.clone()),
            (None, true) => Some(attached.ifname.clone()),
            (None, false) => None,
        },
        ips: texts(ips.iter().map(|ip| ip.address.addr())),
        mac: interface.and_then(|interface| interface.mac.clone()),
        mtu: interface.and_then(|interface| interface.mtu),
        default: is_default,
        dns: result.dns.clone(),
        default_route: texts(gateways.iter().copied()),
        gateway: texts(gateways.iter().copied()),
        device_info,
    }
}

/// An interface of the host has no sandbox.
fn is_sandboxed(interface: &Interface) -> bool {
    interface.sandbox.as_deref().is_some_and(|s| !s.is_empty())
}

/// The next hops of the default routes, each once. A route without one uses the gateway of an address of its family (CNI
/// section 5, `routes`); a route into a link has none.
fn default_gateways(routes: &[Route], ips: &[&IpConfig]) -> Vec<IpAddr> {
    let mut gateways = Vec::new();
    let default = |route: &&Route| route.dst.prefix_len() == 0 && is_main(route);
    for route in routes.iter().filter(default) {
        let of_address = ips
            .iter()
            .filter(|ip| ip.address.addr().is_ipv4() == route.dst.addr().is_ipv4())
            .find_map(|ip| ip.gateway);
        let gateway = route.gw.or(of_address).filter(|gw| !gw.is_unspecified());
        gateways.extend(gateway.filter(|gateway| !gateways.contains(gateway)));
    }
    gateways
}

fn texts(addresses: impl Iterator<Item = IpAddr>) -> Vec<String> {
    addresses.map(|address| address.to_string()).collect()
}
