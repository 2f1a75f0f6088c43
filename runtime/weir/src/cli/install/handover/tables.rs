//! weir's own tables on the host: the elements that attachments have in them, and their removal.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use nix::errno::Errno;
use weir_grant::firewall::{Apply, Command, Element, Elements};
use weir_grant::{Invocation, Namespace};
use weir_kernel::without_permit::{self, OwnElement, OwnTable, own_elements, own_tables};

use super::kernel::Kernel;

/// The plugins that have a table each, and a successor in the reference set.
pub const PLUGINS: [&str; 4] = ["portmap", "firewall", "bridge", "ptp"];

/// The plugins whose ADD makes a link on the host with the mark of the attachment, before anything else.
const LINKED: [&str; 2] = ["bridge", "ptp"];

/// The chains of `weir_firewall` that are not the administrator's.
const FIREWALL_CHAINS: [&str; 2] = ["forward", "admins"];

const READ: &str = "read weir's nftables tables";

/// Elements by mark and plugin.
pub type Owned = BTreeMap<(String, String), Vec<OwnElement>>;

/// weir's tables; none if this process may not list them.
pub fn existing(kernel: &mut Kernel<'_>) -> Result<Option<Vec<OwnTable>>> {
    match own_tables(kernel.namespaces().host()) {
        Err(error) if matches!(error.errno, Some(Errno::EPERM | Errno::EACCES)) => Ok(None),
        tables => tables.map(Some).context(READ),
    }
}

pub fn owned(kernel: &mut Kernel<'_>, tables: &[OwnTable]) -> Result<Owned> {
    let mut owned = Owned::new();
    for table in tables {
        for element in own_elements(kernel.namespaces().host(), table).context(READ)? {
            let key = (element.mark.clone(), table.plugin().to_owned());
            owned.entry(key).or_default().push(element);
        }
    }
    Ok(owned)
}

/// Returns the marks that a link on the host has as long as the container exists.
pub fn linked(owned: &Owned) -> BTreeSet<String> {
    let of_links = owned
        .keys()
        .filter(|(_, plugin)| LINKED.contains(&&**plugin));
    of_links.map(|(mark, _)| mark.clone()).collect()
}

/// Returns the chains of a table with rules, or a policy, of an administrator.
pub fn administrators(kernel: &mut Kernel<'_>, table: &OwnTable) -> Result<Vec<String>> {
    let is_admins = |chain: &str| table.plugin() == "firewall" && !FIREWALL_CHAINS.contains(&chain);
    without_permit::administrators(kernel.namespaces().host(), table, is_admins).context(READ)
}

/// Removes elements in one transaction for each table. Returns how many existed: none if the attachment was deleted in the
/// meantime, fewer if another attachment has taken some of them.
pub fn remove(
    kernel: &mut Kernel<'_>,
    invocation: &Invocation,
    elements: &[OwnElement],
) -> Result<usize> {
    let mut removed = 0;
    let mut apply = |table: &OwnTable, commands: Vec<Command>| {
        let count = commands.len();
        let applied = kernel.perform(invocation, of(table, commands))?;
        removed += if applied == Some(()) { count } else { 0 };
        anyhow::Ok(applied.is_some())
    };
    for (table, commands) in deletions(elements) {
        if !apply(table, commands.clone())? {
            for command in commands {
                apply(table, vec![command])?;
            }
        }
    }
    Ok(removed)
}

fn deletions(elements: &[OwnElement]) -> Vec<(&OwnTable, Vec<Command>)> {
    let mut tables: Vec<(&OwnTable, Vec<Command>)> = Vec::new();
    for element in elements {
        let key = Element {
            key: element.element.key.clone(),
            key_end: element.element.key_end.clone(),
            ..Element::default()
        };
        let command = Command::DeleteElements(Elements {
            set: element.set.clone(),
            elements: vec![key],
        });
        match tables
            .iter_mut()
            .find(|(known, _)| **known == element.table)
        {
            Some((_, commands)) => commands.push(command),
            None => tables.push((&element.table, vec![command])),
        }
    }
    tables
}

/// Removes a table in which neither an attachment nor an administrator has anything. Returns whether it was one.
pub fn remove_unused(kernel: &mut Kernel<'_>, table: &OwnTable) -> Result<bool> {
    let is_own = PLUGINS.contains(&table.plugin());
    if !is_own || !administrators(kernel, table)?.is_empty() {
        return Ok(false);
    }
    let operation = of(table, vec![Command::DeleteTable]);
    let removed = kernel.perform_with(&Invocation::default(), |gate, linux| {
        gate.perform(operation, |permit| linux.remove_unused_table(permit))
    })?;
    Ok(removed.unwrap_or(true))
}

fn of(table: &OwnTable, commands: Vec<Command>) -> Apply {
    Apply {
        namespace: Namespace::Host,
        family: table.family,
        table: table.name.clone(),
        commands,
        only_empty: false,
        listening: Vec::new(),
        removed: Vec::new(),
    }
}
