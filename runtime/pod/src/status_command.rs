//! STATUS: whether pods can be attached to the cluster-wide default network (section 6.1).

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Map;
use weir_cni::Error;
use weir_files::Durability;

use super::cluster::PodName;
use super::delegating_call::DelegatingCall;
use super::kubernetes::{Kubernetes, Limits};
use super::readiness;

/// CNI's code for a plugin that cannot serve an ADD now.
const NOT_AVAILABLE: u32 = 50;

/// How long to wait for the API server: a runtime asks for the status every few seconds, and waits for the answer.
const PATIENCE: Limits = Limits {
    request: Duration::from_secs(3),
    call: Duration::from_secs(3),
};

/// How long an answer of the API server counts.
const COUNTS: Duration = Duration::from_secs(30);

/// A pod that no cluster has. The question is whether pods can be read.
const NO_POD: (&str, &str) = ("kube-system", "weir-asks-for-no-pod");

/// Errors: code 50 if the default network is not ready or not found, or the API server does not answer the first request
/// of an ADD; those of the network's plugins.
pub(crate) fn status(call: &DelegatingCall<'_>) -> Result<(), Error> {
    let configuration = &call.configuration;
    if let Some(file) = &configuration.readiness_indicator {
        readiness::wait(file, Duration::ZERO).map_err(not_available)?;
    }
    let cluster = call.cluster(Limits::default());
    if let Some(cluster) = call.cluster(PATIENCE) {
        reach(&cluster, &Answered::of(call)).map_err(not_available)?;
    }
    let network = call.default_network(cluster.as_ref(), Map::new());
    network.map_err(not_available)?.status()
}

/// Sends the first request of every ADD, for a pod. That the pod does not exist is an answer.
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

/// When the API server last answered: the time of a file.
struct Answered(PathBuf);

impl Answered {
    /// With this configuration's credentials.
    fn of(call: &DelegatingCall<'_>) -> Self {
        let name = format!("{}.api-server", call.configuration.name);
        Self(call.sandbox.paths().run().join(name))
    }

    fn counts(&self) -> bool {
        let modified = fs::metadata(&self.0).and_then(|file| file.modified());
        let age = modified.ok().and_then(|then| then.elapsed().ok());
        age.is_some_and(|age| age < COUNTS)
    }

    /// If the file cannot be written, the API server is asked again next time.
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
