//! `weir-floor`: the least that a plugin can do for the kernel state of its ADD.
//!
//! It knows `bridge`, with what `portmap` and masquerading take where the request has mappings, `macvlan`, `ipvlan`,
//! `vlan` and `dummy`; addresses are those of `host-local` or `static`.
//!
//! It sends the kernel the requests of one attachment and writes the lease, with no policy, no
//! validation, no undoing and no record. What a plugin takes longer than this is the plugin's own.
//! It is called as a CNI runtime calls a plugin, so that both are measured the same way.

mod bridge;
mod interface;
mod ipam;
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
use nix::sched::{CloneFlags, setns};
use serde_json::{Value, json};

use netlink::Netlink;
use request::{Plugin, Request};

/// Parameters of a link, after their families.
const ARP_NOTIFY: [&str; 2] = ["ipv4", "arp_notify"];
const NDISC_NOTIFY: [&str; 2] = ["ipv6", "ndisc_notify"];

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
    match &request.plugin {
        Plugin::Bridge(bridge) => bridge::add(request, bridge),
        Plugin::Interface(interface) => interface::add(request, interface),
    }
}

/// The result, in which the address is that of the interface at this place.
fn result(request: &Request, address: Ipv4Addr, interfaces: Value, place: usize) -> Value {
    json!({
        "cniVersion": "1.0.0",
        "interfaces": interfaces,
        "ips": [{
            "interface": place,
            "address": format!("{address}/{}", request.prefix),
            "gateway": request.gateway,
        }],
        "routes": [{"dst": "0.0.0.0/0"}],
        "dns": {},
    })
}

fn check(request: &Request) -> Result<Value> {
    let address: Ipv4Addr = request.assigned.context("prevResult has no address")?;
    ipam::check(request, address)?;
    enter_container(request)?;
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
    ipam::release(request, address)?;
    enter_container(request)?;
    Netlink::open()?.delete(messages::named(&request.interface))?;
    Ok(Value::Null)
}

fn enter_container(request: &Request) -> Result<()> {
    enter(&File::open(&request.namespace).context("CNI_NETNS")?)
}

fn enter(namespace: &File) -> Result<()> {
    setns(namespace, CloneFlags::CLONE_NEWNET).context("enter CNI_NETNS")
}

/// Writes a parameter of the container's link, from inside.
fn set(request: &Request, [family, parameter]: [&str; 2], value: &str) -> Result<()> {
    let interface = &request.interface;
    let path = format!("/proc/sys/net/{family}/conf/{interface}/{parameter}");
    fs::write(path, value).context(parameter.to_owned())
}
