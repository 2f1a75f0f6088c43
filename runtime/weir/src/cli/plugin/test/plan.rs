//! The input of a test: the component, its network, and its grant.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value, json};
use weir_cni::{Args, NetworkConfigList, PluginConfig};
use weir_grant::Document;
use weir_grant::document::{API_VERSION, KIND};
use weir_sandbox::{Catalogue, Sandbox, parse_grant};

use super::Arguments;
use crate::cli::component::{inspect, read};
use crate::cli::config::{capability_args, read_network};
use crate::cli::output::show;

/// The grant of a project is beside its test configuration.
const GRANT: &str = "grant.yaml";

/// Read completely before the namespaces are entered.
pub struct Plan {
    /// The component's name as a plugin.
    pub plugin: String,
    file: PathBuf,
    component: Vec<u8>,
    pub list: NetworkConfigList,
    grants: Vec<Grant>,
    pub ifname: String,
    pub args: Args,
    pub capability_args: Map<String, Value>,
}

struct Grant {
    document: Document,
    /// None for the grant of nothing.
    file: Option<PathBuf>,
}

impl Plan {
    /// Errors: a file that cannot be read or is not valid.
    pub fn read(arguments: &Arguments) -> Result<Self> {
        let component = read(&arguments.file)?;
        let list = read_network(&arguments.config)?;
        let plugin = tested(&list).with_context(|| format!("`{}`", arguments.config.display()))?;
        weir_cni::validate_interface_name(&arguments.ifname).map_err(show)?;
        let grants = grants(arguments, &plugin)?;
        Ok(Self {
            plugin,
            file: arguments.file.clone(),
            component,
            list,
            grants,
            ifname: arguments.ifname.clone(),
            args: arguments.args.parse().map_err(show)?,
            capability_args: capability_args(arguments.capability_args.as_deref())?,
        })
    }

    pub fn grant_file(&self) -> Option<&Path> {
        let own = self.grants.iter().find(|grant| grant.is_of(&self.plugin))?;
        own.file.as_deref()
    }

    /// Where the component's grant is, or would be read.
    pub fn place_of_grant(&self, arguments: &Arguments) -> PathBuf {
        let beside = || arguments.config.with_file_name(GRANT);
        self.grant_file().map_or_else(beside, Path::to_owned)
    }

    /// Installs the component and puts the grants in force. Returns its digest.
    pub fn install(&self, sandbox: &Sandbox) -> Result<String> {
        let inspection = inspect(sandbox, &self.file, &self.component)?;
        inspection
            .check()
            .map_err(|e| show(e.with_prefix(format_args!("`{}`", self.file.display()))))?;
        let catalogue = sandbox.catalogue();
        let digest = catalogue.install_compiled(&self.plugin, &inspection.compiled);
        let digest = digest.map_err(show)?;
        let directory = sandbox.paths().grants();
        fs::create_dir_all(&directory)?;
        for grant in &self.grants {
            let mut document = grant.document.clone();
            let plugin = document.spec.plugin.name.clone();
            if grant.is_of(&self.plugin) {
                document.spec.plugin.digest = Some(digest.clone());
            } else {
                // A document replaces the shipped one of its name.
                document.metadata.name.clone_from(&plugin);
            }
            let file = directory.join(format!("{plugin}.yaml"));
            fs::write(file, serde_saphyr::to_string(&document)?)
                .context("put the grant in force")?;
        }
        Ok(digest.to_string())
    }

    /// The network without the component, to find out what the other plugins leave behind; none if the component is its first
    /// plugin.
    pub fn without_plugin(&self) -> Result<Option<NetworkConfigList>> {
        let mut others = self.list.clone();
        let is_other = |plugin: &PluginConfig| plugin.plugin_type() != self.plugin;
        if !others.plugins.first().is_none_or(is_other) {
            return Ok(None);
        }
        others.plugins.retain(is_other);
        for other in &mut others.plugins {
            if other.ipam_type() == Some(&self.plugin) {
                *other = with_addresses(other)?;
            }
        }
        Ok(Some(others))
    }
}

/// A plugin's configuration with a fixed address (RFC 5737) in place of its IPAM plugin.
fn with_addresses(plugin: &PluginConfig) -> Result<PluginConfig> {
    let mut map = plugin.as_map().clone();
    let address = json!({ "address": "192.0.2.2/24", "gateway": "192.0.2.1" });
    let ipam = json!({ "type": "static", "addresses": [address] });
    map.insert("ipam".to_owned(), ipam);
    PluginConfig::from_value(Value::Object(map)).map_err(show)
}

/// The one plugin of the network that is not built in.
fn tested(list: &NetworkConfigList) -> Result<String> {
    let plugins = list.plugins.iter();
    let named = plugins.flat_map(|plugin| [Some(plugin.plugin_type()), plugin.ipam_type()]);
    let own = named.flatten().filter(|name| !Catalogue::is_built_in(name));
    let own: Vec<&str> = own.collect::<BTreeSet<_>>().into_iter().collect();
    match own.as_slice() {
        [name] => Ok((*name).to_owned()),
        [] => bail!(
            "all of its plugins are built into weir: choose another name for the component, and use it as the type of \
             one of the network's plugins"
        ),
        several => bail!(
            "it has several plugins that are not built in: {}; one can be tested at a time",
            several.join(", ")
        ),
    }
}

/// The given grants, or the one beside the configuration, and in any case one for the component.
fn grants(arguments: &Arguments, plugin: &str) -> Result<Vec<Grant>> {
    let mut grants: Vec<Grant> = Vec::new();
    for file in &arguments.grant {
        let new = grant(file, plugin)?;
        if let Some(one) = grants.iter().find(|one| one.is_of(new.plugin())) {
            bail!(
                "`{}` and `{}` are both grants of plugin `{}`: give one of them",
                one.file.as_deref().unwrap_or(file).display(),
                file.display(),
                new.plugin()
            );
        }
        grants.push(new);
    }
    let beside = arguments.config.with_file_name(GRANT);
    if arguments.grant.is_empty() && beside.exists() {
        grants.push(grant(&beside, plugin)?);
    }
    if !grants.iter().any(|grant| grant.is_of(plugin)) {
        grants.push(Grant {
            document: nothing(plugin)?,
            file: None,
        });
    }
    Ok(grants)
}

fn grant(file: &Path, plugin: &str) -> Result<Grant> {
    let shown = file.display();
    let text = String::from_utf8(read(file)?).with_context(|| format!("`{shown}` is not text"))?;
    let document = parse_grant(file, &text).map_err(show)?.document;
    let named = &document.spec.plugin.name;
    if named != plugin && !Catalogue::is_built_in(named) {
        bail!("`{shown}` is a grant of plugin `{named}`, and the network's plugin is `{plugin}`");
    }
    Ok(Grant {
        document,
        file: Some(file.to_owned()),
    })
}

impl Grant {
    fn plugin(&self) -> &str {
        &self.document.spec.plugin.name
    }

    fn is_of(&self, plugin: &str) -> bool {
        self.plugin() == plugin
    }
}

fn nothing(plugin: &str) -> Result<Document> {
    Ok(serde_json::from_value(json!({
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": { "name": plugin },
        "spec": { "plugin": { "name": plugin }, "networks": ["*"] },
    }))?)
}
