//! What a component is and asks for, found out without running it on anything.

use wasmtime::component::Component;
use weir_cni::Error;

use super::catalogue::digest;
use super::codes;
use super::imports::{Requested, requested};
use super::invoke::{About, Sandbox};
use crate::grant::document::Digest;

/// A component, looked at.
#[derive(Clone, Debug)]
pub struct Inspection {
    /// What the plugin says of itself; none where it cannot be asked, because of what it imports.
    pub about: Option<About>,
    pub digest: Digest,
    /// Bytes.
    pub size: usize,
    pub requested: Requested,
}

impl Sandbox {
    /// Compiles a component and reads its imports. Errors: `codes::NO_PLUGIN` for what is none.
    pub fn inspect(component: &[u8]) -> Result<Inspection, Error> {
        let no_component =
            |e| Error::new(codes::NO_PLUGIN, format!("this is no WebAssembly component: {e:#}"));
        let code = weir_engine::compile(component).map_err(no_component)?;
        let engine = weir_engine::runner().map_err(no_component)?;
        // SAFETY: compiled by this process just now.
        let loaded = unsafe { Component::deserialize(&engine, code) }
            .map_err(|e| no_component(e.into()))?;
        Ok(Inspection {
            about: None,
            digest: digest(component),
            size: component.len(),
            requested: requested(&engine, &loaded),
        })
    }
}
