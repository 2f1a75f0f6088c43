//! What is done with each element in weir's tables, worked out before anything is changed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::rc::Rc;

use anyhow::{Result, bail};
use ipnet::IpNet;
use weir_cni::PluginConfig;
use weir_grant::Invocation;
use weir_grant::firewall::{Family, Value};
use weir_kernel::without_permit::{OwnElement, OwnTable, count_reference};
use weir_network::Successor;

use super::super::{bin_dir, replaced};
use super::attached::{Attached, Known, has_link};
use super::masquerade::Masquerade;
use super::{Handover, open_program, tables};

/// What is done with what weir's plugins made.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) items: Vec<Item>,
    pub(super) gone: Vec<Gone>,
}

/// What one plugin made for one attachment.
pub(super) struct Item {
    pub(super) plugin: String,
    pub(super) attached: Attached,
    pub(super) elements: Vec<OwnElement>,
    pub(super) method: Method,
    /// How many rules of the returning plugin existed before.
    pub(super) before: u32,
}

/// What one plugin made for an attachment whose container was removed without weir's DEL.
pub(super) struct Gone {
    pub(super) plugin: String,
    pub(super) mark: String,
    pub(super) elements: Vec<OwnElement>,
}

pub(super) enum Method {
    Add(Rc<Successor>, Vec<PluginConfig>),
    Masquerade(Box<Masquerade>),
}

impl Handover<'_> {
    pub(super) fn plan(&mut self, tables: &[OwnTable]) -> Result<Plan> {
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
        let is_kept = |(_, plugin): &(String, String)| kept.contains(&**plugin);
        let left = owned.extract_if(.., |key, _| is_kept(key));
        self.left.extend(left.map(|((mark, _), _)| mark));
        let known = Known::load(self.paths)?;
        let linked = tables::linked(&owned);
        let mut plan = Plan::default();
        for ((mark, plugin), elements) in owned {
            let of = (&*mark, &*plugin);
            if let Err(why) = self.plan_one(&mut plan, &known, of, linked.contains(&mark), elements)
            {
                refused.push(format!("`{mark}`, of {plugin}: {why:#}"));
                self.left.insert(mark);
            }
        }
        self.check(refused)?;
        Ok(plan)
    }

    /// Whether an ADD began with weir's plugins and goes on with the returning ones: the runtime writes the attachment to
    /// its cache at the end.
    pub(super) fn has_unfinished(&mut self) -> Result<bool> {
        let known = Known::load(self.paths)?;
        for (mark, is_linked) in self.new_marks()? {
            let may_exist = !is_linked || has_link(self.kernel.namespaces(), &mark)?;
            if may_exist && !known.has(&mark) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The marks in weir's tables, without those that are left there, and whether a container has a link with it on the host.
    pub(super) fn new_marks(&mut self) -> Result<BTreeMap<String, bool>> {
        let tables = tables::existing(&mut self.kernel)?.unwrap_or_default();
        let owned = tables::owned(&mut self.kernel, &tables)?;
        let linked = tables::linked(&owned);
        let marks = owned
            .into_keys()
            .map(|(mark, _)| (linked.contains(&mark), mark));
        let new = marks.filter(|(_, mark)| !self.left.contains(mark));
        Ok(new.map(|(is_linked, mark)| (mark, is_linked)).collect())
    }

    fn plan_one(
        &mut self,
        plan: &mut Plan,
        known: &Known,
        (mark, plugin): (&str, &str),
        is_linked: bool,
        elements: Vec<OwnElement>,
    ) -> Result<()> {
        if !tables::PLUGINS.contains(&plugin) {
            bail!("the reference set has no such plugin");
        }
        match known.attached(mark, is_linked, self.kernel.namespaces(), self.paths)? {
            Some(attached) => plan.items.push(self.item(attached, plugin, elements)?),
            None => plan.gone.push(Gone {
                plugin: plugin.to_owned(),
                mark: mark.to_owned(),
                elements,
            }),
        }
        Ok(())
    }

    fn item(
        &mut self,
        attached: Attached,
        plugin: &str,
        elements: Vec<OwnElement>,
    ) -> Result<Item> {
        Ok(Item {
            method: self.method(&attached, plugin, &elements)?,
            before: self.count(&attached, plugin)?,
            plugin: plugin.to_owned(),
            attached,
            elements,
        })
    }

    /// The number of rules that the returning plugin has for an attachment.
    pub(super) fn count(&mut self, attached: &Attached, plugin: &str) -> Result<u32> {
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
                replaced::SUFFIX
            );
        };
        let successor = Rc::new(open_program(plugin, &path, self.paths)?);
        self.successors
            .insert(plugin.to_owned(), Rc::clone(&successor));
        Ok(successor)
    }
}

impl Gone {
    /// Of the parts of the mark.
    pub(super) fn invocation(&self) -> Invocation {
        let mut parts = self.mark.splitn(3, ' ');
        let mut next = || parts.next().unwrap_or_default();
        let (network, container_id, ifname) = (next(), next(), next());
        Invocation::new(container_id, ifname, network)
    }
}

impl Item {
    pub(super) fn invocation(&self) -> Invocation {
        let attachment = &self.attached.attachment;
        Invocation::new(
            &attachment.container_id,
            &attachment.ifname,
            &self.attached.list.name,
        )
    }
}

/// The container's address in the key of an element.
fn address(element: &OwnElement) -> Option<IpAddr> {
    match element.element.key.first() {
        Some(Value::Address(address)) => Some(*address),
        _ => None,
    }
}
