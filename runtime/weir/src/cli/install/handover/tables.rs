//! Weir's own tables on the host: what is in them of attachments, and its removal.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use nix::errno::Errno;
use weir_grant::firewall::{Apply, Command, Element, Elements, RemoveReference};
use weir_grant::{Invocation, Namespace};
use weir_kernel::without_permit::{self, OwnElement, OwnTable, own_elements, own_tables};
use weir_kernel::{self as kernel, Code, Linux};
use weir_sandbox::Sandbox;

use super::carry_out;
use crate::cli::output::show;

/// The plugins that have a table each, and a successor in the reference set.
pub const PLUGINS: [&str; 4] = ["portmap", "firewall", "bridge", "ptp"];

/// The chains of `weir_firewall` that are not the administrator's.
const FIREWALL_CHAINS: [&str; 2] = ["forward", "admins"];

/// The elements of one attachment in the tables of one plugin.
pub type Owned = BTreeMap<(String, String), Vec<OwnElement>>;

/// The tables that there are; none where this process may not look at them.
pub fn standing(linux: &mut Linux) -> Result<Option<Vec<OwnTable>>> {
    match own_tables(linux.namespaces().host()) {
        Err(error) if matches!(error.errno, Some(Errno::EPERM | Errno::EACCES)) => Ok(None),
        tables => tables.map(Some).map_err(|e| looking(&e)),
    }
}

/// What is in them, by mark and plugin.
pub fn owned(linux: &mut Linux, tables: &[OwnTable]) -> Result<Owned> {
    let mut owned = Owned::new();
    for table in tables {
        let elements = own_elements(linux.namespaces().host(), table).map_err(|e| looking(&e))?;
        for element in elements {
            let key = (element.mark.clone(), table.plugin().to_owned());
            owned.entry(key).or_default().push(element);
        }
    }
    Ok(owned)
}

/// The chains of a table in which an administrator has said something.
pub fn administrators(linux: &mut Linux, table: &OwnTable) -> Result<Vec<String>> {
    let is_admins = |chain: &str| table.plugin() == "firewall" && !FIREWALL_CHAINS.contains(&chain);
    without_permit::administrators(linux.namespaces().host(), table, is_admins)
        .map_err(|e| looking(&e))
}

/// Removes elements in one transaction for each table. Returns how many were there: none where somebody has deleted the
/// attachment since, fewer where another one has taken something of it.
pub fn remove(
    linux: &mut Linux,
    sandbox: &Arc<Sandbox>,
    invocation: &Invocation,
    elements: &[OwnElement],
) -> Result<usize> {
    let mut removed = 0;
    for (table, commands) in deletions(elements) {
        if apply(linux, sandbox, invocation, table, commands.clone())? {
            removed += commands.len();
            continue;
        }
        for command in commands {
            let was_there = apply(linux, sandbox, invocation, table, vec![command])?;
            removed += usize::from(was_there);
        }
    }
    Ok(removed)
}

fn deletions(elements: &[OwnElement]) -> Vec<(&OwnTable, Vec<Command>)> {
    let mut tables: Vec<(&OwnTable, Vec<Command>)> = Vec::new();
    for OwnElement {
        table,
        set,
        element,
        ..
    } in elements
    {
        let key = Element {
            key: element.key.clone(),
            key_end: element.key_end.clone(),
            ..Element::default()
        };
        let command = Command::DeleteElements(Elements {
            set: set.clone(),
            elements: vec![key],
        });
        match tables.iter_mut().find(|(known, _)| *known == table) {
            Some((_, commands)) => commands.push(command),
            None => tables.push((table, vec![command])),
        }
    }
    tables
}

/// Whether all was there.
fn apply(
    linux: &mut Linux,
    sandbox: &Arc<Sandbox>,
    invocation: &Invocation,
    table: &OwnTable,
    commands: Vec<Command>,
) -> Result<bool> {
    let mut gate = sandbox.handover_gate(invocation.clone()).map_err(show)?;
    match carry_out(&mut gate, linux, of(table, commands)) {
        Err(error) if error.code == Code::NotFound => Ok(false),
        applied => applied.map(|()| true).map_err(|e| changing(&e)),
    }
}

/// Removes the tables in which nothing is any more, of an attachment or of an administrator. Returns those that are gone,
/// and those that are left.
pub fn remove_unused(
    linux: &mut Linux,
    sandbox: &Arc<Sandbox>,
    tables: Vec<OwnTable>,
) -> Result<(Vec<OwnTable>, Vec<OwnTable>)> {
    let (mut gone, mut left) = (Vec::new(), Vec::new());
    for table in tables {
        let is_ones = PLUGINS.contains(&table.plugin());
        if !is_ones || !administrators(linux, &table)?.is_empty() {
            left.push(table);
            continue;
        }
        let invocation = Invocation::default();
        let mut gate = sandbox.handover_gate(invocation).map_err(show)?;
        let operation = of(&table, vec![Command::DeleteTable]);
        let removed: Result<bool, kernel::Error> =
            gate.perform(operation, |permit| linux.remove_unused_table(permit));
        if removed.map_err(|e| changing(&e))? {
            gone.push(table)
        } else {
            left.push(table)
        }
    }
    Ok((gone, left))
}

/// Removes what a plugin that comes back has made.
pub fn take_back(
    linux: &mut Linux,
    sandbox: &Arc<Sandbox>,
    invocation: &Invocation,
    made: RemoveReference,
) -> Result<()> {
    let mut gate = sandbox.handover_gate(invocation.clone()).map_err(show)?;
    let removed: Result<u32, kernel::Error> = carry_out(&mut gate, linux, made);
    removed.map(drop).map_err(|e| changing(&e))
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

fn looking(error: &kernel::Error) -> anyhow::Error {
    anyhow!(
        "weir's nftables tables cannot be looked at: {}",
        error.message
    )
}

fn changing(error: &kernel::Error) -> anyhow::Error {
    anyhow!("{}", error.message)
}
