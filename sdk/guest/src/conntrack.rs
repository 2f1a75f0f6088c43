//! Capability `conntrack`: removing entries of the connection tracking table.

use std::net::IpAddr;

use crate::bindings::weir::cni::conntrack as raw;
use crate::{IpFamily, Namespace, OperationError};

/// Which entries. At least one of the optional fields must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The family of the connection.
    pub family: IpFamily,
    /// 6 TCP, 17 UDP, 132 SCTP.
    pub protocol: u8,
    /// The original direction's destination.
    pub destination: Option<IpAddr>,
    /// The original direction's destination port.
    pub port: Option<u16>,
    /// The reply direction's source: where a translated connection really goes.
    pub reply_source: Option<IpAddr>,
}

impl Filter {
    /// A filter without optional fields.
    pub fn new(family: IpFamily, protocol: u8) -> Self {
        Filter {
            family,
            protocol,
            destination: None,
            port: None,
            reply_source: None,
        }
    }
}

/// Deletes the entries that pass the filter and returns how many they were.
pub fn delete(namespace: Namespace, filter: Filter) -> Result<u32, OperationError> {
    let filter = raw::Filter {
        family: filter.family,
        protocol: filter.protocol,
        destination: filter.destination.map(Into::into),
        port: filter.port,
        reply_source: filter.reply_source.map(Into::into),
    };
    Ok(raw::delete(namespace, filter)?)
}
