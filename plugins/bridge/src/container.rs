//! The container's interface: parameters, addresses, routes.

use weir_sdk::address::{self, NewAddress};
use weir_sdk::link::Link;
use weir_sdk::{AddResult, Context, Error, ErrorCode, Namespace, Outcome, interface, log, sysctl};

use crate::config::Config;

/// How long duplicate address detection may take, in milliseconds.
const SETTLE_TIMEOUT: u32 = 10_000;

/// Gives the interface the addresses and routes of the result.
pub fn configure(config: &Config, link: &Link, result: &AddResult) -> Result<(), Error> {
    let ifname = link.name.as_str();
    let has_ipv6 = interface::has_ipv6(&result.ips);
    set_parameters(config, ifname);
    if has_ipv6 {
        enable_ipv6(config, ifname)?;
    }
    interface::add_addresses(ifname, &result.ips, |address| {
        NewAddress::new(address).with_subnet_broadcast()
    })?;
    if has_ipv6 && config.enabledad {
        settle(link)?;
    }
    interface::add_routes(ifname, &result.routes, &result.ips)
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
            "cannot set a parameter of the container's interface",
            &[("key", &key), ("error", &error.message)],
        );
    }
}

/// Without duplicate address detection the link-local address is made anew: it was made when the
/// interface came up, and would be checked for seconds.
fn enable_ipv6(config: &Config, ifname: &str) -> Result<(), Error> {
    if !config.enabledad {
        let key = sysctl::interface_key("ipv6.conf", ifname, "disable_ipv6");
        sysctl::write(Namespace::Container, &key, "1")
            .context(format!("cannot renew the IPv6 addresses of `{ifname}`"))?;
    }
    interface::enable_ipv6(ifname)
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
        settled => settled.context(format!("`{ifname}`: an address is in use already")),
    }
}
