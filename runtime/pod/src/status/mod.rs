//! What an attachment came to, as the pod's annotation `k8s.v1.cni.cncf.io/network-status` tells it
//! (section 5).

mod annotation;
mod source;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;
use weir_cni::Dns;

pub(crate) use annotation::annotation;
pub(crate) use source::{About, of};

/// The pod's annotation with what its attachments came to.
pub(crate) const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// One attachment's map (section 5.3), in the order in which its keys are written. A key with nothing to say
/// is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Status {
    /// 5.3.1: `namespace/name` of a NetworkAttachmentDefinition, or the default network's name.
    pub name: String,
    /// 5.3.2: the interface in the pod's network namespace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// 5.3.3: that interface's addresses, without prefix lengths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
    /// 5.3.4: that interface's hardware address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<String>,
    /// That interface's MTU in bytes, of results of 1.1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// 5.3.5: whether this is the cluster-wide default network.
    pub default: bool,
    /// 5.3.6.
    #[serde(skip_serializing_if = "Dns::is_empty")]
    pub dns: Dns,
    /// The gateways of the pod's default routes that lead through the attachment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_route: Vec<String>,
    /// The same, under the key in which clients of Multus look.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateway: Vec<String>,
    /// What the device information of the attachment's device says, word for word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device_info: Option<Value>,
}
