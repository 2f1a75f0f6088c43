//! `weir-floor`: the least a bridge plugin with host-local addresses can do, and what `portmap` and masquerading take
//! where the request has mappings.
//!
//! It sends the kernel the requests of one attachment and writes the lease, with no policy, no
//! validation, no undoing and no record. What a plugin takes longer than this is the plugin's own.
//! It is called as a CNI runtime calls a plugin, so that both are measured the same way.

mod lease;
mod messages;
mod netfilter;
mod netlink;
mod request;
mod translation;

use std::fs::{self, File};
use std::net::Ipv4Addr;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns};
use serde_json::{Value, json};

use netlink::{Link, Netlink};
use request::Request;

fn main() -> ExitCode {
    let (answer, code) = match run() {
        Ok(answer) => (answer, ExitCode::SUCCESS),
        Err(error) => (
            json!({"cniVersion": "1.0.0", "code": 999, "msg": format!("{error:#}")}),
            ExitCode::FAILURE,
        ),
    };
    if !answer.is_null() {
        println!("{answer}");
    }
    code
}

fn run() -> Result<Value> {
    let command = std::env::var("CNI_COMMAND").context("CNI_COMMAND")?;
    if command == "VERSION" {
        return Ok(json!({"cniVersion": "1.0.0", "supportedVersions": ["1.0.0"]}));
    }
    let request = Request::read()?;
    match command.as_str() {
        "ADD" => add(&request),
        "CHECK" => check(&request),
        "DEL" => del(&request),
        other => bail!("CNI_COMMAND is `{other}`; the floor knows ADD, CHECK, DEL and VERSION"),
    }
}

fn add(request: &Request) -> Result<Value> {
    let mut host = Netlink::open()?;
    let bridge = bridge(&mut host, request)?;
    fs::write("/proc/sys/net/ipv4/ip_forward", "1").context("ip_forward")?;
    let address = lease::take(request)?;
    let namespace = File::open(&request.namespace).context("CNI_NETNS")?;
    host.create(messages::veth(request, bridge.index, &namespace))?;
    let host_end = host.link(&request.host_interface)?;
    if !request.mappings.is_empty() {
        let bridge = &request.bridge;
        let route_localnet = format!("/proc/sys/net/ipv4/conf/{bridge}/route_localnet");
        fs::write(route_localnet, "1").context("route_localnet")?;
        translation::add(request, address)?;
    }

    setns(&namespace, CloneFlags::CLONE_NEWNET).context("enter CNI_NETNS")?;
    let mut container = Netlink::open()?;
    let link = container.link(&request.interface)?;
    container.change(messages::up(link.index))?;
    container.create(messages::address(link.index, address, request.prefix))?;
    container.create(messages::default_route(link.index, request.gateway))?;
    announce(&mut container, request, &link)?;

    Ok(json!({
        "cniVersion": "1.0.0",
        "interfaces": [
            {"name": request.bridge, "mac": bridge.mac()},
            {"name": request.host_interface, "mac": host_end.mac()},
            {"name": request.interface, "mac": link.mac(), "sandbox": request.namespace},
        ],
        "ips": [{
            "interface": 2,
            "address": format!("{address}/{}", request.prefix),
            "gateway": request.gateway,
        }],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dns": {},
    }))
}

/// The bridge, made with its gateway address when it is missing.
fn bridge(host: &mut Netlink, request: &Request) -> Result<Link> {
    match host.link(&request.bridge) {
        Err(error) if error.downcast_ref() == Some(&Errno::ENODEV) => {
            host.create(messages::bridge(&request.bridge, request.gateway))?;
            let bridge = host.link(&request.bridge)?;
            host.create(messages::address(
                bridge.index,
                request.gateway,
                request.prefix,
            ))?;
            Ok(bridge)
        }
        found => found,
    }
}

/// One gratuitous ARP, sent by the kernel: with `arp_notify` it announces a link's address whenever
/// its hardware address is set, to the same one too. A packet socket would do, but to close one
/// is to wait for an RCU grace period, which takes longer than all the rest.
fn announce(container: &mut Netlink, request: &Request, link: &Link) -> Result<()> {
    let arp_notify = format!("/proc/sys/net/ipv4/conf/{}/arp_notify", request.interface);
    fs::write(arp_notify, "1").context("arp_notify")?;
    container.change(messages::hardware_address(link))
}

fn check(request: &Request) -> Result<Value> {
    let address: Ipv4Addr = request.assigned.context("prevResult has no address")?;
    lease::holds(request, address)?;
    enter(request)?;
    let mut container = Netlink::open()?;
    let link = container.link(&request.interface)?;
    ensure!(
        container.has_address(link.index, address)?,
        "{address} is not there"
    );
    ensure!(
        container.has_default_route(link.index)?,
        "the default route is not there"
    );
    Ok(Value::Null)
}

fn del(request: &Request) -> Result<Value> {
    let address = request.assigned.context("prevResult has no address")?;
    if !request.mappings.is_empty() {
        translation::remove(request, address)?;
    }
    lease::release(request, address)?;
    enter(request)?;
    Netlink::open()?.delete(messages::named(&request.interface))?;
    Ok(Value::Null)
}

fn enter(request: &Request) -> Result<()> {
    let namespace = File::open(&request.namespace).context("CNI_NETNS")?;
    setns(namespace, CloneFlags::CLONE_NEWNET).context("enter CNI_NETNS")
}
