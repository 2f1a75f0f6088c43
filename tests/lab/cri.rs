//! The CRI, in which a kubelet asks for pods: of the version `runtime.v1` what a pod sandbox needs.
//!
//! The messages have only the fields that are used; each keeps its number of the published `api.proto`.

use std::collections::BTreeMap;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use prost::Message;
use serde_json::Value;
use tokio::runtime::{Builder, Runtime};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

/// How long one call may take.
const CALL_TIMEOUT: Duration = Duration::from_secs(120);

/// How long the CRI may take to know its network and its image, and how often it is asked.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
const READY_POLL: Duration = Duration::from_millis(20);

/// A client of a container runtime, for several threads at a time.
pub struct Cri {
    runtime: Runtime,
    channel: Channel,
}

impl Cri {
    /// Connects to the socket of a runtime that serves.
    pub fn connect(socket: &Path) -> Result<Self> {
        // With a thread of its own, which answers the runtime's pings while no call is under way.
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()?;
        let endpoint = Endpoint::from_shared(format!("unix://{}", socket.display()))?;
        let endpoint = endpoint.timeout(CALL_TIMEOUT);
        let channel = runtime
            .block_on(endpoint.connect())
            .with_context(|| format!("connect to the CRI at {}", socket.display()))?;
        Ok(Self { runtime, channel })
    }

    /// Waits until the runtime has read its network's configuration and knows an image.
    pub fn wait_until_ready(&self, image: &str) -> Result<()> {
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            let lacking = self.lacking(image)?;
            if lacking.is_empty() {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "the CRI: {}", lacking.join("; "));
            thread::sleep(READY_POLL);
        }
    }

    fn lacking(&self, image: &str) -> Result<Vec<String>> {
        let status: StatusResponse =
            self.call("/runtime.v1.RuntimeService/Status", StatusRequest {})?;
        let conditions = status.status.unwrap_or_default().conditions;
        let unmet = conditions.into_iter().filter(|condition| !condition.status);
        let mut lacking: Vec<String> = unmet
            .map(|condition| format!("not {}: {}", condition.kind, condition.message))
            .collect();
        let request = ImageStatusRequest {
            image: Some(ImageSpec {
                image: image.to_owned(),
            }),
        };
        let known: ImageStatusResponse =
            self.call("/runtime.v1.ImageService/ImageStatus", request)?;
        if known.image.is_none() {
            lacking.push(format!("no image {image}"));
        }
        Ok(lacking)
    }

    /// Starts a pod sandbox, which is connected to the network when this returns. Returns its id.
    pub fn run_pod_sandbox(&self, config: PodSandboxConfig) -> Result<String> {
        let request = RunPodSandboxRequest {
            config: Some(config),
        };
        let response: RunPodSandboxResponse =
            self.call("/runtime.v1.RuntimeService/RunPodSandbox", request)?;
        Ok(response.pod_sandbox_id)
    }

    /// What the runtime says of a pod sandbox.
    pub fn pod_sandbox_status(&self, id: &str) -> Result<SandboxStatus> {
        let request = PodSandboxStatusRequest {
            pod_sandbox_id: id.to_owned(),
            verbose: true,
        };
        let response: PodSandboxStatusResponse =
            self.call("/runtime.v1.RuntimeService/PodSandboxStatus", request)?;
        let status = response.status.context("a status without content")?;
        let info = response.info.get("info").map(String::as_str);
        Ok(SandboxStatus {
            ready: status.state == SANDBOX_READY,
            network: status.network.unwrap_or_default(),
            info: serde_json::from_str(info.unwrap_or("null"))?,
        })
    }

    /// Stops a pod sandbox, which has left the network when this returns. Also succeeds when it is
    /// stopped already, as a kubelet relies on.
    pub fn stop_pod_sandbox(&self, id: &str) -> Result<()> {
        let request = OnePodSandbox {
            pod_sandbox_id: id.to_owned(),
        };
        let _: Empty = self.call("/runtime.v1.RuntimeService/StopPodSandbox", request)?;
        Ok(())
    }

    /// Removes a pod sandbox.
    pub fn remove_pod_sandbox(&self, id: &str) -> Result<()> {
        let request = OnePodSandbox {
            pod_sandbox_id: id.to_owned(),
        };
        let _: Empty = self.call("/runtime.v1.RuntimeService/RemovePodSandbox", request)?;
        Ok(())
    }

    fn call<Q, A>(&self, method: &'static str, request: Q) -> Result<A>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let answered = self.runtime.block_on(async {
            let mut grpc = Grpc::new(self.channel.clone());
            let ready = grpc.ready().await;
            ready.map_err(|error| Status::unavailable(error.to_string()))?;
            let path = method.parse().expect("a method's path");
            grpc.unary(Request::new(request), path, ProstCodec::default())
                .await
        });
        let answer = answered.with_context(|| format!("the CRI's {method}"))?;
        Ok(answer.into_inner())
    }
}

/// A pod sandbox as the runtime describes it.
#[derive(Clone, Debug)]
pub struct SandboxStatus {
    pub ready: bool,
    pub network: PodSandboxNetworkStatus,
    /// What else the runtime tells: containerd the CNI result and the namespaces.
    pub info: Value,
}

/// The first value of `PodSandboxState`.
const SANDBOX_READY: i32 = 0;

#[derive(Clone, PartialEq, Message)]
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
#[derive(Clone, PartialEq, Message)]
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

#[derive(Clone, PartialEq, Message)]
pub struct PortMapping {
    #[prost(enumeration = "Protocol", tag = "1")]
    pub protocol: i32,
    #[prost(int32, tag = "2")]
    pub container_port: i32,
    #[prost(int32, tag = "3")]
    pub host_port: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, prost::Enumeration)]
#[repr(i32)]
pub enum Protocol {
    Tcp = 0,
    Udp = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct LinuxPodSandboxConfig {
    #[prost(string, tag = "1")]
    pub cgroup_parent: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct PodSandboxNetworkStatus {
    #[prost(string, tag = "1")]
    pub ip: String,
    #[prost(message, repeated, tag = "2")]
    pub additional_ips: Vec<PodIp>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PodIp {
    #[prost(string, tag = "1")]
    pub ip: String,
}

#[derive(Clone, PartialEq, Message)]
struct RunPodSandboxRequest {
    #[prost(message, optional, tag = "1")]
    config: Option<PodSandboxConfig>,
}

#[derive(Clone, PartialEq, Message)]
struct RunPodSandboxResponse {
    #[prost(string, tag = "1")]
    pod_sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
struct PodSandboxStatusRequest {
    #[prost(string, tag = "1")]
    pod_sandbox_id: String,
    #[prost(bool, tag = "2")]
    verbose: bool,
}

#[derive(Clone, PartialEq, Message)]
struct PodSandboxStatusResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<PodSandboxStatus>,
    #[prost(btree_map = "string, string", tag = "2")]
    info: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
struct PodSandboxStatus {
    #[prost(int32, tag = "3")]
    state: i32,
    #[prost(message, optional, tag = "5")]
    network: Option<PodSandboxNetworkStatus>,
}

/// `StopPodSandboxRequest` and `RemovePodSandboxRequest`.
#[derive(Clone, PartialEq, Message)]
struct OnePodSandbox {
    #[prost(string, tag = "1")]
    pod_sandbox_id: String,
}

/// The responses to these.
#[derive(Clone, PartialEq, Message)]
struct Empty {}

#[derive(Clone, PartialEq, Message)]
struct StatusRequest {}

#[derive(Clone, PartialEq, Message)]
struct StatusResponse {
    #[prost(message, optional, tag = "1")]
    status: Option<RuntimeStatus>,
}

#[derive(Clone, PartialEq, Message)]
struct RuntimeStatus {
    #[prost(message, repeated, tag = "1")]
    conditions: Vec<RuntimeCondition>,
}

#[derive(Clone, PartialEq, Message)]
struct RuntimeCondition {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(bool, tag = "2")]
    status: bool,
    #[prost(string, tag = "4")]
    message: String,
}

#[derive(Clone, PartialEq, Message)]
struct ImageStatusRequest {
    #[prost(message, optional, tag = "1")]
    image: Option<ImageSpec>,
}

#[derive(Clone, PartialEq, Message)]
struct ImageSpec {
    #[prost(string, tag = "1")]
    image: String,
}

#[derive(Clone, PartialEq, Message)]
struct ImageStatusResponse {
    #[prost(message, optional, tag = "1")]
    image: Option<Image>,
}

#[derive(Clone, PartialEq, Message)]
struct Image {
    #[prost(string, tag = "1")]
    id: String,
}
