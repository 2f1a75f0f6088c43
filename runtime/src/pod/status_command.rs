//! STATUS: whether a pod could be attached to the cluster-wide default network now (section 6.1).

use std::time::Duration;

use serde_json::Map;
use weir_cni::Error;

use super::execution::Execution;
use super::kubernetes::Limits;
use super::plan;
use super::readiness;

/// CNI's code for a plugin that cannot serve an ADD now.
const NOT_AVAILABLE: u32 = 50;

/// Errors: code 50 where the default network is not ready, or cannot be found; its plugins' own.
pub fn status(execution: &Execution<'_>) -> Result<(), Error> {
    let configuration = &execution.configuration;
    if let Some(file) = &configuration.readiness_indicator {
        readiness::wait(file, Duration::ZERO).map_err(not_available)?;
    }
    let cluster = execution.cluster(Limits::default());
    let of = execution.circumstances(cluster.as_ref());
    let (list, source) = plan::cluster_network(of).map_err(not_available)?;
    execution.network_of(list, Map::new(), source).status()
}

fn not_available(error: Error) -> Error {
    Error {
        code: NOT_AVAILABLE.into(),
        ..error
    }
}
