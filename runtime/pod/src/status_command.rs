//! STATUS: whether a pod could be attached to the cluster-wide default network now (section 6.1).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Map;
use weir_cni::Error;
use weir_files::Durability;

use super::cluster::{Cluster, PodName};
use super::delegating_call::DelegatingCall;
use super::kubernetes::{Kubernetes, Limits};
use super::plan;
use super::readiness;

/// CNI's code for a plugin that cannot serve an ADD now.
const NOT_AVAILABLE: u32 = 50;

/// How long the API server is waited for: a runtime asks for the status again and again, and waits for the answer.
const PATIENCE: Limits = Limits {
    request: Duration::from_secs(3),
    call: Duration::from_secs(3),
};

/// How long an answer of the API server counts: a runtime asks for the status every few seconds, on every node.
const COUNTS: Duration = Duration::from_secs(30);

/// A pod that no cluster has. What is asked is whether pods can be read.
const NO_POD: (&str, &str) = ("kube-system", "weir-asks-for-no-pod");

/// Errors: code 50 where the default network is not ready, or cannot be found, or where the API server does not answer
/// what an ADD asks it first; its plugins' own.
pub(crate) fn status(call: &DelegatingCall<'_>) -> Result<(), Error> {
    let configuration = &call.configuration;
    if let Some(file) = &configuration.readiness_indicator {
        readiness::wait(file, Duration::ZERO).map_err(not_available)?;
    }
    let cluster = call.cluster(Limits::default());
    if let Some(cluster) = call.cluster(PATIENCE) {
        reach(&cluster, &Answered::of(call)).map_err(not_available)?;
    }
    let of = call.plan_context(cluster.as_ref());
    let (list, source) = plan::cluster_network(of).map_err(not_available)?;
    call.network_of(list, Map::new(), source).status()
}

/// Asks the API server what every ADD asks first: for a pod. That there is none is an answer.
fn reach(cluster: &Kubernetes, answered: &Answered) -> Result<(), Error> {
    if answered.counts() {
        return Ok(());
    }
    let (namespace, name) = NO_POD;
    let pod = PodName {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        uid: None,
    };
    cluster.pod(&pod)?;
    answered.note();
    Ok(())
}

/// When the API server answered last: the time of a file.
struct Answered(PathBuf);

impl Answered {
    /// By this configuration's credentials.
    fn of(call: &DelegatingCall<'_>) -> Self {
        let name = format!("{}.api-server", call.configuration.name);
        Self(call.sandbox.paths().run().join(name))
    }

    fn counts(&self) -> bool {
        let modified = fs::metadata(&self.0).and_then(|file| file.modified());
        let age = modified.ok().and_then(|then| then.elapsed().ok());
        age.is_some_and(|age| age < COUNTS)
    }

    /// Where the file cannot be written, the API server is asked again.
    fn note(&self) {
        let _ = weir_files::replace(&self.0, b"", Durability::Process);
    }
}

fn not_available(error: Error) -> Error {
    Error {
        code: NOT_AVAILABLE.into(),
        ..error
    }
}
