//! Capability `conntrack`: removing entries of the connection tracking table.
//!
//! Connections keep using a translation that is removed, until their entries are deleted:
//!
//! ```no_run
//! use weir_sdk::conntrack::{self, Filter};
//! use weir_sdk::{IpFamily, Namespace, OperationError};
//!
//! fn forget_port(port: u16) -> Result<(), OperationError> {
//!     let filter = Filter::new(IpFamily::Ipv4, conntrack::UDP).to_port(port);
//!     conntrack::delete(Namespace::Host, filter)
//! }
//! ```

use std::net::IpAddr;

use crate::bindings::weir::cni::conntrack as raw;
use crate::convert::same_fields;
use crate::{IpFamily, Namespace, Result};

/// The number of TCP.
pub const TCP: u8 = 6;
/// The number of UDP.
pub const UDP: u8 = 17;
/// The number of SCTP.
pub const SCTP: u8 = 132;

/// Selects entries. At least one of the optional fields must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The family of the connection.
    pub family: IpFamily,
    /// [`TCP`], [`UDP`] or [`SCTP`].
    pub protocol: u8,
    /// The original direction's destination.
    pub destination: Option<IpAddr>,
    /// The original direction's destination port.
    pub port: Option<u16>,
    /// The reply direction's source: where a translated connection really goes.
    pub reply_source: Option<IpAddr>,
}

impl Filter {
    /// Makes a filter without optional fields. It needs at least one.
    pub fn new(family: IpFamily, protocol: u8) -> Self {
        Filter {
            family,
            protocol,
            destination: None,
            port: None,
            reply_source: None,
        }
    }

    /// Only connections whose original destination has this port.
    pub fn to_port(self, port: u16) -> Self {
        Filter {
            port: Some(port),
            ..self
        }
    }

    /// Only connections whose original destination is this address.
    pub fn to(self, destination: IpAddr) -> Self {
        Filter {
            destination: Some(destination),
            ..self
        }
    }
}

same_fields! {
    Filter => raw::Filter { family protocol port ; map destination reply_source }
}

/// Deletes the entries that match the filter. Errors: `invalid`, `unsupported`.
///
/// The kernel walks through the whole table, however few entries match.
pub fn delete(namespace: Namespace, filter: Filter) -> Result<()> {
    raw::delete(namespace, filter.into())
}
