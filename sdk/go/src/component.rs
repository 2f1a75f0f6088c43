//! Makes a component of a module of Go's.
//!
//! Go's own runtime imports `wasi_snapshot_preview1`. The adapter (`adapter/wasi.wat`) implements it by what weir has of WASI, so
//! that no component in Go imports files or sockets.

use anyhow::{Context, Result, ensure};
use wasm_encoder::{CustomSection, Section};
use wit_component::ComponentEncoder;

/// What Go calls WASI, and the adapter that it gets for it.
const PREVIEW1: &str = "wasi_snapshot_preview1";
const ADAPTER: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/adapter.wasm"));

/// The contract's world, as the section of a module that describes it.
const WORLD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/world"));
const SECTION: &str = "component-type:weir";

/// How a module and how a component begin.
const MODULE: &[u8] = b"\0asm\x01\0\0\0";
const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";

/// Makes a component of a module that Go has built of a plugin with the SDK. The component imports what the module calls.
///
/// Errors: it is not a module, or not that of a plugin.
pub fn component(module: &[u8]) -> Result<Vec<u8>> {
    ensure!(!module.starts_with(COMPONENT), "it is a component already");
    ensure!(
        module.starts_with(MODULE),
        "it is not a module of WebAssembly"
    );
    let mut described = module.to_vec();
    let section = CustomSection {
        name: SECTION.into(),
        data: WORLD.into(),
    };
    section.append_to(&mut described);
    encode(&described).context(
        "expected a plugin with weir's SDK for Go, built by `GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared`",
    )
}

fn encode(module: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = ComponentEncoder::default();
    encoder.validate(true);
    encoder.module(module)?;
    encoder.adapter(PREVIEW1, ADAPTER)?;
    encoder.encode()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(module: &[u8]) -> String {
        format!("{:#}", component(module).unwrap_err())
    }

    #[test]
    fn what_is_no_module_of_a_plugin_is_refused() {
        assert_eq!(refused(b"#!/bin/sh"), "it is not a module of WebAssembly");
        assert_eq!(refused(b""), "it is not a module of WebAssembly");
        assert_eq!(refused(COMPONENT), "it is a component already");
        for module in [MODULE.to_vec(), [MODULE, b"\x01"].concat()] {
            let error = refused(&module);
            assert!(
                error.starts_with("expected a plugin with weir's SDK for Go"),
                "{error}"
            );
        }
    }
}
