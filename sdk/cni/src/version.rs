//! The versions of the CNI specification, and the answer to the `VERSION` command.

use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::{Value, json};

use crate::error::Error;
use crate::words::words;

words! {
    /// A released version of the CNI specification.
    ///
    /// The default is what a document without `cniVersion` has: 0.1.0, which had no such key.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
    #[allow(non_camel_case_types)]
    pub enum Version {
        /// 0.1.0, the first: one IPv4 and one IPv6 address.
        #[default]
        V0_1_0 = "0.1.0",
        /// 0.2.0: the `VERSION` command.
        V0_2_0 = "0.2.0",
        /// 0.3.0: interfaces and any number of addresses, lists of plugins.
        V0_3_0 = "0.3.0",
        /// 0.3.1: as 0.3.0, with a typing error corrected.
        V0_3_1 = "0.3.1",
        /// 0.4.0: `CHECK`, and `prevResult` on `DEL`.
        V0_4_0 = "0.4.0",
        /// 1.0.0: no `version` in `ips`, and only lists of plugins.
        V1_0_0 = "1.0.0",
        /// 1.1.0: `GC`, `STATUS`, `cniVersions`, more about interfaces and routes.
        V1_1_0 = "1.1.0",
    }
}

impl Version {
    /// The newest version.
    pub const LATEST: Version = Version::V1_1_0;

    /// Returns the version that a document's `cniVersion` names: absent or empty is 0.1.0, unknown is an
    /// error of code 1.
    pub fn from_document(cni_version: Option<&str>) -> Result<Version, Error> {
        match cni_version {
            None | Some("") => Ok(Version::default()),
            Some(text) => text.parse(),
        }
    }

    /// Whether results have `interfaces`, `ips` and `routes`, and configurations `prevResult`:
    /// 0.3.0 and later.
    pub fn has_interfaces(self) -> bool {
        self >= Version::V0_3_0
    }

    /// Whether an entry of `ips` must say `"version": "4"` or `"6"`: 0.3.0 to 0.4.0.
    pub fn has_ip_version(self) -> bool {
        (Version::V0_3_0..=Version::V0_4_0).contains(&self)
    }

    /// Whether results have `mtu`, `socketPath` and `pciID` of interfaces, and `mtu`, `advmss`,
    /// `priority`, `table` and `scope` of routes: 1.1.0 and later.
    pub fn has_interface_and_route_attributes(self) -> bool {
        self >= Version::V1_1_0
    }
}

impl FromStr for Version {
    type Err = Error;

    /// Parses exactly one of [`Version::ALL`]; anything else is an error of code 1 that names them.
    fn from_str(text: &str) -> Result<Self, Error> {
        let known = Version::ALL.into_iter().find(|v| v.as_str() == text);
        known.ok_or_else(|| Error::incompatible_version(text, Version::ALL))
    }
}

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}

/// The version result of CNI section 5: the answer to `CNI_COMMAND=VERSION`. `requested` is the `cniVersion` read from
/// standard input; without one, the answer is in the newest version.
pub fn version_result(requested: Option<Version>) -> Value {
    json!({
        "cniVersion": requested.unwrap_or(Version::LATEST),
        "supportedVersions": Version::ALL,
    })
}
