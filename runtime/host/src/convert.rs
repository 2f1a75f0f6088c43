//! Conversions between the types of the contract and those of the operations.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use weir_grant::Namespace;
use weir_grant::address::Family;
use weir_grant::link::Mac;
use weir_kernel::{Code, Error};

use super::bindings::weir::cni::cni;
use super::bindings::weir::cni::types;

/// Converts each of two enums whose variants have the same names into the other.
macro_rules! same_names {
    ($($one:path, $other:path { $($variant:ident)* })*) => {$(
        impl From<$one> for $other {
            fn from(value: $one) -> Self {
                match value {
                    $(<$one>::$variant => Self::$variant,)*
                }
            }
        }

        impl From<$other> for $one {
            fn from(value: $other) -> Self {
                match value {
                    $(<$other>::$variant => Self::$variant,)*
                }
            }
        }
    )*};
}
pub(crate) use same_names;

/// Converts a record into another whose fields have the same names; `map` what is optional, and `each` of a list.
macro_rules! same_fields {
    ($($from:ty => $to:ty { $($field:ident)* $(; map $($map:ident)*)? $(; each $($each:ident)*)? })*) => {$(
        impl From<$from> for $to {
            fn from(from: $from) -> Self {
                Self {
                    $($field: from.$field.into(),)*
                    $($($map: from.$map.map(Into::into),)*)?
                    $($($each: $crate::convert::each(from.$each),)*)?
                }
            }
        }
    )*};
}
pub(crate) use same_fields;

/// Converts each value of a list.
pub(crate) fn each<T, U: From<T>>(values: Vec<T>) -> Vec<U> {
    values.into_iter().map(Into::into).collect()
}

same_names! {
    types::ErrorCode, Code {
        Denied NotFound Exists Invalid Busy Unsupported Exhausted NoNamespace TimedOut Failed
    }
    types::Namespace, Namespace { Host Container }
    types::IpFamily, Family { Ipv4 Ipv6 }
}

same_fields! {
    weir_cni::AddResult => cni::AttachmentResult { dns; each interfaces ips routes }
    weir_cni::Dns => cni::Dns { nameservers domain search options }
    cni::Dns => weir_cni::Dns { nameservers domain search options }
    weir_cni::IpConfig => cni::ResultIp { interface address; map gateway }
    weir_cni::Route => cni::ResultRoute { dst mtu advmss priority table scope; map gw }
}

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        Self {
            code: error.code.into(),
            message: error.message,
            errno: error.errno.map(|e| e as i32),
        }
    }
}

impl From<weir_cni::Error> for cni::Failure {
    fn from(error: weir_cni::Error) -> Self {
        Self {
            code: error.code.0,
            msg: error.msg,
            details: error.details,
        }
    }
}

impl From<cni::Failure> for weir_cni::Error {
    fn from(failure: cni::Failure) -> Self {
        // The specification does not allow an error with the code 0.
        let code = match failure.code {
            0 => weir_cni::Code::INTERNAL,
            code => code.into(),
        };
        weir_cni::Error::new(code, failure.msg).with_details(failure.details)
    }
}

impl From<types::IpAddress> for IpAddr {
    fn from(address: types::IpAddress) -> Self {
        match address {
            types::IpAddress::Ipv4(octets) => Ipv4Addr::from(<[u8; 4]>::from(octets)).into(),
            types::IpAddress::Ipv6(groups) => Ipv6Addr::from(<[u16; 8]>::from(groups)).into(),
        }
    }
}

impl From<IpAddr> for types::IpAddress {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::Ipv4(v4.octets().into()),
            IpAddr::V6(v6) => Self::Ipv6(v6.segments().into()),
        }
    }
}

impl From<IpNet> for types::IpNetwork {
    fn from(network: IpNet) -> Self {
        Self {
            address: network.addr().into(),
            prefix_length: network.prefix_len(),
        }
    }
}

/// Returns a network, including its host part. Errors: `Invalid` for a prefix that is too long.
pub fn network(network: types::IpNetwork) -> Result<IpNet, Error> {
    let address = IpAddr::from(network.address);
    IpNet::new(address, network.prefix_length).map_err(|_| {
        Error::invalid(format!(
            "prefix length {} is too long for {address}",
            network.prefix_length
        ))
    })
}

/// Returns a link-layer address. Errors: `Invalid` unless it has 6 or 20 bytes.
pub fn mac(bytes: Vec<u8>) -> Result<Mac, Error> {
    match bytes.len() {
        6 | 20 => Ok(Mac(bytes)),
        length => Err(Error::invalid(format!(
            "a MAC address has 6 bytes (20 for InfiniBand), not {length}"
        ))),
    }
}

impl From<weir_cni::Interface> for cni::ResultInterface {
    fn from(interface: weir_cni::Interface) -> Self {
        Self {
            name: interface.name,
            mac: interface.mac.unwrap_or_default(),
            mtu: interface.mtu,
            sandbox: interface.sandbox.unwrap_or_default(),
            socket_path: interface.socket_path.unwrap_or_default(),
            pci_id: interface.pci_id.unwrap_or_default(),
        }
    }
}

/// Returns a plugin's result. Errors: code 6 for an invalid result, such as one with the prefix length 33.
pub fn result(result: cni::AttachmentResult) -> Result<weir_cni::AddResult, weir_cni::Error> {
    let malformed = |e: Error| weir_cni::Error::decoding_failure(format!("the result: {e}"));
    let ips = result.ips.into_iter().map(ip).collect::<Result<_, _>>();
    let routes = result.routes.into_iter().map(route);
    let routes = routes.collect::<Result<_, _>>();
    let result = weir_cni::AddResult {
        interfaces: each(result.interfaces),
        ips: ips.map_err(malformed)?,
        routes: routes.map_err(malformed)?,
        dns: result.dns.into(),
    };
    result.validate()?;
    Ok(result)
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|t| !t.is_empty())
}

impl From<cni::ResultInterface> for weir_cni::Interface {
    fn from(interface: cni::ResultInterface) -> Self {
        Self {
            name: interface.name,
            mac: non_empty(interface.mac),
            mtu: interface.mtu,
            sandbox: non_empty(interface.sandbox),
            socket_path: non_empty(interface.socket_path),
            pci_id: non_empty(interface.pci_id),
        }
    }
}

fn ip(ip: cni::ResultIp) -> Result<weir_cni::IpConfig, Error> {
    Ok(weir_cni::IpConfig {
        interface: ip.interface,
        address: network(ip.address)?,
        gateway: ip.gateway.map(Into::into),
    })
}

fn route(route: cni::ResultRoute) -> Result<weir_cni::Route, Error> {
    Ok(weir_cni::Route {
        dst: network(route.dst)?,
        gw: route.gw.map(Into::into),
        mtu: route.mtu,
        advmss: route.advmss,
        priority: route.priority,
        table: route.table,
        scope: route.scope,
    })
}
