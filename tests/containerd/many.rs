//! Fifty pod sandboxes, eight at a time, on a list of all that a node has.

use std::collections::BTreeSet;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::thread;

use anyhow::{Result, anyhow, ensure};
use serde_json::{Value, json};

use crate::pods::{GATEWAY, Pod, Pods, Wishes};
use crate::probe::{self, Server};
use crate::residue::{self, json};

const PODS: usize = 50;
const AT_A_TIME: usize = 8;

/// How many of them are replaced by others before they all go.
const REPLACED: usize = 16;

/// The longest queue of connections, which `tuning` sets; not the kernel's default.
const SOMAXCONN: &str = "321";

/// The first host port; each pod has one of its own.
const FIRST_PORT: u16 = 20_000;

/// What each pod has on the node, and how many of it.
const OF_A_POD: [(&str, usize); 11] = [
    ("link veth", 1),
    ("link bwp", 1),
    ("qdisc tbf", 2),
    ("qdisc ingress", 1),
    ("\"weir_bridge\" \"pods4\"", 1),
    ("\"weir_firewall\" \"pods4\"", 1),
    ("\"weir_portmap\" \"ports4\"", 1),
    ("/var/lib/cni/networks/pods/", 1),
    ("/var/lib/cni/results/pods-", 1),
    ("/run/cni/tuning/", 1),
    ("/run/netns/", 1),
];

/// What comes after `bridge`.
fn chained() -> [Value; 4] {
    [
        json!({ "type": "portmap", "capabilities": { "portMappings": true } }),
        json!({ "type": "bandwidth", "capabilities": { "bandwidth": true } }),
        json!({ "type": "firewall" }),
        json!({ "type": "tuning", "sysctl": { "net.core.somaxconn": SOMAXCONN }, "mtu": 1400 }),
    ]
}

/// A pod with a host port and limits of its own.
fn run(pods: &Pods, number: usize) -> Result<Pod> {
    let (ingress, egress) = rates(number);
    let wishes = Wishes::default().port("TCP", host_port(number)?, 80);
    pods.run(&format!("pod-{number}"), wishes.rates(ingress, egress))
}

fn host_port(number: usize) -> Result<u16> {
    Ok(FIRST_PORT + u16::try_from(number)?)
}

/// In Mbit/s: of what the pod receives, and of what it sends.
fn rates(number: usize) -> (usize, usize) {
    (100 + number, 200 + number)
}

/// Does `work` for each item, [`AT_A_TIME`] at a time, and returns the answers in some order.
fn at_a_time<T: Sync, R: Send>(
    items: &[T],
    work: impl Fn(&T) -> Result<R> + Sync,
) -> Result<Vec<R>> {
    let worker = |number| -> Result<Vec<R>> {
        let own = items.iter().skip(number).step_by(AT_A_TIME);
        own.map(&work).collect()
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..AT_A_TIME)
            .map(|number| scope.spawn(move || worker(number)))
            .collect();
        let mut answers = Vec::new();
        for worker in workers {
            answers.extend(worker.join().map_err(|_| anyhow!("a worker panicked"))??);
        }
        Ok(answers)
    })
}

fn check_addresses(up: &[(usize, Pod)]) -> Result<()> {
    let addresses: BTreeSet<&str> = up.iter().map(|(_, pod)| pod.address.as_str()).collect();
    ensure!(addresses.len() == up.len(), "an address twice: {up:#?}");
    Ok(())
}

/// Each host port leads to its pod, which is tuned.
fn check_pod(pods: &Pods, number: usize, pod: &Pod) -> Result<()> {
    let (server, somaxconn) = pods.inside(pod, || {
        let somaxconn = fs::read_to_string("/proc/sys/net/core/somaxconn")?;
        Ok((Server::bind(80, 53)?, somaxconn))
    })?;
    ensure!(somaxconn.trim() == SOMAXCONN, "somaxconn is {somaxconn}");
    let to = SocketAddr::from((Ipv4Addr::LOCALHOST, host_port(number)?));
    let client = pods.containerd.inside(|| probe::tcp(to))?;
    let seen = server.sees_tcp(client)?;
    ensure!(seen.to_string() == GATEWAY, "seen as {seen}");
    Ok(())
}

/// The limits that there are, in Mbit/s, are those of the pods.
fn check_rates(pods: &Pods, up: &[(usize, Pod)]) -> Result<()> {
    let disciplines = json(&pods.containerd, "tc", &["-j", "qdisc", "show"])?;
    let disciplines = disciplines.as_array().into_iter().flatten();
    let limits = disciplines.filter(|discipline| discipline["kind"] == "tbf");
    let bytes = limits.filter_map(|limit| limit["options"]["rate"].as_u64());
    let mut found: Vec<usize> = bytes
        .map(|bytes| usize::try_from(bytes * 8 / 1_000_000))
        .collect::<Result<_, _>>()?;
    found.sort_unstable();
    let both = up.iter().map(|(number, _)| rates(*number));
    let mut expected: Vec<usize> = both
        .flat_map(|(ingress, egress)| [ingress, egress])
        .collect();
    expected.sort_unstable();
    ensure!(found == expected, "limits: {found:?}");
    Ok(())
}

/// All that can be seen of pods that are up.
fn check(pods: &Pods, up: &[(usize, Pod)]) -> Result<()> {
    check_addresses(up)?;
    check_rates(pods, up)?;
    let things = OF_A_POD.map(|(kind, each)| (kind, each * up.len()));
    residue::expect(&pods.containerd, &things)?;
    at_a_time(up, |(number, pod)| check_pod(pods, *number, pod))?;
    Ok(())
}

/// Puts another sandbox in the place of one, with the same port, while others do so too.
fn replace(pods: &Pods, number: usize, pod: &Pod) -> Result<Pod> {
    pods.remove(pod)?;
    run(pods, number)
}

/// What the Makefile leaves out where it is not run by root.
mod needs_root {
    use super::*;

    #[test]
    fn fifty_sandboxes_come_and_go_eight_at_a_time() -> Result<()> {
        let pods = Pods::start(&chained())?;
        // What the network sets up once for all.
        pods.remove(&run(&pods, PODS)?)?;
        residue::expect_none(&pods.containerd)?;
        let before = residue::ruleset(&pods.containerd)?;

        let numbers: Vec<usize> = (0..PODS).collect();
        let mut up = at_a_time(&numbers, |number| Ok((*number, run(&pods, *number)?)))?;
        check(&pods, &up)?;

        let old = up.split_off(PODS - REPLACED);
        up.extend(at_a_time(&old, |(number, pod)| {
            Ok((*number, replace(&pods, *number, pod)?))
        })?);
        check(&pods, &up)?;

        at_a_time(&up, |(_, pod)| pods.remove(pod))?;
        residue::expect_none(&pods.containerd)?;
        let after = residue::ruleset(&pods.containerd)?;
        ensure!(after == before, "the rule set is not as it was: {after:#?}");
        pods.expect_nothing_denied()
    }
}
