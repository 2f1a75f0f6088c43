//! The pod's annotation `k8s.v1.cni.cncf.io/network-status` (section 5).

mod annotation;
mod source;
#[cfg(test)]
mod tests;

use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use weir_cni::Dns;

pub(crate) use annotation::annotation;
pub(crate) use source::of;

/// The annotation with the status of the pod's attachments.
pub(crate) const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// One attachment's map (section 5.3), with its keys in the order in which they are written.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Status {
    /// 5.3.1: `namespace/name` of a NetworkAttachmentDefinition, or the default network's name.
    pub name: String,
    /// 5.3.2: the interface in the pod's network namespace.
    pub interface: Option<String>,
    /// 5.3.3: that interface's addresses, without prefix lengths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ips: Vec<String>,
    /// 5.3.4: that interface's hardware address.
    pub mac: Option<String>,
    /// That interface's MTU in bytes, of results of 1.1.0.
    pub mtu: Option<u32>,
    /// 5.3.5: whether this is the cluster-wide default network.
    pub default: bool,
    /// 5.3.6.
    #[serde(skip_serializing_if = "Dns::is_empty")]
    pub dns: Dns,
    /// The gateways of the pod's default routes through the attachment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub default_route: Vec<String>,
    /// The same, under the key that Multus' clients use.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gateway: Vec<String>,
    /// The device information of the attachment's device, unchanged.
    pub device_info: Option<Value>,
}
