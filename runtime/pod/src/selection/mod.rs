//! The networks that a pod selects: the annotations `k8s.v1.cni.cncf.io/networks` (section 4) and
//! `v1.multus-cni.io/default-network`.

mod capabilities;
mod comma;
mod faults;
mod json;
mod keys;
#[cfg(test)]
mod tests;
mod together;

use std::net::IpAddr;

use serde_json::{Map, Value};
use weir_cni::{Mac, RequestedAddress};

use super::reference::Reference;
pub use faults::{Consequence, Refused};

use faults::Faults;

/// The pod's annotation with the networks besides the default one.
pub const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";

/// The pod's annotation with the network in place of the cluster-wide default one.
pub const DEFAULT_NETWORK: &str = "v1.multus-cni.io/default-network";

/// The largest annotation, in bytes: the API server's limit for all annotations of an object.
pub const LARGEST: usize = 256 << 10;

/// The most attachments of a pod, which are made one after another (section 7.3).
pub(crate) const MOST_ELEMENTS: usize = 64;

/// One attachment that a pod requests (section 4.1.2.1).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Element {
    /// `name` and `namespace`, which is the pod's if it is missing.
    pub reference: Reference,
    /// `ips` (4.1.2.1.3).
    pub ips: Vec<RequestedAddress>,
    /// `mac` (4.1.2.1.4).
    pub mac: Option<Mac>,
    /// `interface` (4.1.2.1.5).
    pub interface: Option<String>,
    pub cni_args: Map<String, Value>,
    /// `portMappings`, as the capability of that name has them.
    pub port_mappings: Option<Value>,
    /// `bandwidth`, as the capability of that name has it.
    pub bandwidth: Option<Value>,
    /// `default-route`: the gateways of the pod's default routes through this attachment.
    pub default_route: Option<Vec<IpAddr>>,
    pub infiniband_guid: Option<String>,
    pub ipam_claim_reference: Option<String>,
}

impl Element {
    /// Makes an attachment without further requests.
    pub fn of(reference: Reference) -> Self {
        Self {
            reference,
            ..Self::default()
        }
    }
}

/// What an annotation selects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// In the order of the annotation.
    pub elements: Vec<Element>,
    /// Keys that weir ignores, for an event: they are reserved for later versions of the standard.
    pub notes: Vec<String>,
}

/// Returns the networks of the annotation [`NETWORKS`], in either format. Empty text selects none.
///
/// Errors: code [`SELECTION`](super::codes::SELECTION) with all mistakes, and their consequence by the standard.
pub fn networks(text: &str, pod_namespace: &str) -> Result<Selection, Refused> {
    read(Faults::of(NETWORKS), text, pod_namespace)
}

/// Returns the one network of the annotation [`DEFAULT_NETWORK`], in either format. `namespace` is that of an element
/// without one.
///
/// Errors: as [`networks`], and any other number of networks. They always fail the pod, which otherwise would get the
/// cluster's default network against its wish. The standard says nothing about this annotation.
pub fn default_network(text: &str, namespace: &str) -> Result<Element, Refused> {
    let fails = |refused: Refused| Refused {
        consequence: Consequence::PodFails,
        ..refused
    };
    let selection = read(Faults::of(DEFAULT_NETWORK), text, namespace).map_err(fails)?;
    let count = selection.elements.len();
    match <[Element; 1]>::try_from(selection.elements) {
        Ok([element]) => Ok(element),
        Err(_) => {
            let mut faults = Faults::of(DEFAULT_NETWORK);
            faults.fatal(format!("expected exactly one network, found {count}"));
            Err(faults.refusal())
        }
    }
}

fn read(mut faults: Faults, text: &str, namespace: &str) -> Result<Selection, Refused> {
    let mut notes = Vec::new();
    let text = text.trim();
    let elements = match text.chars().next() {
        _ if text.len() > LARGEST => {
            let size = text.len();
            faults.fatal(format!("has {size} bytes, expected at most {LARGEST}"));
            Vec::new()
        }
        None => Vec::new(),
        Some('[') => json::elements(text, namespace, &mut faults, &mut notes),
        Some('{') => {
            faults
                .fatal("is a JSON object, expected a list of objects: put it between `[` and `]`");
            Vec::new()
        }
        Some(_) => comma::elements(text, namespace, &mut faults),
    };
    together::check(&elements, &mut faults);
    if faults.is_empty() {
        Ok(Selection {
            elements: elements.into_iter().flatten().collect(),
            notes,
        })
    } else {
        Err(faults.refusal())
    }
}

/// An element in messages: its number, from 1, and its network.
fn numbered(index: usize, reference: Option<&Reference>) -> String {
    match reference {
        Some(reference) => format!("element {} ({reference})", index + 1),
        None => format!("element {}", index + 1),
    }
}
