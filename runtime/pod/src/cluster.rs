//! Objects of a cluster, as far as weir reads and writes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
pub use weir_network::PodName;

use super::reference::Reference;

/// A pod, as far as weir reads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pod {
    pub namespace: String,
    pub name: String,
    pub uid: String,
    pub annotations: BTreeMap<String, String>,
}

/// A NetworkAttachmentDefinition (section 3.2).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    pub reference: Reference,
    /// `spec.config`; none if the key is missing or empty.
    pub config: Option<String>,
    pub annotations: BTreeMap<String, String>,
}

/// One event about a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// `Normal` or `Warning`.
    pub kind: EventKind,
    /// In UpperCamelCase, such as `AddedInterface`.
    pub reason: String,
    pub message: String,
}

impl Event {
    /// A warning.
    pub(crate) fn warning(reason: &str, message: String) -> Self {
        Self {
            kind: EventKind::Warning,
            reason: reason.to_owned(),
            message,
        }
    }
}

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    Normal,
    Warning,
}
