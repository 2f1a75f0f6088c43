//! `docs/cookbook.md`: its recipes are the sources of `examples/`, with the output that they have, and attach containers.
//!
//! With `UPDATE_DOCS=1` the page gets the sources and the output of now.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::page::{self, FENCE};
use weir_kit::{Container, Node, State, binary, component, house};

use crate::point_to_point::{addresses, connect, connects};
use crate::{example, path};

const PAGE: &str = "docs/cookbook.md";

/// The files of a recipe by their paths.
type Files = BTreeMap<String, String>;

fn read() -> Result<String> {
    Ok(fs::read_to_string(house().join(PAGE))?)
}

/// The recipes of the page by their examples' names. A recipe begins with a heading that links `../examples/NAME`; the block
/// after a line `` `FILE`: `` is a file.
fn recipes(page: &str) -> Result<BTreeMap<String, Files>> {
    let mut recipes: BTreeMap<String, Files> = BTreeMap::new();
    let mut current = None;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("## ") {
            current = name_in(line);
        } else if let (Some(name), Some(file)) = (&current, file_in(line)) {
            let recipe: &mut Files = recipes.entry(name.clone()).or_default();
            recipe.insert(file.to_owned(), block(&mut lines)?);
        }
    }
    Ok(recipes)
}

fn name_in(heading: &str) -> Option<String> {
    let (_, rest) = heading.split_once("(../examples/")?;
    let (name, _) = rest.split_once(')')?;
    Some(name.to_owned())
}

fn file_in(line: &str) -> Option<&str> {
    line.strip_prefix('`')?.strip_suffix("`:")
}

/// The lines of the next block.
fn block<'p>(lines: &mut impl Iterator<Item = &'p str>) -> Result<String> {
    let opening = lines.find(|line| !line.is_empty());
    let is_fence = opening.is_some_and(|line| line.starts_with(FENCE));
    ensure!(is_fence, "expected a block, found {opening:?}");
    let content = lines.take_while(|line| *line != FENCE);
    Ok(content.map(|line| format!("{line}\n")).collect())
}

/// The files below a directory, without README.md, which is about the example as a whole.
fn files_below(directory: &Path) -> Result<BTreeSet<String>> {
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            let below = files_below(&entry.path())?;
            files.extend(below.into_iter().map(|file| format!("{name}/{file}")));
        } else if name != "README.md" {
            files.insert(name);
        }
    }
    Ok(files)
}

/// What a command of the page prints in a checkout.
fn printed(command: &str) -> Result<String> {
    let words = command.split_whitespace().map(|word| {
        let file = word.strip_prefix("target/wasm32-wasip2/release/");
        let name = file.and_then(|file| file.strip_suffix(".wasm"));
        match name {
            Some(name) => path(&component(&name.replace('_', "-"))).map(ToOwned::to_owned),
            None => Ok(word.to_owned()),
        }
    });
    let words: Vec<String> = words.collect::<Result<_>>()?;
    let output = Command::new(binary())
        .args(&words)
        .current_dir(house())
        .output()?;
    let errors = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "weir {command}: {errors}");
    Ok(String::from_utf8(output.stdout)?)
}

#[test]
fn the_recipes_are_whole_and_show_real_output() -> Result<()> {
    let text = read()?;
    let all = recipes(&text)?;
    let names: Vec<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(
        names,
        ["point-to-point", "route-override", "stable-addresses"]
    );
    let mut again = text.clone();
    for (name, files) in &all {
        let shown: BTreeSet<String> = files.keys().cloned().collect();
        assert_eq!(
            shown,
            files_below(&example(name, ""))?,
            "the files of {name}"
        );
        for (file, shown) in files {
            let real = fs::read_to_string(example(name, file))?;
            again = again.replace(shown.as_str(), &real);
        }
    }
    let again = page::run_again(&again, printed)?;
    page::check(PAGE, &text, &again)?;
    // In sources no word is one of a run.
    for (name, files) in recipes(&read()?)? {
        for (file, shown) in files {
            let real = fs::read_to_string(example(&name, &file))?;
            assert_eq!(shown, real, "{file} of {name}");
        }
    }
    Ok(())
}

/// A node with a recipe's plugin, under the recipe's grant, and its network.
struct RecipeNode {
    node: Node,
    network: String,
}

impl RecipeNode {
    fn of(name: &str) -> Result<Self> {
        let mut recipes = recipes(&read()?)?;
        let mut recipe = recipes.remove(name).context("a recipe")?;
        let mut file = |file| {
            recipe
                .remove(file)
                .with_context(|| format!("{name}: {file}"))
        };
        let node = Node::create()?;
        let digest = node.install_plugin(name)?;
        let grant = file("grant.yaml")?;
        let granted = grant.replace("# digest: sha256:…", &format!("digest: {digest}"));
        assert_ne!(grant, granted, "the grant has no place for a digest");
        node.put_grant(format!("{name}.yaml"), &granted)?;
        let list: Value = serde_json::from_str(&file("network.conflist")?)?;
        node.put_network("10-recipe.conflist", &list)?;
        let network = list["name"].as_str().context("a name")?.to_owned();
        Ok(Self { node, network })
    }

    /// Runs `weir net`.
    fn net(&self, command: &str, container: &Container) -> Result<String> {
        let netns = container.netns();
        let words = ["net", command, &self.network, path(&netns)?];
        let id = ["--container-id", &container.id];
        self.node.weir(&[&words[..], &id].concat())
    }

    /// Attaches a container of that id, has the test look at it and at the result, and detaches it.
    fn attach(&self, look: &dyn Fn(&Container, &Value) -> Result<()>) -> Result<()> {
        let container = self.node.container()?;
        let result = serde_json::from_str(&self.net("add", &container)?)?;
        // IPv4 and IPv6.
        let addresses = addresses(&result)?;
        let families: Vec<bool> = addresses.iter().map(|address| address.is_ipv4()).collect();
        assert_eq!(families, [true, false], "{result:#}");
        for address in addresses {
            connects(&container, address, |to| self.node.inside(|| connect(to)))?;
        }
        look(&container, &result)?;
        self.net("check", &container)?;
        self.net("del", &container)?;
        Ok(())
    }

    /// Attaches twice: the second leaves the node as it was, and what the first leaves is for all containers.
    fn attaches(&self, look: impl Fn(&Container, &Value) -> Result<()>) -> Result<()> {
        self.attach(&look)?;
        let before = State::of(&self.node)?;
        self.attach(&look)?;
        State::of(&self.node)?.assert_same(&before);
        Ok(())
    }
}

/// The destinations of the routes over `eth0`.
fn destinations(container: &Container) -> Result<BTreeSet<String>> {
    let mut destinations = BTreeSet::new();
    for family in ["-4", "-6"] {
        let routes = container.ip_json(&format!("{family} route show dev eth0"))?;
        let routes = routes.as_array().context("a list")?.iter();
        let names = routes.filter_map(|route| route["dst"].as_str());
        destinations.extend(names.map(|to| format!("{family} {to}")));
    }
    Ok(destinations)
}

#[test]
fn the_chained_plugin_is_attached() -> Result<()> {
    RecipeNode::of("route-override")?.attaches(|container, _| {
        let found = destinations(container)?;
        for added in ["-4 192.0.2.0/24", "-6 2001:db8::/32"] {
            assert!(found.contains(added), "{found:?}");
        }
        for removed in ["-4 default", "-6 default", "-4 198.51.100.0/24"] {
            assert!(!found.contains(removed), "{found:?}");
        }
        Ok(())
    })
}

#[test]
fn the_main_plugin_is_attached() -> Result<()> {
    RecipeNode::of("point-to-point")?.attaches(|container, _| {
        let found = destinations(container)?;
        assert!(
            found.contains("-4 default") && found.contains("-6 default"),
            "{found:?}"
        );
        Ok(())
    })
}

#[test]
fn the_ipam_plugin_is_attached() -> Result<()> {
    let fixture = RecipeNode::of("stable-addresses")?;
    fixture.node.let_run_ipam("ptp", "stable-addresses")?;
    fixture.attaches(|container, result| {
        let first = addresses(result)?;
        // Another container has others.
        let other = fixture.node.container()?;
        let of_other = serde_json::from_str(&fixture.net("add", &other)?)?;
        assert_ne!(addresses(&of_other)?, first);
        fixture.net("del", &other)?;
        // The same one has the same again.
        fixture.net("del", container)?;
        let again = serde_json::from_str(&fixture.net("add", container)?)?;
        assert_eq!(addresses(&again)?, first);
        Ok(())
    })
}

#[test]
fn a_page_that_lacks_a_file_is_noticed() -> Result<()> {
    let page =
        "## One: [one](../examples/one)\n\n`a.yaml`:\n\n```yaml\na: 1\n```\n\n## Two\n\n`b`:\n";
    let found = recipes(page)?;
    let expected = json!({ "one": { "a.yaml": "a: 1\n" } });
    assert_eq!(serde_json::to_value(found)?, expected);
    assert!(recipes("## [one](../examples/one)\n`a`:\ntext\n").is_err());
    Ok(())
}
