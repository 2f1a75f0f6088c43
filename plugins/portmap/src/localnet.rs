//! `route_localnet`: lets packets with an address of 127.0.0.0/8 be routed, which the kernel drops
//! otherwise, so that mapped ports are reached at 127.0.0.1 too.

use weir_sdk::link;
use weir_sdk::{Context, Error, ErrorCode, IpFamily, Namespace, Outcome, log, route, sysctl};

use crate::addresses::Addresses;

/// Sets it on the link that leads to the container.
pub fn route(addresses: &Addresses) -> Result<(), Error> {
    let Some(address) = addresses.address(IpFamily::Ipv4) else {
        return Ok(());
    };
    let way = route::get(Namespace::Host, address.addr()).found();
    let way = way.context(format!("cannot look up the route to `{}`", address.addr()))?;
    let Some(link) = way.and_then(|way| way.link) else {
        return Ok(());
    };
    match link::get(Namespace::Host, link).found() {
        Ok(Some(link)) => allow(&link.name),
        Ok(None) => Ok(()),
        // The grant shows bridges and veths; by another link the container is not on this host.
        Err(error) if error.code == ErrorCode::Denied => {
            let fields = [("error", error.message.as_str())];
            log::warn("mapped ports are not reached at 127.0.0.1", &fields);
            Ok(())
        }
        Err(error) => Err(error).context("cannot look up the link to the container"),
    }
}

fn allow(link: &str) -> Result<(), Error> {
    let key = sysctl::interface_key("ipv4.conf", link, "route_localnet");
    sysctl::ensure(Namespace::Host, &key, "1")
        .context(format!("cannot set `route_localnet` of link `{link}`"))
}
