//! Containers that keep running when weir is removed. What weir's plugins made for them in weir's own tables (host ports,
//! masquerading, accepts) would not be removed by any other plugin, and a host port would later lead to a stranger. So the
//! returning plugins make their rules first, and then weir's are removed. Rules are in place at every moment, and a DEL finds
//! those of its plugin.
//!
//! | file | subject |
//! |---|---|
//! | `attached` | the attachments in libcni's cache |
//! | `tables` | weir's tables |
//! | `masquerade` | the rules of `ipMasq` |
//! | `links` | weir's mark on their links |
//! | `in_flight` | calls of weir's plugins that have not ended |
//! | `kernel` | the kernel, through the gate |
//!
//! `portmap` and `firewall` make their rules in an ADD, which makes only what is missing.
//!
//! It can be killed at any point and repeated: what has an element in weir's tables is not handed over yet.

mod attached;
mod in_flight;
mod kernel;
mod links;
mod masquerade;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use ipnet::IpNet;
use weir_cni::PluginConfig;
use weir_files::Paths;
use weir_grant::Invocation;
use weir_grant::firewall::{Family, Value};
use weir_kernel::without_permit::{OwnElement, OwnTable, count_reference};
use weir_network::{SEARCH_PATH, Successor, ToolEnvironment};

use self::attached::{Attached, Known};
use self::kernel::Kernel;
use self::masquerade::Masquerade;
use super::bin_dir;
use crate::cli::output::{complain, say, show};

/// A handover, from the first look at the tables to the last.
pub struct Handover<'a> {
    paths: &'a Paths,
    tools: ToolEnvironment,
    force: bool,
    kernel: Kernel<'a>,
    successors: BTreeMap<String, Rc<Successor>>,
    done: Vec<Item>,
    /// The last complaint.
    reported: Option<String>,
}

/// What one plugin made for one attachment.
struct Item {
    plugin: String,
    attached: Attached,
    elements: Vec<OwnElement>,
    method: Method,
    /// How many rules of the returning plugin existed before.
    before: u32,
}

enum Method {
    /// The container was removed without a DEL.
    Gone,
    Add(Rc<Successor>, Vec<PluginConfig>),
    Masquerade(Box<Masquerade>),
}

impl<'a> Handover<'a> {
    /// To the plugins of this directory. With `force`, what cannot be handed over stays as it is.
    pub fn new(paths: &'a Paths, bin_dir: &Path, force: bool) -> Self {
        Self {
            paths,
            tools: ToolEnvironment {
                search: search_path(),
                bin_dir: bin_dir.to_owned(),
            },
            force,
            kernel: Kernel::new(paths),
            successors: BTreeMap::new(),
            done: Vec::new(),
            reported: None,
        }
    }

    /// Hands over everything. Unless forced, nothing is changed if something cannot be handed over.
    pub fn carry_out(&mut self) -> Result<()> {
        let Some(tables) = tables::existing(&mut self.kernel)? else {
            return self.without_rights();
        };
        let items = self.plan(&tables)?;
        for item in self.make(items)? {
            self.let_go(&item)?;
            self.done.push(item);
        }
        Ok(())
    }

    /// Hands over what was attached before weir's links were removed. weir's program must still exist.
    pub fn carry_on(&mut self) -> Result<()> {
        in_flight::wait(&self.tools.bin_dir.join(crate::OWN_NAME));
        self.carry_out()
    }

    /// Removes what was made for attachments that were deleted meanwhile, and weir's tables.
    pub fn finish(&mut self) -> Result<()> {
        for item in std::mem::take(&mut self.done) {
            if !matches!(item.method, Method::Gone) && !item.attached.still_exists(self.paths) {
                self.take_back(&item)?;
            }
        }
        for table in tables::existing(&mut self.kernel)?.unwrap_or_default() {
            let removed = tables::remove_unused(&mut self.kernel, &table)?;
            let OwnTable { family, name } = table;
            if removed {
                say!("removed table {family} {name}");
            } else {
                say!(
                    "left table {family} {name}, which is not empty: `nft delete table {family} {name}` removes it"
                );
            }
        }
        Ok(())
    }

    /// As in the DaemonSet, which lacks the capability. Whether something is attached is known only from the cache.
    fn without_rights(&self) -> Result<()> {
        let attached = Known::load(self.paths)?.count();
        let what = "without CAP_NET_ADMIN weir cannot read its nftables tables";
        if attached > 0 && !self.force {
            bail!(
                "{what}, and `{}` has {attached} attachments: run `weir uninstall` as root of the node, or give --force \
                 to leave their elements in the tables",
                self.paths.results().display()
            );
        }
        complain(&format!("{what}: they are not removed"));
        Ok(())
    }

    fn plan(&mut self, tables: &[OwnTable]) -> Result<Vec<Item>> {
        let mut owned = tables::owned(&mut self.kernel, tables)?;
        let mut refused = Vec::new();
        let mut kept = BTreeSet::new();
        for table in tables {
            let OwnTable { family, name } = table;
            for chain in tables::administrators(&mut self.kernel, table)? {
                refused.push(format!(
                    "the administrator's rules, or policy, in chain `{chain}` of table `{family} {name}`: move them \
                     elsewhere"
                ));
                kept.insert(table.plugin());
            }
        }
        // If the administrator's policy is to drop, packets without an element here would be dropped.
        owned.retain(|(_, plugin), _| !kept.contains(&**plugin));
        let known = Known::load(self.paths)?;
        let mut items = Vec::new();
        for ((mark, plugin), elements) in owned {
            match self.item(&known, &mark, &plugin, elements) {
                Ok(item) => items.push(item),
                Err(why) => refused.push(format!("`{mark}`, of {plugin}: {why:#}")),
            }
        }
        self.check(refused)?;
        Ok(items)
    }

    fn check(&mut self, refused: Vec<String>) -> Result<()> {
        if refused.is_empty() {
            return Ok(());
        }
        let list = refused.join("\n  ");
        if !self.force {
            bail!(
                "this cannot be handed over to the returning plugins:\n  {list}\nDelete these containers first \
                 (`kubectl drain`), or give --force to leave their elements in weir's tables"
            );
        }
        let reported = format!("not handed over, and left in weir's tables:\n  {list}");
        if self.reported.as_ref() != Some(&reported) {
            complain(&reported);
            self.reported = Some(reported);
        }
        Ok(())
    }

    fn item(
        &mut self,
        known: &Known,
        mark: &str,
        plugin: &str,
        elements: Vec<OwnElement>,
    ) -> Result<Item> {
        if !tables::PLUGINS.contains(&plugin) {
            bail!("the reference set has no such plugin");
        }
        let attached = known.attached(mark, self.kernel.namespaces(), self.paths)?;
        let method = if attached.is_alive() {
            self.method(&attached, plugin, &elements)?
        } else {
            Method::Gone
        };
        Ok(Item {
            plugin: plugin.to_owned(),
            before: self.count(&attached, plugin)?,
            attached,
            elements,
            method,
        })
    }

    /// The number of rules that the returning plugin has for an attachment.
    fn count(&mut self, attached: &Attached, plugin: &str) -> Result<u32> {
        let host = self.kernel.namespaces().host();
        Ok(count_reference(host, &attached.made_by(plugin))?)
    }

    fn method(
        &mut self,
        attached: &Attached,
        plugin: &str,
        elements: &[OwnElement],
    ) -> Result<Method> {
        let configs = attached.configs(plugin)?;
        if configs.is_empty() {
            bail!("its cached configuration has no plugin `{plugin}`");
        }
        // Also for `bridge` and `ptp`: their DEL removes what is made here.
        let successor = self.successor(plugin)?;
        if ["portmap", "firewall"].contains(&plugin) {
            return Ok(Method::Add(successor, configs));
        }
        if elements.iter().any(|e| e.table.family == Family::Bridge) {
            bail!(
                "the check of source MACs (`macspoofchk`) can only be made together with the link"
            );
        }
        let addresses: Vec<IpAddr> = elements.iter().filter_map(address).collect();
        let networks = attached.result.ips.iter().map(|ip| ip.address);
        let networks = networks.filter(|network| addresses.contains(&network.addr()));
        let networks: Vec<IpNet> = networks.collect();
        if networks.len() < addresses.len() {
            bail!("its cached result does not have all addresses that are masqueraded");
        }
        let masquerade = Masquerade::find(&configs, networks, &self.tools, self.paths)?;
        Ok(Method::Masquerade(Box::new(masquerade)))
    }

    /// The plugin that serves a name once weir's links are removed.
    fn successor(&mut self, plugin: &str) -> Result<Rc<Successor>> {
        if let Some(known) = self.successors.get(plugin) {
            return Ok(Rc::clone(known));
        }
        let directory = &self.tools.bin_dir;
        let Some(path) = bin_dir::successor(directory, plugin)? else {
            bail!(
                "no other `{plugin}` in `{}`: install one there as `{plugin}{}`",
                directory.display(),
                super::replaced::SUFFIX
            );
        };
        let successor = Rc::new(open_program(plugin, &path, self.paths)?);
        self.successors
            .insert(plugin.to_owned(), Rc::clone(&successor));
        Ok(successor)
    }

    /// Has the returning plugins make their rules. If one fails, everything is undone, unless forced.
    fn make(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        let (mut made, mut refused) = (Vec::new(), Vec::new());
        for mut item in items {
            match self.make_one(&mut item) {
                Ok(()) => made.push(item),
                Err(why) => {
                    let Attached { mark, .. } = &item.attached;
                    refused.push(format!("`{mark}`, of {}: {why:#}", item.plugin));
                    self.take_back(&item)?;
                    if !self.force {
                        break;
                    }
                }
            }
        }
        if let Err(error) = self.check(refused) {
            for item in &made {
                self.take_back(item).with_context(|| format!("{error:#}"))?;
            }
            return Err(error);
        }
        Ok(made)
    }

    fn make_one(&mut self, item: &mut Item) -> Result<()> {
        // The plugin would make them a second time in its own tables. weir's are still in place.
        if item.plugin == "portmap" && item.before > 0 && !matches!(item.method, Method::Gone) {
            item.before = 0;
            self.take_back(item)?;
        }
        let (sandbox, tools) = (&self.kernel.sandbox()?, &self.tools);
        match &item.method {
            Method::Gone => return Ok(()),
            Method::Add(successor, configs) => {
                for config in configs {
                    let added = successor.add(sandbox, item.attached.add(config), tools);
                    added.map_err(show)?;
                }
            }
            Method::Masquerade(masquerade) => masquerade.make(&item.attached, sandbox, tools)?,
        }
        let made = self.count(&item.attached, &item.plugin)?;
        // If firewalld runs, `firewall` adds addresses to one of its zones instead, as weir's does.
        let is_firewallds = item.plugin == "firewall" && self.paths.system_bus().exists();
        if made == 0 && !is_firewallds {
            bail!("it has made no known rule: is it a plugin of the reference set?");
        }
        Ok(())
    }

    fn let_go(&mut self, item: &Item) -> Result<()> {
        let invocation = item.invocation();
        let removed = tables::remove(&mut self.kernel, &invocation, &item.elements)?;
        let Attached { mark, .. } = &item.attached;
        let plugin = &item.plugin;
        if plugin == "firewall" {
            links::release(&mut self.kernel, &invocation, mark)?;
        }
        match &item.method {
            Method::Gone => {
                say!("removed the rules of {plugin} for {mark}, whose container is gone")
            }
            // weir has deleted the attachment meanwhile.
            _ if removed == 0 => self.take_back(item)?,
            Method::Add(successor, _) => {
                say!("handed {mark} over to {}", successor.path().display());
            }
            Method::Masquerade(_) => say!("handed {mark} over to {plugin}: its masquerading"),
        }
        Ok(())
    }

    /// Removes what was made for the returning plugin, unless it existed before.
    fn take_back(&mut self, item: &Item) -> Result<()> {
        if item.before > 0 || matches!(item.method, Method::Gone) {
            return Ok(());
        }
        let mut made = item.attached.made_by(&item.plugin);
        // An accept contains only an address, which another attachment may have by now.
        let others = Known::load(self.paths)?.addresses_of_others(&item.attached.mark);
        made.addresses.retain(|address| !others.contains(address));
        let _: Option<u32> = self.kernel.perform(&item.invocation(), made)?;
        Ok(())
    }
}

impl Item {
    fn invocation(&self) -> Invocation {
        let attachment = &self.attached.attachment;
        Invocation::new(
            &attachment.container_id,
            &attachment.ifname,
            &self.attached.list.name,
        )
    }
}

/// Opens a program of the node. Those of the system are not below weir's root.
fn open_program(name: &str, path: &Path, paths: &Paths) -> Result<Successor> {
    let is_below = path.starts_with(paths.root());
    let root = if is_below { paths.root() } else { "/".as_ref() };
    Successor::open(name, path, root).map_err(show)
}

/// The container's address in the key of an element.
fn address(element: &OwnElement) -> Option<IpAddr> {
    match element.element.key.first() {
        Some(Value::Address(address)) => Some(*address),
        _ => None,
    }
}

/// The caller's `PATH`, which should be the runtime's, and the usual directories.
fn search_path() -> String {
    match std::env::var("PATH") {
        Ok(own) if !own.is_empty() => format!("{own}:{SEARCH_PATH}"),
        _ => SEARCH_PATH.to_owned(),
    }
}
