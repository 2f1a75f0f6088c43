//! The policy document of one plugin: `PluginGrant`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytesize::ByteSize;
use serde::{Deserialize, Serialize};

use super::address::AddressRule;
use super::conntrack::ConntrackRule;
use super::firewall::FirewallRule;
use super::firewalld::FirewalldRule;
use super::link::LinkRule;
use super::neighbour::NeighbourRule;
use super::operation::{Capability, Invocation, Rule};
use super::pattern::Pattern;
use super::route::RouteRule;
use super::store::StoreRule;
use super::sysctl::SysctlRule;
use super::traffic::TrafficRule;

/// The document's `apiVersion`.
pub const API_VERSION: &str = "weir.dev/v1alpha1";
/// The document's `kind`.
pub const KIND: &str = "PluginGrant";

/// One plugin's grant, as it stands on disk. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Document {
    pub api_version: String,
    pub kind: String,
    pub metadata: Metadata,
    pub spec: Spec,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// The document's name. A document of an administrator replaces a shipped one of its name.
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    pub plugin: PluginReference,
    /// The networks that may use the plugin under this grant.
    #[serde(default = "every_network")]
    pub networks: Vec<Pattern>,
    #[serde(default)]
    pub capabilities: Capabilities,
    #[serde(default)]
    pub limits: Limits,
}

fn every_network() -> Vec<Pattern> {
    vec![Pattern::try_from("*".to_owned()).expect("a valid glob")]
}

/// Which plugin: its name and the digest of the component's bytes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PluginReference {
    pub name: String,
    /// Optional only for plugins built into the binary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<Digest>,
}

/// `sha256:` and 64 hexadecimal digits.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

impl Digest {
    /// A digest of its bytes.
    pub fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("sha256:")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let malformed = || format!("`{text}` is not `sha256:` and 64 hexadecimal digits");
        let hex = text.strip_prefix("sha256:").ok_or_else(malformed)?;
        if hex.len() != 64 || !hex.is_ascii() {
            return Err(malformed());
        }
        let mut bytes = [0; 32];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * i..2 * i + 2], 16).map_err(|_| malformed())?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

/// The rules, capability by capability. An absent capability allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Capabilities {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub link: Vec<LinkRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub address: Vec<AddressRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub route: Vec<RouteRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub neighbour: Vec<NeighbourRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub firewall: Vec<FirewallRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub firewalld: Vec<FirewalldRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conntrack: Vec<ConntrackRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sysctl: Vec<SysctlRule>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub store: Vec<StoreRule>,
    /// Names of IPAM plugins.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ipam: Vec<String>,
}

impl Capabilities {
    /// Whether the grant has a rule for this capability. `log` needs none.
    pub fn has(&self, capability: Capability) -> bool {
        match capability {
            Capability::Log => true,
            Capability::Link => !LinkRule::of(self).is_empty(),
            Capability::Address => !AddressRule::of(self).is_empty(),
            Capability::Route => !RouteRule::of(self).is_empty(),
            Capability::Neighbour => !NeighbourRule::of(self).is_empty(),
            Capability::Traffic => !TrafficRule::of(self).is_empty(),
            Capability::Firewall => !FirewallRule::of(self).is_empty(),
            Capability::Firewalld => !FirewalldRule::of(self).is_empty(),
            Capability::Conntrack => !ConntrackRule::of(self).is_empty(),
            Capability::Sysctl => !SysctlRule::of(self).is_empty(),
            Capability::Store => !StoreRule::of(self).is_empty(),
            Capability::Ipam => !self.ipam.is_empty(),
            Capability::Rule | Capability::Device | Capability::Packet => false,
        }
    }
}

/// The bounds of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Linear memory and tables of the plugin.
    #[serde(with = "as_text")]
    pub memory: ByteSize,
    /// From the start of the plugin's call to its return; at most `Limits::MOST_TIME`.
    #[serde(with = "as_duration")]
    pub time: Duration,
    /// Calls of host functions.
    pub calls: u64,
    /// What one call may hand to the host: all its strings and lists together.
    #[serde(with = "as_text")]
    pub transfer: ByteSize,
    /// What the plugin may write to the log: messages, fields, standard error.
    #[serde(with = "as_text")]
    pub log: ByteSize,
}

impl Limits {
    /// No grant gives a plugin more time than this.
    pub const MOST_TIME: Duration = Duration::from_secs(60);
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: ByteSize::mib(64),
            time: Self::MOST_TIME,
            calls: 10_000,
            transfer: ByteSize::mib(1),
            log: ByteSize::kib(64),
        }
    }
}

/// Sizes as `64MiB`.
mod as_text {
    use bytesize::ByteSize;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub fn serialize<S: Serializer>(size: &ByteSize, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&size.display().iec())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ByteSize, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|_| D::Error::custom(format!("`{text}` is not a size, such as `64MiB`")))
    }
}

/// Durations as `60s`.
mod as_duration {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    use super::Limits;

    pub fn serialize<S: Serializer>(time: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*time))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        let time = humantime::parse_duration(&text)
            .map_err(|_| D::Error::custom(format!("`{text}` is not a duration, such as `60s`")))?;
        if time.is_zero() || time > Limits::MOST_TIME {
            let most = humantime::format_duration(Limits::MOST_TIME);
            return Err(D::Error::custom(format!(
                "`{text}` is not in 1ms to {most}"
            )));
        }
        Ok(time)
    }
}

impl Document {
    /// Checks what the types do not: `apiVersion` and `kind`.
    pub fn validate(&self) -> Result<(), String> {
        if self.api_version != API_VERSION {
            return Err(format!(
                "apiVersion: `{}` is not `{API_VERSION}`",
                self.api_version
            ));
        }
        if self.kind != KIND {
            return Err(format!("kind: `{}` is not `{KIND}`", self.kind));
        }
        Ok(())
    }

    /// Whether a network may use the plugin under this grant.
    pub fn covers_network(&self, network: &str) -> bool {
        let nobody = Invocation::default();
        self.spec
            .networks
            .iter()
            .any(|p| p.matches(network, &nobody))
    }
}
