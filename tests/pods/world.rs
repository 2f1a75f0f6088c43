//! A node in a cluster: its API server, its pods, and weir as their delegating plugin.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use weir_kit::{ApiServer, Call, Container, Node, Outcome, binary, wait_for, weir, with_keys};

/// The annotation with the networks of a pod.
pub const NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";
/// The annotation with what they came to.
pub const STATUS: &str = "k8s.v1.cni.cncf.io/network-status";
/// The annotation with the network in place of the default one.
pub const DEFAULT: &str = "v1.multus-cni.io/default-network";

/// A node and its cluster.
pub struct World {
    pub node: Node,
    pub api: ApiServer,
    /// Of the pods.
    pub namespace: String,
    kubeconfig: &'static str,
}

/// A pod of the cluster, and its container on the node.
pub struct Pod {
    pub name: String,
    pub namespace: String,
    pub uid: String,
    pub container: Container,
}

/// A bridge network's only plugin.
pub fn bridge(bridge: &str, subnet: &str) -> Value {
    json!({
        "type": "bridge",
        "bridge": bridge,
        "isGateway": true,
        "capabilities": { "ips": true, "mac": true },
        "ipam": { "type": "host-local", "ranges": [[{ "subnet": subnet }]] },
    })
}

/// A network configuration list.
pub fn list(name: &str, plugins: &[Value]) -> Value {
    json!({ "cniVersion": "1.1.0", "name": name, "plugins": plugins })
}

impl World {
    /// A new one, without pods and without networks but the default one.
    pub fn create() -> Result<Self> {
        let node = Node::create()?;
        // As every node of a cluster does: a tenant's network does not make it.
        for key in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            let file = format!("/proc/sys/net/{key}");
            node.inside(|| Ok(std::fs::write(file, "1")?))?;
        }
        let api = ApiServer::start_in(&node)?;
        Ok(Self {
            namespace: api.namespace().to_owned(),
            kubeconfig: api.install_kubeconfig(&node)?,
            node,
            api,
        })
    }

    /// A new one with a bridge network of a definition in the pods' namespace.
    pub fn with_bridge(name: &str, subnet: &str) -> Result<Self> {
        let world = Self::create()?;
        world.define_bridge(name, subnet)?;
        Ok(world)
    }

    /// A new one with a definition that has no configuration.
    pub fn with_empty(name: &str) -> Result<Self> {
        let world = Self::create()?;
        world.define_empty(name)?;
        Ok(world)
    }

    /// The delegating plugin's configuration, with a bridge as the default network.
    pub fn config(&self) -> Value {
        let mut default = list("default-net", &[bridge("pods0", "10.40.0.0/16")]);
        default["plugins"][0]["ipam"]["routes"] = json!([{ "dst": "0.0.0.0/0" }]);
        json!({
            "cniVersion": "1.1.0",
            "name": "pods",
            "type": "weir",
            "kubeconfig": self.kubeconfig,
            "multusNamespace": self.namespace,
            "logLevel": "debug",
            "delegates": [default],
        })
    }

    /// The same with other keys.
    pub fn config_with(&self, keys: Value) -> Value {
        let mut config = self.config();
        for (key, value) in keys.as_object().expect("an object") {
            config[key] = value.clone();
        }
        config
    }

    /// A network of a NetworkAttachmentDefinition in the pods' namespace.
    pub fn define(&self, name: &str, config: &Value) -> Result<()> {
        let config = config.to_string();
        self.api
            .create_definition(&self.namespace, name, Some(&config), &[])
    }

    /// The same for a network of this name with one plugin.
    pub fn define_as(&self, name: &str, network: &str, plugin: Value) -> Result<()> {
        self.define(name, &list(network, &[plugin]))
    }

    /// A NetworkAttachmentDefinition without a configuration.
    pub fn define_empty(&self, name: &str) -> Result<()> {
        self.api.create_definition(&self.namespace, name, None, &[])
    }

    /// The addresses that are taken on the network of a definition in the pods' namespace.
    pub fn taken(&self, name: &str) -> Vec<String> {
        self.node.taken(&format!("{}/{name}", self.namespace))
    }

    /// Neither the network of a definition nor the default one has a lease.
    #[track_caller]
    pub fn no_lease_stays(&self, name: &str) {
        assert!(self.taken(name).is_empty());
        assert!(self.node.taken("default-net").is_empty());
    }

    /// Lists the interfaces of the node that networks of definitions may use.
    pub fn list_interfaces(&self, names: &[&str]) -> Result<()> {
        let settings = json!({ "hostInterfaces": names });
        let file = self
            .node
            .write("etc/weir/weir.json", settings.to_string())?;
        Ok(fs::set_permissions(file, Permissions::from_mode(0o600))?)
    }

    /// A bridge network by that name.
    pub fn define_bridge(&self, name: &str, subnet: &str) -> Result<()> {
        let device = format!("b{name}");
        self.define(name, &list(name, &[bridge(&device, subnet)]))
    }

    /// A pod that selects networks.
    pub fn pod(&self, name: &str, networks: &str) -> Result<Pod> {
        self.pod_with(name, &[(NETWORKS, networks)])
    }

    /// A pod with annotations.
    pub fn pod_with(&self, name: &str, annotations: &[(&str, &str)]) -> Result<Pod> {
        self.pod_in(&self.namespace, name, annotations)
    }

    /// A pod of another namespace.
    pub fn pod_in(&self, namespace: &str, name: &str, annotations: &[(&str, &str)]) -> Result<Pod> {
        Ok(Pod {
            uid: self.api.create_pod(namespace, name, annotations)?,
            name: name.to_owned(),
            namespace: namespace.to_owned(),
            container: self.node.container()?,
        })
    }

    /// A call for a pod.
    pub fn call(&self, command: &str, pod: &Pod, config: &Value) -> Call {
        let mut call = weir(&self.node, "weir", command, &pod.container, config);
        let (namespace, name, uid) = (&pod.namespace, &pod.name, &pod.uid);
        call.set(
            "CNI_ARGS",
            format!(
                "IgnoreUnknown=1;K8S_POD_NAMESPACE={namespace};K8S_POD_NAME={name};\
                 K8S_POD_INFRA_CONTAINER_ID={};K8S_POD_UID={uid}",
                pod.container.id
            ),
        );
        call
    }

    /// Carries a command out with the usual configuration.
    pub fn run(&self, command: &str, pod: &Pod) -> Result<Outcome> {
        self.run_with(command, pod, &self.config())
    }

    /// Carries a command out with another configuration.
    pub fn run_with(&self, command: &str, pod: &Pod, config: &Value) -> Result<Outcome> {
        self.node.run(&self.call(command, pod, config))
    }

    /// ADD, which must succeed.
    #[track_caller]
    pub fn add(&self, pod: &Pod) -> Value {
        self.run("ADD", pod).expect("weir runs").result()
    }

    /// A pod that selects networks, after its ADD.
    #[track_caller]
    pub fn attached(&self, name: &str, networks: &str) -> Result<Pod> {
        let pod = self.pod(name, networks)?;
        self.add(&pod);
        Ok(pod)
    }

    /// The same, where the stand-in remembers the requests of the ADD alone.
    #[track_caller]
    pub fn attached_anew(&self, name: &str, networks: &str) -> Result<Pod> {
        let pod = self.pod(name, networks)?;
        self.api.forget_requests()?;
        self.add(&pod);
        Ok(pod)
    }

    /// A pod that selects no network, after its ADD.
    #[track_caller]
    pub fn plain(&self, name: &str) -> Result<Pod> {
        let pod = self.pod_with(name, &[])?;
        self.add(&pod);
        Ok(pod)
    }

    /// Runs ADD, which must fail with this code, have these words in the error's message and leave no interface in the
    /// container. Returns the error.
    #[track_caller]
    pub fn refused(&self, pod: &Pod, code: u64, words: &[&str]) -> Result<Value> {
        let outcome = self.run("ADD", pod)?;
        let error = outcome.told(code, words);
        assert_eq!(names(&pod.container)?, Vec::<String>::new(), "torn down");
        Ok(error)
    }

    /// Runs DEL, which must succeed.
    #[track_caller]
    pub fn del(&self, pod: &Pod) -> Result<()> {
        self.del_with(pod, &self.config())
    }

    /// Runs DEL with another configuration, which must succeed.
    #[track_caller]
    pub fn del_with(&self, pod: &Pod, config: &Value) -> Result<()> {
        let outcome = self.run_with("DEL", pod, config)?;
        assert!(outcome.succeeded(), "DEL: {outcome:?}");
        Ok(())
    }

    /// The pod's status annotation.
    pub fn status(&self, pod: &Pod) -> Result<Vec<Value>> {
        let text = self.api.annotation(&pod.namespace, &pod.name, STATUS)?;
        let text = text.with_context(|| format!("{} has no status", pod.name))?;
        Ok(serde_json::from_str(&text)?)
    }

    /// Waits for an event about a pod, which a process of its own tells.
    pub fn event(&self, pod: &Pod, reason: &str) -> Result<Value> {
        let find = || -> Result<Option<Value>> {
            let events = self.api.events(&pod.namespace)?;
            let mut of_pod = events
                .into_iter()
                .filter(|event| event["involvedObject"]["name"] == pod.name.as_str());
            Ok(of_pod.find(|event| event["reason"] == reason))
        };
        wait_for(reason, find)
    }

    /// Has `bridge` run on these networks alone, by a grant in place of the shipped one. Returns its file.
    pub fn narrow_bridge(&self, networks: &[&str]) -> Result<PathBuf> {
        let show = Command::new(binary())
            .args(["grants", "show", "bridge", "--yaml"])
            .output()?;
        let shipped = String::from_utf8(show.stdout)?;
        let narrowed = shipped.replace(
            r#"networks: ["*", "*/*"]"#,
            &format!("networks: {}", json!(networks)),
        );
        ensure!(
            narrowed != shipped,
            "the shipped grant is for other networks: {shipped}"
        );
        let directory = self.node.root().join("etc/weir/grants.d");
        fs::create_dir_all(&directory)?;
        let file = directory.join("bridge.yaml");
        fs::write(&file, narrowed)?;
        Ok(file)
    }

    /// What weir asked the stand-in, without what a process of its own tells after the answer.
    pub fn requests(&self) -> Result<Vec<String>> {
        let requests = self.api.requests()?.into_iter();
        let before_the_answer = requests.filter(|request| !request.path.contains("/events"));
        Ok(before_the_answer
            .map(|request| format!("{} {}", request.verb, request.path))
            .collect())
    }

    /// The records of pods' attachments on the node.
    pub fn records(&self) -> Vec<PathBuf> {
        let directory = self.node.root().join("var/lib/weir/pods/pods");
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    }

    /// weir's log, line by line.
    pub fn log(&self) -> Vec<Value> {
        let log = self.node.log();
        let log = log.unwrap_or_default();
        log.lines()
            .map(|line| serde_json::from_str(line).expect("JSON Lines"))
            .collect()
    }
}

/// The interfaces of a container with their addresses, without `lo` and link-local ones.
pub fn interfaces(container: &Container) -> Result<BTreeMap<String, Vec<String>>> {
    let mut interfaces = BTreeMap::new();
    for link in container
        .ip_json("address show")?
        .as_array()
        .into_iter()
        .flatten()
    {
        let name = link["ifname"].as_str().unwrap_or_default().to_owned();
        let addresses = link["addr_info"].as_array().into_iter().flatten();
        let addresses = addresses.filter(|address| address["scope"] != "link");
        let addresses = addresses.filter_map(|a| a["local"].as_str().map(str::to_owned));
        interfaces.insert(name, addresses.collect());
    }
    interfaces.remove("lo");
    Ok(interfaces)
}

/// The names of a container's interfaces without `lo`.
pub fn names(container: &Container) -> Result<Vec<String>> {
    Ok(interfaces(container)?.into_keys().collect())
}

/// A selection of one network with further keys.
pub fn selection(name: &str, keys: Value) -> String {
    json!([with_keys(json!({ "name": name }), keys)]).to_string()
}
