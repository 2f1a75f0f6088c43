//! Conversions between the contract's types and ours.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;
use weir_grant::Namespace;
use weir_grant::address::Family;
use weir_grant::link::Mac;
use weir_kernel::{Code, Error};

use super::bindings::weir::cni::cni;
use super::bindings::weir::cni::types;

impl From<Error> for types::Error {
    fn from(error: Error) -> Self {
        Self {
            code: match error.code {
                Code::Denied => types::ErrorCode::Denied,
                Code::NotFound => types::ErrorCode::NotFound,
                Code::Exists => types::ErrorCode::Exists,
                Code::Invalid => types::ErrorCode::Invalid,
                Code::Busy => types::ErrorCode::Busy,
                Code::Unsupported => types::ErrorCode::Unsupported,
                Code::Exhausted => types::ErrorCode::Exhausted,
                Code::NoNamespace => types::ErrorCode::NoNamespace,
                Code::TimedOut => types::ErrorCode::TimedOut,
                Code::Failed => types::ErrorCode::Failed,
            },
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
        // To the specification an error without a code is none.
        let code = match failure.code {
            0 => weir_cni::Code::INTERNAL,
            code => code.into(),
        };
        weir_cni::Error::new(code, failure.msg).with_details(failure.details)
    }
}

impl From<types::Namespace> for Namespace {
    fn from(namespace: types::Namespace) -> Self {
        match namespace {
            types::Namespace::Host => Self::Host,
            types::Namespace::Container => Self::Container,
        }
    }
}

impl From<types::IpFamily> for Family {
    fn from(family: types::IpFamily) -> Self {
        match family {
            types::IpFamily::Ipv4 => Self::Ipv4,
            types::IpFamily::Ipv6 => Self::Ipv6,
        }
    }
}

impl From<types::IpAddress> for IpAddr {
    fn from(address: types::IpAddress) -> Self {
        match address {
            types::IpAddress::Ipv4((a, b, c, d)) => Ipv4Addr::new(a, b, c, d).into(),
            types::IpAddress::Ipv6((a, b, c, d, e, f, g, h)) => {
                Ipv6Addr::new(a, b, c, d, e, f, g, h).into()
            }
        }
    }
}

impl From<IpAddr> for types::IpAddress {
    fn from(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => {
                let [a, b, c, d] = v4.octets();
                Self::Ipv4((a, b, c, d))
            }
            IpAddr::V6(v6) => {
                let [a, b, c, d, e, f, g, h] = v6.segments();
                Self::Ipv6((a, b, c, d, e, f, g, h))
            }
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

/// A network with its host part kept. Errors: `Invalid` for a prefix that is too long.
pub fn network(network: types::IpNetwork) -> Result<IpNet, Error> {
    let address = IpAddr::from(network.address);
    IpNet::new(address, network.prefix_length).map_err(|_| {
        Error::invalid(format!(
            "prefix length {} is too long for {address}",
            network.prefix_length
        ))
    })
}

/// A link-layer address. Errors: `Invalid` unless it has 6 or 20 bytes.
pub fn mac(bytes: Vec<u8>) -> Result<Mac, Error> {
    match bytes.len() {
        6 | 20 => Ok(Mac(bytes)),
        length => Err(Error::invalid(format!(
            "a MAC address has 6 bytes (20 for InfiniBand), not {length}"
        ))),
    }
}

impl From<weir_cni::AddResult> for cni::AttachmentResult {
    fn from(result: weir_cni::AddResult) -> Self {
        Self {
            interfaces: result.interfaces.into_iter().map(Into::into).collect(),
            ips: result.ips.into_iter().map(Into::into).collect(),
            routes: result.routes.into_iter().map(Into::into).collect(),
            dns: cni::Dns {
                nameservers: result.dns.nameservers,
                domain: result.dns.domain,
                search: result.dns.search,
                options: result.dns.options,
            },
        }
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

impl From<weir_cni::IpConfig> for cni::ResultIp {
    fn from(ip: weir_cni::IpConfig) -> Self {
        Self {
            interface: ip.interface,
            address: ip.address.into(),
            gateway: ip.gateway.map(Into::into),
        }
    }
}

impl From<weir_cni::Route> for cni::ResultRoute {
    fn from(route: weir_cni::Route) -> Self {
        Self {
            dst: route.dst.into(),
            gw: route.gw.map(Into::into),
            mtu: route.mtu,
            advmss: route.advmss,
            priority: route.priority,
            table: route.table,
            scope: route.scope,
        }
    }
}

/// A plugin's result. Errors: code 6 for what no result can hold, such as a prefix length of 33.
pub fn result(result: cni::AttachmentResult) -> Result<weir_cni::AddResult, weir_cni::Error> {
    let malformed = |e: Error| weir_cni::Error::decoding_failure(format!("the result: {e}"));
    let result = weir_cni::AddResult {
        interfaces: result.interfaces.into_iter().map(interface).collect(),
        ips: result
            .ips
            .into_iter()
            .map(ip)
            .collect::<Result<_, _>>()
            .map_err(malformed)?,
        routes: result
            .routes
            .into_iter()
            .map(route)
            .collect::<Result<_, _>>()
            .map_err(malformed)?,
        dns: weir_cni::Dns {
            nameservers: result.dns.nameservers,
            domain: result.dns.domain,
            search: result.dns.search,
            options: result.dns.options,
        },
    };
    result.validate()?;
    Ok(result)
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|t| !t.is_empty())
}

fn interface(interface: cni::ResultInterface) -> weir_cni::Interface {
    weir_cni::Interface {
        name: interface.name,
        mac: non_empty(interface.mac),
        mtu: interface.mtu,
        sandbox: non_empty(interface.sandbox),
        socket_path: non_empty(interface.socket_path),
        pci_id: non_empty(interface.pci_id),
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
