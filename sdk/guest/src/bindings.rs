//! The bindings that wit-bindgen makes from the contract in `wit/`. The other modules of the crate re-export or
//! wrap them.

#[cfg(not(target_family = "wasm"))]
pub(crate) mod fake;

use std::fmt;

use weir::cni::types::ErrorCode;

pub use generated::*;

/// The contract's functions, on a native target: those that wit-bindgen generates end the process there.
#[cfg(not(target_family = "wasm"))]
pub use fake::contract as weir;

/// Why an operation failed: the contract's record `error`, whose text is its message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperationError {
    /// What kind of failure.
    pub code: ErrorCode,
    /// What failed, and why.
    pub message: String,
    /// The kernel's error number, where the kernel answered with one.
    pub errno: Option<i32>,
}

impl fmt::Display for OperationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for OperationError {}

#[allow(missing_docs, clippy::all)]
mod generated {
    wit_bindgen::generate!({
        path: "wit",
        world: "plugin",
        pub_export_macro: true,
        default_bindings_module: "weir_sdk::bindings",
        export_macro_name: "export_component",
        with: {
            "weir:cni/types@0.2.0/error": crate::bindings::OperationError,
            "weir:cni/cni@0.2.0/attachment": weir_cni::Attachment,
            "weir:cni/cni@0.2.0/dns": weir_cni::Dns,
        },
        additional_type_attributes: {
            "weir:cni/types@0.2.0/ip-address": [#[derive(PartialEq, Eq)]],
            "weir:cni/types@0.2.0/ip-network": [#[derive(PartialEq, Eq)]],
            "weir:cni/firewall@0.2.0/value": [#[derive(PartialEq)]],
            "weir:cni/link@0.2.0/new-bridge": [#[derive(Default)]],
            "weir:cni/link@0.2.0/new-tap": [#[derive(Default)]],
            "weir:cni/link@0.2.0/changes": [#[derive(Default)]],
            "weir:cni/link@0.2.0/port-changes": [#[derive(Default)]],
            "weir:cni/link@0.2.0/bridge-changes": [#[derive(Default)]],
            "weir:cni/route@0.2.0/filter": [#[derive(Default)]],
            "weir:cni/policy-rule@0.2.0/rule": [#[derive(PartialEq, Eq)]],
            "weir:cni/device@0.2.0/device": [#[derive(PartialEq, Eq)]],
        },
        generate_all,
    });
}
