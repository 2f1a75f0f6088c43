//! The contract's versions and worlds, and the worlds of this repository's components.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wit_component::targets;
use wit_parser::{PackageId, Resolve, Stability, WorldItem};

/// The standard plugins that are IPAM plugins.
const IPAM: [&str; 2] = ["host-local", "static"];

fn house() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn contract() -> Result<(Resolve, PackageId)> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(house().join("wit"))?;
    Ok((resolve, package))
}

#[test]
fn every_item_says_since_when_it_is_there() -> Result<()> {
    let (resolve, _) = contract()?;
    let mut unmarked = Vec::new();
    let mut note = |name: String, stability: &Stability| {
        if !matches!(stability, Stability::Stable { .. }) {
            unmarked.push(name);
        }
    };
    for (_, interface) in resolve.interfaces.iter() {
        let name = interface.name.as_deref().context("an interface's name")?;
        note(name.to_owned(), &interface.stability);
        for (function, item) in &interface.functions {
            note(format!("{name}.{function}"), &item.stability);
        }
        for (ty, id) in &interface.types {
            note(format!("{name}.{ty}"), &resolve.types[*id].stability);
        }
    }
    for (_, world) in resolve.worlds.iter() {
        note(world.name.clone(), &world.stability);
        for (key, item) in world.imports.iter().chain(&world.exports) {
            note(format!("{}.{key:?}", world.name), item.stability(&resolve));
        }
    }
    assert!(unmarked.is_empty(), "without @since: {unmarked:#?}");
    Ok(())
}

/// `ipam-plugin` has the interfaces of `plugin`, except `ipam`.
#[test]
fn an_ipam_plugin_has_what_a_plugin_has_but_ipam() -> Result<()> {
    let (resolve, package) = contract()?;
    let names = |world: &str| -> Result<Vec<String>> {
        let world = resolve.select_world(&[package], Some(world))?;
        let imports = resolve.worlds[world].imports.values();
        let names = imports.filter_map(|item| match item {
            WorldItem::Interface { id, .. } => resolve.interfaces[*id].name.clone(),
            _ => None,
        });
        Ok(names.collect())
    };
    let (of_ipam, of_all) = (names("ipam-plugin")?, names("plugin")?);
    assert!(!of_ipam.contains(&"ipam".to_owned()), "{of_ipam:?}");
    let further: Vec<&String> = (of_ipam.iter())
        .filter(|name| !of_all.contains(name))
        .collect();
    assert!(further.is_empty(), "not in `plugin`: {further:?}");
    Ok(())
}

#[test]
fn the_standard_plugins_are_of_their_worlds() -> Result<()> {
    let (resolve, package) = contract()?;
    let mut seen = 0;
    for entry in house().join("plugins").read_dir()? {
        let name = entry?.file_name().into_string().expect("a plugin's name");
        let file = house().join(format!("target/components/{name}.wasm"));
        let component =
            std::fs::read(&file).with_context(|| format!("read `{}`", file.display()))?;
        let world = if IPAM.contains(&name.as_str()) {
            "ipam-plugin"
        } else {
            "plugin"
        };
        let world = resolve.select_world(&[package], Some(world))?;
        targets(&resolve, world, &component).with_context(|| name.clone())?;
        seen += 1;
    }
    assert!(seen >= IPAM.len(), "{seen} plugins");
    Ok(())
}

/// Shows that `targets` refuses a component that imports more than its world has.
#[test]
fn a_main_plugin_is_not_of_the_world_of_ipam_plugins() -> Result<()> {
    let (resolve, package) = contract()?;
    let world = resolve.select_world(&[package], Some("ipam-plugin"))?;
    let bridge = std::fs::read(house().join("target/components/bridge.wasm"))?;
    let error = targets(&resolve, world, &bridge).expect_err("bridge runs IPAM plugins");
    assert!(format!("{error:#}").contains("weir:cni/"), "{error:#}");
    Ok(())
}
