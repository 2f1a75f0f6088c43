//! Which invocation records are about.

use serde::Serialize;
use serde_json::{Map, Value, json};
use serde_with::skip_serializing_none;

/// The attachment and the plugin of an invocation, the same for all its records.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, Serialize)]
pub struct Subject {
    /// `ADD`, `DEL`, `CHECK`, `STATUS` or `GC`; empty if there is no command.
    pub command: &'static str,
    pub container_id: String,
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
    /// The members that every line of weir's log has for the invocation.
    pub fn for_log(&self) -> Value {
        let mut members = json!(self);
        members
            .as_object_mut()
            .map(|members: &mut Map<_, _>| members.remove("digest"));
        members
    }
}
