//! They need what `make` builds before this crate.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use weir_files::Paths;
use weir_grant::Document;
use weir_sandbox::{Sandbox, codes};

use super::*;

fn sandbox() -> Arc<Sandbox> {
    put();
    Sandbox::new(Paths::below("/nowhere"), false).expect("the engine starts")
}

/// The plugins of the sources.
fn sources() -> BTreeSet<String> {
    let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
    let entries = fs::read_dir(plugins).expect("there are plugins");
    let names = entries.map(|entry| entry.expect("a directory entry").file_name());
    names
        .map(|name| name.into_string().expect("ASCII"))
        .collect()
}

#[test]
fn every_standard_plugin_is_inside() {
    let inside: BTreeSet<String> = INSIDE.plugins.iter().map(|p| p.name.to_owned()).collect();
    assert_eq!(inside, sources(), "run `make plugins`");
}

/// So that they need no check at run time, and no WASI.
#[test]
fn they_import_the_contract_and_nothing_else() {
    let sandbox = sandbox();
    for built_in in INSIDE.plugins {
        let plugin = sandbox.catalogue().find(built_in.name);
        let loaded = sandbox.check(&plugin.expect("it is there"));
        loaded.expect("its code is of this engine");
        let inspection = sandbox.inspect(built_in.component);
        let inspection = inspection.expect("it is a component");
        assert_eq!(inspection.requested.refused, [], "{}", built_in.name);
        assert!(inspection.imported.wasi.is_empty(), "{}", built_in.name);
    }
}

/// So that the grant of a plugin is found without reading the others'.
#[test]
fn their_grants_have_their_names() {
    for built_in in INSIDE.plugins {
        let grant: Document = serde_json::from_str(built_in.grant).expect("a grant");
        assert_eq!(grant.metadata.name, built_in.name);
        assert_eq!(grant.spec.plugin.name, built_in.name);
    }
}

#[test]
fn a_component_is_compiled() {
    let hostile = INSIDE.hostile.expect("run `make plugins`");
    let inspection = sandbox().inspect(hostile).expect("it is a component");
    assert!(inspection.compiled.code().starts_with(b"\x7fELF"));
}

#[test]
fn what_is_no_component_is_refused_with_the_position() {
    let no_section = b"\0asm\x0d\0\x01\0\xff";
    let error = sandbox()
        .inspect(no_section)
        .expect_err("no section has this number");
    assert_eq!(error.code, codes::NO_PLUGIN);
    assert!(error.to_string().contains("offset"), "{error}");
}
