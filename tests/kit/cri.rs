//! A container runtime asked for pods by the CRI, as a kubelet does.
//!
//! `weir-cri` makes the calls, a run for each. Requests and responses are JSON with the names of the
//! CRI's `api.proto`; a name that it does not know fails the call.

use std::iter;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::plugin::start;
use super::program;

/// How long the CRI may take to know its network and its image, and how often it is asked.
const READY_TIMEOUT: Duration = Duration::from_secs(20);
const READY_POLL: Duration = Duration::from_millis(20);

/// A container runtime, for several threads at a time.
#[derive(Clone, Debug)]
pub struct Cri {
    client: PathBuf,
    socket: PathBuf,
}

/// A pod sandbox as the runtime describes it.
#[derive(Clone, Debug)]
pub struct SandboxStatus {
    pub ready: bool,
    /// The one that counts is the first; none when it is stopped.
    pub addresses: Vec<String>,
    /// What else the runtime tells: containerd the CNI result and the namespaces.
    pub info: Value,
}

impl Cri {
    /// The runtime that serves at a socket.
    pub fn new(socket: PathBuf) -> Self {
        Self {
            client: program("weir-cri"),
            socket,
        }
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
        let response = self.call("Status", &json!({}))?;
        let conditions = response["status"]["conditions"].as_array();
        let conditions = conditions.context("a status without conditions")?;
        let unmet = conditions.iter().filter(|it| it["status"] != true);
        let mut lacking: Vec<String> = unmet.map(|it| format!("unmet: {it}")).collect();
        let request = json!({ "image": { "image": image } });
        if self.call("ImageStatus", &request)?["image"].is_null() {
            lacking.push(format!("no image {image}"));
        }
        Ok(lacking)
    }

    /// Starts a pod sandbox, which is connected to the network when this returns. It is a
    /// `PodSandboxConfig`. Returns its id.
    pub fn run_pod_sandbox(&self, config: &Value) -> Result<String> {
        let response = self.call("RunPodSandbox", &json!({ "config": config }))?;
        let id = response["pod_sandbox_id"].as_str();
        Ok(id.context("a pod sandbox without an id")?.to_owned())
    }

    /// What the runtime says of a pod sandbox.
    pub fn pod_sandbox_status(&self, id: &str) -> Result<SandboxStatus> {
        let request = json!({ "pod_sandbox_id": id, "verbose": true });
        let response = self.call("PodSandboxStatus", &request)?;
        let status = &response["status"];
        let info = response["info"]["info"].as_str();
        Ok(SandboxStatus {
            ready: status["state"] == "SANDBOX_READY",
            addresses: addresses(&status["network"]),
            info: serde_json::from_str(info.unwrap_or("null"))?,
        })
    }

    /// Stops a pod sandbox, which has left the network when this returns. Also succeeds when it is
    /// stopped already, as a kubelet relies on.
    pub fn stop_pod_sandbox(&self, id: &str) -> Result<()> {
        self.call("StopPodSandbox", &json!({ "pod_sandbox_id": id }))?;
        Ok(())
    }

    /// Removes a pod sandbox.
    pub fn remove_pod_sandbox(&self, id: &str) -> Result<()> {
        self.call("RemovePodSandbox", &json!({ "pod_sandbox_id": id }))?;
        Ok(())
    }

    fn call(&self, method: &str, request: &Value) -> Result<Value> {
        let mut client = Command::new(&self.client);
        client.arg(&self.socket).arg(method);
        let client = start(&mut client, request.to_string().as_bytes())?;
        let output = client.wait_with_output()?;
        let error = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "the CRI's {method}: {}",
            error.trim()
        );
        serde_json::from_slice(&output.stdout).with_context(|| format!("the response to {method}"))
    }
}

/// All that a `PodSandboxNetworkStatus` tells: one, and a list of further ones.
fn addresses(network: &Value) -> Vec<String> {
    let further = network["additional_ips"].as_array().into_iter().flatten();
    let all = iter::once(network).chain(further);
    let addresses = all.filter_map(|it| it["ip"].as_str());
    let given = addresses.filter(|address| !address.is_empty());
    given.map(str::to_owned).collect()
}
