//! The policy document of one plugin: `PluginGrant`.

use std::time::Duration;

use bytesize::ByteSize;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use super::Capabilities;
use super::pattern::Pattern;
pub use super::plugin::{Digest, PluginReference};
use super::quantity::{MOST_TIME, Size, Time};
use super::section::{Request, Section};

/// The document's `apiVersion`.
pub const API_VERSION: &str = "weir.dev/v1alpha1";
/// The document's `kind`.
pub const KIND: &str = "PluginGrant";

/// One plugin's grant, as it is on disk. Unknown keys are errors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(title = "PluginGrant"))]
pub struct Document {
    /// `weir.dev/v1alpha1`.
    #[serde(deserialize_with = "api_version")]
    #[cfg_attr(test, schemars(extend("const" = API_VERSION)))]
    pub api_version: String,
    /// `PluginGrant`.
    #[serde(deserialize_with = "kind")]
    #[cfg_attr(test, schemars(extend("const" = KIND)))]
    pub kind: String,
    pub metadata: Metadata,
    pub spec: Spec,
}

fn api_version<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    constant(deserializer, "apiVersion", API_VERSION)
}

fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    constant(deserializer, "kind", KIND)
}

/// Reads the text of a key that must be this, such as `apiVersion`.
pub fn constant<'de, D: Deserializer<'de>>(
    deserializer: D,
    key: &str,
    expected: &str,
) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == expected {
        Ok(text)
    } else {
        Err(D::Error::custom(format!(
            "unknown {key} `{text}`; expected `{expected}`"
        )))
    }
}

/// The document's metadata.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Metadata {
    /// The document's name. An administrator's document replaces the shipped one with the same name.
    pub name: String,
}

/// What is granted, and to whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Spec {
    pub plugin: PluginReference,
    /// The networks that may use the plugin under this grant: names of the node's own, and `namespace/name` of
    /// NetworkAttachmentDefinitions. No wildcard matches a slash: `*` matches all networks of the
    /// node's own, `*/*` for all definitions.
    pub networks: Vec<Pattern>,
    /// What the plugin may do on the node's own networks.
    #[serde(default)]
    pub capabilities: Capabilities,
    /// What the plugin may do for tenants; nothing, when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Tenants>,
    /// The bounds of one invocation.
    #[serde(default)]
    pub limits: Limits,
}

/// What the plugin may do for tenants.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Tenants {
    /// What it may do on networks whose configuration is the text of a NetworkAttachmentDefinition.
    pub capabilities: Capabilities,
    /// What a pod may request of the plugin on the node's own networks, by annotation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pods: Vec<Request>,
}

impl Spec {
    /// Returns the capabilities of a section; none if the document has no such section.
    pub fn section(&self, section: Section) -> Option<&Capabilities> {
        match section {
            Section::Node => Some(&self.capabilities),
            Section::Tenants => self.tenants.as_ref().map(|tenants| &tenants.capabilities),
        }
    }

    /// Returns the sections that the document has, in its order.
    pub fn sections(&self) -> impl Iterator<Item = (Section, &Capabilities)> {
        let sections = Section::ALL.into_iter();
        sections.filter_map(|section| Some((section, self.section(section)?)))
    }
}

/// The bounds of one invocation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Limits {
    /// The plugin's linear memory and tables, and its code if that is large.
    #[serde(with = "Size")]
    pub memory: ByteSize,
    /// The time from the call of the plugin to its return; at most one minute.
    #[serde(with = "Time")]
    pub time: Duration,
    /// Calls of host functions.
    pub calls: u64,
    /// Links, addresses, routes, rules and everything else that the plugin makes or changes, and that weir undoes if it
    /// fails.
    pub changes: u64,
    /// The size of the arguments of one call of a host function: all strings and lists together.
    #[serde(with = "Size")]
    pub transfer: ByteSize,
    /// What the plugin may write to the log: messages, fields, standard error.
    #[serde(with = "Size")]
    pub log: ByteSize,
}

impl Limits {
    /// The most time that a grant can give.
    pub const MOST_TIME: Duration = MOST_TIME;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory: ByteSize::mib(64),
            time: Self::MOST_TIME,
            calls: 10_000,
            changes: 1_000,
            transfer: ByteSize::mib(1),
            log: ByteSize::kib(64),
        }
    }
}

impl Document {
    /// Returns the globs of the networks that may use the plugin under this grant.
    pub fn networks(&self) -> impl Iterator<Item = String> + Clone {
        self.spec.networks.iter().map(ToString::to_string)
    }

    /// Whether a network may use the plugin under this grant.
    pub fn covers_network(&self, network: &str) -> bool {
        self.spec
            .networks
            .iter()
            .any(|p| p.matches_network(network))
    }
}
