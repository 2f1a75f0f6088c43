//! A pod sandbox of the CRI: its network, its host ports, its end.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::Namespace;

use crate::pods::{BRIDGE, GATEWAY, Pod, Pods, Wishes};
use crate::probe::{self, Server};
use crate::residue::{self, UPLINK};

/// The node's own address, and that of a neighbour.
const NODE: &str = "192.0.2.1";
const NEIGHBOUR: &str = "192.0.2.2";

/// Which port of the node leads to which of the pod.
const TCP: (u16, u16) = (8080, 80);
const UDP: (u16, u16) = (8053, 53);

/// What a pod with both ports has on the node, and how many of it.
const OF_A_POD: [(&str, usize); 6] = [
    ("link veth", 1),
    ("\"weir_bridge\" \"pods4\"", 1),
    ("\"weir_portmap\" \"ports4\"", 2),
    ("/var/lib/cni/networks/pods/", 1),
    ("/var/lib/cni/results/pods-", 1),
    ("/run/netns/", 1),
];

/// A node with pods, and a neighbour.
struct Site {
    pods: Pods,
    outside: Namespace,
}

/// Where a client is.
enum Origin<'a> {
    Node,
    Outside,
    Pod(&'a Pod),
}

impl Site {
    fn create() -> Result<Self> {
        let portmap = json!({ "type": "portmap", "capabilities": { "portMappings": true } });
        let site = Self {
            pods: Pods::start(&[portmap])?,
            outside: Namespace::create()?,
        };
        site.pods.containerd.inside(|| site.connect())?;
        Ok(site)
    }

    /// Connects node and neighbour by a cable.
    fn connect(&self) -> Result<()> {
        let outside = self.outside.path()?;
        let outside = outside.display();
        ip(&format!("link add {UPLINK} type veth peer name cable"))?;
        ip(&format!("link set cable netns {outside}"))?;
        ip(&format!("address add {NODE}/24 dev {UPLINK}"))?;
        ip(&format!("link set {UPLINK} up"))?;
        let commands = format!("address add {NEIGHBOUR}/24 dev cable\nlink set cable up\n");
        self.outside.ip(&commands)
    }

    /// Runs `act` in a thread at an origin.
    fn inside<T: Send>(
        &self,
        origin: &Origin,
        act: impl FnOnce() -> Result<T> + Send,
    ) -> Result<T> {
        match origin {
            Origin::Node => self.pods.containerd.inside(act),
            Origin::Pod(pod) => self.pods.inside(pod, act),
            // For its thread, which goes on from there.
            Origin::Outside => self.pods.containerd.inside(|| {
                self.outside.enter()?;
                act()
            }),
        }
    }

    /// A pod that both ports lead to.
    fn run_mapped(&self, name: &str) -> Result<Pod> {
        let wishes = Wishes::default().port("TCP", TCP.0, TCP.1);
        self.pods.run(name, wishes.port("UDP", UDP.0, UDP.1))
    }

    fn serve(&self, origin: &Origin) -> Result<Server> {
        self.inside(origin, || Server::bind(TCP.1, UDP.1))
    }
}

/// Runs `ip` in the calling thread's network namespace.
fn ip(words: &str) -> Result<String> {
    let output = Command::new("ip").args(words.split(' ')).output();
    let output = output.context("run `ip`: install the package iproute2")?;
    ensure!(output.status.success(), "ip {words}: {output:?}");
    Ok(String::from_utf8(output.stdout)?)
}

fn ip_json(words: &str) -> Result<Value> {
    Ok(serde_json::from_str(&ip(&format!("-j {words}"))?)?)
}

fn socket(address: &str, port: u16) -> Result<SocketAddr> {
    Ok(SocketAddr::new(address.parse()?, port))
}

/// What the pod has, and what the CRI and the lease say of it.
fn check_network(site: &Site, pod: &Pod) -> Result<()> {
    let (addresses, route, loopback) = site.inside(&Origin::Pod(pod), || {
        let addresses = ip_json("-4 address show dev eth0")?;
        let route = ip_json("-4 route show default")?;
        Ok((addresses, route, ip("link show dev lo")?))
    })?;
    let address = &addresses[0]["addr_info"];
    ensure!(address[0]["local"] == pod.address.as_str(), "{addresses}");
    ensure!(address[0]["prefixlen"] == 24, "{addresses}");
    ensure!(address[1].is_null(), "{addresses}");
    ensure!(route[0]["gateway"] == GATEWAY, "{route}");
    ensure!(route[0]["dev"] == "eth0", "{route}");
    ensure!(loopback.contains("LOOPBACK,UP"), "{loopback}");

    let bridge = site.inside(&Origin::Node, || {
        ip_json(&format!("-4 address show dev {BRIDGE}"))
    })?;
    ensure!(
        bridge[0]["addr_info"][0]["local"] == GATEWAY,
        "the gateway is not on the bridge: {bridge}"
    );

    let lease = format!("/var/lib/cni/networks/pods/{}", pod.address);
    let lease = fs::read_to_string(site.pods.containerd.path(&lease))?;
    ensure!(lease.starts_with(&pod.id), "the lease is of {lease}");
    Ok(())
}

/// Each way to a host port: where from, to which address, as whom the pod sees the client.
fn check_ways_in(site: &Site, pod: &Pod, other: &Pod) -> Result<()> {
    let server = site.serve(&Origin::Pod(pod))?;
    for (origin, to, expected) in [
        (Origin::Node, NODE, NODE),
        (Origin::Node, "127.0.0.1", GATEWAY),
        (Origin::Outside, NODE, NEIGHBOUR),
        (Origin::Pod(other), NODE, GATEWAY),
        (Origin::Pod(pod), NODE, GATEWAY),
    ] {
        let expected: IpAddr = expected.parse()?;
        let client = site.inside(&origin, || probe::tcp(socket(to, TCP.0)?))?;
        let seen = server.sees_tcp(client).with_context(|| to.to_owned())?;
        ensure!(seen == expected, "TCP to {to}: {seen}, not {expected}");
        let client = site.inside(&origin, || probe::udp(socket(to, UDP.0)?))?;
        let seen = server.sees_udp(&client).with_context(|| to.to_owned())?;
        ensure!(seen == expected, "UDP to {to}: {seen}, not {expected}");
    }
    Ok(())
}

/// The neighbour sees the node where a pod connects to it.
fn check_way_out(site: &Site, pod: &Pod) -> Result<()> {
    let server = site.serve(&Origin::Outside)?;
    let client = site.inside(&Origin::Pod(pod), || probe::tcp(socket(NEIGHBOUR, TCP.1)?))?;
    let seen = server.sees_tcp(client)?;
    ensure!(seen == NODE.parse::<IpAddr>()?, "seen as {seen}");
    Ok(())
}

/// Stops a pod as often as a kubelet may, and removes it.
fn take_down(site: &Site, pod: &Pod) -> Result<()> {
    let cri = &site.pods.cri;
    for _ in 0..2 {
        cri.stop_pod_sandbox(&pod.id)?;
        let status = cri.pod_sandbox_status(&pod.id)?;
        ensure!(!status.ready, "still ready: {status:?}");
        ensure!(status.addresses.is_empty(), "stopped, with {status:?}");
    }
    for _ in 0..2 {
        cri.remove_pod_sandbox(&pod.id)?;
    }
    ensure!(cri.pod_sandbox_status(&pod.id).is_err(), "still known");
    Ok(())
}

/// What the kernel tracks of UDP does not lead clients that never pause to a pod that is gone.
fn check_clients_move_on(site: &Site) -> Result<()> {
    let first = site.run_mapped("first")?;
    let server = site.serve(&Origin::Pod(&first))?;
    let mut clients = Vec::new();
    for (origin, to) in [(Origin::Node, "127.0.0.1"), (Origin::Outside, NODE)] {
        let client = site.inside(&origin, || probe::udp(socket(to, UDP.0)?))?;
        server.sees_udp(&client)?;
        clients.push(client);
    }
    drop(server);
    take_down(site, &first)?;
    for client in &clients {
        probe::expect_refused(client)?;
    }
    for (origin, to) in [(Origin::Node, "127.0.0.1"), (Origin::Outside, NODE)] {
        let connected = site.inside(&origin, || probe::tcp(socket(to, TCP.0)?));
        ensure!(connected.is_err(), "{to} still leads somewhere");
    }

    let second = site.run_mapped("second")?;
    ensure!(second.address != first.address, "{second:?} {first:?}");
    let server = site.serve(&Origin::Pod(&second))?;
    for client in &clients {
        server.sees_udp(client)?;
    }
    drop(server);
    take_down(site, &second)?;
    residue::expect_none(&site.pods.containerd)
}

/// What the Makefile leaves out where it is not run by root.
mod needs_root {
    use super::*;

    #[test]
    fn a_sandbox_is_on_the_network_and_reached_on_its_host_ports() -> Result<()> {
        let site = Site::create()?;
        let pod = site.run_mapped("web")?;
        let other = site.pods.run("client", Wishes::default())?;
        check_network(&site, &pod)?;
        check_network(&site, &other)?;
        check_ways_in(&site, &pod, &other)?;
        check_way_out(&site, &pod)?;
        site.pods.expect_nothing_denied()
    }

    #[test]
    fn a_sandbox_that_is_removed_leaves_nothing() -> Result<()> {
        let site = Site::create()?;
        let pod = site.run_mapped("web")?;
        let containerd = &site.pods.containerd;
        residue::expect(containerd, &OF_A_POD)?;
        take_down(&site, &pod)?;
        residue::expect_none(containerd)
    }

    #[test]
    fn clients_of_a_host_port_move_on_with_it() -> Result<()> {
        check_clients_move_on(&Site::create()?)
    }
}
