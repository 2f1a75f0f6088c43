//! Embeds in the binary what `make` has built before this crate: for each standard plugin its component, its ahead-of-time
//! code, its digest, and its grant as JSON, so that no YAML is read while a container waits; the compiler of plugins; and the
//! hostile plugin of `weir demo`.
//!
//! They are in `target/plugins/ARCH/debug` or `target/plugins/ARCH/release`. If that directory is empty, as with `cargo build` in a
//! clean clone, nothing is embedded, and the binary says so.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    // Thousands of relocations are read at every start. Packed, they are a thirtieth of the size.
    println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    lay_out();
    check_release();

    let manifest = PathBuf::from(variable("CARGO_MANIFEST_DIR"));
    let house = manifest
        .ancestors()
        .nth(2)
        .expect("the crate is in the house");
    let arch = variable("CARGO_CFG_TARGET_ARCH");
    let built = house
        .join("target/plugins")
        .join(arch)
        .join(variable("PROFILE"));
    let (code, inside) = if is_empty(&built) {
        let nothing = "Inside { plugins: &[], compiler: None, hostile: None }";
        (String::new(), nothing.to_owned())
    } else {
        let names = names(&house.join("plugins"));
        (code(&names, &built), inside(house, &names, &built))
    };
    let build = build(house, &built);
    let source =
        format!("{code}static INSIDE: Inside = {inside};\nstatic BUILD: Build = {build};\n");
    let out = PathBuf::from(variable("OUT_DIR"));
    fs::write(out.join("inside.rs"), source).expect("the output directory is writable");
}

/// What the processor maps by one entry, if the page cache has the file in pieces of this size.
const LARGE_PAGE: usize = 2 << 20;

/// Lays out the binary as the linker script `WEIR_LINK_LAYOUT` says, and writes where everything is to `WEIR_LINK_MAP`.
fn lay_out() {
    for name in ["WEIR_LINK_LAYOUT", "WEIR_LINK_MAP"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    if let Ok(layout) = env::var("WEIR_LINK_LAYOUT") {
        println!("cargo::rerun-if-changed={layout}");
        println!("cargo::rustc-link-arg-bins=-Wl,-T,{layout}");
        // Code begins where a large page can, in memory and in the file.
        println!("cargo::rustc-link-arg-bins=-Wl,-z,max-page-size={LARGE_PAGE:#x}");
    }
    if let Ok(map) = env::var("WEIR_LINK_MAP") {
        println!("cargo::rustc-link-arg-bins=-Wl,-Map={map}");
    }
}

/// Checks that a release is built of its own sources (`cli/plugin/new.rs` says what a release is).
fn check_release() {
    println!("cargo::rerun-if-env-changed=WEIR_RELEASE");
    let release = env::var("WEIR_RELEASE").unwrap_or_default();
    let own = variable("CARGO_PKG_VERSION");
    assert!(
        release.is_empty() || release == own,
        "WEIR_RELEASE is `{release}`, and these are the sources of {own}"
    );
}

/// How the binary is built, for `weir version --build`: nothing of it depends on where that is.
fn build(house: &Path, built: &Path) -> String {
    for name in ["WEIR_COMMIT", "WEIR_PROFILE"] {
        println!("cargo::rerun-if-env-changed={name}");
    }
    let commit = env::var("WEIR_COMMIT").ok().filter(|text| !text.is_empty());
    let file_of = |name: &str| env::var(name).ok().map(|file| digest(&read(file.as_ref())));
    let compiler = (!is_empty(built)).then(|| digest(&read(&built.join("weir-compiler"))));
    format!(
        "Build {{ commit: {commit:?}, target: {:?}, rustc: {:?}, wasmtime: {:?}, optimised: {}, profile: {:?}, \
         layout: {:?}, compiler: {compiler:?} }}",
        variable("TARGET"),
        rustc(),
        locked(house, "wasmtime"),
        variable("OPT_LEVEL") != "0",
        file_of("WEIR_PROFILE"),
        file_of("WEIR_LINK_LAYOUT"),
    )
}

/// Which compiler of Rust, such as `1.95.0 (59807616e 2026-04-14)`.
fn rustc() -> String {
    let output = Command::new(variable("RUSTC")).arg("--version").output();
    let text = String::from_utf8(output.expect("rustc runs").stdout).expect("a version is UTF-8");
    let version = text.trim();
    version.strip_prefix("rustc ").unwrap_or(version).to_owned()
}

/// The version of a dependency that the lock file has.
fn locked(house: &Path, name: &str) -> String {
    let lock = String::from_utf8(read(&house.join("Cargo.lock"))).expect("a lock file is UTF-8");
    let own = format!("\nname = \"{name}\"\nversion = \"");
    let (_, rest) = lock.split_once(&own).expect("it is locked");
    let (version, _) = rest.split_once('"').expect("a version is quoted");
    version.to_owned()
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}

/// Creates the directory as well, so that Cargo notices when a file is added.
fn is_empty(built: &Path) -> bool {
    let _ = fs::create_dir_all(built);
    println!("cargo::rerun-if-changed={}", built.display());
    fs::read_dir(built).map_or(true, |mut entries| entries.next().is_none())
}

fn inside(house: &Path, names: &[String], built: &Path) -> String {
    let mut source = String::from("Inside {\n    plugins: &[\n");
    for name in names {
        let grant = house.join("plugins").join(name).join("grant.yaml");
        source += &entry(name, built, &grant);
    }
    let embed = |name: &str| format!("Some({})", bytes(&built.join(name)));
    let (compiler, hostile) = (embed("weir-compiler"), embed("hostile.wasm"));
    write!(
        source,
        "    ],\n    compiler: {compiler},\n    hostile: {hostile},\n}}"
    )
    .expect("writing to a string");
    source
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

/// The plugins of nearly every pod. Their code is side by side, so that one large page has both.
const FIRST: [&str; 2] = ["bridge", "host-local"];

/// The code of the plugins, mapped with the program's own: no call has to make it executable.
fn code(names: &[String], built: &Path) -> String {
    let codes = names.iter().map(|plugin| {
        let file = built.join(plugin).with_extension("cwasm");
        let length = read(&file).len();
        let name = name_of_code(plugin);
        format!(
            "#[unsafe(link_section = \".text.plugins\")]\n\
             static {name}: weir_engine::Embedded<[u8; {length}]> = weir_engine::Embedded(*include_bytes!({file:?}));\n"
        )
    });
    codes.collect()
}

/// The name of a plugin's code in the source. The compiler sorts by it.
fn name_of_code(plugin: &str) -> String {
    let rank = if FIRST.contains(&plugin) { "A" } else { "B" };
    let plugin = plugin.to_ascii_uppercase().replace('-', "_");
    // Before a name stands its length: all have the same.
    format!("{rank}_{plugin:_<20}")
}

fn entry(name: &str, built: &Path, grant: &Path) -> String {
    let component = built.join(name).with_extension("wasm");
    let digest = digest(&read(&component));
    let (component, code) = (bytes(&component), name_of_code(name));
    let (grant, tenants) = grant_as_json(grant);
    format!(
        "        weir_sandbox::BuiltIn {{ name: {name:?}, digest: {digest:?}, component: {component}, \
         code: &{code}, grant: {grant:?}, tenants: {tenants:?} }},\n"
    )
}

/// The bytes of a file that hardly any call reads: in a section of their own, so that the constants that calls read are side by side.
fn bytes(file: &Path) -> String {
    let length = read(file).len();
    format!(
        "{{ #[unsafe(link_section = \".inside\")] static BYTES: [u8; {length}] = *include_bytes!({file:?}); &BYTES }}"
    )
}

fn read(path: &Path) -> Vec<u8> {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read(path).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; the files to embed are incomplete: run `make build` or `make dev`",
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

/// A grant without its `tenants`, and these.
fn grant_as_json(path: &Path) -> (String, String) {
    let text = String::from_utf8(read(path)).expect("a grant is UTF-8");
    let mut grant: serde_json::Value =
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let tenants = grant["spec"]
        .as_object_mut()
        .and_then(|spec| spec.remove("tenants"))
        .unwrap_or_default();
    (grant.to_string(), tenants.to_string())
}
