//! Containers that run on when weir is removed. What weir's plugins made for them in tables of weir's own (host ports,
//! masquerading, accepts) no other plugin would remove, so that a host port led to a stranger later: the plugins that
//! come back make theirs first, and then weir's go. There is no moment without any, and a DEL finds what is its own.
//!
//! | file | subject |
//! |---|---|
//! | `attached` | what libcni's cache knows of the attachments |
//! | `tables` | weir's tables |
//! | `masquerade` | what `ipMasq` makes |
//! | `links` | weir's mark on their links |
//! | `in_flight` | calls of weir's plugins that have not ended |
//!
//! `portmap` and `firewall` make theirs again in an ADD, which makes what is missing and no more.
//!
//! It can be killed at any point and done again: what has an element in weir's tables is not handed over yet.

mod attached;
mod in_flight;
mod links;
mod masquerade;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail};
use ipnet::IpNet;
use weir_cni::{Command, PluginConfig};
use weir_files::Paths;
use weir_gate::Gate;
use weir_grant::firewall::{Family, Value};
use weir_grant::{Invocation, Limits, Operation};
use weir_kernel::perform::perform;
use weir_kernel::without_permit::{OwnElement, OwnTable, count_reference};
use weir_kernel::{self as kernel, Linux, Namespaces, Perform, UndoLog};
use weir_network::{Asked, SEARCH_PATH, Successor, Surroundings};
use weir_sandbox::Sandbox;

use self::attached::{Attached, Known};
use self::masquerade::Iptables;
use super::bin_dir;
use crate::cli::output::{complain, say, show};

/// All that is handed over, from the first look to the last.
pub struct Handover<'a> {
    paths: &'a Paths,
    around: Surroundings,
    /// What cannot be handed over stays as it is.
    force: bool,
    /// None until there is something to be done.
    sandbox: Option<Arc<Sandbox>>,
    linux: Linux,
    successors: BTreeMap<String, Rc<Successor>>,
    done: Vec<Item>,
    /// What was complained of last.
    told: Option<String>,
}

/// What one plugin made for one attachment.
struct Item {
    plugin: String,
    attached: Attached,
    elements: Vec<OwnElement>,
    way: Way,
    /// How many rules of the plugin that comes back were there before.
    before: u32,
}

/// How it is handed over.
enum Way {
    /// The container is gone, and nobody has told.
    Gone,
    Add(Rc<Successor>, Vec<PluginConfig>),
    Masquerade(Box<Masquerade>),
}

/// What is needed to masquerade addresses.
struct Masquerade {
    iptables: Iptables,
    config: PluginConfig,
    networks: Vec<IpNet>,
}

/// Carries out an operation that is not taken back.
fn carry_out<O, A>(gate: &mut Gate, linux: &mut Linux, operation: O) -> Result<A, kernel::Error>
where
    O: Operation,
    Linux: Perform<O, A>,
{
    perform(gate, linux, &mut UndoLog::default(), operation)
}

impl<'a> Handover<'a> {
    /// To the plugins of this directory. With `force` what cannot be handed over stays as it is.
    pub fn new(paths: &'a Paths, bin_dir: &Path, force: bool) -> Self {
        Self {
            paths,
            around: Surroundings {
                search: search_path(),
                bin_dir: bin_dir.to_owned(),
            },
            force,
            sandbox: None,
            linux: Linux::new(
                Namespaces::new(None),
                paths.clone(),
                Instant::now() + Limits::MOST_TIME,
            ),
            successors: BTreeMap::new(),
            done: Vec::new(),
            told: None,
        }
    }

    /// A machine on which weir does not run must be rid of it, too: nothing is made before it is needed.
    fn sandbox(&mut self) -> Result<Arc<Sandbox>> {
        if let Some(sandbox) = &self.sandbox {
            return Ok(Arc::clone(sandbox));
        }
        let sandbox = Sandbox::new(self.paths.clone(), false).map_err(show)?;
        Ok(Arc::clone(self.sandbox.insert(sandbox)))
    }

    /// Hands over what there is. Nothing is changed where something cannot be, unless it is forced.
    pub fn carry_out(&mut self) -> Result<()> {
        let Some(tables) = tables::standing(&mut self.linux)? else {
            return self.without_rights();
        };
        let items = self.plan(&tables)?;
        let made = self.make(items)?;
        for item in made {
            self.let_go(&item)?;
            self.done.push(item);
        }
        Ok(())
    }

    /// Once weir's links are gone: what was attached meanwhile. weir's program must still be there.
    pub fn carry_on(&mut self) -> Result<()> {
        in_flight::wait(&self.around.bin_dir.join(crate::OWN_NAME));
        self.carry_out()
    }

    /// The end: what was deleted meanwhile leaves nothing, and weir's tables go.
    pub fn finish(&mut self) -> Result<()> {
        for item in std::mem::take(&mut self.done) {
            if !matches!(item.way, Way::Gone) && !item.attached.is_still_there(self.paths) {
                self.take_back(&item)?;
            }
        }
        let Some(tables) = tables::standing(&mut self.linux)? else {
            return Ok(());
        };
        if tables.is_empty() {
            return Ok(());
        }
        let sandbox = self.sandbox()?;
        let (gone, left) = tables::remove_unused(&mut self.linux, &sandbox, tables)?;
        for OwnTable { family, name } in gone {
            say!("removed table {family} {name}");
        }
        for OwnTable { family, name } in left {
            say!(
                "left table {family} {name}, in which something is: `nft delete table {family} {name}` removes it"
            );
        }
        Ok(())
    }

    /// As the DaemonSet has none. What the cache does not tell cannot be known.
    fn without_rights(&self) -> Result<()> {
        let attached = Known::load(self.paths)?.count();
        let what = "without CAP_NET_ADMIN weir cannot look at its nftables tables";
        if attached > 0 && !self.force {
            bail!(
                "{what}, and `{}` has {attached} attachments: run `weir uninstall` as root of the node, or give --force, \
                 and what weir has for them stays",
                self.paths.results().display()
            );
        }
        complain(&format!("{what}: those that there are stay"));
        Ok(())
    }

    fn plan(&mut self, tables: &[OwnTable]) -> Result<Vec<Item>> {
        let owned = tables::owned(&mut self.linux, tables)?;
        let mut refused = Vec::new();
        let mut kept = BTreeSet::new();
        for table in tables {
            let OwnTable { family, name } = table;
            for chain in tables::administrators(&mut self.linux, table)? {
                refused.push(format!(
                    "the administrator's rules, or policy, of the chain `{chain}` in table `{family} {name}`: have them \
                     elsewhere, and take them away there"
                ));
                kept.insert(table.plugin());
            }
        }
        let known = Known::load(self.paths)?;
        let mut items = Vec::new();
        // Where an administrator's policy is to drop, what has no element there any more would be dropped.
        let others = owned
            .into_iter()
            .filter(|((_, plugin), _)| !kept.contains(&**plugin));
        for ((mark, plugin), elements) in others {
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
                "this cannot be handed over to the plugins that come back:\n  {list}\nDelete these containers first \
                 (`kubectl drain`), or give --force, and what weir has for them stays"
            );
        }
        let told = format!("what is not handed over stays in weir's tables:\n  {list}");
        if self.told.as_ref() != Some(&told) {
            complain(&told);
            self.told = Some(told);
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
            bail!("no plugin that comes back takes its place");
        }
        let attached = known.attached(mark, self.linux.namespaces(), self.paths)?;
        let way = if attached.is_alive() {
            self.way(&attached, plugin, &elements)?
        } else {
            Way::Gone
        };
        let before = count_reference(self.linux.namespaces().host(), &attached.made_by(plugin));
        Ok(Item {
            plugin: plugin.to_owned(),
            before: before.map_err(|e| anyhow!("{}", e.message))?,
            attached,
            elements,
            way,
        })
    }

    fn way(&mut self, attached: &Attached, plugin: &str, elements: &[OwnElement]) -> Result<Way> {
        let configs = attached.configs(plugin)?;
        let Some(first) = configs.first() else {
            bail!("its cached configuration has no plugin `{plugin}`");
        };
        // Also of `bridge` and `ptp`, whose DEL removes what is made here.
        let successor = self.successor(plugin)?;
        if ["portmap", "firewall"].contains(&plugin) {
            return Ok(Way::Add(successor, configs));
        }
        if elements.iter().any(|e| e.table.family == Family::Bridge) {
            bail!("the check of source MACs (`macspoofchk`) is made with the link alone");
        }
        masquerade::check(&configs)?;
        let addresses: Vec<IpAddr> = elements.iter().filter_map(address).collect();
        let networks = attached.networks(&addresses);
        if networks.len() < addresses.len() {
            bail!("its cached result does not have all addresses that are masqueraded");
        }
        Ok(Way::Masquerade(Box::new(Masquerade {
            iptables: Iptables::find(&networks, &self.around, self.paths)?,
            config: first.clone(),
            networks,
        })))
    }

    /// The plugin that serves that name when weir's links are gone.
    fn successor(&mut self, plugin: &str) -> Result<Rc<Successor>> {
        if let Some(known) = self.successors.get(plugin) {
            return Ok(Rc::clone(known));
        }
        let directory = &self.around.bin_dir;
        let Some(path) = bin_dir::successor(directory, plugin)? else {
            bail!(
                "no other `{plugin}` comes back in `{}`: put one there as `{plugin}{}`",
                directory.display(),
                super::replaced::SUFFIX
            );
        };
        let root = if path.starts_with(self.paths.root()) {
            self.paths.root().to_owned()
        } else {
            PathBuf::from("/")
        };
        let successor = Rc::new(Successor::open(plugin, &path, &root).map_err(show)?);
        self.successors
            .insert(plugin.to_owned(), Rc::clone(&successor));
        Ok(successor)
    }

    /// Has the plugins that come back make theirs. Where one fails, all is taken back, unless it is forced.
    fn make(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        let (mut made, mut refused) = (Vec::new(), Vec::new());
        for mut item in items {
            let done = self.make_one(&mut item);
            match done {
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
        let made_by = item.attached.made_by(&item.plugin);
        // In tables of its own the plugin would make them a second time. Weir's are still there.
        if item.plugin == "portmap" && item.before > 0 && !matches!(item.way, Way::Gone) {
            item.before = 0;
            self.take_back(item)?;
        }
        let (sandbox, around) = (&self.sandbox()?, &self.around);
        match &item.way {
            Way::Gone => return Ok(()),
            Way::Add(successor, configs) => {
                for config in configs {
                    let asked = Asked {
                        plugin: &item.plugin,
                        command: Command::Add,
                        attachment: &item.attached.attachment,
                        config,
                        network: &item.attached.list.name,
                        definition: None,
                    };
                    successor.add(sandbox, asked, around).map_err(show)?;
                }
            }
            Way::Masquerade(wanted) => {
                let Masquerade {
                    iptables,
                    config,
                    networks,
                } = &**wanted;
                let attached = &item.attached;
                masquerade::make(iptables, attached, config, networks, sandbox, around)?;
            }
        }
        let now = count_reference(self.linux.namespaces().host(), &made_by);
        let now = now.map_err(|e| anyhow!("{}", e.message))?;
        if now == 0 && !self.is_firewallds(&item.plugin) {
            bail!("it has made no rule that is known: is it a plugin of the reference set?");
        }
        Ok(())
    }

    /// Where firewalld runs, `firewall` binds addresses to a zone of it instead, as weir's has.
    fn is_firewallds(&self, plugin: &str) -> bool {
        plugin == "firewall" && self.paths.system_bus().exists()
    }

    /// Removes weir's own.
    fn let_go(&mut self, item: &Item) -> Result<()> {
        let (sandbox, invocation) = (self.sandbox()?, item.invocation());
        let linux = &mut self.linux;
        let removed = tables::remove(linux, &sandbox, &invocation, &item.elements)?;
        let Attached { mark, .. } = &item.attached;
        let plugin = &item.plugin;
        if plugin == "firewall" {
            links::release(linux, &sandbox, &invocation, mark)?;
        }
        match &item.way {
            Way::Gone => say!("removed what {plugin} had of {mark}, whose container is gone"),
            // It was deleted meanwhile, and by weir.
            _ if removed == 0 => self.take_back(item)?,
            Way::Add(successor, _) => {
                say!("handed {mark} over to {}", successor.path().display());
            }
            Way::Masquerade(..) => say!("handed {mark} over to {plugin}: its masquerading"),
        }
        Ok(())
    }

    /// Removes what was made for the plugin that comes back, but for what was there before.
    fn take_back(&mut self, item: &Item) -> Result<()> {
        if item.before > 0 || matches!(item.way, Way::Gone) {
            return Ok(());
        }
        let mut made = item.attached.made_by(&item.plugin);
        // Accepts have an address alone, which may be another's by now.
        let others = Known::load(self.paths)?.addresses_of_others(&item.attached.mark);
        made.addresses.retain(|address| !others.contains(address));
        let (sandbox, invocation) = (self.sandbox()?, item.invocation());
        tables::take_back(&mut self.linux, &sandbox, &invocation, made)
    }
}

impl Item {
    fn invocation(&self) -> Invocation {
        let attachment = &self.attached.attachment;
        Invocation {
            container_id: attachment.container_id.clone(),
            ifname: attachment.ifname.clone(),
            network: self.attached.list.name.clone(),
        }
    }
}

/// The container's address in the key of an element.
fn address(element: &OwnElement) -> Option<IpAddr> {
    match element.element.key.first() {
        Some(Value::Address(address)) => Some(*address),
        _ => None,
    }
}

/// That of whoever calls, which is to be the runtime's, and the usual places.
fn search_path() -> String {
    match std::env::var("PATH") {
        Ok(own) if !own.is_empty() => format!("{own}:{SEARCH_PATH}"),
        _ => SEARCH_PATH.to_owned(),
    }
}
