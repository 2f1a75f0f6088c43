//! The configuration of a WebAssembly artifact: what its component imports and exports.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use weir_grant::document::Digest;
use weir_grant::{Capability, ContractInterface};

use super::error::{Error, Result};

/// What the working group has for components, until the format is 1.0.
const ARCHITECTURE: &str = "wasm";
const OS: &str = "wasip2";

/// The configuration of a WebAssembly artifact, `application/vnd.wasm.config.v0+json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Config {
    /// When the artifact was made (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    pub architecture: String,
    pub os: String,
    /// The digests of the manifest's layers.
    pub layer_digests: Vec<Digest>,
    /// Absent for a module that is not a component.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub component: Option<Interface>,
}

/// The names of all that a component imports and exports, such as `weir:cni/link@0.2.0`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    #[serde(default)]
    pub exports: Vec<String>,
    #[serde(default)]
    pub imports: Vec<String>,
    /// Where a description of the interface is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

impl Config {
    pub(crate) fn new(component: &Digest, interface: Interface, created: String) -> Self {
        Self {
            created: Some(created),
            author: None,
            architecture: ARCHITECTURE.to_owned(),
            os: OS.to_owned(),
            layer_digests: vec![component.clone()],
            component: Some(interface),
        }
    }

    /// Reads the configuration of a plugin whose component has this digest.
    pub(crate) fn read(bytes: &[u8], component: &Digest) -> Result<Self> {
        let config: Self =
            serde_json::from_slice(bytes).map_err(|e| wrong(&format!("not valid: {e}")))?;
        if config.component.is_none() {
            return Err(wrong("it has no `component`: the artifact is a module"));
        }
        if config.layer_digests != [component.clone()] {
            return Err(wrong(&format!(
                "`layerDigests` is not the digest of the manifest's layer, {component}"
            )));
        }
        Ok(config)
    }

    /// The capabilities that the component requests, as the configuration says.
    pub fn capabilities(&self) -> BTreeSet<Capability> {
        let interface = self.component.iter();
        let imports = interface.flat_map(|interface| &interface.imports);
        imports.filter_map(|import| capability(import)).collect()
    }
}

/// The capability that an import requests, if any.
fn capability(import: &str) -> Option<Capability> {
    Capability::from_word(ContractInterface::parse(import)?.name)
}

fn wrong(why: &str) -> Error {
    Error::NotAPlugin {
        what: "its configuration is not that of a plugin",
        why: why.into(),
    }
}
