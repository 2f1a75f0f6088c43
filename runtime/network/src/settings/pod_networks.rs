//! `podNetworks`: named networks for callers outside of Kubernetes, each with its plugin's configuration.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use weir_cni::{NetworkConfigList, Version};

use super::interface::Template;

/// A plugin that configures the interface which is there.
const LOOPBACK: &str = "loopback";

/// A named network.
#[derive(Clone, Debug, PartialEq)]
pub struct PodNetwork {
    /// `default`: it is attached where no network is named.
    pub is_default: bool,
    pub interface: Interface,
    /// The plugin's configuration, or several plugins', with the network's name.
    pub list: NetworkConfigList,
}

/// Which interface of the container the network is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Interface {
    /// `lo`, which each container has.
    Loopback,
    /// One that is made, of such a name.
    New(Template),
}

/// Reads the list. Errors: what is wrong with one of the networks, and names that are there twice.
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
    /// What is not weir's own is the plugin's.
    fn of(mut entry: Map<String, Value>) -> Result<Self, String> {
        if entry.contains_key("aci") {
            return Err(
                "`aci`: this weir fetches no plugins; install a component with `weir plugin add FILE`, \
                 and name it in `type`"
                    .to_owned(),
            );
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

    /// The network's name.
    pub fn name(&self) -> &str {
        &self.list.name
    }
}

/// Of the newest version, where it does not say.
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
            "network `{}`: `containerInterface`: `{LOOPBACK}` has no interface but `lo`, and `{template}` was \
             asked for; leave it out",
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
