//! The messages of the CRI `runtime.v1`: what a pod sandbox needs, and of that only the fields that are
//! used. Each keeps its name and its number of the published `api.proto`; in JSON, an enumeration's value
//! is its name there.
//!
//! What a request leaves out has its default, as in protobuf. A name that is not known here is refused, so
//! that a mistyped one does not count as left out.

use std::collections::BTreeMap;

use prost::{Enumeration, Message};
use serde::ser::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatusRequest {}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    pub status: Option<RuntimeStatus>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct RuntimeStatus {
    #[prost(message, repeated, tag = "1")]
    pub conditions: Vec<RuntimeCondition>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct RuntimeCondition {
    #[prost(string, tag = "1")]
    pub r#type: String,
    #[prost(bool, tag = "2")]
    pub status: bool,
    #[prost(string, tag = "4")]
    pub message: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageStatusRequest {
    #[prost(message, optional, tag = "1")]
    pub image: Option<ImageSpec>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ImageSpec {
    #[prost(string, tag = "1")]
    pub image: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct ImageStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub image: Option<Image>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct Image {
    #[prost(string, tag = "1")]
    pub id: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RunPodSandboxRequest {
    #[prost(message, optional, tag = "1")]
    pub config: Option<PodSandboxConfig>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PodSandboxConfig {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<PodSandboxMetadata>,
    #[prost(string, tag = "2")]
    pub hostname: String,
    #[prost(message, repeated, tag = "5")]
    pub port_mappings: Vec<PortMapping>,
    #[prost(btree_map = "string, string", tag = "7")]
    pub annotations: BTreeMap<String, String>,
    #[prost(message, optional, tag = "8")]
    pub linux: Option<LinuxPodSandboxConfig>,
}

/// Which pod a sandbox belongs to: all four together must be unique.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PodSandboxMetadata {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(string, tag = "2")]
    pub uid: String,
    #[prost(string, tag = "3")]
    pub namespace: String,
    #[prost(uint32, tag = "4")]
    pub attempt: u32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PortMapping {
    #[prost(enumeration = "Protocol", tag = "1")]
    #[serde(deserialize_with = "protocol")]
    pub protocol: i32,
    #[prost(int32, tag = "2")]
    pub container_port: i32,
    #[prost(int32, tag = "3")]
    pub host_port: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
#[repr(i32)]
pub enum Protocol {
    Tcp = 0,
    Udp = 1,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LinuxPodSandboxConfig {
    #[prost(string, tag = "1")]
    pub cgroup_parent: String,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct RunPodSandboxResponse {
    #[prost(string, tag = "1")]
    pub pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PodSandboxStatusRequest {
    #[prost(string, tag = "1")]
    pub pod_sandbox_id: String,
    #[prost(bool, tag = "2")]
    pub verbose: bool,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct PodSandboxStatusResponse {
    #[prost(message, optional, tag = "1")]
    pub status: Option<PodSandboxStatus>,
    /// What else the runtime tells where it is to be verbose.
    #[prost(btree_map = "string, string", tag = "2")]
    pub info: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct PodSandboxStatus {
    #[prost(enumeration = "PodSandboxState", tag = "3")]
    #[serde(serialize_with = "state")]
    pub state: i32,
    #[prost(message, optional, tag = "5")]
    pub network: Option<PodSandboxNetworkStatus>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration, Serialize)]
#[repr(i32)]
pub enum PodSandboxState {
    #[serde(rename = "SANDBOX_READY")]
    Ready = 0,
    #[serde(rename = "SANDBOX_NOTREADY")]
    NotReady = 1,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct PodSandboxNetworkStatus {
    #[prost(string, tag = "1")]
    pub ip: String,
    #[prost(message, repeated, tag = "2")]
    pub additional_ips: Vec<PodIp>,
}

#[derive(Clone, PartialEq, Message, Serialize)]
pub struct PodIp {
    #[prost(string, tag = "1")]
    pub ip: String,
}

/// `StopPodSandboxRequest` and `RemovePodSandboxRequest`.
#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OnePodSandbox {
    #[prost(string, tag = "1")]
    pub pod_sandbox_id: String,
}

/// The responses to these.
#[derive(Clone, PartialEq, Message, Serialize)]
pub struct Empty {}

/// In a message, a value of an enumeration is a number.
fn protocol<'de, D: Deserializer<'de>>(name: D) -> Result<i32, D::Error> {
    Protocol::deserialize(name).map(i32::from)
}

fn state<S: Serializer>(number: &i32, serializer: S) -> Result<S::Ok, S::Error> {
    let state = PodSandboxState::try_from(*number).map_err(S::Error::custom)?;
    state.serialize(serializer)
}
