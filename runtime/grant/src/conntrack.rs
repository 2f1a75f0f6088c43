//! Capability `conntrack`: entries of the connection tracking table.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::act::{Act, Severity};
use super::address::Family;
use super::field::Has::{self, One};
use super::field::types::{InNamespace, Ranges, Words, every_port};
use super::invocation::Invocation;
use super::namespace::Namespace;
use super::operation::operations;
use super::rule::declare::rule;
use super::verb::Verb;
use super::word::words;

words! {
    /// A transport protocol that has ports.
    pub enum Protocol {
        Tcp = "tcp",
        Udp = "udp",
        Sctp = "sctp",
    }
}

impl Protocol {
    /// `IPPROTO_…`
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => 6,
            Self::Udp => 17,
            Self::Sctp => 132,
        }
    }

    /// Returns the protocol of that number.
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.iter().copied().find(|p| p.number() == number)
    }
}

/// Which entries. Absent fields match everything.
#[skip_serializing_none]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Filter {
    pub family: Family,
    pub protocol: Protocol,
    /// The original direction's destination.
    pub destination: Option<IpAddr>,
    /// The original direction's destination port.
    pub port: Option<u16>,
    /// The reply direction's source.
    pub reply_source: Option<IpAddr>,
}

/// Deletes the entries that match a filter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delete {
    pub namespace: Namespace,
    #[serde(flatten)]
    pub filter: Filter,
}

operations! {
    ConntrackRule;
    Delete: "conntrack.delete", Delete, |o| Requirement {
        namespace: o.namespace,
        protocol: o.filter.protocol,
        port: o.filter.port,
        verb: Self::VERB,
    };
}

impl Act for Delete {
    fn act(&self) -> String {
        let filter = &self.filter;
        let port = match filter.port {
            Some(port) => format!("{} port {port}", filter.protocol),
            None => format!("every {} port", filter.protocol),
        };
        let destination = filter.destination.map(|address| format!(" of {address}"));
        let answering = filter
            .reply_source
            .map(|address| format!(", answered by {address},"));
        format!(
            "delete the tracked {} connections to {port}{}{} in {}",
            filter.family,
            destination.unwrap_or_default(),
            answering.unwrap_or_default(),
            self.namespace
        )
    }

    /// Whose the connections are, the filter does not say.
    fn severity(&self, _: &Invocation) -> Severity {
        Severity::of_traffic_in(self.namespace)
    }
}

rule! {
    /// `conntrack:` in a grant. Absent fields match everything.
    pub struct ConntrackRule: Conntrack for r: Requirement, which may "forget" Delete {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.namespace);
        /// Protocols.
        protocols: Words<Protocol> = One(r.protocol);
        /// Original destination ports.
        ports: Ranges<u16> = Has::or_anything(r.port), including(every_port);
        => verbs = r.verb;
    } says |rule| {
        let protocols = rule.all_of("protocols", "every protocol");
        let ports = rule.one_of("ports", "port ", "any port");
        format!("{} connections of {protocols} to {ports}", rule.verbs())
    }
}

/// Entries of one protocol, and what is done with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    pub protocol: Protocol,
    /// None for entries of every port.
    pub port: Option<u16>,
    pub verb: Verb,
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            protocol,
            verb,
            ..
        } = self;
        match self.port {
            Some(port) => write!(
                f,
                "{verb} connections to {protocol} port {port} in {namespace}"
            ),
            None => write!(
                f,
                "{verb} connections to every {protocol} port in {namespace}"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Capabilities;
    use super::super::pattern::Range;
    use super::*;
    use crate::tests::decisions::{allowed, decision, denied};

    const PORTMAP: &str = r#"{"conntrack": [{
        "namespace": "host", "protocols": ["udp", "sctp"], "ports": [53, "30000-32767"],
        "verbs": ["delete"]
    }]}"#;

    fn delete(protocol: Protocol, port: Option<u16>) -> Delete {
        Delete {
            namespace: Namespace::Host,
            filter: Filter {
                family: Family::Ipv4,
                protocol,
                destination: None,
                port,
                reply_source: Some(IpAddr::from([10, 0, 0, 2])),
            },
        }
    }

    /// What [`delete`] does, in words.
    fn words(port: &str, namespace: &str) -> String {
        format!(
            "delete the tracked ipv4 connections to {port}, answered by 10.0.0.2, in {namespace}"
        )
    }

    #[test]
    fn what_is_listed_is_allowed() {
        let allowed = allowed(&["conntrack[0]"]);
        for port in [53, 30000, 31000, 32767] {
            let operation = delete(Protocol::Udp, Some(port));
            assert_eq!(decision(PORTMAP, &operation), allowed, "{port}");
        }
        let all = r#"{"conntrack": [{}]}"#;
        assert_eq!(decision(all, &delete(Protocol::Tcp, None)), allowed);
    }

    #[test]
    fn each_field_counts() {
        let on = |port: &str| words(&format!("udp port {port}"), "host");
        for port in [52, 54, 29999, 32768] {
            let expected = denied(&on(&port.to_string()), Some("conntrack[0]: ports"));
            let operation = delete(Protocol::Udp, Some(port));
            assert_eq!(decision(PORTMAP, &operation), expected);
        }
        let expected = denied(
            &words("tcp port 53", "host"),
            Some("conntrack[0]: protocols"),
        );
        assert_eq!(
            decision(PORTMAP, &delete(Protocol::Tcp, Some(53))),
            expected
        );
        let mut inside = delete(Protocol::Udp, Some(53));
        inside.namespace = Namespace::Container;
        let expected = denied(
            &words("udp port 53", "container"),
            Some("conntrack[0]: namespace"),
        );
        assert_eq!(decision(PORTMAP, &inside), expected);
        let nothing = r#"{"conntrack": [{"verbs": []}]}"#;
        let expected = denied(&on("53"), Some("conntrack[0]: verbs"));
        assert_eq!(
            decision(nothing, &delete(Protocol::Udp, Some(53))),
            expected
        );
        let expected = denied(&on("53"), None);
        assert_eq!(decision("{}", &delete(Protocol::Udp, Some(53))), expected);
    }

    /// A filter without a port reaches every port: a rule that names ports does not allow it.
    #[test]
    fn every_port_is_more_than_some_ports() {
        let act = words("every udp port", "host");
        let expected = denied(&act, Some("conntrack[0]: ports"));
        assert_eq!(decision(PORTMAP, &delete(Protocol::Udp, None)), expected);
    }

    #[test]
    fn ports_are_numbers_and_ranges() {
        let yaml = "conntrack:\n  - ports: [53, 30000-32767, \"80\", \"1-2\"]\n";
        let read: Capabilities = serde_saphyr::from_str(yaml).expect("a grant");
        let expected = [(53, 53), (30000, 32767), (80, 80), (1, 2)];
        let expected = expected.map(|(first, last)| Range { first, last });
        assert_eq!(read.conntrack[0].ports.as_deref(), Some(&expected[..]));
        let json = serde_json::to_string(&read.conntrack).expect("JSON");
        assert_eq!(json, r#"[{"ports":[53,"30000-32767",80,"1-2"]}]"#);
        for ports in [
            "2-1", "-1", "65536", "1-65536", "http", "1-", "1-2-3", "1.5", "true", "[1]",
        ] {
            let yaml = format!("conntrack: [ {{ ports: [{ports}] }} ]");
            let read = serde_saphyr::from_str::<Capabilities>(&yaml);
            assert!(read.is_err(), "{ports}: {read:?}");
        }
    }

    #[test]
    fn the_audit_log_says_what_was_asked() {
        let json = serde_json::to_string(&delete(Protocol::Udp, Some(53))).expect("JSON");
        assert_eq!(
            json,
            r#"{"namespace":"host","family":"ipv4","protocol":"udp","port":53,"reply-source":"10.0.0.2"}"#
        );
    }
}
