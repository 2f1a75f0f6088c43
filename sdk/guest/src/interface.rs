//! The container's interface: addresses, routes, announcements.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::address::{self, NewAddress};
use crate::link::Link;
use crate::route::{self, Route};
use crate::{Context, Error, IpConfig, Namespace, log, neighbour, sysctl};

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
    link: &Link,
    ips: &[IpConfig],
    new: impl Fn(IpNet) -> NewAddress,
) -> Result<(), Error> {
    for ip in ips {
        let address = ip.address;
        address::add(Namespace::Container, link, new(address))
            .context(format!("cannot add address {address} to `{}`", link.name))?;
    }
    Ok(())
}

/// Adds the container's routes over the interface, which [`route::of_result`] makes of a result's.
pub fn add_routes(link: &Link, routes: Vec<Route>) -> Result<(), Error> {
    for route in routes {
        let doing = route::adding(&route, &link.name);
        route::add(Namespace::Container, &route).context(doing)?;
    }
    Ok(())
}

/// Announces the addresses to the neighbours. A failure is logged and not an error.
pub fn announce(link: &Link, ips: &[IpConfig]) {
    if ips.is_empty() {
        return;
    }
    let addresses = ips.iter().map(|ip| -> IpAddr { ip.address.addr() });
    if let Err(error) = neighbour::announce(Namespace::Container, link, addresses) {
        log::warn(
            "cannot announce the container's addresses",
            &[("link", &link.name), ("error", &error.message)],
        );
    }
}
