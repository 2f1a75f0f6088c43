//! `weir net attachments`: what is attached to which network, by whom, with which addresses and ports of the host.
//!
//! | file | subject |
//! |---|---|
//! | `recorded` | attachments, by the records of weir and libcni |
//! | `leases` | host-local's leases, and whose they are |

mod leases;
mod recorded;

use std::fmt;
use std::net::IpAddr;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use clap::Args;
use ipnet::IpNet;
use jiff::Timestamp;
use serde::Serialize;
use serde_with::skip_serializing_none;
use weir_files::Paths;
use weir_network::PodName;

use crate::cli::audit::time::{precise, to_the_second};
use crate::cli::output::{Answer, Format, complain, print_line};
use crate::cli::table::{or_dash, print_table};
use leases::{Lease, directories, leases};
use recorded::{Recorded, recorded};

#[derive(Args)]
pub struct Arguments {
    /// Only of this network.
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Only of the container with this id, or with an id that begins so.
    #[arg(long, value_name = "ID")]
    container_id: Option<String>,
    /// Only of this pod: `NAMESPACE/NAME`, or its name.
    #[arg(long, value_name = "POD")]
    pod: Option<String>,
    /// Only with this address.
    #[arg(long, value_name = "ADDRESS")]
    address: Option<IpAddr>,
    /// Only with this port of the host.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Only leases of no attachment.
    #[arg(long)]
    stale_leases: bool,
    #[command(flatten)]
    format: Format,
}

/// An attachment, or a lease without one.
#[skip_serializing_none]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    network: String,
    container_id: String,
    pod: Option<PodName>,
    /// None for a lease that an old version wrote.
    interface: Option<String>,
    /// Without a prefix length for a lease.
    addresses: Vec<Address>,
    host_ports: Vec<HostPort>,
    /// When ADD has ended, or the lease was written.
    #[serde(serialize_with = "time")]
    since: Option<SystemTime>,
    state: State,
    /// The lease's file.
    file: Option<std::path::PathBuf>,
}

/// What is known of an attachment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    /// ADD has ended.
    Attached,
    /// Recorded without a result: an ADD or DEL is under way, or failed and left it to the next DEL.
    Incomplete,
    /// A lease of no attachment that is so young that its ADD may be under way.
    NewLease,
    LeaseOfNoAttachment,
}

impl State {
    fn word(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Incomplete => "incomplete",
            Self::NewLease => "new lease",
            Self::LeaseOfNoAttachment => "LEASE OF NO ATTACHMENT",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
enum Address {
    OfInterface(IpNet),
    OfLease(IpAddr),
}

impl Address {
    fn is(&self, address: IpAddr) -> bool {
        match self {
            Self::OfInterface(own) => own.addr() == address,
            Self::OfLease(own) => *own == address,
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OfInterface(address) => address.fmt(f),
            Self::OfLease(address) => address.fmt(f),
        }
    }
}

/// A port of the host that is mapped to the attachment.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct HostPort {
    host_port: u16,
    container_port: Option<u16>,
    protocol: String,
    /// The only address of the host at which it is mapped.
    #[serde(rename = "hostIP")]
    host_ip: Option<String>,
    /// The container that mapped the same port later, and has it now.
    taken_by: Option<String>,
}

impl HostPort {
    fn is_same(&self, other: &Self) -> bool {
        let port = |one: &Self| (one.host_port, one.protocol.clone(), one.host_ip.clone());
        port(self) == port(other)
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(ip) = &self.host_ip {
            write!(f, "{ip}:")?;
        }
        write!(f, "{}/{}", self.host_port, self.protocol)?;
        match &self.taken_by {
            Some(container) => write!(f, " (taken by {})", shortened(container)),
            None => Ok(()),
        }
    }
}

fn shortened(container_id: &str) -> String {
    container_id.chars().take(SHORT_ID).collect()
}

/// Adds to attachments what is leased to them and not in their results.
fn note_leased(attachments: &mut [Shown], leases: &[Lease]) {
    for one in attachments {
        let own = leases
            .iter()
            .filter(|lease| lease.is_of(&one.container_id, one.interface.as_deref()));
        for lease in own.filter(|lease| lease.is_still_there()) {
            if !one.addresses.iter().any(|known| known.is(lease.address)) {
                one.addresses.push(Address::OfLease(lease.address));
            }
        }
    }
}

/// Notes which ports another attachment has mapped later: of several, the last one gets the packets.
fn note_taken(all: &mut [Shown]) {
    let mapped: Vec<(HostPort, Option<SystemTime>, String)> = all
        .iter()
        .flat_map(|one| {
            let ports = one.host_ports.iter().cloned();
            ports.map(|port| (port, one.since, one.container_id.clone()))
        })
        .collect();
    for one in all {
        let since = one.since;
        for port in &mut one.host_ports {
            let later = mapped.iter().filter(|(other, mapped, _)| {
                port.is_same(other) && since.is_some() && *mapped > since
            });
            let last = later.max_by_key(|(_, mapped, _)| *mapped);
            port.taken_by = last.map(|(_, _, container)| container.clone());
        }
    }
}

fn time<S: serde::Serializer>(time: &Option<SystemTime>, to: S) -> Result<S::Ok, S::Error> {
    time.and_then(timestamp).map(precise).serialize(to)
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    Timestamp::try_from(time).ok()
}

/// No if nothing passes the filters.
pub(super) fn run(arguments: &Arguments) -> Result<Answer> {
    let paths = Paths::from_environment();
    let Recorded {
        attachments,
        lists,
        mut unused,
    } = recorded(&paths)?;
    // A lease is read before the attachments are read again, so that one whose ADD ends meanwhile is not taken for an orphan.
    let found = leases(&paths, &directories(&paths, &lists), &mut unused);
    let again = recorded(&paths)?.attachments;
    let mut shown: Vec<Shown> = attachments;
    let is_known = |lease: &Lease| {
        let mut all = shown.iter().chain(&again);
        all.any(|one| lease.is_of(&one.container_id, one.interface.as_deref()))
    };
    let stale: Vec<Shown> = found
        .iter()
        .filter(|lease| !is_known(lease) && lease.is_still_there())
        .map(of_lease)
        .collect();
    note_leased(&mut shown, &found);
    shown.extend(stale);
    note_taken(&mut shown);
    shown.retain(|one| arguments.passes(one));
    shown.sort_by(|one, other| key(one).cmp(&key(other)));
    unused.iter().for_each(|why| complain(why));
    arguments.format.print(&shown, |shown| print(shown))?;
    Ok((!shown.is_empty()).into())
}

fn key(shown: &Shown) -> (State, &str, &str, Option<&str>) {
    let Shown {
        state,
        network,
        container_id,
        interface,
        ..
    } = shown;
    (*state, network, container_id, interface.as_deref())
}

/// For this long, a lease may be that of an ADD which has not ended. Runtimes wait for two minutes, and for four at most.
const NEW: Duration = Duration::from_secs(300);

fn of_lease(lease: &Lease) -> Shown {
    let age = lease.written.and_then(|written| written.elapsed().ok());
    Shown {
        network: lease.network.clone(),
        container_id: lease.container_id.clone(),
        pod: None,
        interface: lease.ifname.clone(),
        addresses: vec![Address::OfLease(lease.address)],
        host_ports: Vec::new(),
        since: lease.written,
        state: if age.is_some_and(|age| age < NEW) {
            State::NewLease
        } else {
            State::LeaseOfNoAttachment
        },
        file: Some(lease.file.clone()),
    }
}

impl Arguments {
    fn passes(&self, shown: &Shown) -> bool {
        let is_pod = |wanted: &String| {
            shown.pod.as_ref().is_some_and(|pod| {
                pod.name == *wanted || format!("{}/{}", pod.namespace, pod.name) == *wanted
            })
        };
        let id = self.container_id.as_ref();
        (self.network.as_ref()).is_none_or(|wanted| shown.network == *wanted)
            && id.is_none_or(|wanted| shown.container_id.starts_with(wanted))
            && self.pod.as_ref().is_none_or(is_pod)
            && (self.address).is_none_or(|wanted| shown.addresses.iter().any(|a| a.is(wanted)))
            && (self.port)
                .is_none_or(|wanted| shown.host_ports.iter().any(|p| p.host_port == wanted))
            && (!self.stale_leases || shown.state == State::LeaseOfNoAttachment)
    }
}

/// The characters of a container id that people are shown, as by crictl.
const SHORT_ID: usize = 13;

fn print(shown: &[Shown]) {
    if shown.is_empty() {
        return print_line!("none");
    }
    let row = |one: &Shown| {
        let pod = one.pod.as_ref();
        let since = one.since.and_then(timestamp);
        [
            one.network.clone(),
            shortened(&one.container_id),
            or_dash(pod.map_or(String::new(), |pod| {
                format!("{}/{}", pod.namespace, pod.name)
            })),
            or_dash(one.interface.clone().unwrap_or_default()),
            or_dash(listed(&one.addresses)),
            or_dash(listed(&one.host_ports)),
            or_dash(since.map_or(String::new(), to_the_second)),
            one.state.word().to_owned(),
        ]
    };
    let rows: Vec<[String; 8]> = shown.iter().map(row).collect();
    print_table(
        [
            "NETWORK",
            "CONTAINER",
            "POD",
            "INTERFACE",
            "ADDRESSES",
            "HOST PORTS",
            "SINCE (UTC)",
            "STATE",
        ],
        &rows,
    );
}

fn listed(all: &[impl fmt::Display]) -> String {
    let texts: Vec<String> = all.iter().map(ToString::to_string).collect();
    texts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attached(container_id: &str, second: u64, ports: &[(u16, &str, Option<&str>)]) -> Shown {
        let port = |(host_port, protocol, ip): &(u16, &str, Option<&str>)| HostPort {
            host_port: *host_port,
            container_port: Some(80),
            protocol: (*protocol).to_owned(),
            host_ip: ip.map(str::to_owned),
            taken_by: None,
        };
        Shown {
            network: "pods".to_owned(),
            container_id: container_id.to_owned(),
            pod: None,
            interface: Some("eth0".to_owned()),
            addresses: Vec::new(),
            host_ports: ports.iter().map(port).collect(),
            since: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(second)),
            state: State::Attached,
            file: None,
        }
    }

    #[test]
    fn a_port_that_was_mapped_twice_is_the_last_ones() {
        let mut all = [
            attached(
                "one",
                1,
                &[(8080, "tcp", None), (53, "udp", Some("192.0.2.1"))],
            ),
            attached(
                "two",
                2,
                &[(8080, "tcp", None), (53, "udp", Some("192.0.2.2"))],
            ),
            attached(
                "three",
                3,
                &[(8080, "udp", None), (8080, "tcp", Some("192.0.2.1"))],
            ),
        ];
        note_taken(&mut all);
        let texts = all.each_ref().map(|one| listed(&one.host_ports));
        assert_eq!(texts[0], "8080/tcp (taken by two),192.0.2.1:53/udp");
        assert_eq!(texts[1], "8080/tcp,192.0.2.2:53/udp");
        assert_eq!(texts[2], "8080/udp,192.0.2.1:8080/tcp");
    }
}
