//! CHECK: whether interfaces, addresses, routes and what filters packets are as ADD left them.

use weir_sdk::check::{self, wrong};
use weir_sdk::link::{self, Link};
use weir_sdk::owner::Owner;
use weir_sdk::veth::{self, Veth};
use weir_sdk::{AddResult, Error, Interface, Namespace, Request, masquerade};

use crate::antispoof;
use crate::config::Config;

/// Fails if the attachment is not as the previous result says.
pub fn check(request: &Request<Config>) -> Result<(), Error> {
    let previous = check::previous(request)?;
    let bridge = check_bridge(request, previous)?;
    let container = check::container_interface(request, previous, "veth")?;
    let port = check_port(previous, &bridge, &container)?;
    check::addresses(&request.ifname, &previous.ips)?;
    check::routes(previous)?;
    if veth::is_named_by_us(request, &port.name) {
        check_filters(request, previous, &port, &container)
    } else {
        Ok(())
    }
}

/// Fails unless the plugin's tables have what belongs to the attachment.
fn check_filters(
    request: &Request<Config>,
    previous: &AddResult,
    port: &Link,
    container: &Link,
) -> Result<(), Error> {
    let owner = Owner::of(request);
    if request.config.ip_masq {
        masquerade::check(&owner, &previous.ips)?;
    }
    if request.config.macspoofchk {
        antispoof::check(&owner, port, container)
    } else {
        Ok(())
    }
}

fn check_bridge(request: &Request<Config>, previous: &AddResult) -> Result<Link, Error> {
    let config = &request.config;
    let is_bridge = |i: &&Interface| i.name == config.bridge;
    let interface = previous.on_host().find(is_bridge).ok_or_else(|| {
        wrong(format!(
            "prevResult: bridge `{}` is not in interfaces",
            config.bridge
        ))
    })?;
    let bridge = check::interface(interface, Namespace::Host, "bridge")?;
    if bridge.promiscuous != config.promisc_mode {
        let (name, expected, found) = (&bridge.name, config.promisc_mode, bridge.promiscuous);
        return Err(wrong(format!(
            "bridge `{name}`: expected promiscuous mode {expected}, found {found}"
        )));
    }
    Ok(bridge)
}

/// Returns the container's peer: one of the previous result's interfaces on the host, and a port of the bridge.
fn check_port(previous: &AddResult, bridge: &Link, container: &Link) -> Result<Link, Error> {
    for interface in previous.on_host().filter(|i| i.name != bridge.name) {
        let link = link::find(Namespace::Host, &interface.name)?;
        if let Some(link) = link.filter(|link| Veth::is_pair(link, container)) {
            if link.master != Some(bridge.index) {
                let (port, bridge) = (&link.name, &bridge.name);
                return Err(wrong(format!(
                    "`{port}` is not a port of bridge `{bridge}`"
                )));
            }
            check::mac(interface, &link)?;
            return Ok(link);
        }
    }
    let (container, bridge) = (&container.name, &bridge.name);
    Err(wrong(format!(
        "the port of bridge `{bridge}` that leads to `{container}` does not exist"
    )))
}
