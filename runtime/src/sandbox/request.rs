//! What a plugin is asked, and what it says about itself.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use serde_json::{Map, Value};
use weir_cni::{AddResult, Attachment, Command};

/// What a plugin is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    pub command: Command,
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    /// The NetworkAttachmentDefinition that the network is of, as `namespace/name`, where it is of one.
    pub definition: Option<String>,
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
}

/// What a plugin says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub name: String,
    pub version: String,
    pub description: String,
}
