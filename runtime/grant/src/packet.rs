//! Capability `packet`: sockets bound to one link of `container`.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::act::{Act, Severity};
use super::field::Has::{self, One};
use super::field::types::{LinkNames, Ranges, Words, every_port};
use super::invocation::Invocation;
use super::namespace::Namespace;
use super::operation::operations;
use super::rule::declare::rule;
use super::verb::Verb;
use super::word::words;

words! {
    /// What a socket speaks.
    pub enum Protocol {
        /// UDP, to and from one local port.
        Udp = "udp",
        /// Frames of one EtherType.
        Raw = "raw",
    }
}

/// Opens a UDP socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenUdp {
    /// The link's name.
    pub link: String,
    pub local_port: u16,
    pub broadcast: bool,
}

/// Opens a packet socket.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OpenRaw {
    /// The link's name.
    pub link: String,
    pub ether_type: u16,
}

operations! {
    PacketRule;
    OpenUdp: "packet.open-udp", Open, |o|
        Requirement::new(&o.link, Subject::Udp { local: o.local_port, remote: None });
    OpenRaw: "packet.open-raw", Open, |o| Requirement::new(&o.link, Subject::Raw(o.ether_type));
}

impl Act for OpenUdp {
    fn act(&self) -> String {
        let broadcast = if self.broadcast {
            ", also for broadcasts"
        } else {
            ""
        };
        let Self {
            link, local_port, ..
        } = self;
        format!("send and receive UDP from port {local_port} on `{link}` in container{broadcast}")
    }

    fn severity(&self, _: &Invocation) -> Severity {
        Severity::Contained
    }
}

impl Act for OpenRaw {
    fn act(&self) -> String {
        let Self { link, ether_type } = self;
        format!(
            "send and receive any frame of EtherType {ether_type:#06x} on `{link}` in container"
        )
    }

    /// Nothing says that the frames are the container's own.
    fn severity(&self, _: &Invocation) -> Severity {
        Severity::ReachesOthers
    }
}

rule! {
    // A field of another protocol does not count.
    /// `packet:` in a grant. Absent fields match everything.
    pub struct PacketRule: Packet for r: Requirement, which may "send and receive" Open {
        /// Names of links in the container.
        links: LinkNames = One((Namespace::Container, &r.link));
        /// Protocols.
        protocols: Words<Protocol> = One(r.subject.protocol());
        /// Local ports of `udp`, as numbers and ranges.
        ports: Ranges<u16> = Has::if_any(r.subject.local_port()), including(every_port);
        /// Ports that datagrams of `udp` may go to, as numbers and ranges.
        remotes: Ranges<u16> = r.subject.remote_port(), including(every_port);
        /// EtherTypes of `raw`, as numbers and ranges: 2048 is IPv4.
        ethertypes: Ranges<u16> = Has::if_any(r.subject.ether_type());
        => verbs = r.verb;
    } says |rule| format!("{} its own packets", rule.verbs())
}

/// One socket on one link.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    /// The link's name.
    pub link: String,
    pub subject: Subject,
    pub verb: Verb,
}

/// The packets of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// UDP from a local port; for a datagram to send, also to a port.
    Udp { local: u16, remote: Option<u16> },
    /// Frames of an EtherType.
    Raw(u16),
}

impl Subject {
    fn protocol(self) -> Protocol {
        match self {
            Self::Udp { .. } => Protocol::Udp,
            Self::Raw(_) => Protocol::Raw,
        }
    }

    fn local_port(self) -> Option<u16> {
        match self {
            Self::Udp { local, .. } => Some(local),
            Self::Raw(_) => None,
        }
    }

    /// Each datagram of a socket says where it goes.
    fn remote_port(self) -> Has<u16> {
        match self {
            Self::Udp { remote, .. } => remote.map_or(Has::Later, Has::One),
            Self::Raw(_) => Has::Nothing,
        }
    }

    fn ether_type(self) -> Option<u16> {
        match self {
            Self::Udp { .. } => None,
            Self::Raw(ether_type) => Some(ether_type),
        }
    }
}

impl Requirement {
    fn new(link: &str, subject: Subject) -> Self {
        Self {
            link: link.to_owned(),
            subject,
            verb: Verb::Open,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, verb, .. } = self;
        match self.subject {
            Subject::Udp { local, remote } => {
                write!(f, "{verb} a socket for udp port {local}")?;
                remote.map_or(Ok(()), |port| write!(f, " to port {port}"))?;
            }
            Subject::Raw(ether_type) => {
                write!(f, "{verb} a socket for EtherType {ether_type:#06x}")?;
            }
        }
        write!(f, " on `{link}` in container")
    }
}

#[cfg(test)]
mod tests {
    use super::super::Invocation;
    use super::super::Operation;
    use super::super::rule::Rule;
    use super::*;
    use crate::tests::decisions::missed;

    const DHCP: &str = r#"{"packet": [
        {"links": ["{ifname}"], "protocols": ["udp"], "ports": [68], "remotes": [67]},
        {"links": ["{ifname}"], "protocols": ["raw"], "ethertypes": [2048, "34525-34525"]}
    ]}"#;

    fn udp(link: &str, local_port: u16) -> OpenUdp {
        OpenUdp {
            link: link.to_owned(),
            local_port,
            broadcast: true,
        }
    }

    /// A datagram to a port.
    fn send(port: u16) -> Requirement {
        let (local, remote) = (68, Some(port));
        Requirement::new("eth0", Subject::Udp { local, remote })
    }

    /// The field of a rule in which a requirement misses.
    fn missed_by(rule: &str, requirement: &Requirement) -> Option<&'static str> {
        let rule: PacketRule = serde_json::from_str(rule).expect("a rule");
        let miss = rule.miss(requirement, &Invocation::default());
        miss.map(|miss| miss.field)
    }

    fn raw(ether_type: u16) -> OpenRaw {
        OpenRaw {
            link: "eth0".to_owned(),
            ether_type,
        }
    }

    #[test]
    fn what_is_listed_is_allowed() {
        assert_eq!(missed(DHCP, &udp("eth0", 68)), None);
        assert_eq!(missed(DHCP, &raw(0x0800)), None);
        assert_eq!(missed(DHCP, &raw(0x86dd)), None);
    }

    #[test]
    fn where_datagrams_go_is_bounded() {
        let rule = r#"{"protocols": ["udp"], "ports": [68], "remotes": [67]}"#;
        assert_eq!(missed_by(rule, &send(67)), None);
        assert_eq!(missed_by(rule, &send(53)), Some("remotes"));
        assert_eq!(missed_by("{}", &send(53)), None);
        assert_eq!(
            send(67).to_string(),
            "open a socket for udp port 68 to port 67 on `eth0` in container"
        );
    }

    #[test]
    fn each_field_counts() {
        let closest = |field: &str| Some(format!("packet[{field}"));
        assert_eq!(missed(DHCP, &udp("lo", 68)), closest("0]: links"));
        assert_eq!(missed(DHCP, &udp("eth0", 67)), closest("0]: ports"));
        assert_eq!(missed(DHCP, &raw(0x0806)), closest("1]: ethertypes"));
        let udp_only = r#"{"packet": [{"protocols": ["udp"]}]}"#;
        assert_eq!(missed(udp_only, &raw(0x0800)), closest("0]: protocols"));
        assert_eq!(missed("{}", &raw(0x0800)), Some(String::new()));
    }

    #[test]
    fn an_operation_says_what_it_needs() {
        let said = |needed: Vec<Requirement>| needed[0].to_string();
        assert_eq!(
            said(udp("eth0", 68).requirements()),
            "open a socket for udp port 68 on `eth0` in container"
        );
        assert_eq!(
            said(raw(0x0800).requirements()),
            "open a socket for EtherType 0x0800 on `eth0` in container"
        );
    }
}
