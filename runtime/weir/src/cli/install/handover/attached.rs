//! What is known of the attachments that go on: libcni's cache has the configuration, the arguments and the result that
//! each was made with.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anyhow::{Result, anyhow, bail};
use ipnet::IpNet;
use weir_cni::owner::mark_of_attachment;
use weir_cni::{
    AddResult, Error, Execution, NetworkConfigList, PluginConfig, validate_container_id,
    validate_interface_name,
};
use weir_files::Paths;
use weir_grant::Namespace::Container;
use weir_grant::firewall::RemoveReference;
use weir_grant::link::LinkReference;
use weir_kernel::Namespaces;
use weir_kernel::without_permit::{find_link, marked_links};
use weir_network::{Attachment, Cache, Cached, is_of_node};

use crate::cli::output::show;

/// All that is cached, by the marks that weir's plugins give the things of an attachment.
///
/// A mark has the name by which grants know the network, which is a definition's `namespace/name` for a tenant's. No
/// network of the cache is called so, whatever the tenant calls it: what is found here is a network of the node's own.
pub struct Known {
    cached: BTreeMap<String, Cached>,
    unused: Vec<Error>,
}

impl Known {
    /// Reads the cache. Errors: it cannot be listed.
    pub fn load(paths: &Paths) -> Result<Self> {
        let (cached, unused) = Cache::new(paths).all().map_err(show)?;
        let of_mark = |cached: Cached| {
            let Cached {
                network_name,
                container_id,
                if_name,
                ..
            } = &cached;
            (
                mark_of_attachment(network_name, container_id, if_name),
                cached,
            )
        };
        Ok(Self {
            cached: cached.into_iter().map(of_mark).collect(),
            unused,
        })
    }

    /// How many attachments there are.
    pub fn count(&self) -> usize {
        self.cached.len()
    }

    /// The addresses of all attachments but one.
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

    /// The attachment of a mark. Errors: why it cannot be handed over.
    pub fn attached(
        &self,
        mark: &str,
        namespaces: &mut Namespaces,
        paths: &Paths,
    ) -> Result<Attached> {
        let Some(cached) = self.cached.get(mark) else {
            let why = self.unused.iter().map(|error| error.to_string());
            let why: Vec<String> = why.collect();
            let directory = paths.results();
            if why.is_empty() {
                bail!(
                    "libcni's cache `{}` has nothing of it: a definition's network, or one that a program attached \
                     that keeps no cache there",
                    directory.display()
                )
            } else {
                bail!(
                    "libcni's cache has nothing of it that is trusted: {}",
                    why.join("; ")
                )
            }
        };
        Attached::of(mark, cached, namespaces, paths)
    }
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
    fn of(mark: &str, cached: &Cached, namespaces: &mut Namespaces, paths: &Paths) -> Result<Self> {
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
        let attached = Self {
            mark: mark.to_owned(),
            attachment: cached.attachment().map_err(show)?,
            result: result.ok_or_else(|| anyhow!("its cached result cannot be used"))?,
            list,
            cached: cached.clone(),
        };
        attached.check_namespace(namespaces)?;
        attached.check_origin(paths)?;
        Ok(attached)
    }

    /// That a namespace is not seen from here does not say that it is gone.
    fn check_namespace(&self, namespaces: &mut Namespaces) -> Result<()> {
        if self.is_alive() {
            return Ok(());
        }
        if self.cached.netns.is_empty() {
            bail!("libcni's cache does not have its network namespace");
        }
        let marked = marked_links(namespaces.host(), |alias| alias == self.mark)
            .map_err(|e| anyhow!("{}", e.message))?;
        match marked.first() {
            None => Ok(()),
            Some(link) => bail!(
                "its network namespace `{}` is not to be seen from here, and yet its link `{}` is on the host: run \
                 `weir uninstall` where the container runtime runs",
                self.cached.netns,
                link.name
            ),
        }
    }

    /// A tenant's configuration is nothing to run a program with that no grant bounds.
    fn check_origin(&self, paths: &Paths) -> Result<()> {
        for plugin in &self.list.plugins {
            if !is_of_node(paths, &self.config(plugin)?) {
                bail!(
                    "another delegating plugin is on the node, and no file that root wrote has its configuration: it \
                     may be a tenant's"
                );
            }
        }
        Ok(())
    }

    /// Whether its namespace is there.
    pub fn is_alive(&self) -> bool {
        self.attachment.namespace().is_some()
    }

    /// Whether it is there now: the runtime's word of it, its namespace, and its interface. A DEL that is under way removes
    /// the interface before it looks for what else there is to remove, and the runtime takes its word back at the end.
    pub fn is_still_there(&self, paths: &Paths) -> bool {
        let cached = Cache::new(paths).get(&self.list.name, &self.attachment);
        let is_cached = !matches!(cached, Ok(None));
        let attachment = self.cached.attachment();
        is_cached && attachment.is_ok_and(|attachment| has_interface(&attachment))
    }

    /// The configurations of the list's plugins of a type.
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
        self.list
            .execution_config(plugin, &args, execution)
            .map_err(show)
    }

    /// Those of its addresses that are asked about, with their networks.
    pub fn networks(&self, addresses: &[IpAddr]) -> Vec<IpNet> {
        let all = self.result.ips.iter().map(|ip| ip.address);
        all.filter(|ip| addresses.contains(&ip.addr())).collect()
    }

    /// What the plugin that comes back makes for it.
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

/// Whether the container has the interface; also where that cannot be told.
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
