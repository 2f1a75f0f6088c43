//! A test's own namespaces, where weir has the rights that it needs.

use std::collections::BTreeSet;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use kube::Error;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::api::Api;

const NAMESPACES: &str = "/api/v1/namespaces";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";

/// The user that weir is, and its role.
const WEIR: &str = "weir";

/// How long a namespace may take until pods can be made in it, and how often that is tried.
const READY_TIMEOUT: Duration = Duration::from_secs(30);
const READY_POLL: Duration = Duration::from_millis(100);

/// All that were made.
pub struct Namespaces {
    first: String,
    made: BTreeSet<String>,
}

impl Namespaces {
    /// None yet.
    pub fn new() -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        Self {
            first: format!("weir-test-{}-{now:x}", std::process::id()),
            made: BTreeSet::new(),
        }
    }

    /// With its name the others begin.
    pub fn first(&self) -> &str {
        &self.first
    }

    /// Makes it, and weir's user. Returns that user's token.
    pub async fn make_first(&mut self, api: &Api) -> Result<String> {
        let first = self.first.clone();
        self.ensure(api, &first).await?;
        let accounts = format!("{NAMESPACES}/{first}/serviceaccounts");
        let account = json!({ "metadata": { "name": WEIR } });
        api.create(&accounts, &account).await?;
        let path = format!("{accounts}/{WEIR}/token");
        let request = json!({
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "spec": { "expirationSeconds": 3600 },
        });
        let answer = api.create(&path, &request).await?;
        let token = answer["status"]["token"].as_str();
        Ok(token.context("a token request without a token")?.to_owned())
    }

    /// Makes a namespace where it is missing.
    pub async fn ensure(&mut self, api: &Api, name: &str) -> Result<()> {
        self.expect_own(name)?;
        if self.made.contains(name) {
            return Ok(());
        }
        let namespace = json!({ "metadata": { "name": name } });
        api.create(NAMESPACES, &namespace).await?;
        self.made.insert(name.to_owned());
        let path = format!("{RBAC}/namespaces/{name}");
        api.create(&format!("{path}/roles"), &role()).await?;
        let binding = self.binding();
        api.create(&format!("{path}/rolebindings"), &binding)
            .await?;
        Ok(())
    }

    /// Somebody uses the cluster: tests touch nothing but their own.
    pub fn expect_own(&self, name: &str) -> Result<()> {
        let is_own = name.starts_with(&self.first);
        ensure!(
            is_own,
            "the namespace {name:?}: in a real cluster the tests' namespaces begin with {:?}",
            self.first
        );
        Ok(())
    }

    fn binding(&self) -> Value {
        json!({
            "metadata": { "name": WEIR },
            "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": WEIR },
            "subjects": [{ "kind": "ServiceAccount", "name": WEIR, "namespace": self.first }],
        })
    }

    /// Makes an object, and waits for the service account that pods of a new namespace need.
    pub async fn create(&self, api: &Api, path: &str, object: &Value) -> Result<Value> {
        let deadline = Instant::now() + READY_TIMEOUT;
        loop {
            match api.create(path, object).await {
                Err(Error::Api(status))
                    if status.message.contains("service account") && Instant::now() < deadline =>
                {
                    sleep(READY_POLL).await;
                }
                created => return Ok(created?),
            }
        }
    }

    /// Removes them, and what is in them. Kubernetes does so in the background.
    pub async fn remove(&self, api: &Api) -> Result<()> {
        let mut removed = Ok(());
        for name in &self.made {
            removed = removed.and(api.delete(&format!("{NAMESPACES}/{name}")).await);
        }
        removed
    }
}

/// What weir needs, and no more.
fn role() -> Value {
    let rule = |group: &str, resource: &str, verb: &str| json!({ "apiGroups": [group], "resources": [resource], "verbs": [verb] });
    json!({
        "metadata": { "name": WEIR },
        "rules": [
            rule("", "pods", "get"),
            rule("", "pods/status", "patch"),
            rule("", "events", "create"),
            rule("k8s.cni.cncf.io", "network-attachment-definitions", "get"),
        ],
    })
}
