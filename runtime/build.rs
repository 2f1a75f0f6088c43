//! Puts the standard plugins into the binary: for each, its component, its ahead-of-time code, its
//! digest, and its grant as JSON, so that no YAML is read while a container waits. And the compiler
//! of plugins, and the hostile plugin of `weir demo`.
//!
//! They are compiled before this crate is (`make plugins`); see `ARCHITECTURE.md`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    if env::var_os("CARGO_FEATURE_SANDBOX").is_none() {
        return;
    }
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let house = manifest.parent().expect("the crate is in the house");
    let built =
        env::var_os("WEIR_PLUGINS").map_or_else(|| house.join("target/plugins"), PathBuf::from);
    println!("cargo::rerun-if-env-changed=WEIR_PLUGINS");

    // Thousands of relocations are read at every start: packed, they are a thirtieth of the size.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");

    let mut source = String::from("static BUILT_IN: &[BuiltIn] = &[\n");
    for name in names(&house.join("plugins")) {
        let grant = house.join("plugins").join(&name).join("grant.yaml");
        source += &entry(&name, &built, &grant);
    }
    source += "];\n";

    embed("WEIR_HOSTILE", &built.join("hostile.wasm"));
    embed("WEIR_COMPILER", &built.join("weir-compiler"));

    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("builtin.rs"), source).expect("the output directory is writable");
}

/// Tells the code where to include a file from.
fn embed(variable: &str, file: &Path) {
    read(file);
    println!("cargo::rustc-env={variable}={}", file.display());
}

/// The standard plugins: the directories below `plugins`, sorted.
fn names(plugins: &Path) -> Vec<String> {
    println!("cargo::rerun-if-changed={}", plugins.display());
    let mut names: Vec<String> = fs::read_dir(plugins)
        .expect("the house has plugins")
        .map(|entry| entry.expect("a directory entry").file_name())
        .map(|name| name.into_string().expect("a plugin's name is ASCII"))
        .filter(|name| plugins.join(name).join("grant.yaml").exists())
        .collect();
    names.sort();
    names
}

fn entry(name: &str, built: &Path, grant: &Path) -> String {
    let component = built.join(name).with_extension("wasm");
    let code = built.join(name).with_extension("cwasm");
    let digest = digest(&read(&component));
    read(&code);
    let grant = grant_as_json(grant);
    let mut entry = String::new();
    writeln!(
        entry,
        "    BuiltIn {{ name: {name:?}, digest: {digest:?}, component: include_bytes!({component:?}), \
         code: &Embedded(*include_bytes!({code:?})), grant: {grant:?} }},"
    )
    .expect("writing to a string");
    entry
}

fn read(path: &Path) -> Vec<u8> {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read(path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; the standard plugins are compiled before the binary: run `make plugins`",
            path.display()
        )
    })
}

fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("writing to a string");
    }
    text
}

fn grant_as_json(path: &Path) -> String {
    let text = String::from_utf8(read(path)).expect("a grant is UTF-8");
    let grant: serde_json::Value =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    grant.to_string()
}
