//! The input of a test: the component, its network, its grants and its options.

use std::collections::BTreeSet;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use weir_cni::{AddResult, Args, IpConfig, NetworkConfigList, PluginConfig, Version, to_json};
use weir_sandbox::{Catalogue, Inspection, Provenance, Sandbox};

use super::Arguments;
use super::grants::Grants;
use super::settings::Settings;
use crate::cli::component::{inspect_cached, read};
use crate::cli::config::read_network;
use crate::cli::output::show;

/// The interface's name in the container, if none is given.
const IFNAME: &str = "eth0";

/// Read completely before the namespaces are entered.
pub struct Plan {
    /// The component's name as a plugin.
    pub plugin: String,
    file: PathBuf,
    component: Vec<u8>,
    pub list: NetworkConfigList,
    pub grants: Grants,
    pub ifname: String,
    pub args: Args,
    pub settings: Settings,
}

impl Plan {
    /// Errors: a file that cannot be read or is not valid.
    pub fn read(arguments: &Arguments) -> Result<Self> {
        let component = read(&arguments.file)?;
        let list = read_network(&arguments.config)?;
        let plugin = tested(&list).with_context(|| format!("`{}`", arguments.config.display()))?;
        let settings = Settings::of(arguments)?;
        let ifname = settings.ifname.clone();
        let ifname = ifname.unwrap_or_else(|| IFNAME.to_owned());
        weir_cni::validate_interface_name(&ifname).map_err(show)?;
        Ok(Self {
            grants: Grants::read(arguments, &settings, &plugin)?,
            args: settings.args.parse().map_err(show)?,
            plugin,
            file: arguments.file.clone(),
            component,
            list,
            ifname,
            settings,
        })
    }

    /// All that the test was given besides the component and its grant.
    pub fn words(&self) -> String {
        let Settings {
            args,
            capability_args,
            ..
        } = &self.settings;
        let capability_args = Value::Object(capability_args.clone());
        format!("{} {args} {capability_args}", self.list.to_value())
    }

    /// Inspects the component. Errors: it cannot be a plugin.
    pub fn inspect(&self, sandbox: &Sandbox) -> Result<Inspection> {
        let inspection = inspect_cached(sandbox, &self.file, &self.component)?;
        inspection
            .check()
            .map_err(|e| show(e.with_prefix(format_args!("`{}`", self.file.display()))))?;
        Ok(inspection)
    }

    /// Installs the component on a node and puts the grants in force there.
    pub fn install(&self, sandbox: &Sandbox, component: &Inspection) -> Result<()> {
        let catalogue = sandbox.catalogue();
        let digest = catalogue.install_compiled(
            &self.plugin,
            &component.compiled,
            &Provenance::default(),
            true,
        );
        let digest = digest.map_err(show)?;
        self.grants.put_in_force(sandbox, &self.list, &digest)
    }

    /// The network without the component; none if the component is its first plugin. Where it was the IPAM plugin, the network
    /// has the addresses and routes that it gave.
    pub fn without_plugin(&self, result: Option<&AddResult>) -> Result<Option<NetworkConfigList>> {
        let mut others = self.list.clone();
        let is_other = |plugin: &PluginConfig| plugin.plugin_type() != self.plugin;
        if !others.plugins.first().is_none_or(is_other) {
            return Ok(None);
        }
        others.plugins.retain(is_other);
        for other in &mut others.plugins {
            if other.ipam_type() == Some(&self.plugin) {
                *other = with_addresses(other, result)?;
            }
        }
        Ok(Some(others))
    }
}

/// A plugin's configuration with the addresses and routes of a result in place of its IPAM plugin; without a result, with an
/// address of RFC 5737.
fn with_addresses(plugin: &PluginConfig, result: Option<&AddResult>) -> Result<PluginConfig> {
    let ipam = match result {
        Some(result) => static_ipam(result)?,
        None => {
            let address = json!({ "address": "192.0.2.2/24", "gateway": "192.0.2.1" });
            json!({ "type": "static", "addresses": [address] })
        }
    };
    let mut map = plugin.as_map().clone();
    map.insert("ipam".to_owned(), ipam);
    PluginConfig::from_value(Value::Object(map)).map_err(show)
}

fn static_ipam(result: &AddResult) -> Result<Value> {
    let address = |ip: &IpConfig| match ip.gateway {
        Some(gateway) => json!({ "address": ip.address, "gateway": gateway }),
        None => json!({ "address": ip.address }),
    };
    let addresses: Vec<Value> = result.ips.iter().map(address).collect();
    let mut ipam = json!({ "type": "static", "addresses": addresses });
    let result = to_json(result, Version::LATEST).map_err(show)?;
    if let Some(routes) = result.get("routes") {
        ipam["routes"] = routes.clone();
    }
    Ok(ipam)
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
