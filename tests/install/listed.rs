//! A list of plugins for every node: each is installed by itself, and the pod that installs reports the outcome.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use nix::sys::signal::Signal;
use serde_json::{Value, json};
use weir_kit::{ApiServer, Node, Web, assert_contains, binary, component, wait_for};
use weir_signature::{SigningKey, Subject};

use crate::machine::Running;

const ANNOTATION: &str = "weir.dev/plugins";
const POD: &str = "weir-x7k2p";

/// A node with the default network, its API server, and a web server with plugins.
pub struct Cluster {
    pub node: Node,
    api: ApiServer,
    pub web: Web,
    kubeconfig: &'static str,
}

impl Cluster {
    pub fn create() -> Result<Self> {
        let node = Node::create()?;
        let api = ApiServer::start_in(&node)?;
        let default = json!({ "cniVersion": "1.0.0", "name": "pods", "type": "ptp" });
        node.put_network("10-pods.conf", &default)?;
        api.create_pod(api.namespace(), POD, &[])?;
        let web = Web::on(&node)?;
        web.put("/labels.wasm", &fs::read(component("labels"))?);
        Ok(Self {
            kubeconfig: api.install_kubeconfig(&node)?,
            node,
            api,
            web,
        })
    }

    /// Puts a list in place of the present one.
    pub fn list(&self, plugins: &Value) -> Result<()> {
        let list = json!({
            "apiVersion": "weir.dev/v1alpha1",
            "kind": "PluginInstallation",
            "spec": { "plugins": plugins },
        });
        self.node
            .write("list/plugins.yaml", list.to_string())
            .map(drop)
    }

    fn command(&self) -> Command {
        let file = self.node.root().join("list/plugins.yaml");
        let mut weir = Command::new(binary());
        weir.args(["install", "--kubernetes", "--kubeconfig", self.kubeconfig])
            .arg("--plugin-list")
            .arg(file)
            .args(["--pod-name", POD, "--pod-namespace", self.api.namespace()])
            .arg("--bin-dir")
            .arg(self.node.bin_dir())
            .env("WEIR_ROOT", self.node.root());
        weir
    }

    pub fn install(&self) -> Result<Output> {
        let output = self
            .node
            .inside(|| self.command().output().context("run weir"))?;
        ensure!(output.status.success(), "{output:?}");
        Ok(output)
    }

    /// Starts it with `--watch`.
    fn watch(&self) -> Result<Running> {
        let mut weir = self.command();
        weir.arg("--watch");
        self.node.inside(|| Running::start(weir))
    }

    /// What the pod says of the plugins.
    pub fn told(&self) -> Result<Value> {
        let text = self.api.annotation(self.api.namespace(), POD, ANNOTATION)?;
        Ok(serde_json::from_str(&text.context("an annotation")?)?)
    }

    pub fn entry(&self, name: &str, path: &str) -> Result<Value> {
        let digest = weir_sandbox::digest(&fs::read(component("labels"))?).to_string();
        Ok(json!({ "name": name, "uri": self.web.url(path), "digest": digest }))
    }

    /// An entry for `labels` that wants a signature as well.
    fn signed(&self) -> Result<Value> {
        let mut entry = self.entry("labels", "/labels.wasm")?;
        entry["trust"] = json!("signature");
        Ok(entry)
    }

    /// Has the node's policy refuse the component of an entry.
    fn refuse(&self, entry: &Value) -> Result<()> {
        let policy = json!({
            "apiVersion": "weir.dev/v1alpha1",
            "kind": "PluginPolicy",
            "spec": { "refused": [{ "digest": entry["digest"], "reason": "it was broken" }] },
        });
        self.node
            .write("etc/weir/plugin-policy.yaml", policy.to_string())
            .map(drop)
    }

    pub fn plugin(&self, name: &str) -> Result<Value> {
        let listed = self.node.json(&["plugin", "list"], 0)?;
        let mut lines = listed.as_array().context("a list")?.iter();
        Ok(lines
            .find(|line| line["name"] == name)
            .cloned()
            .unwrap_or_default())
    }
}

#[test]
fn one_plugin_that_fails_holds_up_neither_the_others_nor_the_node() -> Result<()> {
    let cluster = Cluster::create()?;
    let mut other = cluster.entry("other", "/labels.wasm")?;
    other["digest"] = json!(format!("sha256:{}", "0".repeat(64)));
    cluster.list(&json!([
        cluster.entry("missing", "/missing.wasm")?,
        other,
        cluster.entry("labels", "/labels.wasm")?,
    ]))?;
    let said = String::from_utf8(cluster.install()?.stderr)?;
    assert_contains(
        &said,
        &[
            "plugin `missing` of the list",
            "not there",
            "plugin `other`",
        ],
    );
    let told = cluster.told()?;
    let states: Vec<&Value> = [0, 1, 2].map(|at| &told[at]["state"]).into();
    assert_eq!(states, ["failed", "failed", "installed"], "{told:#}");
    assert_contains(
        told[1]["error"].as_str().unwrap_or_default(),
        &["is component", "sha256:000"],
    );

    let labels = cluster.plugin("labels")?;
    assert_eq!(labels["digest"], told[2]["digest"]);
    assert_contains(
        &labels.to_string(),
        &["the list of plugins", "/labels.wasm"],
    );
    assert_eq!(cluster.plugin("other")?, Value::Null);
    assert!(
        cluster.node.bin_dir().join("labels").exists(),
        "it has a link"
    );
    let configuration = cluster.node.root().join("etc/cni/net.d/00-weir.conflist");
    assert!(configuration.exists(), "the node is installed");

    // What is there is not asked for again.
    cluster.web.requested_paths();
    cluster.list(&json!([cluster.entry("labels", "/labels.wasm")?]))?;
    cluster.install()?;
    assert!(cluster.web.requested_paths().is_empty());
    assert_eq!(cluster.told()?.as_array().map(Vec::len), Some(1));
    Ok(())
}

/// Hostile: a server that takes every connection, and never answers.
#[test]
fn a_server_that_does_not_answer_holds_up_nobody() -> Result<()> {
    let cluster = Cluster::create()?;
    let silent = cluster
        .node
        .inside(|| Ok(TcpListener::bind("127.0.0.1:0")?))?;
    let mut entries = Vec::new();
    for name in ["one", "two", "three"] {
        let mut entry = cluster.entry(name, "/labels.wasm")?;
        entry["uri"] = json!(format!("http://{}/{name}.wasm", silent.local_addr()?));
        entries.push(entry);
    }
    entries.push(cluster.entry("labels", "/labels.wasm")?);
    cluster.list(&json!(entries))?;
    let mut running = cluster.watch()?;
    running.expect_all(&["all is in place; watching", "installed plugin labels"])?;
    let link = cluster.node.bin_dir().join("labels");
    wait_for("its link", || Ok(link.exists().then_some(())))?;
    fs::remove_file(&link)?;
    wait_for("its link again", || Ok(link.exists().then_some(())))?;
    running.ends_cleanly(Signal::SIGTERM)
}

/// The kubelet exchanges the file of a ConfigMap.
#[test]
fn a_changed_list_is_carried_out_without_a_restart() -> Result<()> {
    let cluster = Cluster::create()?;
    cluster.list(&json!([]))?;
    let mut running = cluster.watch()?;
    running.expect("all is in place; watching")?;
    cluster.list(&json!([cluster.entry("labels", "/labels.wasm")?]))?;
    running.expect("installed plugin labels")?;
    wait_for("the annotation", || {
        let told = cluster.told().unwrap_or_default();
        Ok((told[0]["state"] == "installed").then_some(()))
    })?;
    running.ends_cleanly(Signal::SIGTERM)
}

#[test]
fn what_the_list_may_not_install_stays_away() -> Result<()> {
    let cluster = Cluster::create()?;
    cluster.list(&json!([cluster.signed()?]))?;
    cluster.install()?;
    assert_contains(
        &cluster.told()?.to_string(),
        &["the list wants a signature"],
    );

    // Not even the list brings back what the node's policy refuses.
    let entry = cluster.entry("labels", "/labels.wasm")?;
    cluster.refuse(&entry)?;
    cluster.list(&json!([entry]))?;
    cluster.install()?;
    assert_contains(&cluster.told()?.to_string(), &["it was broken"]);
    assert_eq!(cluster.plugin("labels")?, Value::Null);

    // A list with a mistake installs nothing, and says where the mistake is.
    cluster
        .node
        .write("etc/weir/plugin-policy.yaml", weir_kit::node::POLICY)?;
    cluster.list(&json!([cluster.entry("labels", "/labels.wasm")?, { "name": "bridge" }]))?;
    cluster.install()?;
    assert_contains(
        &cluster.told()?.to_string(),
        &["failed", "plugins.yaml", "built into weir"],
    );
    assert_eq!(cluster.plugin("labels")?, Value::Null);

    // One that was added by hand is not the list's.
    let file = component("labels");
    let file = file.to_str().context("text")?;
    cluster
        .node
        .weir(&["plugin", "add", file, "--name", "mine"])?;
    let mut mine = cluster.entry("mine", "/other.wasm")?;
    mine["digest"] = json!(format!("sha256:{}", "1".repeat(64)));
    cluster.list(&json!([mine]))?;
    cluster.install()?;
    assert_contains(
        &cluster.told()?.to_string(),
        &["by `weir plugin add`", "weir plugin remove mine"],
    );
    Ok(())
}

/// A signer's key is replaced in the policy, under the same name.
#[test]
fn a_signature_counts_only_as_long_as_its_key() -> Result<()> {
    let cluster = Cluster::create()?;
    cluster.list(&json!([cluster.signed()?]))?;
    let component = fs::read(component("labels"))?;
    let sign = |key: &SigningKey| -> Result<()> {
        let signature = key.sign(&[Subject::new("labels.wasm", &component)])?;
        cluster.web.put("/labels.wasm.sigstore.json", &signature);
        Ok(())
    };
    let told_with = |key: &SigningKey| -> Result<String> {
        let pem = key.public()?.to_pem();
        let signer = json!({ "name": "release", "plugins": ["labels"], "publicKey": pem });
        let policy = json!({
            "apiVersion": "weir.dev/v1alpha1",
            "kind": "PluginPolicy",
            "spec": { "signers": [signer] },
        });
        let file = "etc/weir/plugin-policy.yaml";
        cluster.node.write(file, policy.to_string())?;
        cluster.install()?;
        Ok(cluster.told()?.to_string())
    };
    let proof = || -> Result<Value> {
        let plugin = cluster.plugin("labels")?;
        Ok(plugin["trusted"]["signed"]["proof"].clone())
    };
    let (first, second) = (SigningKey::generate()?, SigningKey::generate()?);
    sign(&first)?;
    assert_contains(&told_with(&first)?, &["installed"]);
    let before = proof()?;

    assert_contains(&told_with(&second)?, &["failed", "not made with that key"]);
    assert_eq!(proof()?, before);
    sign(&second)?;
    assert_contains(&told_with(&second)?, &["installed"]);
    let now = proof()?;
    assert_ne!(now, before);

    // Its code is damaged, as it is another one's after an update of weir: the component is compiled again.
    cluster.web.remove("/labels.wasm");
    fs::write(
        cluster.node.installed("labels").join("code.cwasm"),
        "damaged",
    )?;
    assert_contains(&told_with(&second)?, &["installed"]);
    assert_eq!(proof()?, now);
    Ok(())
}

/// The list or the policy changes after a plugin was installed: that counts as at its first installation.
#[test]
fn what_is_installed_is_checked_again() -> Result<()> {
    let cluster = Cluster::create()?;
    let entry = cluster.entry("labels", "/labels.wasm")?;
    let told = |entry: &Value| {
        cluster.list(&json!([entry]))?;
        cluster.install()?;
        Ok::<_, anyhow::Error>(cluster.told()?.to_string())
    };
    assert_contains(&told(&entry)?, &["installed"]);
    assert_contains(
        &told(&cluster.signed()?)?,
        &["failed", "the list wants a signature"],
    );
    assert_contains(&told(&entry)?, &["installed"]);

    cluster.refuse(&entry)?;
    assert_contains(
        &told(&entry)?,
        &["failed", "it was broken", "weir plugin remove labels"],
    );
    // Running attachments may need it.
    assert_eq!(cluster.plugin("labels")?["digest"], entry["digest"]);
    Ok(())
}
