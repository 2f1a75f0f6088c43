//! The state of a throw-away node and a container at one moment: links, routes, rules, files.

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::path::Path;

use anyhow::Result;
use glob::{Pattern, glob};
use serde::Serialize;
use weir_kernel::without_permit::Inventory;

use crate::cli::output::{print_line, print_list};
use crate::cli::scratch_node::{Container, ScratchNode};

/// What weir and the test put below the node's root.
const NOT_PLUGINS: [&str; 8] = [
    "etc/weir",
    "run/netns",
    "run/weir",
    "var/lib/weir/grants.seen",
    "var/lib/weir/indexes",
    "var/lib/weir/plugins",
    "var/log/weir",
    "opt",
];

#[derive(Default)]
pub struct NodeState {
    /// One line for each thing, which begins with its place, and the number of things with that line: the lines of different
    /// rules may be the same.
    things: BTreeMap<String, usize>,
    /// Kernel parameters, by place and key.
    parameters: BTreeMap<(&'static str, String), String>,
}

/// The differences between two states.
#[derive(Debug, Default, Serialize)]
pub struct Residue {
    /// What is new.
    pub(super) left: Vec<String>,
    /// What no longer exists.
    pub(super) missing: Vec<String>,
}

impl NodeState {
    pub fn of(node: &ScratchNode, container: &Container) -> Result<Self> {
        let mut state = Self::default();
        state.add(files(node.root())?);
        state.put("host", inventory()?);
        state.put("container", container.enter(inventory)?);
        Ok(state)
    }

    pub(super) fn put(&mut self, place: &'static str, inventory: Inventory) {
        let Inventory { things, parameters } = inventory;
        self.add(things.into_iter().map(|thing| format!("{place}: {thing}")));
        let parameters = parameters.into_iter();
        self.parameters
            .extend(parameters.map(|(key, value)| ((place, key), value)));
    }

    fn add(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            *self.things.entry(line).or_default() += 1;
        }
    }

    /// The lines that another state does not have, or less often.
    fn beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = String> + 'a {
        self.things.iter().flat_map(|(line, count)| {
            let others = other.things.get(line).copied().unwrap_or_default();
            repeat_n(line.clone(), count.saturating_sub(others))
        })
    }

    /// The differences to the state before, except what may stay.
    pub fn since(&self, before: &Self, keeps: &[Pattern]) -> Residue {
        let is_kept = |line: &String| keeps.iter().any(|pattern| pattern.matches(line));
        let left = self.beyond(before).chain(self.changed_parameters(before));
        Residue {
            left: left.filter(|line| !is_kept(line)).collect(),
            missing: before.beyond(self).filter(|line| !is_kept(line)).collect(),
        }
    }

    /// The parameters of new and removed links are left out.
    fn changed_parameters(&self, before: &Self) -> Vec<String> {
        let changed = self.parameters.iter().filter_map(|(key, now)| {
            let then = before.parameters.get(key)?;
            let (place, name) = key;
            (then != now).then(|| format!("{place}: sysctl {name} is {now}, and was {then}"))
        });
        changed.collect()
    }
}

impl Residue {
    pub fn is_none(&self) -> bool {
        self.left.is_empty() && self.missing.is_empty()
    }

    pub fn print(&self) {
        print_list("left", &self.left);
        if self.left.is_empty() {
            print_line!("left        nothing");
        }
        print_list("missing", &self.missing);
    }
}

pub(super) fn inventory() -> Result<Inventory> {
    Ok(Inventory::take()?)
}

/// The files that plugins wrote below a node's root.
fn files(root: &Path) -> Result<Vec<String>> {
    let all = format!("{}/**/*", Pattern::escape(&root.to_string_lossy()));
    let mut found = Vec::new();
    for path in glob(&all)? {
        let path = path?;
        let below = path.strip_prefix(root).unwrap_or(&path);
        let is_plugins = !NOT_PLUGINS.iter().any(|other| below.starts_with(other));
        let is_directory = path.is_dir() && !path.is_symlink();
        if is_plugins && !is_directory && !stays(&path) {
            found.push(format!("file: /{}", below.display()));
        }
    }
    Ok(found)
}

/// Files that a store keeps for the next attachment: its lock, its spare file, and the last address that host-local gave.
fn stays(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["lock", ".weir~old"].contains(&name.as_ref()) || name.starts_with("last_reserved_ip.")
}
