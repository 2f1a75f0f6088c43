//! The house's rules that neither Cargo nor the compiler checks.

mod circles;
mod features;
mod guests;
mod permits;
mod source;

use std::fs;

use weir_kit::house;

use source::Crate;

/// The crates that are looked at: the floors, what plugins are written with, and the plugins.
fn crates() -> Vec<Crate> {
    let mut crates = Vec::new();
    for directory in ["runtime", "sdk", "plugins"] {
        let entries = fs::read_dir(house().join(directory)).expect("a directory of the house");
        for entry in entries {
            crates.extend(Crate::read(&entry.expect("an entry").path()));
        }
    }
    crates
}

#[test]
fn there_is_no_import_circle() {
    let crates = crates();
    // What can see none finds none.
    let imports: usize = crates.iter().map(|c| circles::imports(c).len()).sum();
    assert!(imports > 500, "only {imports} imports were found");
    let found: Vec<String> = crates.iter().flat_map(circles::of_crate).collect();
    assert!(found.is_empty(), "import circles:\n{}", found.join("\n"));
}

#[test]
fn what_a_plugin_can_reach_in_the_kernel_takes_a_permit() {
    let kernel = Crate::read(&house().join("runtime/kernel")).expect("the crate is there");
    let mut functions = permits::public_functions(&kernel);
    assert!(functions.len() > 10, "{functions:?}");
    let methods = permits::public_methods(&kernel, "Linux");
    assert!(methods.len() > 4, "{methods:?}");
    functions.extend(methods);
    let without: Vec<&str> = functions
        .iter()
        .filter(|function| !function.takes_permit && !function.module.starts_with("without_permit"))
        .map(|function| function.name.as_str())
        .filter(|name| !permits::is_pure(name))
        .collect();
    assert!(without.is_empty(), "take no permit: {without:?}");
}

#[test]
fn each_guest_program_has_a_test() {
    let (names, strings) = (guests::names(), guests::strings());
    assert!(!names.is_empty());
    let unused: Vec<&String> = names.difference(&strings).collect();
    assert!(unused.is_empty(), "no test uses {unused:?}");
}

#[test]
fn the_map_of_the_architecture_has_fewer_than_150_lines() {
    let map = fs::read_to_string(house().join("ARCHITECTURE.md")).expect("the map is there");
    assert!(map.lines().count() < 150, "{} lines", map.lines().count());
}

#[test]
fn what_procedural_macros_depend_on_is_built_once() -> anyhow::Result<()> {
    let of_plugins = features::of_plugins()?;
    let of_workspace = features::of_workspace()?;
    let is_there = |package: &str| of_plugins.iter().any(|found| found.starts_with(package));
    assert!(
        is_there("syn ") && is_there("wit-parser "),
        "{of_plugins:#?}"
    );
    let other: Vec<_> = of_plugins.difference(&of_workspace).collect();
    assert!(
        other.is_empty(),
        "the builds of the plugins want other features than the workspace's: add what is missing to tests/features: {other:#?}"
    );
    Ok(())
}
