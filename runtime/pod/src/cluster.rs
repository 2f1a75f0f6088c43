//! What weir needs of a cluster.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use weir_cni::Error;
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

/// The type of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    Normal,
    Warning,
}

/// A cluster. Each call is one request, apart from repetitions, and is limited in time.
///
/// Errors: `codes::CLUSTER`, with the request, the answer, and what to do; code 11, "try again later", if a later request
/// may succeed; code 4 for an invalid pod name.
pub trait Cluster {
    /// The pod; none if it no longer exists, or another one has its name.
    fn pod(&self, name: &PodName) -> Result<Option<Pod>, Error>;

    /// A NetworkAttachmentDefinition; none if it does not exist.
    fn definition(&self, reference: &Reference) -> Result<Option<Definition>, Error>;

    /// Sets or removes one annotation of the pod, and leaves the others alone, even if they are written at the same time.
    /// Does nothing if the pod no longer exists, or another one has its name.
    fn annotate(&self, pod: &PodName, key: &str, value: Option<&str>) -> Result<(), Error>;

    /// Records events about the pod, in order.
    fn report(&self, pod: &PodName, events: &[Event]) -> Result<(), Error>;
}
