//! What is in a node's kernel and file system, to compare before and after.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use super::node::Node;

/// All that a plugin could leave behind on a host.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub links: Vec<String>,
    pub addresses: Vec<String>,
    pub routes: Vec<String>,
    pub rules: Vec<String>,
    pub disciplines: Vec<String>,
    pub nftables: Vec<Value>,
    /// Leases and cached results, with their content.
    pub files: BTreeMap<String, String>,
}

impl State {
    /// The state of a node.
    pub fn of(node: &Node) -> Result<Self> {
        let shown = node.shown()?;
        Ok(Self {
            links: names(&shown.links),
            addresses: addresses(&shown.links),
            routes: routes(shown.routes),
            rules: texts(shown.rules),
            disciplines: disciplines(&node.tool("tc", "qdisc show")?),
            nftables: nftables(&node.tool("nft", "-j list ruleset")?)?,
            files: files(node),
        })
    }
}

impl State {
    /// What is in one of two states and not in the other, one thing a line; empty where they are the
    /// same.
    pub fn difference(&self, before: &Self) -> String {
        let (now, before) = (self.things(), before.things());
        let gone = before
            .iter()
            .filter(|thing| !now.contains(thing))
            .map(|t| format!("- {t}"));
        let come = now
            .iter()
            .filter(|thing| !before.contains(thing))
            .map(|t| format!("+ {t}"));
        gone.chain(come).collect::<Vec<String>>().join("\n")
    }

    /// Fails, telling the difference, where this state is not the one before.
    #[track_caller]
    pub fn assert_same(&self, before: &Self) {
        let difference = self.difference(before);
        assert!(self == before, "the node is not as it was:\n{difference}");
    }

    fn things(&self) -> Vec<String> {
        let lists = [
            ("link", &self.links),
            ("address", &self.addresses),
            ("route", &self.routes),
            ("rule", &self.rules),
            ("discipline", &self.disciplines),
        ];
        let listed = lists
            .iter()
            .flat_map(|(word, list)| list.iter().map(move |thing| format!("{word} {thing}")));
        let nftables = self
            .nftables
            .iter()
            .map(|object| format!("nftables {object}"));
        let files = self
            .files
            .iter()
            .map(|(path, text)| format!("file {path}: {text:?}"));
        listed.chain(nftables).chain(files).collect()
    }
}

fn names(links: &[Value]) -> Vec<String> {
    let mut names: Vec<String> = links
        .iter()
        .filter_map(|link| link["ifname"].as_str().map(str::to_owned))
        .collect();
    names.sort();
    names
}

fn addresses(links: &[Value]) -> Vec<String> {
    let mut all = Vec::new();
    for link in links {
        for address in link["addr_info"].as_array().into_iter().flatten() {
            // A link-local address comes and goes with the link's state.
            if address["scope"] != "link" {
                all.push(format!(
                    "{} {}/{}",
                    link["ifname"], address["local"], address["prefixlen"]
                ));
            }
        }
    }
    all.sort();
    all
}

/// Without the kernel's own: the routes of its local table follow from the addresses, and come and go
/// with the carrier, as the flag does.
fn routes(mut routes: Vec<Value>) -> Vec<String> {
    routes.retain(|route| route["table"] != "local");
    for route in &mut routes {
        if let Some(flags) = route["flags"].as_array_mut() {
            flags.retain(|flag| flag != "linkdown");
        }
    }
    texts(routes)
}

/// Without what follows from the addresses of the links' own.
fn texts(list: Vec<Value>) -> Vec<String> {
    let texts = list.iter().map(Value::to_string);
    let mut texts: Vec<String> = texts.filter(|text| !is_links_own(text)).collect();
    texts.sort();
    texts
}

fn is_links_own(text: &str) -> bool {
    text.contains("fe80::") || text.contains("ff00::/8")
}

fn lines(text: &str) -> Vec<String> {
    let mut lines: Vec<String> = text
        .lines()
        .filter(|line| !is_links_own(line))
        .map(|line| line.trim().to_owned())
        .collect();
    lines.sort();
    lines
}

/// Without the kernel's own, which have no handle.
fn disciplines(text: &str) -> Vec<String> {
    let mut disciplines = lines(text);
    disciplines.retain(|discipline| !discipline.contains(" 0: "));
    disciplines
}

/// Everything in the ruleset without handles, which only grow.
fn nftables(text: &str) -> Result<Vec<Value>> {
    let mut ruleset: Value = serde_json::from_str(text)?;
    let mut objects: Vec<Value> = ruleset["nftables"]
        .as_array_mut()
        .map(std::mem::take)
        .unwrap_or_default();
    objects.retain(|object| object.get("metainfo").is_none());
    for object in &mut objects {
        for value in object
            .as_object_mut()
            .into_iter()
            .flat_map(|o| o.values_mut())
        {
            value.as_object_mut().map(|value| value.remove("handle"));
        }
    }
    Ok(objects)
}

fn files(node: &Node) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for below in ["var/lib/cni", "var/lib/weir/stores"] {
        collect(&node.root().join(below), node.root(), &mut files);
    }
    files
}

/// Locks, which address was last, and the spare file of a store are no leases.
fn collect(directory: &Path, root: &Path, files: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() {
            collect(&path, root, files);
        } else if !["lock", ".weir~old"].contains(&name.as_str())
            && !name.starts_with("last_reserved_ip")
        {
            let content = fs::read(&path).unwrap_or_default();
            let shown = path
                .strip_prefix(root)
                .unwrap_or(&path)
                .display()
                .to_string();
            files.insert(shown, String::from_utf8_lossy(&content).into_owned());
        }
    }
}
