//! ADD of the plugins whose link is in the container alone.

use std::fs::File;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::netlink::Netlink;
use crate::request::{Interface, Request};
use crate::{ARP_NOTIFY, NDISC_NOTIFY, enter, ipam, messages, result, set};

pub fn add(request: &Request, interface: &Interface) -> Result<Value> {
    let address = ipam::assign(request)?;
    let namespace = File::open(&request.namespace).context("CNI_NETNS")?;
    if let Some(master) = interface.master() {
        let mut host = Netlink::open()?;
        let lower = host.link(master)?.index;
        host.create(messages::over(request, interface, lower, &namespace))?;
    }

    enter(&namespace)?;
    let mut container = Netlink::open()?;
    if interface.master().is_none() {
        container.create(messages::dummy(&request.interface))?;
    }
    let link = container.link(&request.interface)?;
    container.create(messages::address(link.index, address, request.prefix))?;
    announce_and_set_up(&mut container, request, interface, link.index)?;
    container.create(messages::default_route(link.index, request.gateway))?;

    let interfaces = json!([
        {"name": request.interface, "mac": link.mac(), "sandbox": request.namespace},
    ]);
    Ok(result(request, address, interfaces, 0))
}

/// A link that is set up with `arp_notify` announces its addresses, whether or not its hardware address can be set.
fn announce_and_set_up(
    container: &mut Netlink,
    request: &Request,
    interface: &Interface,
    link: u32,
) -> Result<()> {
    if interface.master().is_none() {
        // It is up, and nobody would hear it.
        return Ok(());
    }
    set(request, ARP_NOTIFY, "1")?;
    container.change(messages::up(link))?;
    match interface {
        Interface::Vlan(..) => set(request, ARP_NOTIFY, "0"),
        // These go on announcing whenever they are set up.
        _ => set(request, NDISC_NOTIFY, "1"),
    }
}
