//! The container's interface: parameters, addresses, routes.

use weir_sdk::address::NewAddress;
use weir_sdk::link::Link;
use weir_sdk::{AddResult, Context, Error, Namespace, interface, sysctl};

use crate::config::Config;

/// Gives the interface the addresses and routes of the result.
pub fn configure(config: &Config, link: &Link, result: &AddResult) -> Result<(), Error> {
    let ifname = link.name.as_str();
    let has_ipv6 = interface::has_ipv6(&result.ips);
    set_parameters(config, ifname);
    if has_ipv6 {
        enable_ipv6(config, ifname)?;
    }
    interface::add_addresses(link, &result.ips, |address| {
        NewAddress::new(address).with_subnet_broadcast()
    })?;
    if has_ipv6 && config.enabledad {
        interface::settle(link)?;
    }
    interface::add_routes(link, &result.routes, &result.ips)
}

/// Whether addresses are checked for duplicates, and that the interface announces its own when it
/// comes up again.
fn set_parameters(config: &Config, ifname: &str) {
    if config.enabledad {
        interface::set_parameter(ifname, "ipv6.conf", "enhanced_dad", "1");
        interface::set_parameter(ifname, "ipv6.conf", "accept_dad", "1");
    } else {
        interface::set_parameter(ifname, "ipv6.conf", "accept_dad", "0");
    }
    interface::set_parameter(ifname, "ipv4.conf", "arp_notify", "1");
}

/// Without duplicate address detection the link-local address is made again: it was made when the
/// interface came up, and would be checked for seconds.
fn enable_ipv6(config: &Config, ifname: &str) -> Result<(), Error> {
    if !config.enabledad {
        let key = sysctl::interface_key("ipv6.conf", ifname, "disable_ipv6");
        sysctl::write(Namespace::Container, &key, "1")
            .context(format!("cannot renew the IPv6 addresses of `{ifname}`"))?;
    }
    interface::enable_ipv6(ifname)
}
