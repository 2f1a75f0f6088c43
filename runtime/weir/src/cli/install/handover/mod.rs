//! Containers that keep running when weir is removed. What weir's plugins made for them in weir's own tables (host ports,
//! masquerading, accepts) would not be removed by any other plugin, and a host port would later lead to a stranger. So the
//! returning plugins make their rules first, and then weir's are removed. Rules are in place at every moment, and a DEL finds
//! those of its plugin.
//!
//! | file | subject |
//! |---|---|
//! | `plan` | what is done with each element |
//! | `attached` | the attachments in libcni's cache |
//! | `tables` | weir's tables |
//! | `masquerade` | the rules of `ipMasq` |
//! | `links` | weir's mark on their links |
//! | `in_flight` | calls that began before weir's links were removed |
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
mod plan;
mod tables;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, bail};
use weir_files::Paths;
use weir_kernel::without_permit::OwnTable;
use weir_network::{SEARCH_PATH, Successor, ToolEnvironment};

use self::attached::{Attached, Known};
use self::kernel::Kernel;
use self::plan::{Gone, Item, Method, Plan};
use crate::cli::output::{complain, say, show};

/// How often what appears at the end is handed over.
const ROUNDS: u32 = 3;

/// A handover, from the first look at the tables to the last.
pub struct Handover<'a> {
    paths: &'a Paths,
    tools: ToolEnvironment,
    force: bool,
    kernel: Kernel<'a>,
    successors: BTreeMap<String, Rc<Successor>>,
    done: Vec<Item>,
    /// The marks of what was not handed over.
    left: BTreeSet<String>,
    /// The last complaint.
    reported: Option<String>,
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
            left: BTreeSet::new(),
            reported: None,
        }
    }

    /// Hands over everything. Unless forced, nothing is changed if something cannot be handed over.
    pub fn carry_out(&mut self) -> Result<()> {
        let Some(tables) = tables::existing(&mut self.kernel)? else {
            return self.without_rights();
        };
        let Plan { items, gone } = self.plan(&tables)?;
        for item in self.make(items)? {
            self.let_go(&item)?;
            self.done.push(item);
        }
        gone.iter().try_for_each(|gone| self.remove(gone))
    }

    /// Hands over what was attached before weir's links were removed. weir's program must still exist.
    pub fn carry_on(&mut self) -> Result<()> {
        in_flight::wait(&self.tools.bin_dir.join(crate::OWN_NAME));
        in_flight::wait_until(|| Ok(!self.has_unfinished()?))?;
        self.carry_out()
    }

    /// Removes what was made for attachments that were deleted meanwhile, and weir's tables.
    pub fn finish(&mut self) -> Result<()> {
        self.take_back_deleted()?;
        // A call that was not seen to be under way.
        for _ in 0..ROUNDS {
            if self.new_marks()?.is_empty() {
                break;
            }
            self.carry_on()?;
            self.take_back_deleted()?;
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

    fn take_back_deleted(&mut self) -> Result<()> {
        for item in std::mem::take(&mut self.done) {
            if !item.attached.still_exists(self.paths) {
                self.take_back(&item)?;
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

    /// Has the returning plugins make their rules. If one fails, everything is undone, unless forced.
    fn make(&mut self, items: Vec<Item>) -> Result<Vec<Item>> {
        let (mut made, mut refused) = (Vec::new(), Vec::new());
        for mut item in items {
            match self.make_one(&mut item) {
                Ok(()) => made.push(item),
                Err(why) => {
                    let Attached { mark, .. } = &item.attached;
                    refused.push(format!("`{mark}`, of {}: {why:#}", item.plugin));
                    self.left.insert(mark.clone());
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
        if item.plugin == "portmap" && item.before > 0 {
            item.before = 0;
            self.take_back(item)?;
        }
        let (sandbox, tools) = (&self.kernel.sandbox()?, &self.tools);
        match &item.method {
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
            // weir has deleted the attachment meanwhile.
            _ if removed == 0 => self.take_back(item)?,
            Method::Add(successor, _) => {
                say!("handed {mark} over to {}", successor.path().display());
            }
            Method::Masquerade(_) => say!("handed {mark} over to {plugin}: its masquerading"),
        }
        Ok(())
    }

    fn remove(&mut self, gone: &Gone) -> Result<()> {
        let Gone {
            plugin,
            mark,
            elements,
        } = gone;
        tables::remove(&mut self.kernel, &gone.invocation(), elements)?;
        say!("removed the rules of {plugin} for {mark}, whose container is gone");
        Ok(())
    }

    /// Removes what was made for the returning plugin, unless it existed before.
    fn take_back(&mut self, item: &Item) -> Result<()> {
        if item.before > 0 {
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

/// The caller's `PATH`, which should be the runtime's, and the usual directories.
fn search_path() -> String {
    match std::env::var("PATH") {
        Ok(own) if !own.is_empty() => format!("{own}:{SEARCH_PATH}"),
        _ => SEARCH_PATH.to_owned(),
    }
}

/// Opens a program of the node. Those of the system are not below weir's root.
fn open_program(name: &str, path: &Path, paths: &Paths) -> Result<Successor> {
    let is_below = path.starts_with(paths.root());
    let root = if is_below { paths.root() } else { "/".as_ref() };
    Successor::open(name, path, root).map_err(show)
}
