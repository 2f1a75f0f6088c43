//! The container's interface: addresses, routes, announcements.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::{self, NewAddress};
use crate::{Context, Error, IpConfig, Namespace, Route, log, neighbour, route, sysctl};

/// Whether an address of a result is IPv6.
pub fn has_ipv6(ips: &[IpConfig]) -> bool {
    ips.iter().any(|ip| ip.address.addr().is_ipv6())
}

/// Enables IPv6 on the interface and the loopback device, in case the container came without.
pub fn enable_ipv6(ifname: &str) -> Result<(), Error> {
    for interface in ["lo", ifname] {
        let key = sysctl::interface_key("ipv6.conf", interface, "disable_ipv6");
        sysctl::ensure(Namespace::Container, &key, "0")
            .context(format!("cannot enable IPv6 on `{interface}`"))?;
    }
    Ok(())
}

/// Adds addresses to the interface, with the attributes that `new` gives them.
pub fn add_addresses(
    ifname: &str,
    ips: &[IpConfig],
    new: impl Fn(IpNet) -> NewAddress,
) -> Result<(), Error> {
    for ip in ips {
        let address = ip.address;
        address::add(Namespace::Container, ifname, new(address))
            .context(format!("cannot add address {address} to `{ifname}`"))?;
    }
    Ok(())
}

/// Adds routes of a result with these addresses over the interface, as [`route::of_result`] makes them.
pub fn add_routes(ifname: &str, routes: &[Route], ips: &[IpConfig]) -> Result<(), Error> {
    let routes = route::of_result(routes, ips, ifname);
    let mut routes = routes.iter();
    routes.try_for_each(|route| route::ensure(Namespace::Container, route))
}

/// Announces the addresses to the neighbours. A failure is logged and not an error.
pub fn announce(ifname: &str, ips: &[IpConfig]) {
    if ips.is_empty() {
        return;
    }
    let addresses = ips.iter().map(|ip| -> IpAddr { ip.address.addr() });
    if let Err(error) = neighbour::announce(Namespace::Container, ifname, addresses) {
        log::warn(
            "cannot announce the container's addresses",
            &[("link", ifname), ("error", &error.message)],
        );
    }
}
