//! The bindings that wit-bindgen makes from the contract in `wit/`. The other modules of the crate
//! wrap them; use them directly for what no wrapper offers.

#![allow(missing_docs, clippy::all)]

wit_bindgen::generate!({
    path: "../../wit",
    world: "plugin",
    pub_export_macro: true,
    default_bindings_module: "weir_sdk::bindings",
    export_macro_name: "export_component",
    generate_all,
});
