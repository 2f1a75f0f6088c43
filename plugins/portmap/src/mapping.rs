//! One mapping: a port of the host and the container's port that it leads to.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Deserializer, de};
use weir_sdk::{Error, IpFamily, conntrack};

/// An item of `portMappings`.
#[weir_sdk::config(rename_all = "camelCase")]
#[derive(Clone, Debug)]
pub struct MappingKeys {
    host_port: u16,
    container_port: u16,
    #[serde(default)]
    protocol: Protocol,
    #[serde(
        default,
        rename = "hostIP",
        deserialize_with = "weir_sdk::config::ip::address"
    )]
    host_ip: Option<IpAddr>,
}

/// A protocol that has ports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    #[default]
    Tcp,
    Udp,
    Sctp,
}

impl Protocol {
    const ALL: [Self; 3] = [Self::Tcp, Self::Udp, Self::Sctp];

    /// Its number in an IP header.
    pub fn number(self) -> u8 {
        match self {
            Self::Tcp => conntrack::TCP,
            Self::Udp => conntrack::UDP,
            Self::Sctp => conntrack::SCTP,
        }
    }

    fn word(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Sctp => "sctp",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Upper or lower case: runtimes write both.
impl<'de> Deserialize<'de> for Protocol {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let mut all = Self::ALL.into_iter();
        all.find(|protocol| text.eq_ignore_ascii_case(protocol.word()))
            .ok_or_else(|| de::Error::custom("expected `tcp`, `udp` or `sctp`"))
    }
}

/// A valid mapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mapping {
    pub protocol: Protocol,
    pub host_port: u16,
    pub container_port: u16,
    /// The one address of the host at which the port is mapped; none for all.
    pub host_ip: Option<IpAddr>,
    /// The one family that is mapped; none for both.
    family: Option<IpFamily>,
}

impl Mapping {
    /// The mappings of a key. Of those that match the same packets, the first has effect. Errors: code 7 for a port 0.
    pub fn all(key: &str, keys: &[MappingKeys]) -> Result<Vec<Self>, Error> {
        let mut mappings: Vec<Self> = Vec::with_capacity(keys.len());
        for (index, keys) in keys.iter().enumerate() {
            let mapping = Self::new(&format!("{key}[{index}]"), keys)?;
            if !mappings.iter().any(|other| other.overlaps(&mapping)) {
                mappings.push(mapping);
            }
        }
        Ok(mappings)
    }

    /// Warnings about a key's mappings that have no effect, because one before them matches the same packets.
    pub fn repeated(key: &str, keys: &[MappingKeys]) -> Vec<String> {
        let mut before: Vec<(usize, Self)> = Vec::with_capacity(keys.len());
        let mut warnings = Vec::new();
        for (index, keys) in keys.iter().enumerate() {
            let Ok(mapping) = Self::new("", keys) else {
                continue;
            };
            match before.iter().find(|(_, other)| other.overlaps(&mapping)) {
                Some((first, _)) => warnings.push(format!(
                    "{key}[{index}]: {mapping} has no effect: {key}[{first}] maps the same port"
                )),
                None => before.push((index, mapping)),
            }
        }
        warnings
    }

    fn new(path: &str, keys: &MappingKeys) -> Result<Self, Error> {
        let ports = [
            ("hostPort", keys.host_port),
            ("containerPort", keys.container_port),
        ];
        if let Some((key, _)) = ports.into_iter().find(|(_, port)| *port == 0) {
            return Err(Error::invalid_config(format!(
                "{path}.{key}: expected 1 to 65535, found 0"
            )));
        }
        Ok(Mapping {
            protocol: keys.protocol,
            host_port: keys.host_port,
            container_port: keys.container_port,
            host_ip: keys.host_ip.filter(|ip| !ip.is_unspecified()),
            family: keys.host_ip.map(IpFamily::of),
        })
    }

    /// Whether the mapping is for this family; that of `hostIP`, even if unspecified, decides.
    pub fn is_of(&self, family: IpFamily) -> bool {
        self.family.is_none_or(|own| own == family)
    }

    /// Whether one packet could match both.
    fn overlaps(&self, other: &Self) -> bool {
        let one_family = match (self.family, other.family) {
            (Some(own), Some(others)) => own == others,
            _ => true,
        };
        let port = |mapping: &Self| (mapping.protocol, mapping.host_port, mapping.host_ip);
        one_family && port(self) == port(other)
    }
}

/// As the host's port is written.
impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (port, protocol) = (self.host_port, self.protocol);
        match self.host_ip {
            Some(IpAddr::V6(ip)) => write!(f, "[{ip}]:{port}/{protocol}"),
            Some(ip) => write!(f, "{ip}:{port}/{protocol}"),
            None => write!(f, "{port}/{protocol}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Result<Vec<Mapping>, Error> {
        let keys: Vec<MappingKeys> = serde_json::from_str(text).unwrap();
        Mapping::all("portMappings", &keys)
    }

    #[test]
    fn protocols_are_known_in_any_case_and_tcp_is_meant_by_none() {
        let mappings = all(r#"[{"hostPort": 1, "containerPort": 2, "protocol": "UDP"},
                {"hostPort": 1, "containerPort": 2, "protocol": "sctp"},
                {"hostPort": 1, "containerPort": 2}]"#);
        let protocols: Vec<Protocol> = mappings.unwrap().iter().map(|m| m.protocol).collect();
        assert_eq!(protocols, [Protocol::Udp, Protocol::Sctp, Protocol::Tcp]);
        let unknown = r#"{"hostPort": 1, "containerPort": 2, "protocol": "icmp"}"#;
        assert!(serde_json::from_str::<MappingKeys>(unknown).is_err());
    }

    #[test]
    fn port_0_is_refused_with_its_key() {
        let error = all(r#"[{"hostPort": 0, "containerPort": 2}]"#).unwrap_err();
        assert_eq!(
            error.msg,
            "portMappings[0].hostPort: expected 1 to 65535, found 0"
        );
        let error = all(r#"[{"hostPort": 1, "containerPort": 0}]"#).unwrap_err();
        assert!(
            error.msg.starts_with("portMappings[0].containerPort: "),
            "{error}"
        );
    }

    #[test]
    fn of_what_is_there_twice_the_first_counts_and_the_second_is_reported() {
        let twice = |second: &str| {
            let text = format!(r#"[{{"hostPort": 80, "containerPort": 2}}, {second}]"#);
            let mappings = all(&text).unwrap();
            let keys: Vec<MappingKeys> = serde_json::from_str(&text).unwrap();
            let warnings = Mapping::repeated("portMappings", &keys);
            assert_eq!(mappings[0].container_port, 2);
            assert_eq!(mappings.len() + warnings.len(), 2, "{warnings:?}");
            let expected =
                "portMappings[1]: 80/tcp has no effect: portMappings[0] maps the same port";
            assert!(
                warnings.iter().all(|warning| warning == expected),
                "{warnings:?}"
            );
            mappings.len() == 1
        };
        assert!(twice(r#"{"hostPort": 80, "containerPort": 3}"#));
        assert!(twice(
            r#"{"hostPort": 80, "containerPort": 2, "hostIP": "0.0.0.0"}"#
        ));
        assert!(!twice(
            r#"{"hostPort": 80, "containerPort": 2, "protocol": "udp"}"#
        ));
        assert!(!twice(
            r#"{"hostPort": 80, "containerPort": 2, "hostIP": "192.0.2.1"}"#
        ));
        assert!(!twice(r#"{"hostPort": 81, "containerPort": 2}"#));
        let families = r#"[{"hostPort": 80, "containerPort": 2, "hostIP": "0.0.0.0"},
            {"hostPort": 80, "containerPort": 2, "hostIP": "::"}]"#;
        assert_eq!(all(families).unwrap().len(), 2);
    }

    #[test]
    fn an_unspecified_address_means_all_of_its_family() {
        let mapping = all(r#"[{"hostPort": 80, "containerPort": 2, "hostIP": "::"}]"#).unwrap()[0];
        assert_eq!(mapping.host_ip, None);
        assert!(mapping.is_of(IpFamily::Ipv6) && !mapping.is_of(IpFamily::Ipv4));
    }

    #[test]
    fn the_hosts_port_is_written_as_usual() {
        let text = |text: &str| all(text).unwrap()[0].to_string();
        assert_eq!(text(r#"[{"hostPort": 80, "containerPort": 2}]"#), "80/tcp");
        assert_eq!(
            text(r#"[{"hostPort": 80, "containerPort": 2, "hostIP": "2001:db8::1"}]"#),
            "[2001:db8::1]:80/tcp"
        );
    }
}
