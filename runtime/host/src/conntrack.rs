//! Capability `conntrack`: from the contract to the gate and the kernel.

use weir_grant::conntrack::{self, Protocol};
use weir_kernel::{Error, Result};

use super::bindings::weir::cni::conntrack::{Filter, Host as Contract};
use super::bindings::weir::cni::types::Namespace;
use super::view::View;

impl Contract for View<'_, conntrack::ConntrackRule> {
    fn delete(&mut self, namespace: Namespace, filter: Filter) -> Result<()> {
        let operation = conntrack::Delete {
            namespace: namespace.into(),
            filter: filter.try_into()?,
        };
        self.perform(operation)
    }
}

impl TryFrom<Filter> for conntrack::Filter {
    type Error = Error;

    /// Errors: `Invalid` for a protocol without ports.
    fn try_from(filter: Filter) -> Result<Self> {
        Ok(Self {
            family: filter.family.into(),
            protocol: protocol(filter.protocol)?,
            destination: filter.destination.map(Into::into),
            port: filter.port,
            reply_source: filter.reply_source.map(Into::into),
        })
    }
}

fn protocol(number: u8) -> Result<Protocol> {
    Protocol::from_number(number).ok_or_else(|| {
        Error::invalid(format!(
            "protocol {number} is neither TCP (6) nor UDP (17) nor SCTP (132)"
        ))
    })
}
