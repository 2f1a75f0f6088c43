//! The laboratory: network namespaces, plugins run as a container runtime runs them, and the kernel's
//! state afterwards.
//!
//! A test makes a [`Node`], which has a network namespace and a file system root of its own, and
//! containers in it. Everything is gone when they are dropped.

pub mod api_server;
pub mod audit;
pub mod containerd;
pub mod cri;
pub mod disk;
pub mod ear;
pub mod examples;
pub mod firewalld;
pub mod gate;
pub mod grants_used;
pub mod guest;
pub mod help;
pub mod http_server;
mod installed;
pub mod kernel_peer;
pub mod kubectl;
pub mod memory;
pub mod namespace;
pub mod node;
pub mod page;
mod peers;
pub mod plugin;
pub mod probe;
pub mod recording;
pub mod shown;
pub mod sigstore;
pub mod state;
pub mod throughput;
pub mod trace;
pub mod traffic;
pub mod vm;
mod waiting;
pub mod web;

pub use api_server::ApiServer;
pub use guest::Grant;
pub use namespace::{Namespace, fresh_namespace};
pub use node::{Container, Node, STANDARD, addresses_in};
pub use peers::peer;
pub use plugin::{Call, Outcome, floor, reference, start, weir};
pub use probe::Probe;
pub use state::State;
pub use waiting::{patiently, wait_for};
pub use web::Web;

use std::fmt::Debug;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

/// As in weir: a test program spends up to a fifth of its time in musl's allocator and in its copying.
#[cfg(target_env = "musl")]
#[global_allocator]
static HEAP: weir_heap::Heap = weir_heap::Heap::new();

/// Checks that a text contains each of these.
#[track_caller]
pub fn assert_contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is not in {text}");
    }
}

/// Checks that a text contains none of these.
#[track_caller]
pub fn assert_lacks(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(!text.contains(part), "{part:?} is in {text}");
    }
}

/// Checks that a text contains each of these and none of the others.
#[track_caller]
pub fn assert_contains_without(text: &str, parts: &[&str], others: &[&str]) {
    assert_contains(text, parts);
    assert_lacks(text, others);
}

/// An object with more keys, which come in the place of its own ones of these names.
pub fn with_keys(mut object: Value, keys: Value) -> Value {
    let (Some(own), Value::Object(keys)) = (object.as_object_mut(), keys) else {
        panic!("not two objects");
    };
    own.extend(keys);
    object
}

/// Returns the text of an error that must have come. Errors: that there was none.
pub fn failure<T: Debug>(outcome: Result<T>) -> Result<String> {
    match outcome {
        Ok(value) => bail!("this should have failed: {value:?}"),
        Err(error) => Ok(format!("{error:#}")),
    }
}

/// A configuration of a bridge that is a gateway, with addresses of these ranges.
pub fn bridge(name: &str, ranges: &[&str]) -> Value {
    let ranges: Vec<Value> = ranges
        .iter()
        .map(|subnet| json!([{ "subnet": subnet }]))
        .collect();
    json!({
        "cniVersion": "1.1.0",
        "name": name,
        "type": "bridge",
        "bridge": format!("{name}0"),
        "isGateway": true,
        "ipam": { "type": "host-local", "ranges": ranges },
    })
}

/// The same with masquerading and the check of source MACs.
pub fn guarded_bridge(name: &str, ranges: &[&str]) -> Value {
    let mut config = bridge(name, ranges);
    config["ipMasq"] = json!(true);
    config["macspoofchk"] = json!(true);
    config
}

/// The weir binary under test: built by `make`, never by the tests.
pub fn binary() -> PathBuf {
    program("weir")
}

/// A program that is built like it, and lies beside it.
pub fn program(name: &str) -> PathBuf {
    // Tests are in `target/<triple>/release/deps`, and `weir-bench` is one directory further up.
    let own = std::env::current_exe().expect("a test has a path");
    let directory = own.parent();
    let release = match directory {
        Some(deps) if deps.ends_with("deps") => deps.parent(),
        directory => directory,
    };
    let program = release
        .expect("tests are below the target directory")
        .join(name);
    assert!(
        program.exists(),
        "{} is missing: run `make test-build`",
        program.display()
    );
    program
}

/// The top of the house.
pub fn house() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The target that the tests, and what they run, are built for.
pub fn target() -> String {
    format!("{}-unknown-linux-musl", std::env::consts::ARCH)
}

/// The version of Rust that the house is built with.
pub fn toolchain() -> Result<String> {
    let text = fs::read_to_string(house().join("rust-toolchain.toml"))?;
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("channel = \"")?.strip_suffix('"'));
    Ok(version.context("a channel")?.to_owned())
}

/// The path of a [`component`] as text, for a command line.
pub fn component_file(name: &str) -> String {
    component(name).display().to_string()
}

/// A built component: `target/components/<name>.wasm`.
pub fn component(name: &str) -> PathBuf {
    house()
        .join("target/components")
        .join(name)
        .with_extension("wasm")
}
