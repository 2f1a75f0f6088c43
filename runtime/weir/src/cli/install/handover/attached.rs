//! The attachments that remain: libcni's cache has the configuration, the arguments and the result of each.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Context, Result, bail};
use weir_cni::owner::mark_of_attachment;
use weir_cni::{
    AddResult, Command, Error, Execution, NetworkConfigList, PluginConfig, validate_container_id,
    validate_interface_name,
};
use weir_files::Paths;
use weir_grant::Namespace::Container;
use weir_grant::firewall::RemoveReference;
use weir_grant::link::LinkReference;
use weir_kernel::Namespaces;
use weir_kernel::without_permit::{find_link, marked_links};
use weir_network::{Attachment, Cache, Cached, NativeCall, is_of_node};

use crate::cli::output::show;

/// The cache, by the marks that weir's plugins put on what they make for an attachment.
///
/// A mark has the name by which grants know the network, which is a definition's `namespace/name` for a tenant's. No
/// network in the cache has such a name, whatever the tenant calls it: all networks found here are the node's own.
pub struct Known {
    cached: BTreeMap<String, Cached>,
    unused: Vec<Error>,
}

impl Known {
    pub fn load(paths: &Paths) -> Result<Self> {
        let (cached, unused) = Cache::new(paths).all().map_err(show)?;
        let mark = |c: &Cached| mark_of_attachment(&c.network_name, &c.container_id, &c.if_name);
        Ok(Self {
            cached: cached.into_iter().map(|c| (mark(&c), c)).collect(),
            unused,
        })
    }

    pub fn count(&self) -> usize {
        self.cached.len()
    }

    /// Returns the addresses of all attachments but one.
    pub fn addresses_of_others(&self, mark: &str) -> Vec<IpAddr> {
        let others = self.cached.iter().filter(|(other, _)| *other != mark);
        let results = others.filter_map(|(_, cached)| {
            let list = NetworkConfigList::parse(&cached.config().ok()?).ok()?;
            cached.result_of(&list)
        });
        results
            .flat_map(|result| result.ips)
            .map(|ip| ip.address.addr())
            .collect()
    }

    pub fn has(&self, mark: &str) -> bool {
        self.cached.contains_key(mark)
    }

    /// Returns the attachment of a mark; none if its container is gone. If the mark `is_linked`, a container has a link with
    /// it on the host. Errors: why it cannot be handed over.
    pub fn attached(
        &self,
        mark: &str,
        is_linked: bool,
        namespaces: &mut Namespaces,
        paths: &Paths,
    ) -> Result<Option<Attached>> {
        if let Some(cached) = self.cached.get(mark) {
            let attached = Attached::of(mark, cached)?;
            let is_alive = attached.is_alive(namespaces)?;
            return is_alive.then(|| attached.of_node(paths)).transpose();
        }
        // It was deleted by the returning plugins, which know nothing of weir's tables.
        if is_linked && !has_link(namespaces, mark)? {
            return Ok(None);
        }
        let why: Vec<String> = self.unused.iter().map(ToString::to_string).collect();
        if why.is_empty() {
            bail!(
                "libcni's cache `{}` has no entry for it: it is on a definition's network, was attached by a program \
                 that keeps no cache there, or its ADD has not ended",
                paths.results().display()
            );
        }
        bail!(
            "libcni's cache has no trusted entry for it: {}",
            why.join("; ")
        )
    }
}

/// Whether a link on the host has a mark.
pub fn has_link(namespaces: &mut Namespaces, mark: &str) -> Result<bool> {
    Ok(!marked_links(namespaces.host(), |alias| alias == mark)?.is_empty())
}

/// An attachment of the node's own networks.
#[derive(Clone)]
pub struct Attached {
    pub mark: String,
    pub attachment: Attachment,
    pub list: NetworkConfigList,
    pub result: AddResult,
    cached: Cached,
}

impl Attached {
    fn of(mark: &str, cached: &Cached) -> Result<Self> {
        validate_container_id(&cached.container_id).map_err(show)?;
        validate_interface_name(&cached.if_name).map_err(show)?;
        let list = cached
            .config()
            .and_then(|text| NetworkConfigList::parse(&text))
            .map_err(show)?;
        if list.name != cached.network_name {
            bail!("its cached configuration is of the network `{}`", list.name);
        }
        let result = cached.result_of(&list);
        Ok(Self {
            mark: mark.to_owned(),
            attachment: cached.attachment().map_err(show)?,
            result: result.context("its cached result cannot be used")?,
            list,
            cached: cached.clone(),
        })
    }

    /// Whether the container exists. Errors: its namespace is not visible from here, and may still exist.
    fn is_alive(&self, namespaces: &mut Namespaces) -> Result<bool> {
        if self.attachment.namespace().is_some() {
            return Ok(true);
        }
        if self.cached.netns.is_empty() {
            bail!("libcni's cache does not have its network namespace");
        }
        let marked = marked_links(namespaces.host(), |alias| alias == self.mark)?;
        match marked.first() {
            None => Ok(false),
            Some(link) => bail!(
                "its network namespace `{}` is not visible from here, but its link `{}` is on the host: run \
                 `weir uninstall` where the container runtime runs",
                self.cached.netns,
                link.name
            ),
        }
    }

    /// The returning plugins are not limited by grants, and must not run with a tenant's configuration.
    fn of_node(self, paths: &Paths) -> Result<Self> {
        for plugin in &self.list.plugins {
            if !is_of_node(paths, &self.config(plugin)?) {
                bail!(
                    "its configuration is in no file that root wrote, and another delegating plugin is on the node: it may \
                     be a tenant's"
                );
            }
        }
        Ok(self)
    }

    /// Whether its cache entry, its namespace and its interface still exist. A DEL that is under way removes the interface
    /// first, and the runtime removes the cache entry at its end.
    pub fn still_exists(&self, paths: &Paths) -> bool {
        let cached = Cache::new(paths).get(&self.list.name, &self.attachment);
        let is_cached = !matches!(cached, Ok(None));
        let attachment = self.cached.attachment();
        is_cached && attachment.is_ok_and(|attachment| has_interface(&attachment))
    }

    /// Returns the configurations of the list's plugins of a type.
    pub fn configs(&self, plugin: &str) -> Result<Vec<PluginConfig>> {
        let all = self.list.plugins.iter();
        let own = all.filter(|config| config.plugin_type() == plugin);
        own.map(|config| self.config(config)).collect()
    }

    /// As the runtime calls it, with the result that ADD had.
    fn config(&self, plugin: &PluginConfig) -> Result<PluginConfig> {
        let args = self.cached.capability_args.clone().unwrap_or_default();
        let execution = Execution::Add {
            prev_result: Some(&self.result),
        };
        let config = self.list.execution_config(plugin, &args, execution);
        config.map_err(show)
    }

    /// Returns the ADD call of the returning plugin, with this configuration.
    pub fn add<'a>(&'a self, config: &'a PluginConfig) -> NativeCall<'a> {
        NativeCall {
            plugin: config.plugin_type(),
            command: Command::Add,
            attachment: &self.attachment,
            config,
            network: &self.list.name,
            definition: None,
        }
    }

    /// Returns what the returning plugin makes for it.
    pub fn made_by(&self, plugin: &str) -> RemoveReference {
        RemoveReference {
            plugin: plugin.to_owned(),
            network: self.list.name.clone(),
            container_id: self.attachment.container_id.clone(),
            ifname: self.attachment.ifname.clone(),
            addresses: self.result.ips.iter().map(|ip| ip.address.addr()).collect(),
        }
    }
}

/// Whether the container has the interface. Also if that is unknown.
fn has_interface(attachment: &Attachment) -> bool {
    let Some(namespace) = attachment.namespace() else {
        return false;
    };
    let name = LinkReference::Name(attachment.ifname.clone());
    let found = namespace.try_clone().map(|namespace| {
        let mut namespaces = Namespaces::new(Some(namespace));
        find_link(namespaces.of(Container)?, &name)
    });
    !matches!(found, Ok(Err(error)) if error.is_not_found())
}
