//! The subject of an invocation's records.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// Whose operations are recorded: the same for every record of an invocation.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Subject {
    /// `ADD`, `DEL`, `CHECK`, `STATUS` or `GC`; empty where there is none.
    pub command: &'static str,
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    /// The NetworkAttachmentDefinition that the network is of, where it is of one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// The Kubernetes pod, as `namespace/name`, where the runtime tells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pod: Option<String>,
    pub plugin: String,
    pub digest: String,
}

impl Subject {
    /// What stands in every line that weir's log has of the invocation.
    pub fn for_log(&self) -> Value {
        let mut members = json!(self);
        members
            .as_object_mut()
            .map(|members: &mut Map<_, _>| members.remove("digest"));
        members
    }
}
