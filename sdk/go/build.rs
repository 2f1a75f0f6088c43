//! Makes what the crate has of the contract: its types and functions in Go, the description of its world that a module of Go gets;
//! and the adapter for WASI.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use wit_component::{StringEncoding, embed_component_metadata, metadata};
use wit_parser::Resolve;

#[path = "src/bindings/mod.rs"]
mod bindings;

fn main() {
    let sdk = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let wit = sdk.join("../../wit");
    // Not the whole directory, into which weir-go writes.
    for part in [&wit, &sdk.join("adapter"), &sdk.join("src/bindings")] {
        rerun_if_changed(part);
    }
    write(&out.join("adapter.wasm"), &adapter(&sdk.join("adapter")));
    write(&out.join("world"), &world(&wit));
    let contract = contract(&wit, &out);
    write(&out.join("contract.rs"), list(&contract).as_bytes());
    write(&out.join("own.rs"), list(&own(&sdk)).as_bytes());
}

fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn write(path: &Path, content: &[u8]) {
    fs::write(path, content).unwrap_or_else(|e| panic!("write `{}`: {e}", path.display()));
}

/// The module of `adapter/wasi.wat`, with the world of `adapter/wasi.wit`.
fn adapter(directory: &Path) -> Vec<u8> {
    let mut bytes = wat::parse_file(directory.join("wasi.wat")).expect("a module");
    let mut resolve = Resolve::default();
    let package = resolve.push_file(directory.join("wasi.wit")).expect("WIT");
    let world = resolve.select_world(&[package], None).expect("its world");
    embed_component_metadata(&mut bytes, &resolve, world, StringEncoding::UTF8).expect("embed");
    bytes
}

/// A component that calls less than this world has imports less.
fn world(wit: &Path) -> Vec<u8> {
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(wit).expect("the contract");
    let world = resolve
        .select_world(&[package], Some(bindings::WORLD))
        .expect("its world");
    metadata::encode(&resolve, world, StringEncoding::UTF8, None).expect("encode")
}

/// A file of the SDK: its name there, and where its text is.
type File = (String, PathBuf);

/// The files that are made of the contract.
fn contract(wit: &Path, out: &Path) -> Vec<File> {
    let files = bindings::of(wit).expect("the contract in Go");
    let files = files.into_iter().map(|(name, text)| {
        let path = out.join(name.replace('/', "_"));
        write(&path, text.as_bytes());
        (name, path)
    });
    files.collect()
}

/// The files that a person wrote, with the licence, and without tests.
fn own(sdk: &Path) -> Vec<File> {
    let mut files = Vec::new();
    collect(sdk, sdk, &mut files);
    files.sort();
    files
}

fn collect(sdk: &Path, directory: &Path, files: &mut Vec<File>) {
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(sdk, &path, files);
        } else if is_own(&path) {
            rerun_if_changed(&path);
            let name = path.strip_prefix(sdk).expect("below it");
            files.push((name.display().to_string(), path));
        }
    }
}

fn is_own(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_kept =
        name.ends_with(".go") || ["go.mod", "LICENSE", "README.md"].contains(&name.as_ref());
    is_kept && !name.ends_with("_test.go") && name != bindings::FILE
}

/// A slice of names and texts, in Rust.
fn list(files: &[File]) -> String {
    let mut text = "&[".to_owned();
    for (name, path) in files {
        let _ = write!(text, "({name:?}, include_str!({path:?})),");
    }
    text + "]"
}
