//! `podNetworks`: named networks for callers outside Kubernetes.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use weir_cni::{NetworkConfigList, Version, is_plugin_uri};

use super::interface::Template;

/// The plugin that configures the interface `lo`.
const LOOPBACK: &str = "loopback";

#[derive(Clone, Debug, PartialEq)]
pub struct PodNetwork {
    /// `default`: it is attached if no network is named.
    pub is_default: bool,
    pub interface: Interface,
    /// The plugins, with the network's name.
    pub list: NetworkConfigList,
}

/// The interface of the network in the container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// `lo`, which every container has.
    Loopback,
    /// A new one.
    New(Template),
}

/// Reads the list. Errors: a mistake in a network; two networks of one name.
pub(super) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<PodNetwork>, D::Error> {
    let networks: Vec<PodNetwork> = Vec::deserialize(deserializer)?;
    for (at, network) in networks.iter().enumerate() {
        let name = &network.list.name;
        if networks[..at].iter().any(|other| other.list.name == *name) {
            return Err(D::Error::custom(format!(
                "two networks are called `{name}`; expected each name once"
            )));
        }
    }
    Ok(networks)
}

impl<'de> Deserialize<'de> for PodNetwork {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::of(Map::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl PodNetwork {
    /// Keys that are not weir's own are the plugin's.
    fn of(mut entry: Map<String, Value>) -> Result<Self, String> {
        if let Some(aci) = entry.remove("aci") {
            put_type(&mut entry, aci)?;
        }
        let is_default = match entry.remove("default") {
            None => false,
            Some(Value::Bool(is_default)) => is_default,
            Some(other) => return Err(format!("`default`: found {other}; expected true or false")),
        };
        let template = match entry.remove("containerInterface") {
            None => None,
            Some(Value::String(text)) => {
                let template = Template::parse(&text);
                Some(template.map_err(|why| format!("`containerInterface`: {why}"))?)
            }
            Some(other) => {
                return Err(format!(
                    "`containerInterface`: found {other}; expected text"
                ));
            }
        };
        let list = list(entry)?;
        Ok(Self {
            is_default,
            interface: interface(template, &list)?,
            list,
        })
    }

    pub fn name(&self) -> &str {
        &self.list.name
    }
}

/// Puts Kurma's `aci`, the URI of the plugin, where CNI has its name.
fn put_type(entry: &mut Map<String, Value>, aci: Value) -> Result<(), String> {
    let is_uri = aci.as_str().is_some_and(is_plugin_uri);
    if !is_uri {
        return Err(format!(
            "`aci`: found {aci}; expected a URI, such as `https://example.com/labels.wasm`"
        ));
    }
    if ["type", "plugins"]
        .iter()
        .any(|key| entry.contains_key(*key))
    {
        return Err(
            "`aci` and `type` both name the plugin; expected one of them, and neither beside `plugins`"
                .to_owned(),
        );
    }
    entry.insert("type".to_owned(), aci);
    Ok(())
}

/// The list; of the newest version if it does not say which.
fn list(mut entry: Map<String, Value>) -> Result<NetworkConfigList, String> {
    let keys = ["cniVersion", "cniVersions"];
    if !keys.iter().any(|key| entry.contains_key(*key)) {
        entry.insert("cniVersion".to_owned(), Version::LATEST.as_str().into());
    }
    let name = entry.get("name").cloned();
    let failed = |what: String| match &name {
        Some(Value::String(name)) => format!("network `{}`: {what}", name.escape_debug()),
        _ => what,
    };
    match NetworkConfigList::from_value(Value::Object(entry)) {
        Ok(list) if list.plugins.is_empty() => Err(failed(
            "the plugin is missing; expected `type` and its configuration, or `plugins`".to_owned(),
        )),
        list => list.map_err(|error| failed(error.msg)),
    }
}

fn interface(template: Option<Template>, list: &NetworkConfigList) -> Result<Interface, String> {
    let first = list.plugins.first().map(|plugin| plugin.plugin_type());
    match (template, first) {
        (None, Some(LOOPBACK)) => Ok(Interface::Loopback),
        (Some(template), Some(LOOPBACK)) if template.to_string() == "lo" => Ok(Interface::Loopback),
        (Some(template), Some(LOOPBACK)) => Err(format!(
            "network `{}`: `containerInterface`: `{LOOPBACK}` has only the interface `lo`, and `{template}` was requested; leave the key out",
            list.name
        )),
        (Some(template), _) => Ok(Interface::New(template)),
        (None, _) => Err(format!(
            "network `{}`: `containerInterface` is missing; expected the interface's name in the container, \
             such as `eth{{n}}`",
            list.name
        )),
    }
}
