//! Keys about IP that several plugins have. A key that holds a route is a [`Route`](crate::Route).

use std::net::IpAddr;

use serde::{Deserialize, Deserializer};

pub use weir_cni::optional_address as address;

/// An address; none for empty text, as in the reference plugins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Address(pub Option<IpAddr>);

impl<'de> Deserialize<'de> for Address {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        address(deserializer).map(Address)
    }
}
