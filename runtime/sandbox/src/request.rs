//! What a plugin is asked, and what it says about itself.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};
use weir_cni::{AddResult, Attachment, Command};
use weir_gate::Subject;
use weir_grant::section::Request as Asked;
use weir_grant::store::Configured;

/// What a plugin is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    pub command: Command,
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    /// The NetworkAttachmentDefinition whose text the configuration is, as `namespace/name`; none for a
    /// configuration of the node's own.
    pub definition: Option<String>,
    /// What the pod asked for by annotation, and the plugin is told.
    pub asked_by_pod: Vec<Asked>,
    /// `CNI_ARGS`.
    pub args: Vec<(String, String)>,
    /// The Kubernetes pod that these name, as `namespace/name`.
    pub pod: Option<String>,
    /// The execution configuration.
    pub config: Map<String, Value>,
    pub previous: Option<AddResult>,
    /// `CNI_NETNS`, as the caller wrote it.
    pub sandbox: String,
    /// The container's namespace, where there is one.
    pub container: Option<Arc<OwnedFd>>,
    /// For GC.
    pub valid_attachments: Vec<Attachment>,
}

impl Request {
    /// What grants know the network by. Whoever may write a NetworkAttachmentDefinition chooses the name in
    /// its configuration, but not where the object stands.
    pub fn granted_as(&self) -> &str {
        self.definition.as_deref().unwrap_or(&self.network)
    }

    /// Where the node's own configuration has `plugin` keep and read files: by the keys inside of `ipam` for the IPAM
    /// plugin, and by those beside it for another. A tenant's text names no place.
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

    /// Whose the records of a plugin are that is asked this.
    pub(super) fn subject(&self, plugin: &str, digest: String) -> Subject {
        Subject {
            command: self.command.as_str(),
            container_id: self.container_id.clone(),
            ifname: self.ifname.clone(),
            network: self.network.clone(),
            definition: self.definition.clone(),
            pod: self.pod.clone(),
            plugin: plugin.to_owned(),
            digest,
        }
    }

    /// The name by which the stores of a tenant's network were called once, where the attachment may be as old.
    pub(super) fn former_network(&self) -> Option<String> {
        let may_be_old = matches!(self.command, Command::Del | Command::Check);
        let is_tenants = self.definition.is_some() && may_be_old;
        is_tenants.then(|| self.network.clone())
    }
}

/// The value of a key, as plugins find it: by its exact name, or else in any case.
fn key<'a>(map: &'a Map<String, Value>, name: &str) -> Option<&'a Value> {
    let in_any_case = || {
        let mut members = map.iter();
        members.find(|(key, _)| key.eq_ignore_ascii_case(name))
    };
    map.get(name).or_else(|| Some(in_any_case()?.1))
}

/// What a plugin says about itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct About {
    pub name: String,
    pub version: String,
    pub description: String,
}
