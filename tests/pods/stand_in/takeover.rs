//! "Take over from Multus" of `docs/kubernetes.md`, run as it is written, on a node of Multus 4.3.0: its configuration
//! and its kubeconfig as its own entrypoint writes them, and the rights of its own manifests.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use weir_kit::kubectl::kustomize;
use weir_kit::{house, peer, wait_for};

use crate::daemon::{Account, Daemon};
use crate::world::{World, bridge, list, names};

/// The user that Multus is in its cluster.
const MULTUS: &str = "system:serviceaccount:kube-system:multus";

/// Where Multus has its kubeconfig on a node.
const KUBECONFIG: &str = "/etc/cni/net.d/multus.d/multus.kubeconfig";

/// The commands of a section of the guide: the lines of its first block that is indented.
fn commands(section: &str) -> Result<Vec<String>> {
    let guide = fs::read_to_string(house().join("docs/kubernetes.md"))?;
    let (_, after) = guide
        .split_once(&format!("\n## {section}\n"))
        .with_context(|| format!("no section {section}"))?;
    let text = after.split("\n## ").next().unwrap_or_default();
    let lines = text.lines().skip_while(|line| !line.starts_with("    "));
    let block = lines.map_while(|line| line.strip_prefix("    "));
    Ok(block.map(str::to_owned).collect())
}

/// A cluster with one node, and a copy of the repository's examples.
struct Cluster {
    world: World,
    house: TempDir,
    /// By kind and name.
    objects: BTreeMap<(String, String), Value>,
    daemon: Option<(Daemon, Running)>,
}

/// A container's process, which ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Cluster {
    /// With Multus 4.3.0 as its manifest has it.
    fn with_multus() -> Result<Self> {
        let cluster = Self {
            world: World::create()?,
            house: TempDir::with_prefix("weir-house-")?,
            objects: BTreeMap::new(),
            daemon: None,
        };
        // Nobody may anything but by a role.
        cluster.world.api.set_rules(json!([]))?;
        let copied = Command::new("cp")
            .arg("-r")
            .arg(house().join("examples"))
            .arg(cluster.house.path())
            .status()?;
        ensure!(copied.success(), "copy the examples");
        let mut cluster = cluster;
        let manifest = peer("multus-4.3.0/multus-daemonset.yml")?;
        for document in serde_saphyr::from_multiple::<Value>(&manifest)? {
            cluster.apply(document)?;
        }
        cluster.write_multus()?;
        Ok(cluster)
    }

    /// What Multus' entrypoint writes on a node whose default network is of this version.
    fn write_multus(&self) -> Result<()> {
        let api = &self.world.api;
        let token = api.token_of(MULTUS)?;
        let authority = BASE64_STANDARD.encode(api.authority());
        let kubeconfig = format!(
            "# Kubeconfig file for Multus CNI plugin.\napiVersion: v1\nkind: Config\nclusters:\n- name: local\n  \
             cluster:\n    server: {}\n    certificate-authority-data: {authority}\nusers:\n- name: multus\n  user:\n    \
             token: \"{token}\"\ncontexts:\n- name: multus-context\n  context:\n    cluster: local\n    user: \
             multus\ncurrent-context: multus-context\n",
            api.url()
        );
        self.write(KUBECONFIG, &kubeconfig)?;
        let default = list("default-net", &[bridge("pods0", "10.40.0.0/16")]);
        self.write("/etc/cni/net.d/10-default.conflist", &default.to_string())?;
        let configuration = format!(
            "{{\n    \"cniVersion\": \"1.1.0\",\n    \"name\": \"multus-cni-network\",\n    \"plugins\": [ {{\n        \
             \"type\": \"multus\",\n        \"capabilities\": {{\"ips\":true,\"mac\":true}},\n        \"cniConf\": \
             \"/host/etc/cni/multus/net.d\",\n        \"kubeconfig\": \"{KUBECONFIG}\",\n        \"delegates\": [\n            \
             {default}\n        ]\n    }}]\n}}\n"
        );
        self.write("/etc/cni/net.d/00-multus.conflist", &configuration)
    }

    fn place(&self, path: &str) -> PathBuf {
        self.world.node.root().join(path.trim_start_matches('/'))
    }

    fn write(&self, path: &str, content: &str) -> Result<()> {
        let place = self.place(path);
        fs::create_dir_all(place.parent().context("a directory")?)?;
        fs::write(&place, content).with_context(|| place.display().to_string())
    }

    /// Carries out a line of the guide: `kubectl` as far as the guide needs it, and what else there is in a shell.
    fn carry_out(&mut self, line: &str) -> Result<()> {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            ["kubectl", "-n", "kube-system", "delete", "daemonset", name] => {
                let removed = self
                    .objects
                    .remove(&("DaemonSet".to_owned(), name.to_owned()));
                removed
                    .map(drop)
                    .with_context(|| format!("no DaemonSet {name}"))
            }
            ["kubectl", "apply", "-k", directory] => {
                let directory = self.house.path().join(directory);
                let objects: Vec<Value> = serde_saphyr::from_multiple(&kustomize(&directory)?)?;
                objects.into_iter().try_for_each(|o| self.apply(o))
            }
            [
                "kubectl",
                "-n",
                "kube-system",
                "rollout",
                "status",
                "daemonset",
                name,
            ] => self.roll_out(name),
            ["kubectl", ..] => bail!("this kubectl does not know `{line}`"),
            _ => {
                let mut shell = Command::new("sh");
                let status = shell
                    .args(["-ec", line])
                    .current_dir(self.house.path())
                    .status()?;
                ensure!(status.success(), "{line}: {status}");
                Ok(())
            }
        }
    }

    fn apply(&mut self, object: Value) -> Result<()> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (text(&object["kind"]), text(&object["metadata"]["name"]));
        let resource = match kind.as_str() {
            "ClusterRole" => Some("clusterroles"),
            "ClusterRoleBinding" => Some("clusterrolebindings"),
            _ => None,
        };
        if let Some(resource) = resource {
            self.world.api.create(resource, "", object.clone())?;
        }
        self.objects.insert((kind, name), object);
        Ok(())
    }

    fn object(&self, kind: &str, name: &str) -> Result<&Value> {
        let found = self.objects.get(&(kind.to_owned(), name.to_owned()));
        found.with_context(|| format!("no {kind} {name}"))
    }

    /// Starts the DaemonSet's container, and waits until its probe succeeds.
    fn roll_out(&mut self, name: &str) -> Result<()> {
        let daemon_set = self.object("DaemonSet", name)?.clone();
        let pod = &daemon_set["spec"]["template"]["spec"];
        let image = pod["containers"][0]["image"].as_str().unwrap_or_default();
        ensure!(
            image.starts_with("REGISTRY/weir:"),
            "the image is `{image}`"
        );
        let api = &self.world.api;
        let user = pod["serviceAccountName"].as_str().context("an account")?;
        let account = Account {
            token: api.token_of(&format!("system:serviceaccount:kube-system:{user}"))?,
            authority: api.authority().to_owned(),
        };
        let map = &pod["containers"][0]["envFrom"][0]["configMapRef"]["name"];
        let map = self.object("ConfigMap", map.as_str().context("a ConfigMap")?)?;
        let data = map["data"].as_object().context("data")?;
        let mut variables: Vec<(String, String)> = data
            .iter()
            .map(|(key, value)| (key.clone(), value.as_str().unwrap_or_default().to_owned()))
            .collect();
        let url = api.url();
        let (host, port) = url
            .trim_start_matches("https://")
            .rsplit_once(':')
            .context("a port")?;
        variables.push(("KUBERNETES_SERVICE_HOST".to_owned(), host.to_owned()));
        variables.push(("KUBERNETES_SERVICE_PORT".to_owned(), port.to_owned()));
        let daemon = Daemon::new(&daemon_set, variables, &self.world.node, &account)?;
        let mut running = Running(daemon.start()?);
        let ready = wait_for("a container that is ready", || {
            if let Some(status) = running.0.try_wait()? {
                bail!("it ended: {status}");
            }
            Ok(daemon.probe()?.status.success().then_some(()))
        });
        if ready.is_err() {
            let probed = daemon.probe()?;
            let _ = running.0.kill();
            let mut said = String::new();
            for output in [
                running.0.stdout.take().map(std::io::read_to_string),
                running.0.stderr.take().map(std::io::read_to_string),
            ] {
                said.push_str(&output.transpose()?.unwrap_or_default());
            }
            return ready.with_context(|| format!("{said}\n{probed:?}"));
        }
        self.daemon = Some((daemon, running));
        Ok(())
    }

    /// The configuration that a runtime takes: the first by name. As its plugin reads it.
    fn in_force(&self) -> Result<(String, Value)> {
        let directory = self.place("/etc/cni/net.d");
        let mut files: Vec<String> = fs::read_dir(&directory)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<Result<_>>()?;
        files.retain(|name| name.ends_with(".conf") || name.ends_with(".conflist"));
        files.sort();
        let first = files.first().context("a configuration")?.clone();
        let text = fs::read_to_string(directory.join(&first))?;
        let document: Value = serde_json::from_str(&text)?;
        let mut plugin = document["plugins"][0].clone();
        for key in ["name", "cniVersion"] {
            plugin[key] = document[key].clone();
        }
        if let Some(keys) = plugin.as_object_mut() {
            keys.remove("capabilities");
        }
        Ok((first, plugin))
    }
}

/// The container of the DaemonSet has mounts and a root of its own.
mod needs_root {
    use super::*;

    #[test]
    fn multus_is_taken_over_as_the_guide_says() -> Result<()> {
        let mut cluster = Cluster::with_multus()?;
        // A pod that Multus attached.
        let default = list("default-net", &[bridge("pods0", "10.40.0.0/16")]);
        let delegates = json!([{
            "Name": "default-net", "Bytes": BASE64_STANDARD.encode(default.to_string()),
        }]);
        cluster.write("/var/lib/cni/multus/of-multus", &delegates.to_string())?;

        let commands = commands("Take over from Multus")?;
        assert!(commands.len() > 2, "{commands:?}");
        for command in &commands {
            cluster
                .carry_out(command)
                .with_context(|| command.clone())?;
        }
        let (file, config) = cluster.in_force()?;
        assert_eq!(
            (file.as_str(), &config["type"]),
            ("00-weir.conflist", &json!("weir"))
        );
        let records = cluster.place("/var/lib/weir/pods/multus-cni-network");
        assert!(
            records.join("of-multus:eth0.json").exists(),
            "the pod is known to weir"
        );
        assert!(!cluster.place("/var/lib/cni/multus/of-multus").exists());

        // With the rights that the manifests give weir.
        let world = &cluster.world;
        world.define_bridge("second", "10.41.0.0/24")?;
        let pod = world.pod("after", "second")?;
        world.api.forget_requests()?;
        world.run_with("ADD", &pod, &config)?.result();
        assert_eq!(names(&pod.container)?, ["eth0", "net1"]);
        assert_eq!(world.status(&pod)?.len(), 2);
        let users: Vec<String> = world.api.requests()?.into_iter().map(|r| r.user).collect();
        assert!(
            users.iter().all(|user| user.ends_with(":weir")),
            "{users:?}"
        );
        world.del_with(&pod, &config)
    }
}

/// With the kubeconfig and the rights that Multus left, and its configuration with the one word changed.
#[test]
fn the_rights_of_multus_are_enough() -> Result<()> {
    let cluster = Cluster::with_multus()?;
    let (_, mut config) = cluster.in_force()?;
    config["type"] = json!("weir");
    let world = &cluster.world;
    world.define_bridge("second", "10.41.0.0/24")?;
    let pod = world.pod("with-rights", "second")?;
    world.api.forget_requests()?;
    world.run_with("ADD", &pod, &config)?.result();
    assert_eq!(world.status(&pod)?.len(), 2);
    let own = |request: &&String| request.contains("/pods/");
    let requests = world.requests()?;
    let verbs: Vec<&str> = requests
        .iter()
        .filter(own)
        .filter_map(|request| request.split(' ').next())
        .collect();
    assert_eq!(verbs, ["GET", "PATCH", "GET", "PUT"]);
    world.event(&pod, "AddedInterface")?;
    world.del_with(&pod, &config)?;
    let status = world
        .api
        .annotation(&world.namespace, "with-rights", crate::world::STATUS)?;
    assert_eq!(status, None);
    Ok(())
}
