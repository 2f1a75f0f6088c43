//! A request to a plugin, and what a plugin reports about itself.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use weir_cni::{AddResult, Attachment, Command};
use weir_gate::Subject;
use weir_grant::section::Request as PodRequest;
use weir_grant::store::Configured;

/// A request to a plugin.
#[derive(Clone, Debug)]
pub struct Request {
    pub command: Command,
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    /// The NetworkAttachmentDefinition that has the configuration, as `namespace/name`; none for one of the node's own.
    pub definition: Option<String>,
    /// What the pod requests by annotation, as far as the plugin gets it.
    pub requested_by_pod: Vec<PodRequest>,
    /// `CNI_ARGS`.
    pub args: Vec<(String, String)>,
    /// The Kubernetes pod that these name, as `namespace/name`.
    pub pod: Option<String>,
    /// The execution configuration.
    pub config: Arc<Map<String, Value>>,
    pub previous: Option<AddResult>,
    /// `CNI_NETNS`, as the caller wrote it.
    pub sandbox: String,
    /// The container's namespace, where there is one.
    pub container: Option<Arc<OwnedFd>>,
    /// For GC.
    pub valid_attachments: Vec<Attachment>,
}

impl Request {
    /// The network's name in grants. A tenant chooses the name in a configuration, but not the namespace of its
    /// NetworkAttachmentDefinition.
    pub fn granted_as(&self) -> &str {
        self.definition.as_deref().unwrap_or(&self.network)
    }

    /// Where the node's own configuration has `plugin` keep and read files: by the keys in `ipam` for the IPAM plugin, and by the
    /// top-level ones for another. A tenant's configuration cannot choose.
    pub(super) fn configured(&self, plugin: &str) -> Configured {
        if self.definition.is_some() {
            return Configured::default();
        }
        let ipam = key(&self.config, "ipam").and_then(Value::as_object);
        let is_ipam =
            |ipam: &&Map<String, Value>| key(ipam, "type").and_then(Value::as_str) == Some(plugin);
        let keys = ipam.filter(is_ipam).unwrap_or(&self.config);
        let text = |name| key(keys, name).and_then(Value::as_str);
        Configured::new(text("dataDir"), text("resolvConf"))
    }

    /// The subject of the plugin's audit records.
    pub(super) fn subject(&self, plugin: &str, digest: String) -> Subject {
        Subject {
            command: self.command.as_str().into(),
            container_id: self.container_id.clone(),
            ifname: self.ifname.clone(),
            network: self.network.clone(),
            definition: self.definition.clone(),
            pod: self.pod.clone(),
            plugin: plugin.to_owned(),
            digest,
        }
    }

    /// The former name of a tenant's network in stores, which an old attachment may still use.
    pub(super) fn former_network(&self) -> Option<String> {
        let may_be_old = matches!(self.command, Command::Del | Command::Check);
        let is_tenants = self.definition.is_some() && may_be_old;
        is_tenants.then(|| self.network.clone())
    }
}

/// The value of a key, as plugins look it up: by its exact name, or otherwise ignoring case.
fn key<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let in_any_case = || {
        let mut members = map.iter();
        members.find(|(key, _)| key.eq_ignore_ascii_case(name))
    };
    map.get(name).or_else(|| Some(in_any_case()?.1))
}

/// What a plugin reports about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    pub name: String,
    pub version: String,
    pub description: String,
}
