//! ADD of `bridge`, and of what `portmap` and masquerading add to it.

use std::fs::{self, File};

use anyhow::{Context, Result};
use nix::errno::Errno;
use serde_json::{Value, json};

use crate::netlink::{Link, Netlink};
use crate::request::{Bridge, Request};
use crate::{ARP_NOTIFY, enter, ipam, messages, result, set, translation};

pub fn add(request: &Request, bridge: &Bridge) -> Result<Value> {
    let mut host = Netlink::open()?;
    let link = made(&mut host, request, bridge)?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("ip_forward")?;
    let address = ipam::assign(request)?;
    let namespace = File::open(&request.namespace).context("CNI_NETNS")?;
    host.create(messages::veth(request, bridge, link.index, &namespace))?;
    let host_end = host.link(&bridge.host_interface)?;
    if !request.mappings.is_empty() {
        let name = &bridge.name;
        let route_localnet = format!("/proc/sys/net/ipv4/conf/{name}/route_localnet");
        fs::write(route_localnet, "1").context("route_localnet")?;
        translation::add(request, address)?;
    }

    enter(&namespace)?;
    let mut container = Netlink::open()?;
    let end = container.link(&request.interface)?;
    container.change(messages::up(end.index))?;
    container.create(messages::address(end.index, address, request.prefix))?;
    container.create(messages::default_route(end.index, request.gateway))?;
    announce(&mut container, request, &end)?;

    let interfaces = json!([
        {"name": bridge.name, "mac": link.mac()},
        {"name": bridge.host_interface, "mac": host_end.mac()},
        {"name": request.interface, "mac": end.mac(), "sandbox": request.namespace},
    ]);
    Ok(result(request, address, interfaces, 2))
}

/// The bridge, made with its gateway address when it is missing.
fn made(host: &mut Netlink, request: &Request, bridge: &Bridge) -> Result<Link> {
    match host.link(&bridge.name) {
        Err(error) if error.downcast_ref() == Some(&Errno::ENODEV) => {
            host.create(messages::bridge(&bridge.name, request.gateway))?;
            let link = host.link(&bridge.name)?;
            host.create(messages::address(
                link.index,
                request.gateway,
                request.prefix,
            ))?;
            Ok(link)
        }
        found => found,
    }
}

/// One gratuitous ARP, sent by the kernel: with `arp_notify` it announces a link's address whenever
/// its hardware address is set, to the same one too. A packet socket would do, but to close one
/// is to wait for an RCU grace period, which takes longer than all the rest.
fn announce(container: &mut Netlink, request: &Request, link: &Link) -> Result<()> {
    set(request, ARP_NOTIFY, "1")?;
    container.change(messages::hardware_address(link))
}
