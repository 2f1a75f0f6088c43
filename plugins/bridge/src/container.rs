//! The container's interface: parameters, addresses, routes.

use std::net::IpAddr;

use weir_sdk::address::{self, NewAddress};
use weir_sdk::link::Link;
use weir_sdk::{
    AddResult, Context, Error, ErrorCode, IpConfig, Namespace, Outcome, log, neighbour, route,
    sysctl,
};

use crate::config::Config;
use crate::routes;

/// How long duplicate address detection may take, in milliseconds.
const SETTLE_TIMEOUT: u32 = 10_000;

/// Gives the interface the addresses and routes of the result.
pub fn configure(config: &Config, link: &Link, result: &AddResult) -> Result<(), Error> {
    let ifname = link.name.as_str();
    let has_ipv6 = result.ips.iter().any(|ip| ip.address.addr().is_ipv6());
    set_parameters(config, ifname);
    if has_ipv6 {
        enable_ipv6(config, ifname)?;
    }
    for ip in &result.ips {
        let new = NewAddress::new(ip.address).with_subnet_broadcast();
        address::add(Namespace::Container, link, new).context(format!(
            "could not add address {} to \"{ifname}\"",
            ip.address
        ))?;
    }
    if has_ipv6 && config.enabledad {
        settle(link)?;
    }
    for route in routes::of(result, link) {
        let doing = routes::adding(&route, ifname);
        route::add(Namespace::Container, route).context(doing)?;
    }
    Ok(())
}

/// Whether addresses are checked for duplicates, and that the interface announces its own when it
/// comes up again.
fn set_parameters(config: &Config, ifname: &str) {
    if config.enabledad {
        set(ifname, "ipv6.conf", "enhanced_dad", "1");
        set(ifname, "ipv6.conf", "accept_dad", "1");
    } else {
        set(ifname, "ipv6.conf", "accept_dad", "0");
    }
    set(ifname, "ipv4.conf", "arp_notify", "1");
}

/// Writes a parameter that the container can do without.
fn set(ifname: &str, table: &str, parameter: &str, value: &str) {
    let key = sysctl::interface_key(table, ifname, parameter);
    if let Err(error) = sysctl::write(Namespace::Container, &key, value).found() {
        log::warn(
            "could not set a parameter of the container's interface",
            &[("key", &key), ("error", &error.message)],
        );
    }
}

/// Enables IPv6 where the container came without. Without duplicate address detection the link-local
/// address is made anew: it was made when the interface came up, and would be checked for seconds.
fn enable_ipv6(config: &Config, ifname: &str) -> Result<(), Error> {
    let key = |interface| sysctl::interface_key("ipv6.conf", interface, "disable_ipv6");
    let doing = |interface| format!("could not enable IPv6 on \"{interface}\"");
    if !config.enabledad {
        let disabled = sysctl::write(Namespace::Container, &key(ifname), "1");
        disabled.context(doing(ifname))?;
    }
    for interface in ["lo", ifname] {
        let enabled = sysctl::ensure(Namespace::Container, &key(interface), "0");
        enabled.context(doing(interface))?;
    }
    Ok(())
}

/// Waits for duplicate address detection. An address that is taken is an error; one that is still
/// being checked is used all the same.
fn settle(link: &Link) -> Result<(), Error> {
    let ifname = link.name.as_str();
    match address::settle(Namespace::Container, link, SETTLE_TIMEOUT) {
        Err(error) if error.code == ErrorCode::TimedOut => {
            log::warn(
                "addresses are still being checked for duplicates",
                &[("link", ifname), ("error", &error.message)],
            );
            Ok(())
        }
        settled => settled.context(format!("\"{ifname}\": an address is in use already")),
    }
}

/// Tells the neighbours that the addresses are here now. That they do not hear it is no failure.
pub fn announce(link: &Link, ips: &[IpConfig]) {
    if ips.is_empty() {
        return;
    }
    let addresses = ips.iter().map(|ip| -> IpAddr { ip.address.addr() });
    if let Err(error) = neighbour::announce(Namespace::Container, link, addresses) {
        log::warn(
            "could not announce the container's addresses",
            &[("link", &link.name), ("error", &error.message)],
        );
    }
}
