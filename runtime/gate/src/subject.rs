//! Which invocation records are about.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;
use weir_grant::Invocation;

/// The attachment and the plugin of an invocation, the same for all its records.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Subject {
    /// `ADD`, `DEL`, `CHECK`, `STATUS` or `GC`; empty if there is no command.
    pub command: Cow<'static, str>,
    /// Empty for STATUS and GC, which are not about a container.
    #[serde(default)]
    pub container_id: String,
    #[serde(default)]
    pub ifname: String,
    pub network: String,
    /// The NetworkAttachmentDefinition that the network comes from, if any.
    pub definition: Option<String>,
    /// The Kubernetes pod, as `namespace/name`, if the runtime passes it.
    pub pod: Option<String>,
    pub plugin: String,
    pub digest: String,
}

impl Subject {
    /// Returns the name by which grants know the network.
    pub fn granted_as(&self) -> &str {
        self.definition.as_deref().unwrap_or(&self.network)
    }

    /// Returns the values of a grant's placeholders, without those of the node's configuration.
    pub fn invocation(&self) -> Invocation {
        Invocation::new(&self.container_id, &self.ifname, self.granted_as())
    }

    /// Returns the members that every line of weir's log has for the invocation.
    pub fn for_log(&self) -> Value {
        let mut members = json!(self);
        members
            .as_object_mut()
            .map(|members: &mut Map<_, _>| members.remove("digest"));
        members
    }
}
