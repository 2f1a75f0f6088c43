//! What weir asks of a cluster, whatever answers: the Kubernetes API server, or nothing at all.

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
    /// `spec.config`; none where the key is missing or empty.
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

/// How an event is to be taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EventKind {
    Normal,
    Warning,
}

/// A cluster. Each call is one request, apart from repetitions, and has an end in time.
///
/// Errors of all: `codes::CLUSTER`, with what was asked, what answered, and what to do about it; code 11,
/// "try again later", where the same may be answered later; code 4 for a pod whose name is none.
pub trait Cluster {
    /// The pod; none when it is gone, or another one has its name by now.
    fn pod(&self, name: &PodName) -> Result<Option<Pod>, Error>;

    /// A NetworkAttachmentDefinition; none when there is none.
    fn definition(&self, reference: &Reference) -> Result<Option<Definition>, Error>;

    /// Sets one annotation of the pod, or removes it, and leaves all others as they are, whoever else
    /// writes at the time. A pod that is gone, or is another one by now, is no error.
    fn annotate(&self, pod: &PodName, key: &str, value: Option<&str>) -> Result<(), Error>;

    /// Records events about the pod, in order.
    fn report(&self, pod: &PodName, events: &[Event]) -> Result<(), Error>;
}
