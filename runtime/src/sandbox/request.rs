//! What a plugin is asked, and what it says about itself.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde_json::{Map, Value};
use weir_cni::{AddResult, Attachment, Command};

use crate::grant::section::Request as Asked;

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

    /// The name by which the stores of a tenant's network were called once, where the attachment may be as old.
    pub(super) fn former_network(&self) -> Option<String> {
        let may_be_old = matches!(self.command, Command::Del | Command::Check);
        let is_tenants = self.definition.is_some() && may_be_old;
        is_tenants.then(|| self.network.clone())
    }
}

/// What a plugin says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub name: String,
    pub version: String,
    pub description: String,
}
