//! All that stands on a throw-away node and in a container at one moment, to compare before and after.

use std::collections::BTreeMap;
use std::fs;
use std::iter::repeat_n;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow};
use glob::Pattern;
use serde::Serialize;
use weir_kernel::without_permit::Inventory;

use crate::cli::output::{print_line, say};
use crate::cli::scratch_node::{Container, ScratchNode};

/// Below the node's root: what weir and the test themselves put there.
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

/// One moment.
#[derive(Default)]
pub struct Standing {
    /// One line for each thing, that begins with where it is, and how many have that line: two rules
    /// may differ in what their lines do not say.
    things: BTreeMap<String, usize>,
    /// Kernel parameters, by where they are and their key.
    parameters: BTreeMap<(&'static str, String), String>,
}

/// What is not as it was.
#[derive(Debug, Default, Serialize)]
pub struct Residue {
    /// What has come and not gone.
    pub(super) left: Vec<String>,
    /// What was there before and is not any more.
    pub(super) missing: Vec<String>,
}

impl Standing {
    pub fn of(node: &ScratchNode, container: &Container) -> Result<Self> {
        let mut standing = Self::default();
        standing.add(files(node.root())?);
        standing.put("host", inventory()?);
        standing.put("container", container.enter(inventory)?);
        Ok(standing)
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

    /// The lines that another moment does not have, or not so often.
    fn beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = String> + 'a {
        self.things.iter().flat_map(|(line, count)| {
            let others = other.things.get(line).copied().unwrap_or_default();
            repeat_n(line.clone(), count.saturating_sub(others))
        })
    }

    /// What is not as it was before, but for what may stay.
    pub fn since(&self, before: &Self, keeps: &[Pattern]) -> Residue {
        let is_kept = |line: &String| keeps.iter().any(|pattern| pattern.matches(line));
        let missing = before.beyond(self);
        Residue {
            left: self
                .beyond(before)
                .chain(self.changed_parameters(before))
                .filter(|line| !is_kept(line))
                .collect(),
            missing: missing.filter(|line| !is_kept(line)).collect(),
        }
    }

    /// Those of links that have come or gone are told by the links.
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
        let mut title = "left";
        for line in &self.left {
            say!("{title:<11} {line}");
            title = "";
        }
        if self.left.is_empty() {
            print_line!("left        nothing");
        }
        title = "missing";
        for line in &self.missing {
            say!("{title:<11} {line}");
            title = "";
        }
    }
}

/// Of the calling thread's namespace.
pub(super) fn inventory() -> Result<Inventory> {
    Inventory::take().map_err(|e| anyhow!("{e}"))
}

/// The files below a node's root that plugins write.
fn files(root: &Path) -> Result<Vec<String>> {
    let not_plugins: Vec<PathBuf> = NOT_PLUGINS.iter().map(|path| root.join(path)).collect();
    let mut found = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries =
            fs::read_dir(&directory).with_context(|| format!("list `{}`", directory.display()))?;
        for entry in entries {
            let path = entry?.path();
            if not_plugins.contains(&path) {
                continue;
            }
            if path.is_dir() {
                directories.push(path);
            } else if !stays(&path) {
                let shown = path.strip_prefix(root).unwrap_or(&path);
                found.push(format!("file: /{}", shown.display()));
            }
        }
    }
    Ok(found)
}

/// What every store keeps for the next attachment: its lock, its spare file, and host-local's note of
/// the address that it gave last.
fn stays(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ["lock", ".weir~old"].contains(&name.as_ref()) || name.starts_with("last_reserved_ip.")
}
