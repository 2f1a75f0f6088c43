//! Network configurations, plugin configurations (CNI section 1) and the execution configurations
//! derived from them (CNI section 3).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::attachment::Attachment;
use crate::convert::{from_json_assuming, to_json};
use crate::error::{Code, Error};
use crate::invocation::Command;
use crate::json::{self, Node};
use crate::names::{is_plugin_uri, validate_network_name, validate_plugin_type};
use crate::result::{AddResult, Dns};
use crate::version::Version;

const PLUGIN: &str = "plugin configuration";
const NETWORK: &str = "network configuration";

/// The valid attachments of a `GC`, and the other name that the first text of 1.1.0 had for the
/// same key. libcni writes both, so that plugins written to either find theirs.
const VALID_ATTACHMENTS: [&str; 2] = ["cni.dev/valid-attachments", "cni.dev/attachments"];

/// One plugin's configuration: an entry of a network configuration's `plugins`, or the execution
/// configuration that a plugin reads from standard input.
///
/// A typed view of the specification's keys over the whole JSON object; all other keys are kept.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    map: Arc<Map<String, Value>>,
    plugin_type: String,
    name: Option<String>,
    cni_version: Option<String>,
    capabilities: BTreeMap<String, bool>,
    ipam_type: Option<String>,
    valid_attachments: Option<Vec<Attachment>>,
}

impl PluginConfig {
    /// Parses JSON text, for example a plugin's standard input.
    ///
    /// # Errors
    ///
    /// Code 6 if the text is not JSON, code 7 if it is not a plugin configuration: the message
    /// names the key.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::from_value(json::parse(PLUGIN, text)?)
    }

    /// The configuration in a JSON value.
    ///
    /// # Errors
    ///
    /// Code 7 if it is not an object, `type` is missing or neither a file name nor a URI, or a key of
    /// the specification has a value of the wrong type.
    pub fn from_value(value: Value) -> Result<Self, Error> {
        let mut config = Self::read_keys(&Node::root(PLUGIN, Code::INVALID_CONFIG, &value))?;
        if let Value::Object(map) = value {
            config.map = Arc::new(map);
        }
        Ok(config)
    }

    fn read(node: &Node<'_>) -> Result<Self, Error> {
        Ok(PluginConfig {
            map: Arc::new(node.object()?.clone()),
            ..Self::read_keys(node)?
        })
    }

    /// Reads the keys of the specification, and leaves the map empty.
    fn read_keys(node: &Node<'_>) -> Result<Self, Error> {
        node.object()?;
        for key in ["runtimeConfig", "args", "prevResult"] {
            if let Some(object) = node.key(key)? {
                object.object()?;
            }
        }
        if let Some(dns) = node.key("dns")? {
            Dns::read(&dns)?;
        }
        Ok(PluginConfig {
            map: Arc::default(),
            plugin_type: read_type(node)?,
            name: node.text("name")?,
            cni_version: node.text("cniVersion")?,
            capabilities: read_capabilities(node)?,
            ipam_type: match node.key("ipam")? {
                Some(ipam) => ipam.text("type")?,
                None => None,
            },
            valid_attachments: read_valid_attachments(node)?,
        })
    }

    /// `type`: the plugin's name. Some runtimes take a URI in its place (see [`is_plugin_uri`]).
    pub fn plugin_type(&self) -> &str {
        &self.plugin_type
    }

    /// `name`: the network's name as it stands, if there is one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// `name`, which an execution configuration must have. An error of code 7 if it is missing or
    /// invalid.
    pub fn network_name(&self) -> Result<&str, Error> {
        let missing = || Error::invalid_config(format!("{PLUGIN}: key `name` is missing"));
        let name = self.name().ok_or_else(missing)?;
        validate_network_name(name)?;
        Ok(name)
    }

    /// `cniVersion` as it stands, if there is one: for the JSON of an error.
    pub fn cni_version(&self) -> Option<&str> {
        self.cni_version.as_deref()
    }

    /// `cniVersion`, 0.1.0 if there is none. An error of code 1 if it is unknown.
    pub fn version(&self) -> Result<Version, Error> {
        Version::from_document(self.cni_version())
    }

    /// Whether `capabilities` has `name` with the value true.
    pub fn has_capability(&self, name: &str) -> bool {
        self.capabilities.get(name) == Some(&true)
    }

    /// The names of all `capabilities` with the value true, sorted.
    pub fn capabilities(&self) -> impl Iterator<Item = &str> {
        let enabled = self.capabilities.iter().filter(|(_, enabled)| **enabled);
        enabled.map(|(name, _)| name.as_str())
    }

    /// `ipam.type`: the name of the IPAM plugin.
    pub fn ipam_type(&self) -> Option<&str> {
        self.ipam_type.as_deref()
    }

    /// `runtimeConfig`: the capability arguments that the runtime gave.
    pub fn runtime_config(&self) -> Option<&Map<String, Value>> {
        self.map.get("runtimeConfig").and_then(Value::as_object)
    }

    /// `prevResult`, of its own version or else of the configuration's.
    ///
    /// Read only on demand, because a `DEL` may ignore an invalid one.
    ///
    /// # Errors
    ///
    /// Code 1 for an unknown version, code 6 if it is not a result.
    pub fn prev_result(&self) -> Result<Option<AddResult>, Error> {
        match self.map.get("prevResult").filter(|value| !value.is_null()) {
            Some(value) => from_json_assuming(value, self.version()?)
                .map(Some)
                .map_err(|error| error.with_prefix("prevResult")),
            None => Ok(None),
        }
    }

    /// `cni.dev/valid-attachments` of a `GC`; `None` if there is no such key.
    pub fn valid_attachments(&self) -> Option<&[Attachment]> {
        self.valid_attachments.as_deref()
    }

    /// The value of any key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.map.get(key)
    }

    /// All keys, those unknown to the specification included.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.map
    }

    /// All keys, shared with this configuration.
    pub fn to_shared_map(&self) -> Arc<Map<String, Value>> {
        Arc::clone(&self.map)
    }

    /// The whole configuration as JSON.
    pub fn into_value(self) -> Value {
        Value::Object(Arc::unwrap_or_clone(self.map))
    }
}

impl Serialize for PluginConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.as_map().serialize(serializer)
    }
}

/// What an execution configuration is for; each command with what the runtime inserts for it.
#[derive(Clone, Copy, Debug)]
pub enum Execution<'a> {
    /// `ADD`, with the result of the plugin before this one in the list.
    Add {
        /// None for the first plugin.
        prev_result: Option<&'a AddResult>,
    },
    /// `CHECK`, with the final result of `ADD`.
    Check {
        /// The final result.
        prev_result: &'a AddResult,
    },
    /// `DEL`, with the final result of `ADD`.
    Del {
        /// None if it is not known; left out before 0.4.0.
        prev_result: Option<&'a AddResult>,
    },
    /// `STATUS`.
    Status,
    /// `GC`, with the attachments that are still valid.
    Gc {
        /// All valid attachments of the network.
        valid_attachments: &'a [Attachment],
    },
}

impl<'a> Execution<'a> {
    /// The command.
    pub fn command(&self) -> Command {
        match self {
            Execution::Add { .. } => Command::Add,
            Execution::Check { .. } => Command::Check,
            Execution::Del { .. } => Command::Del,
            Execution::Status => Command::Status,
            Execution::Gc { .. } => Command::Gc,
        }
    }

    fn prev_result(&self, version: Version) -> Option<&'a AddResult> {
        match self {
            Execution::Add { prev_result } => *prev_result,
            Execution::Check { prev_result } => Some(prev_result),
            Execution::Del { prev_result } => prev_result.filter(|_| version >= Version::V0_4_0),
            Execution::Status | Execution::Gc { .. } => None,
        }
    }
}

/// A network configuration: a list of plugins to execute in order (CNI section 1).
#[derive(Clone, Debug, PartialEq)]
pub struct NetworkConfigList {
    /// `name`: the network's name, valid.
    pub name: String,
    /// The version to speak: the newest known one of `cniVersion` and `cniVersions`.
    pub cni_version: Version,
    /// `disableCheck`: `CHECK` must not be called.
    pub disable_check: bool,
    /// `disableGC`: `GC` must not be called.
    pub disable_gc: bool,
    /// `loadOnlyInlinedPlugins`: plugins must not be loaded from elsewhere.
    pub load_only_inlined_plugins: bool,
    /// `plugins`, in order. Empty if the key is absent and the plugins are to be loaded from files
    /// beside the list, in a directory that has the network's name.
    pub plugins: Vec<PluginConfig>,
    map: Map<String, Value>,
}

impl NetworkConfigList {
    /// Parses JSON text: a list (`.conflist`), or one plugin's configuration (`.conf`), which is
    /// converted to a list of one. A document without `plugins` and with `type` is the latter.
    ///
    /// # Errors
    ///
    /// Code 6 if the text is not JSON, code 7 if it is not a network configuration, code 1 if no
    /// version is known.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::from_value(json::parse(NETWORK, text)?)
    }

    /// As [`NetworkConfigList::parse`], of JSON that is parsed already.
    ///
    /// # Errors
    ///
    /// As [`NetworkConfigList::parse`].
    pub fn from_value(value: Value) -> Result<Self, Error> {
        let root = Node::root(NETWORK, Code::INVALID_CONFIG, &value);
        if root.key("plugins")?.is_none() && root.key("type")?.is_some() {
            return Self::from_plugin(PluginConfig::from_value(value)?);
        }
        Self::read(&root)
    }

    /// The list of one plugin, with the plugin's own `name` and `cniVersion`.
    ///
    /// # Errors
    ///
    /// Code 7 if the name is missing or invalid, code 1 if the version is unknown.
    pub fn from_plugin(plugin: PluginConfig) -> Result<Self, Error> {
        let mut list = json!({ "name": plugin.network_name()?, "plugins": [plugin] });
        if let Some(version) = plugin.cni_version() {
            list["cniVersion"] = version.into();
        }
        Self::read(&Node::root(NETWORK, Code::INVALID_CONFIG, &list))
    }

    fn read(root: &Node<'_>) -> Result<Self, Error> {
        let name = root.text("name")?.ok_or_else(|| root.missing("name"))?;
        validate_network_name(&name).map_err(|error| error.with_prefix(NETWORK))?;
        let list = NetworkConfigList {
            name,
            cni_version: select_version(root)?,
            disable_check: read_flag(root, "disableCheck")?,
            disable_gc: read_flag(root, "disableGC")?,
            load_only_inlined_plugins: read_flag(root, "loadOnlyInlinedPlugins")?,
            plugins: read_plugins(root)?,
            map: root.object()?.clone(),
        };
        if list.plugins.is_empty() && list.load_only_inlined_plugins {
            let msg = "loadOnlyInlinedPlugins is true, but key `plugins` is missing";
            return Err(root.error(msg));
        }
        Ok(list)
    }

    /// All keys of the document, those unknown to the specification included.
    pub fn as_map(&self) -> &Map<String, Value> {
        &self.map
    }

    /// The document, with the plugins that were loaded from beside it, if any.
    pub fn to_value(&self) -> Value {
        let mut map = self.map.clone();
        map.insert("plugins".into(), json!(self.plugins));
        Value::Object(map)
    }

    /// The same network with other plugins, for example with arguments of an attachment in each.
    #[must_use]
    pub fn with_plugins(&self, plugins: Vec<PluginConfig>) -> Self {
        let mut list = self.clone();
        list.map.insert("plugins".to_owned(), json!(plugins));
        list.plugins = plugins;
        list
    }

    /// The same network with its first `count` plugins alone: those that an `ADD` came to before it failed.
    #[must_use]
    pub fn first_plugins(&self, count: usize) -> Self {
        self.with_plugins(self.plugins.iter().take(count).cloned().collect())
    }

    /// Derives what `plugin` of this list reads from standard input (CNI section 3, "Deriving
    /// execution configuration from plugin configuration").
    ///
    /// `capability_args` are the runtime's capability arguments by name; those that the plugin's `capabilities`
    /// request become its `runtimeConfig` on `ADD`, `CHECK` and `DEL`. A
    /// `prevResult` that is in the plugin's own configuration is removed: only the runtime
    /// knows previous results.
    ///
    /// # Errors
    ///
    /// Code 1 if the command does not exist in the list's version, code 999 if the previous result
    /// cannot be expressed in that version.
    pub fn execution_config(
        &self,
        plugin: &PluginConfig,
        capability_args: &Map<String, Value>,
        execution: Execution<'_>,
    ) -> Result<PluginConfig, Error> {
        let command = execution.command();
        command.check_version(self.cni_version)?;
        let mut map = plugin.as_map().clone();
        map.insert("name".into(), self.name.clone().into());
        map.insert("cniVersion".into(), self.cni_version.as_str().into());
        map.remove("capabilities");
        map.remove("prevResult");
        if let Some(result) = execution.prev_result(self.cni_version) {
            map.insert("prevResult".into(), to_json(result, self.cni_version)?);
        }
        let runtime_config = select_capability_args(plugin, capability_args);
        if command.is_about_attachment() && !runtime_config.is_empty() {
            map.insert("runtimeConfig".into(), runtime_config.into());
        }
        if let Execution::Gc { valid_attachments } = execution {
            for key in VALID_ATTACHMENTS {
                map.insert(key.into(), json!(valid_attachments));
            }
        }
        PluginConfig::from_value(Value::Object(map))
    }
}

/// The capability arguments that the plugin's `capabilities` request.
fn select_capability_args(
    plugin: &PluginConfig,
    capability_args: &Map<String, Value>,
) -> Map<String, Value> {
    let wanted = plugin.capabilities();
    let given = wanted.filter_map(|name| {
        let argument = capability_args.get(name)?;
        Some((name.to_string(), argument.clone()))
    });
    given.collect()
}

/// The newest version of `cniVersion` and `cniVersions` that this crate knows.
fn select_version(root: &Node<'_>) -> Result<Version, Error> {
    let cni_version = root.text("cniVersion")?;
    let Some(list) = root.key("cniVersions")? else {
        return Version::from_document(cni_version.as_deref());
    };
    let mut offered: Vec<String> = Vec::new();
    for item in list.items()? {
        if !is_version_number(item.string()?) {
            return Err(item.not("a version such as `1.0.0`"));
        }
        offered.push(item.string()?.to_string());
    }
    offered.extend(cni_version);
    if offered.is_empty() {
        return Ok(Version::default());
    }
    let known = offered.iter().filter_map(|version| version.parse().ok());
    known.max().ok_or_else(|| {
        let offered = offered.join("`, `");
        Error::incompatible_version(offered, Version::ALL)
    })
}

/// Whether `text` is three numbers with dots between, perhaps with a pre-release after them.
fn is_version_number(text: &str) -> bool {
    let release = text.split(['-', '+']).next().unwrap_or_default();
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    release.split('.').count() == 3 && release.split('.').all(is_number)
}

/// A flag as libcni reads it: a boolean, or the text "true" or "false" in any case.
fn read_flag(root: &Node<'_>, key: &str) -> Result<bool, Error> {
    let Some(node) = root.key(key)? else {
        return Ok(false);
    };
    match node.value() {
        Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(true),
        Value::String(text) if text.eq_ignore_ascii_case("false") => Ok(false),
        _ => node.bool(),
    }
}

fn read_plugins(root: &Node<'_>) -> Result<Vec<PluginConfig>, Error> {
    let Some(plugins) = root.key("plugins")? else {
        return Ok(Vec::new());
    };
    let items = plugins.items()?;
    if items.is_empty() {
        return Err(plugins.error("is empty, expected at least one plugin"));
    }
    items.iter().map(PluginConfig::read).collect()
}

fn read_type(node: &Node<'_>) -> Result<String, Error> {
    let Some(plugin_type) = node.key("type")? else {
        return Err(node.missing("type"));
    };
    let name = plugin_type.string()?;
    if is_plugin_uri(name) {
        return Ok(name.to_string());
    }
    validate_plugin_type(name).map_err(|error| plugin_type.error(error.msg))?;
    Ok(name.to_string())
}

fn read_capabilities(node: &Node<'_>) -> Result<BTreeMap<String, bool>, Error> {
    let Some(capabilities) = node.key("capabilities")? else {
        return Ok(BTreeMap::new());
    };
    let mut read = BTreeMap::new();
    for (name, enabled) in capabilities.members()? {
        read.insert(name.to_string(), enabled.bool()?);
    }
    Ok(read)
}

fn read_valid_attachments(node: &Node<'_>) -> Result<Option<Vec<Attachment>>, Error> {
    for key in VALID_ATTACHMENTS {
        if let Some(list) = node.key(key)? {
            let attachments = list.items()?;
            let attachments = attachments.iter().map(Attachment::read);
            return attachments.collect::<Result<_, _>>().map(Some);
        }
    }
    Ok(None)
}
