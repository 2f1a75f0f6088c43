//! The `ipam` key, as a plugin sees it that delegates to an IPAM plugin.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};

/// The `ipam` key: which IPAM plugin is to be run. Its other keys are the IPAM plugin's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ipam {
    /// `type`; empty for none, which makes the network a layer-2 one.
    pub plugin: String,
}

impl Ipam {
    /// Whether an IPAM plugin is named.
    pub fn is_configured(&self) -> bool {
        !self.plugin.is_empty()
    }
}

impl<'de> Deserialize<'de> for Ipam {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TypeOnly)
    }
}

struct TypeOnly;

impl<'de> Visitor<'de> for TypeOnly {
    type Value = Ipam;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Ipam, A::Error> {
        let mut ipam = Ipam::default();
        while let Some(key) = map.next_key::<String>()? {
            if key.eq_ignore_ascii_case("type") {
                ipam.plugin = map.next_value::<Option<String>>()?.unwrap_or_default();
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(ipam)
    }
}
