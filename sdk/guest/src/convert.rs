//! Conversions between the contract's types and those of `std::net`, `ipnet` and `weir-cni`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use weir_cni::{AddResult, Code, Error, Interface, IpConfig, Route};

use crate::bindings::weir::cni::cni;
use crate::bindings::weir::cni::types::{IpAddress, IpFamily, IpNetwork, LinkReference};

impl From<IpAddr> for IpAddress {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => IpAddress::Ipv4(v4.octets().into()),
            IpAddr::V6(v6) => IpAddress::Ipv6(v6.segments().into()),
        }
    }
}

impl From<IpAddress> for IpAddr {
    fn from(address: IpAddress) -> Self {
        match address {
            IpAddress::Ipv4(octets) => Ipv4Addr::from(<[u8; 4]>::from(octets)).into(),
            IpAddress::Ipv6(groups) => Ipv6Addr::from(<[u16; 8]>::from(groups)).into(),
        }
    }
}

impl From<IpNet> for IpNetwork {
    fn from(network: IpNet) -> Self {
        IpNetwork {
            address: network.addr().into(),
            prefix_length: network.prefix_len(),
        }
    }
}

impl From<IpNetwork> for IpNet {
    fn from(network: IpNetwork) -> Self {
        // The contract bounds the prefix length; a runtime that exceeds it cannot be trusted.
        IpNet::new(network.address.into(), network.prefix_length)
            .expect("the prefix length is at most the address's bits")
    }
}

/// What refers to a link: its name, its index, or the [`Link`](crate::link::Link).
pub trait AsLink: Into<LinkReference> {}

impl<T: Into<LinkReference>> AsLink for T {}

impl From<&str> for LinkReference {
    fn from(name: &str) -> Self {
        LinkReference::Name(name.to_owned())
    }
}

impl From<&String> for LinkReference {
    fn from(name: &String) -> Self {
        LinkReference::Name(name.clone())
    }
}

impl From<String> for LinkReference {
    fn from(name: String) -> Self {
        LinkReference::Name(name)
    }
}

impl From<u32> for LinkReference {
    fn from(index: u32) -> Self {
        LinkReference::Index(index)
    }
}

impl IpFamily {
    /// Returns the family of an address.
    pub fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(_) => IpFamily::Ipv4,
            IpAddr::V6(_) => IpFamily::Ipv6,
        }
    }
}

/// Converts one record into another that has the same fields: as they are, by `into`, and by `map` or `each` what is in
/// them.
macro_rules! same_fields {
    ($($from:ty => $to:ty {
        $($same:ident)* $(; into $($into:ident)*)? $(; map $($map:ident)*)? $(; each $($each:ident)*)?
    })*) => {$(
        impl From<$from> for $to {
            fn from(from: $from) -> Self {
                Self {
                    $($same: from.$same,)*
                    $($($into: from.$into.into(),)*)?
                    $($($map: from.$map.map(Into::into),)*)?
                    $($($each: from.$each.into_iter().map(Into::into).collect(),)*)?
                }
            }
        }
    )*};
}
pub(crate) use same_fields;

same_fields! {
    cni::AttachmentResult => AddResult { dns ; each interfaces ips routes }
    AddResult => cni::AttachmentResult { dns ; each interfaces ips routes }
    cni::ResultIp => IpConfig { interface ; into address ; map gateway }
    IpConfig => cni::ResultIp { interface ; into address ; map gateway }
    cni::ResultRoute => Route { mtu advmss priority table scope ; into dst ; map gw }
    Route => cni::ResultRoute { mtu advmss priority table scope ; into dst ; map gw }
}

/// `None` for empty text.
fn filled(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

impl From<cni::ResultInterface> for Interface {
    fn from(interface: cni::ResultInterface) -> Self {
        Interface {
            name: interface.name,
            mac: filled(interface.mac),
            mtu: interface.mtu,
            sandbox: filled(interface.sandbox),
            socket_path: filled(interface.socket_path),
            pci_id: filled(interface.pci_id),
        }
    }
}

impl From<Interface> for cni::ResultInterface {
    fn from(interface: Interface) -> Self {
        cni::ResultInterface {
            name: interface.name,
            mac: interface.mac.unwrap_or_default(),
            mtu: interface.mtu,
            sandbox: interface.sandbox.unwrap_or_default(),
            socket_path: interface.socket_path.unwrap_or_default(),
            pci_id: interface.pci_id.unwrap_or_default(),
        }
    }
}

impl From<cni::Failure> for Error {
    fn from(failure: cni::Failure) -> Self {
        Error::new(Code(failure.code), failure.msg).with_details(failure.details)
    }
}

impl From<Error> for cni::Failure {
    fn from(error: Error) -> Self {
        cni::Failure {
            code: error.code.0,
            msg: error.msg,
            details: error.details,
        }
    }
}

#[cfg(test)]
mod tests {
    use weir_cni::Dns;

    use super::*;

    #[test]
    fn addresses_keep_their_bytes_and_order() {
        let v4: IpAddr = "10.1.2.3".parse().unwrap();
        let raw = IpAddress::from(v4);
        assert!(matches!(raw, IpAddress::Ipv4((10, 1, 2, 3))));
        assert_eq!(IpAddr::from(raw), v4);

        let v6: IpAddr = "2001:db8::5".parse().unwrap();
        let raw = IpAddress::from(v6);
        assert!(matches!(
            raw,
            IpAddress::Ipv6((0x2001, 0xdb8, 0, 0, 0, 0, 0, 5))
        ));
        assert_eq!(IpAddr::from(raw), v6);
    }

    #[test]
    fn networks_keep_their_host_part() {
        let net: IpNet = "10.1.2.3/16".parse().unwrap();
        assert_eq!(IpNet::from(IpNetwork::from(net)), net);
    }

    #[test]
    fn results_survive_the_way_there_and_back() {
        let result = AddResult {
            interfaces: vec![Interface {
                name: "eth0".to_owned(),
                mac: Some("02:00:00:00:00:01".to_owned()),
                mtu: Some(1500),
                sandbox: Some("/run/netns/a".to_owned()),
                socket_path: None,
                pci_id: Some("0000:00:1f.6".to_owned()),
            }],
            ips: vec![IpConfig {
                interface: Some(0),
                address: "10.1.2.3/16".parse().unwrap(),
                gateway: Some("10.1.0.1".parse().unwrap()),
            }],
            routes: vec![Route {
                mtu: Some(1400),
                scope: Some(253),
                ..Route::new("::/0".parse().unwrap(), Some("fd00::1".parse().unwrap()))
            }],
            dns: Dns {
                nameservers: vec!["10.0.0.2".to_owned()],
                domain: "example.org".to_owned(),
                search: vec!["example.org".to_owned()],
                options: vec!["ndots:2".to_owned()],
            },
        };
        let there = cni::AttachmentResult::from(result.clone());
        assert_eq!(AddResult::from(there), result);
    }

    #[test]
    fn errors_keep_code_message_and_details() {
        let error = Error::invalid_config("mtu: expected a number").with_details("found \"x\"");
        assert_eq!(Error::from(cni::Failure::from(error.clone())), error);
    }
}
