//! `weir-c WIT OUT [WORLD]`: writes the contract's bindings for a plugin in C, for the world `plugin` or another, such as
//! `ipam-plugin`. For the world `plugin`, `plugin.h` has its types and functions, `plugin.c` is compiled with the plugin,
//! and `plugin_component_type.o` is linked with it, so that the module can be made a component.
//!
//! `sdk/c/build` runs it, and `examples/pinned-gateway` is such a plugin.

use std::path::{Path, PathBuf};
use std::{env, fs};

use anyhow::{Context, Result, bail};
use wit_bindgen_c::Opts;
use wit_bindgen_core::Files;
use wit_bindgen_core::wit_parser::Resolve;

/// The world that is meant unless another one is named.
const WORLD: &str = "plugin";

fn main() -> Result<()> {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let (wit, out, world) = match arguments.as_slice() {
        [wit, out] => (wit, out, WORLD),
        [wit, out, world] => (wit, out, world.to_str().context("WORLD is not UTF-8")?),
        _ => bail!("usage: weir-c WIT OUT [WORLD]"),
    };
    let files = bindings(wit, world).with_context(|| format!("read `{}`", wit.display()))?;
    fs::create_dir_all(out).with_context(|| format!("create `{}`", out.display()))?;
    for (name, content) in files.iter() {
        let path = out.join(name);
        fs::write(&path, content).with_context(|| format!("write `{}`", path.display()))?;
    }
    Ok(())
}

fn bindings(wit: &Path, world: &str) -> Result<Files> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_path(wit)?;
    let world = resolve.select_world(&[package], Some(world))?;
    let mut files = Files::default();
    let mut generator = Opts::default().build();
    generator.generate(&mut resolve, world, &mut files)?;
    Ok(files)
}
