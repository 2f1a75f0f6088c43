//! What identifies an attachment of a network: container id and interface name (CNI section 3).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::json::Node;

/// One (container id, interface name), as `cni.dev/valid-attachments` lists them for `GC`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Attachment {
    /// The `CNI_CONTAINERID`.
    #[serde(rename = "containerID")]
    pub container_id: String,
    /// The `CNI_IFNAME`.
    #[serde(rename = "ifname")]
    pub ifname: String,
}

impl Attachment {
    /// Returns the attachment of a container's interface.
    pub fn new(container_id: impl Into<String>, ifname: impl Into<String>) -> Self {
        Attachment {
            container_id: container_id.into(),
            ifname: ifname.into(),
        }
    }

    pub(crate) fn read(node: &Node<'_>) -> Result<Self, Error> {
        let text = |key: &str| node.text(key)?.ok_or_else(|| node.missing(key));
        Ok(Attachment {
            container_id: text("containerID")?,
            ifname: text("ifname")?,
        })
    }
}

impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.container_id, self.ifname)
    }
}
