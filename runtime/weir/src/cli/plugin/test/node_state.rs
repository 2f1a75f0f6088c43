//! The state of a temporary node and a container at one moment: links, routes, rules, files.

use std::collections::BTreeMap;
use std::iter::repeat_n;
use std::path::Path;

use anyhow::Result;
use glob::{Pattern, glob};
use serde::Serialize;
use weir_grant::link::Link;
use weir_kernel::without_permit::Inventory;

use crate::cli::output::{print_line, print_list};
use crate::cli::scratch_node::{Container, ScratchNode};

/// What weir and the test put below the node's root.
const NOT_PLUGINS: [&str; 9] = [
    "etc/weir",
    "run/netns",
    "run/weir",
    "var/lib/cni/results",
    "var/lib/weir/grants.seen",
    "var/lib/weir/indexes",
    "var/lib/weir/plugins",
    "var/log/weir",
    "opt",
];

/// The kernel parameters that each interface has of its own, below `net.`. New interfaces get the values of `default`.
const OF_INTERFACES: [&str; 4] = ["ipv4.conf", "ipv6.conf", "ipv4.neigh", "ipv6.neigh"];

/// The one that follows from the interface.
const INTERFACES_MTU: &str = "mtu";

/// Parameters that the kernel sets with another one.
const SET_WITH: [(&str, &str); 4] = [
    ("net.ipv4.conf.*.forwarding", "net.ipv4.ip_forward"),
    ("net.ipv4.conf.all.accept_redirects", "net.ipv4.ip_forward"),
    ("net.ipv6.conf.*.forwarding", "net.ipv6.conf.all.forwarding"),
    (
        "net.ipv6.conf.*.disable_ipv6",
        "net.ipv6.conf.all.disable_ipv6",
    ),
];

/// A kernel parameter: its place, and its key.
type Parameter = (&'static str, String);

#[derive(Clone, Default)]
pub struct NodeState {
    /// One line for each thing, which begins with its place, and the number of things with that line: the lines of different
    /// rules may be the same.
    things: BTreeMap<String, usize>,
    parameters: BTreeMap<Parameter, String>,
    /// The links of each place, by their indexes.
    links: Vec<(&'static str, Link)>,
}

/// What a command of the test changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Changes {
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

/// The differences between the state before all commands and after them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
        let Inventory {
            things,
            parameters,
            links,
        } = inventory;
        self.add(things.into_iter().map(|thing| format!("{place}: {thing}")));
        let parameters = parameters.into_iter();
        self.parameters
            .extend(parameters.map(|(key, value)| ((place, key), value)));
        self.put_links(place, links);
    }

    pub(super) fn put_links(&mut self, place: &'static str, links: Vec<Link>) {
        let links = links.into_iter();
        self.links.extend(links.map(|link| (place, link)));
    }

    fn add(&mut self, lines: impl IntoIterator<Item = String>) {
        for line in lines {
            *self.things.entry(line).or_default() += 1;
        }
    }

    /// Returns the links of the host, then those of the container, in the order in which they were made.
    pub fn links(&self) -> impl Iterator<Item = (&'static str, &Link)> {
        self.links.iter().map(|(place, link)| (*place, link))
    }

    /// The lines that another state does not have, or less often.
    fn beyond<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = String> + 'a {
        self.things.iter().flat_map(|(line, count)| {
            let others = other.things.get(line).copied().unwrap_or_default();
            repeat_n(line.clone(), count.saturating_sub(others))
        })
    }

    /// Returns the differences to the state before.
    pub fn changes_since(&self, before: &Self) -> Changes {
        let parameters = self.changed_parameters(before).into_iter();
        let of_new_links = self.own_parameters(before);
        let added = self.beyond(before).chain(parameters).chain(of_new_links);
        let mut changes = Changes {
            added: added.collect(),
            removed: before.beyond(self).collect(),
        };
        changes.added.sort();
        changes
    }

    /// Returns the differences to the state before that remain, except what may stay.
    pub fn residue_since(&self, before: &Self, keeps: &[Pattern]) -> Residue {
        let is_kept = |line: &String| keeps.iter().any(|pattern| pattern.matches(line));
        let left = self.beyond(before).chain(self.changed_parameters(before));
        Residue {
            left: left.filter(|line| !is_kept(line)).collect(),
            missing: before.beyond(self).filter(|line| !is_kept(line)).collect(),
        }
    }

    /// The parameters of new and removed links are left out, and those that the kernel set with another one.
    fn changed_parameters(&self, before: &Self) -> Vec<String> {
        let changed = self.parameters.iter().filter_map(|(key, now)| {
            let then = before.parameters.get(key)?;
            let (place, name) = key;
            let is_shown = then != now && !self.is_set_with_another(before, key);
            is_shown.then(|| format!("{place}: sysctl {name} is {now}, and was {then}"))
        });
        changed.collect()
    }

    fn is_set_with_another(&self, before: &Self, (place, name): &Parameter) -> bool {
        let has_changed = |cause: &str| {
            let cause = (*place, cause.to_owned());
            self.parameters.get(&cause) != before.parameters.get(&cause)
        };
        SET_WITH.iter().any(|(followers, cause)| {
            let follows = Pattern::new(followers).is_ok_and(|p| p.matches(name));
            name != cause && follows && has_changed(cause)
        })
    }

    /// The parameters of new links that have another value than a new link gets.
    fn own_parameters(&self, before: &Self) -> Vec<String> {
        let new = self.parameters.iter();
        let new = new.filter(|(key, _)| !before.parameters.contains_key(*key));
        let own = new.filter_map(|(key, now)| {
            let (place, name) = key;
            let default = self.parameters.get(&(place, default_of(name)?))?;
            (default != now)
                .then(|| format!("{place}: sysctl {name} is {now}, and is {default} by default"))
        });
        own.collect()
    }
}

/// The key from which a new interface's parameter gets its value; none if that is of no interface, or follows from it.
fn default_of(key: &str) -> Option<String> {
    let below = key.strip_prefix("net.")?;
    let family = OF_INTERFACES.into_iter().find(|family| {
        let rest = below.strip_prefix(family);
        rest.is_some_and(|rest| rest.starts_with('.'))
    })?;
    // A dot in the name of an interface is a slash in the key.
    let (_, parameter) = below[family.len() + 1..].split_once('.')?;
    (parameter != INTERFACES_MTU).then(|| format!("net.{family}.default.{parameter}"))
}

impl Residue {
    pub fn is_none(&self) -> bool {
        self.left.is_empty() && self.missing.is_empty()
    }

    /// With each line in another form.
    pub fn map(&self, form: impl Fn(&str) -> String) -> Self {
        let lines = |lines: &[String]| lines.iter().map(|line| form(line)).collect();
        Self {
            left: lines(&self.left),
            missing: lines(&self.missing),
        }
    }

    /// Takes out what another residue has as well, and returns that. The lines of the other one are in the form that `form`
    /// gives to these.
    pub fn take_out(&mut self, others: &Self, form: impl Fn(&str) -> String) -> Self {
        Self {
            left: take_out(&mut self.left, &others.left, &form),
            missing: take_out(&mut self.missing, &others.missing, &form),
        }
    }

    pub fn print(&self) {
        print_list("left", &self.left);
        if self.left.is_empty() {
            print_line!("left        nothing");
        }
        print_list("missing", &self.missing);
    }
}

/// Takes each of these lines out once, and returns those that were there.
fn take_out(
    lines: &mut Vec<String>,
    others: &[String],
    form: &dyn Fn(&str) -> String,
) -> Vec<String> {
    let mut taken = Vec::new();
    for other in others {
        if let Some(at) = lines.iter().position(|line| form(line) == *other) {
            taken.push(lines.remove(at));
        }
    }
    taken
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
