//! Pods with a second network: weir as the delegating plugin, against an API server on the same machine
//! over TLS.
//!
//! Nothing else is measured beside it: what Multus 4.2.4 takes for the same was measured once and is
//! in the table.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{ApiServer, Namespace};

use crate::call::{Answer, call};
use crate::contender::Contenders;
use crate::interrupt;
use crate::scratch::Scratch;
use crate::statistics::Series;
use crate::turns::WARM_UP;

/// Milliseconds of Multus 4.2.4, thin and thick alike, measured on this kind of machine.
pub const MULTUS_ADD: f64 = 50.0;
pub const MULTUS_DEL: f64 = 66.0;

const POD: &str = "bench";
/// Each has its event.
const NETWORKS: usize = 2;
/// How long they may take, and how often is looked.
const PATIENCE: Duration = Duration::from_secs(10);
const BETWEEN: Duration = Duration::from_millis(1);
const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// What was measured of one pod after another.
#[derive(Default)]
pub struct Pods {
    /// Milliseconds.
    pub add: Series,
    pub del: Series,
    /// Bytes, the higher one of ADD and DEL.
    pub memory: Series,
    /// Requests of the API server, the most for one call.
    pub requests_of_add: usize,
    pub requests_of_del: usize,
}

/// Measures so many pods.
pub fn measure(contenders: &Contenders, scratch: &Scratch, runs: usize) -> Result<Pods> {
    let mut node = Node::create(contenders, scratch)?;
    eprintln!("weir-bench: pods with a second network, {runs} runs");
    for _ in 0..WARM_UP {
        node.attach_and_detach(&mut Pods::default())?;
    }
    let mut pods = Pods::default();
    for _ in 0..runs {
        node.attach_and_detach(&mut pods)?;
    }
    Ok(pods)
}

/// A node with a cluster, and the container of one pod after another.
struct Node {
    program: PathBuf,
    host: Namespace,
    container: Namespace,
    container_path: PathBuf,
    directory: PathBuf,
    server: ApiServer,
    uid: String,
    count: u32,
}

impl Node {
    fn create(contenders: &Contenders, scratch: &Scratch) -> Result<Self> {
        let directory = scratch.path().join("weir-pods");
        fs::create_dir_all(directory.join("root/etc"))?;
        let (host, container) = (Namespace::create()?, Namespace::create()?);
        host.ip("link set lo up\n")?;
        host.enter()?;
        let server = ApiServer::start()?;
        fs::write(directory.join("root/etc/kubeconfig"), server.kubeconfig())?;
        let namespace = server.namespace();
        let second = second_network().to_string();
        server.create_definition(namespace, "second", Some(&second), &[])?;
        let uid =
            server.create_pod(namespace, POD, &[("k8s.v1.cni.cncf.io/networks", "second")])?;
        Ok(Self {
            program: contenders.delegating(),
            container_path: container.path()?,
            host,
            container,
            directory,
            server,
            uid,
            count: 0,
        })
    }

    fn attach_and_detach(&mut self, pods: &mut Pods) -> Result<()> {
        self.count += 1;
        let (add, requests) = self.call("ADD")?;
        self.must_be_attached(&add)?;
        pods.requests_of_add = pods.requests_of_add.max(requests);
        self.wait_for_events()?;
        let (del, requests) = self.call("DEL")?;
        self.must_be_detached()?;
        pods.requests_of_del = pods.requests_of_del.max(requests);
        pods.add.push(milliseconds(&add));
        pods.del.push(milliseconds(&del));
        pods.memory
            .push(add.peak_memory.max(del.peak_memory) as f64);
        Ok(())
    }

    /// A call, and how often it asked the API server before it answered.
    fn call(&self, command: &str) -> Result<(Answer, usize)> {
        interrupt::check()?;
        self.host.enter()?;
        self.server.forget_requests()?;
        let root = self.directory.join("root");
        let id = format!("{:064x}", self.count);
        let args = format!(
            "IgnoreUnknown=1;K8S_POD_NAMESPACE={};K8S_POD_NAME={POD};K8S_POD_UID={}",
            self.server.namespace(),
            self.uid
        );
        let environment: [(&str, &OsStr); 8] = [
            ("CNI_COMMAND", command.as_ref()),
            ("CNI_CONTAINERID", id.as_ref()),
            ("CNI_NETNS", self.container_path.as_ref()),
            ("CNI_IFNAME", "eth0".as_ref()),
            ("CNI_ARGS", args.as_ref()),
            ("CNI_PATH", "/opt/cni/bin".as_ref()),
            ("PATH", "/usr/sbin:/usr/bin:/sbin:/bin".as_ref()),
            ("WEIR_ROOT", root.as_ref()),
        ];
        let errors = self.directory.join("stderr");
        let answer = call(&self.program, &environment, &configuration(), &errors)
            .with_context(|| format!("weir {command} of a pod"))?;
        let requests = self.server.requests()?;
        let requests = requests
            .iter()
            .filter(|request| !request.path.contains("/events"));
        Ok((answer, requests.count()))
    }

    /// A process of its own tells them after the answer, and would be in DEL's way: no pod ends that soon.
    fn wait_for_events(&self) -> Result<()> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let requests = self.server.requests()?;
            let told = requests
                .iter()
                .filter(|request| request.path.contains("/events"));
            if told.count() >= NETWORKS {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "no events within {PATIENCE:?}");
            thread::sleep(BETWEEN);
        }
    }

    /// A pod whose networks or whose status is missing was fast because nothing was done.
    fn must_be_attached(&self, add: &Answer) -> Result<()> {
        for link in ["eth0", "net1"] {
            ensure!(
                self.container.has_link(link)?,
                "no `{link}` after ADD: {}",
                add.output
            );
        }
        let status = self
            .server
            .annotation(self.server.namespace(), POD, STATUS)?;
        let status: Value = serde_json::from_str(&status.context("no status after ADD")?)?;
        ensure!(status[1]["interface"] == "net1", "the status is {status}");
        Ok(())
    }

    fn must_be_detached(&self) -> Result<()> {
        for link in ["eth0", "net1"] {
            ensure!(!self.container.has_link(link)?, "DEL left `{link}`");
        }
        Ok(())
    }
}

fn milliseconds(answer: &Answer) -> f64 {
    answer.elapsed.as_secs_f64() * 1e3
}

fn configuration() -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": "bench-pods",
        "type": "weir",
        "kubeconfig": "/etc/kubeconfig",
        "delegates": [network("first", "cni0", "10.88.0.0/16")],
    })
}

fn second_network() -> Value {
    network("second", "cni1", "10.89.0.0/16")
}

fn network(name: &str, bridge: &str, subnet: &str) -> Value {
    json!({
        "cniVersion": "1.1.0",
        "name": name,
        "plugins": [{
            "type": "bridge",
            "bridge": bridge,
            "isGateway": true,
            "ipam": { "type": "host-local", "ranges": [[{ "subnet": subnet }]] },
        }],
    })
}
