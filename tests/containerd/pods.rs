//! A node whose pods are asked for by the CRI, as a kubelet does.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use weir_kit::binary;
use weir_kit::containerd::{BUSYBOX_IMAGE, Containerd};
use weir_kit::cri::Cri;

/// The bridge of the pods' network, and its address.
pub const BRIDGE: &str = "pods0";
pub const GATEWAY: &str = "10.77.0.1";

/// What a pod asks for beside its sandbox.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    ports: Vec<Value>,
    annotations: BTreeMap<String, String>,
}

impl Wishes {
    /// A port of the node that leads to one of the pod, by `TCP` or `UDP`.
    pub fn port(mut self, protocol: &str, host: u16, container: u16) -> Self {
        self.ports.push(json!({
            "protocol": protocol,
            "host_port": host,
            "container_port": container,
        }));
        self
    }

    /// Limits, in Mbit/s, as Kubernetes has them from a pod's annotations.
    pub fn rates(mut self, ingress: usize, egress: usize) -> Self {
        for (direction, rate) in [("ingress", ingress), ("egress", egress)] {
            let key = format!("kubernetes.io/{direction}-bandwidth");
            self.annotations.insert(key, format!("{rate}M"));
        }
        self
    }
}

/// A pod sandbox that is up.
#[derive(Clone, Debug)]
pub struct Pod {
    pub id: String,
    pub address: String,
    /// Its network namespace, for [`Containerd::inside_netns`].
    netns: String,
}

/// A node: a containerd with one network, reached through its CRI.
pub struct Pods {
    pub containerd: Containerd,
    pub cri: Cri,
}

impl Pods {
    /// A node whose network has a bridge and these plugins after it.
    pub fn start(chained: &[Value]) -> Result<Self> {
        let containerd = Containerd::start(Path::new(env!("CARGO_TARGET_TMPDIR")))?;
        let network = network(chained);
        // containerd itself runs `loopback` for every pod.
        let links: Vec<&str> = kinds(&network).chain(["host-local", "loopback"]).collect();
        containerd.install_cni_bin(&binary(), &links)?;
        containerd.write_cni_conf("10-pods.conflist", &network)?;
        let cri = Cri::new(containerd.socket());
        cri.wait_until_ready(BUSYBOX_IMAGE)?;
        Ok(Self { containerd, cri })
    }

    /// Starts a pod's sandbox.
    pub fn run(&self, name: &str, wishes: Wishes) -> Result<Pod> {
        let config = json!({
            "metadata": {
                "name": name,
                "uid": format!("uid-of-{name}"),
                "namespace": "default",
            },
            "hostname": name,
            "port_mappings": wishes.ports,
            "annotations": wishes.annotations,
            "linux": { "cgroup_parent": self.containerd.cgroup_parent() },
        });
        let id = self.cri.run_pod_sandbox(&config)?;
        self.pod(id)
    }

    fn pod(&self, id: String) -> Result<Pod> {
        let status = self.cri.pod_sandbox_status(&id)?;
        ensure!(status.ready, "{id} is not ready: {status:?}");
        let [address] = &status.addresses[..] else {
            bail!("not one address: {status:?}");
        };
        let interface = &status.info["cniResult"]["Interfaces"]["eth0"];
        let netns = interface["Sandbox"].as_str();
        let netns = netns.with_context(|| format!("no namespace: {status:?}"))?;
        Ok(Pod {
            id,
            address: address.clone(),
            netns: netns.to_owned(),
        })
    }

    /// Stops a pod's sandbox and removes it.
    pub fn remove(&self, pod: &Pod) -> Result<()> {
        self.cri.stop_pod_sandbox(&pod.id)?;
        self.cri.remove_pod_sandbox(&pod.id)
    }

    /// Runs `act` in a thread inside a pod's network namespace.
    pub fn inside<T: Send>(&self, pod: &Pod, act: impl FnOnce() -> Result<T> + Send) -> Result<T> {
        self.containerd.inside_netns(&pod.netns, act)
    }

    /// Fails unless the plugins were allowed all that they did.
    pub fn expect_nothing_denied(&self) -> Result<()> {
        let records = self.containerd.audit()?;
        ensure!(!records.is_empty(), "nothing is recorded");
        let denied = records.iter().find(|record| record["verdict"] != "allowed");
        ensure!(denied.is_none(), "{denied:?}");
        Ok(())
    }
}

fn network(chained: &[Value]) -> Value {
    let bridge = json!({
        "type": "bridge",
        "bridge": BRIDGE,
        "isDefaultGateway": true,
        "ipMasq": true,
        "hairpinMode": true,
        "ipam": { "type": "host-local", "subnet": "10.77.0.0/24" },
    });
    let plugins: Vec<&Value> = [&bridge].into_iter().chain(chained).collect();
    json!({ "cniVersion": "1.0.0", "name": "pods", "plugins": plugins })
}

fn kinds(network: &Value) -> impl Iterator<Item = &str> {
    let plugins = network["plugins"].as_array().into_iter().flatten();
    plugins.filter_map(|plugin| plugin["type"].as_str())
}
