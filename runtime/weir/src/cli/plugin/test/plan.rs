//! What is to be tested: the component, the network that it is a part of, and its grant.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use serde_json::{Map, Value, json};
use weir_cni::{Args, NetworkConfigList, PluginConfig};
use weir_grant::Document;
use weir_grant::document::{API_VERSION, KIND};
use weir_sandbox::{Catalogue, Sandbox, parse_grant};

use super::Arguments;
use crate::cli::component::{inspect, read};
use crate::cli::config::{capability_args, read_network};
use crate::cli::output::show;

/// The grant of a project stands beside its test configuration.
const GRANT: &str = "grant.yaml";

/// Read whole, before the namespaces are entered.
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

/// A document to put in force.
struct Grant {
    document: Document,
    /// None for the one that grants nothing.
    file: Option<PathBuf>,
}

impl Plan {
    /// Errors: a file that cannot be read or is not what it should be, told by its name.
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

    /// The file of the component's grant.
    pub fn grant_file(&self) -> Option<&Path> {
        let own = self.grants.iter().find(|grant| grant.is_of(&self.plugin))?;
        own.file.as_deref()
    }

    /// Installs the component and puts the grants in force, its own for its digest. Returns that.
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

    /// The same network without the component, to tell what the others leave behind; none where they
    /// do not work without it.
    pub fn without_plugin(&self) -> Result<Option<NetworkConfigList>> {
        let mut others = self.list.clone();
        if others
            .plugins
            .first()
            .is_some_and(|first| first.plugin_type() == self.plugin)
        {
            return Ok(None);
        }
        others
            .plugins
            .retain(|other| other.plugin_type() != self.plugin);
        for other in &mut others.plugins {
            if other.ipam_type() == Some(&self.plugin) {
                *other = with_addresses(other)?;
            }
        }
        Ok(Some(others))
    }
}

/// A plugin's configuration with an address of its own (RFC 5737) in place of its IPAM plugin.
fn with_addresses(plugin: &PluginConfig) -> Result<PluginConfig> {
    let mut map = plugin.as_map().clone();
    let address = json!({ "address": "192.0.2.2/24", "gateway": "192.0.2.1" });
    map.insert(
        "ipam".to_owned(),
        json!({ "type": "static", "addresses": [address] }),
    );
    PluginConfig::from_value(Value::Object(map)).map_err(show)
}

/// The one plugin of the network that is not built in.
fn tested(list: &NetworkConfigList) -> Result<String> {
    let named = list
        .plugins
        .iter()
        .flat_map(|plugin| [Some(plugin.plugin_type()), plugin.ipam_type()])
        .flatten();
    let mut own: Vec<&str> = named.filter(|name| !Catalogue::is_built_in(name)).collect();
    own.sort_unstable();
    own.dedup();
    match own.as_slice() {
        [name] => Ok((*name).to_owned()),
        [] => Err(anyhow!(
            "all of its plugins are built into weir: give the component a name of its own, and the \
             network a plugin of that type"
        )),
        several => Err(anyhow!(
            "it has several plugins that are not built in: {}; one can be tested at a time",
            several.join(", ")
        )),
    }
}

/// Those that were given, or the one beside the configuration; and the component's own in any case.
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
