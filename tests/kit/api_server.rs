//! A Kubernetes API server for tests: the stand-in, or a real cluster's where `WEIR_TEST_KUBECONFIG`
//! names a kubeconfig (`make test-cluster`).
//!
//! ```no_run
//! # use weir_kit::{ApiServer, Node};
//! let node = Node::create()?;
//! let server = ApiServer::start_in(&node)?;
//! let kubeconfig = server.install_kubeconfig(&node)?;
//! let namespace = server.namespace();
//! let uid = server.create_pod(namespace, "web", &[("k8s.v1.cni.cncf.io/networks", "lan")])?;
//! server.create_definition(namespace, "lan", Some(r#"{ "type": "bridge" }"#), &[])?;
//! # anyhow::Ok(())
//! ```
//!
//! Behind it is a program, `weir-apiserver` or `weir-cluster`, that does what it reads: a line of JSON for
//! each command, and one for each answer. It ends, and a real cluster is as before, when this is dropped.

mod program;
mod relay;

use std::env;
use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, anyhow, bail, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use self::program::Program;
use self::relay::Relay;
use super::node::Node;

/// The kubeconfig of a real cluster, where tests are to use one.
const REAL: &str = "WEIR_TEST_KUBECONFIG";

/// Where a node has it: beside the networks, as Multus has its own.
const KUBECONFIG: &str = "/etc/cni/net.d/weir.d/weir.kubeconfig";

const PODS: &str = "pods";
const DEFINITIONS: &str = "network-attachment-definitions";

/// Key and value.
pub type Annotation<'a> = (&'a str, &'a str);

/// An API server, for several threads at a time.
pub struct ApiServer {
    program: Mutex<Program>,
    about: About,
    /// Where a real one is reached from a node, which reaches nothing else.
    relay: Option<Relay>,
}

/// What the program says of the server first.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct About {
    server: String,
    /// In its certificate, where that is another one than the URL's.
    server_name: Option<String>,
    /// Empty where the system's are meant.
    ca: String,
    token: String,
    namespace: String,
}

/// A request that the stand-in had.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// Of HTTP: `GET`.
    pub verb: String,
    pub path: String,
    /// Empty where there is none.
    pub content_type: String,
    /// Empty for one without valid credentials.
    pub user: String,
}

impl ApiServer {
    /// One that is reached from the calling thread's network namespace.
    pub fn start() -> Result<Self> {
        // Of a test without root it is the one of a user namespace, whose loopback is down. Elsewhere there
        // is nothing to do, and perhaps nobody who may.
        let mut loopback = Command::new("ip");
        loopback
            .args(["link", "set", "lo", "up"])
            .stderr(Stdio::null());
        let _ = loopback.status();
        match env::var_os(REAL) {
            None => Self::stand_in(),
            Some(kubeconfig) => Self::real(&kubeconfig),
        }
    }

    /// One that is reached from a node's network namespace.
    pub fn start_in(node: &Node) -> Result<Self> {
        let Some(kubeconfig) = env::var_os(REAL) else {
            return node.inside(Self::stand_in);
        };
        let mut server = Self::real(&kubeconfig)?;
        server.relay = Some(Relay::start(node, &server.about.server)?);
        Ok(server)
    }

    fn stand_in() -> Result<Self> {
        Self::of(Program::start("weir-apiserver", None)?)
    }

    fn real(kubeconfig: &OsString) -> Result<Self> {
        Self::of(Program::start("weir-cluster", Some(kubeconfig))?)
    }

    fn of(mut program: Program) -> Result<Self> {
        let about = serde_json::from_value(program.read()?)?;
        Ok(Self {
            program: Mutex::new(program),
            about,
            relay: None,
        })
    }

    /// Whether faults can be ordered, and requests counted.
    pub fn is_stand_in(&self) -> bool {
        env::var_os(REAL).is_none()
    }

    /// A namespace that is there. In a real cluster tests must use no other ones but those whose names
    /// begin with it.
    pub fn namespace(&self) -> &str {
        &self.about.namespace
    }

    /// Where it is reached, as a kubeconfig has it.
    pub fn url(&self) -> String {
        match &self.relay {
            Some(relay) => format!("https://{}", relay.address()),
            None => self.about.server.clone(),
        }
    }

    /// The certificate authority, in PEM.
    pub fn authority(&self) -> &str {
        &self.about.ca
    }

    /// weir's token.
    pub fn token(&self) -> &str {
        &self.about.token
    }

    /// A kubeconfig as Multus' installer writes one.
    pub fn kubeconfig(&self) -> String {
        self.kubeconfig_with(&json!({ "token": self.token() }))
    }

    /// The same for another user, as the list `users` has it.
    pub fn kubeconfig_with(&self, user: &Value) -> String {
        let mut cluster = json!({ "server": self.url() });
        if !self.about.ca.is_empty() {
            let authority = BASE64_STANDARD.encode(&self.about.ca);
            cluster["certificate-authority-data"] = authority.into();
        }
        if let Some(name) = self.server_name() {
            cluster["tls-server-name"] = name.into();
        }
        kubeconfig(&cluster, user)
    }

    /// The name in the server's certificate, where it is not the one of [`ApiServer::url`].
    fn server_name(&self) -> Option<&str> {
        let outside = host(&self.about.server).trim_matches(['[', ']']);
        let told = self.about.server_name.as_deref();
        told.or_else(|| self.relay.is_some().then_some(outside))
    }

    /// Writes a kubeconfig where the node's weir finds it. Returns its path as a configuration names it.
    pub fn install_kubeconfig(&self, node: &Node) -> Result<&'static str> {
        let place = node.root().join(KUBECONFIG.trim_start_matches('/'));
        let directory = place.parent().context("a directory")?;
        fs::create_dir_all(directory)?;
        fs::write(&place, self.kubeconfig())?;
        Ok(KUBECONFIG)
    }

    /// Returns the pod's uid.
    pub fn create_pod(
        &self,
        namespace: &str,
        name: &str,
        annotations: &[Annotation],
    ) -> Result<String> {
        let object = json!({
            "metadata": metadata(name, annotations),
            // Nobody starts it: it only has to be there.
            "spec": {
                "schedulerName": "weir-tests",
                "containers": [{ "name": "main", "image": "weir.test/none" }],
            },
        });
        let pod = self.create(PODS, namespace, object)?;
        let uid = pod["metadata"]["uid"].as_str();
        Ok(uid.context("a pod without a uid")?.to_owned())
    }

    /// `config` is `spec.config`; none leaves `spec` empty.
    pub fn create_definition(
        &self,
        namespace: &str,
        name: &str,
        config: Option<&str>,
        annotations: &[Annotation],
    ) -> Result<()> {
        let spec = match config {
            Some(config) => json!({ "config": config }),
            None => json!({}),
        };
        let object = json!({ "metadata": metadata(name, annotations), "spec": spec });
        self.create(DEFINITIONS, namespace, object).map(|_| ())
    }

    /// Makes an object of any kind that is served: the stand-in also has service accounts, and roles and
    /// their bindings, by which it allows.
    pub fn create(&self, resource: &str, namespace: &str, object: Value) -> Result<Value> {
        self.tell(json!({
            "do": "create",
            "resource": resource,
            "namespace": namespace,
            "object": object,
        }))
    }

    /// The pod; null where there is none.
    pub fn pod(&self, namespace: &str, name: &str) -> Result<Value> {
        self.tell(about("get", PODS, namespace, name))
    }

    /// An annotation of a pod.
    pub fn annotation(&self, namespace: &str, name: &str, key: &str) -> Result<Option<String>> {
        let pod = self.pod(namespace, name)?;
        ensure!(!pod.is_null(), "no such pod: {namespace}/{name}");
        let value = pod["metadata"]["annotations"][key].as_str();
        Ok(value.map(str::to_owned))
    }

    /// Sets annotations of a pod as another client does, or removes them.
    pub fn annotate_pod(
        &self,
        namespace: &str,
        name: &str,
        annotations: &[(&str, Option<&str>)],
    ) -> Result<()> {
        let annotations: serde_json::Map<String, Value> = (annotations.iter())
            .map(|(key, value)| ((*key).to_owned(), json!(value)))
            .collect();
        let mut command = about("patch", PODS, namespace, name);
        command["patch"] = json!({ "metadata": { "annotations": annotations } });
        self.tell(command).map(|_| ())
    }

    /// Without an error where it is not there.
    pub fn delete_pod(&self, namespace: &str, name: &str) -> Result<()> {
        self.tell(about("delete", PODS, namespace, name))
            .map(|_| ())
    }

    /// Without an error where it is not there.
    pub fn delete_definition(&self, namespace: &str, name: &str) -> Result<()> {
        let command = about("delete", DEFINITIONS, namespace, name);
        self.tell(command).map(|_| ())
    }

    /// The events of a namespace.
    pub fn events(&self, namespace: &str) -> Result<Vec<Value>> {
        let command = json!({ "do": "list", "resource": "events", "namespace": namespace });
        Ok(serde_json::from_value(self.tell(command)?)?)
    }

    /// The next requests are answered otherwise, in place of all ordered before: a list of
    /// `{ "verb": "GET", "resource": "pods", "times": 2, "answer": … }`, of which only `answer` must be
    /// there. Without `times` all are. The answer is one of
    /// `{ "refuse": { "status": 429, "retryAfter": 1 } }`, `{ "say": { "status": 502, "body": "…" } }`,
    /// `"hang"`, `"cut"`, `"cutInside"`, `{ "delay": 100 }` in milliseconds. With `"after": true` the
    /// request is carried out first.
    pub fn faults(&self, faults: Value) -> Result<()> {
        let command = json!({ "do": "faults", "faults": faults });
        self.tell(command).map(|_| ())
    }

    /// What the stand-in was asked since [`ApiServer::forget_requests`].
    pub fn requests(&self) -> Result<Vec<Request>> {
        Ok(serde_json::from_value(
            self.tell(json!({ "do": "requests" }))?,
        )?)
    }

    pub fn forget_requests(&self) -> Result<()> {
        self.tell(json!({ "do": "forget-requests" })).map(|_| ())
    }

    /// What weir may do from here on: rules as a role has them (`apiGroups`, `resources`, `verbs`).
    pub fn set_rules(&self, rules: Value) -> Result<()> {
        let command = json!({ "do": "rules", "rules": rules });
        self.tell(command).map(|_| ())
    }

    /// Another token of weir's. The others stay valid.
    pub fn new_token(&self) -> Result<String> {
        self.issue(json!({ "do": "token" }))
    }

    /// A token of another user: `admin` may do everything, and a service account what the roles allow that
    /// are bound to it.
    pub fn token_of(&self, user: &str) -> Result<String> {
        self.issue(json!({ "do": "token", "user": user }))
    }

    fn issue(&self, command: Value) -> Result<String> {
        let token = self.tell(command)?;
        Ok(token.as_str().context("a token")?.to_owned())
    }

    /// A token is valid no longer.
    pub fn revoke(&self, token: &str) -> Result<()> {
        let command = json!({ "do": "revoke", "token": token });
        self.tell(command).map(|_| ())
    }

    /// A client certificate of weir's and its key, in PEM.
    pub fn certificate(&self) -> Result<(String, String)> {
        let made = self.tell(json!({ "do": "certificate" }))?;
        let text = |key: &str| made[key].as_str().map(str::to_owned);
        let both = text("certificate").zip(text("key"));
        both.with_context(|| format!("no certificate: {made}"))
    }

    fn tell(&self, command: Value) -> Result<Value> {
        let mut program = self
            .program
            .lock()
            .map_err(|_| anyhow!("a test panicked"))?;
        program.write(&command)?;
        let mut answer = program.read()?;
        match answer.get("error") {
            Some(error) => bail!("the API server: {error}, for {command}"),
            None => Ok(answer["ok"].take()),
        }
    }
}

fn about(command: &str, resource: &str, namespace: &str, name: &str) -> Value {
    json!({ "do": command, "resource": resource, "namespace": namespace, "name": name })
}

fn metadata(name: &str, annotations: &[Annotation]) -> Value {
    let annotations: serde_json::Map<String, Value> = (annotations.iter())
        .map(|(key, value)| ((*key).to_owned(), json!(value)))
        .collect();
    json!({ "name": name, "annotations": annotations })
}

/// A kubeconfig with one cluster and one user, as the lists `clusters` and `users` have them.
pub fn kubeconfig(cluster: &Value, user: &Value) -> String {
    let document = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": "local", "cluster": cluster }],
        "users": [{ "name": "weir", "user": user }],
        "contexts": [{ "name": "weir", "context": { "cluster": "local", "user": "weir" } }],
        "current-context": "weir",
    });
    // JSON is YAML.
    format!("{document:#}\n")
}

/// The host of a URL, with the brackets of an IPv6 address.
fn host(url: &str) -> &str {
    let authority = url.trim_start_matches("https://");
    let authority = authority.split('/').next().unwrap_or_default();
    match authority.rfind(':') {
        Some(colon) if !authority.ends_with(']') => &authority[..colon],
        _ => authority,
    }
}
