//! CHECK: whether interfaces, addresses, routes and what filters packets are as ADD left them.

use weir_sdk::check::{self, wrong};
use weir_sdk::link::Link;
use weir_sdk::owner::Owner;
use weir_sdk::veth::{self, Veth};
use weir_sdk::{AddResult, Error, Interface, Namespace, Request, masquerade};

use crate::antispoof;
use crate::config::Config;

/// Fails if the attachment is not as the previous result says.
pub fn check(request: &Request<Config>) -> Result<(), Error> {
    let previous = check::previous(request)?;
    let bridge = check_bridge(request, previous)?;
    let veth = veth::attached(request)?;
    check_port(&bridge, &veth.host)?;
    if veth::is_named_by_us(request, &veth.host.name) {
        check_filters(request, previous, &veth)
    } else {
        Ok(())
    }
}

/// Fails unless the plugin's tables have what belongs to the attachment.
fn check_filters(
    request: &Request<Config>,
    previous: &AddResult,
    veth: &Veth,
) -> Result<(), Error> {
    let owner = Owner::of(request);
    if request.config.ip_masq {
        masquerade::check(&owner, &previous.ips)?;
    }
    if request.config.macspoofchk {
        antispoof::check(&owner, &veth.host.name, &veth.container)
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

fn check_port(bridge: &Link, port: &Link) -> Result<(), Error> {
    if port.master == Some(bridge.index) {
        return Ok(());
    }
    let (port, bridge) = (&port.name, &bridge.name);
    Err(wrong(format!(
        "`{port}` is not a port of bridge `{bridge}`"
    )))
}
