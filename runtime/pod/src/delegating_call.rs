//! One call of the delegating plugin.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use weir_cni::{Environment, Error, PluginConfig, Version};
use weir_network::{Attachment, Network, RecordedAttachment, Records};
use weir_sandbox::Sandbox;

use super::cluster::PodName;
use super::configuration::{Configuration, Level};
use super::journal::Journal;
use super::kubernetes::{self, Kubernetes, Limits};
use super::plan::{self, PlanContext};

/// The configuration of a call, and what it needs.
pub(crate) struct DelegatingCall<'a> {
    pub sandbox: &'a Arc<Sandbox>,
    pub configuration: Configuration,
    /// The version that the runtime wants the result in.
    pub cni_version: Version,
    pub journal: Journal,
    pub records: Records,
    /// None outside Kubernetes.
    pub pod: Option<PodName>,
    /// Where native plugins are: `binDir`, or `CNI_PATH`.
    bin_dirs: Vec<PathBuf>,
}

impl<'a> DelegatingCall<'a> {
    /// Reads the call. Errors: those of the configuration.
    pub(crate) fn new(
        sandbox: &'a Arc<Sandbox>,
        config: &PluginConfig,
        environment: &Environment,
        attachment: &Attachment,
    ) -> Result<Self, Error> {
        let configuration = Configuration::read(config, sandbox.paths())?;
        let (logging, name) = (&configuration.logging, &configuration.name);
        let command = environment.command;
        let journal = Journal::new(sandbox.paths(), logging, command, name, attachment);
        for warning in &configuration.warnings {
            journal.write(Level::Warn, warning);
        }
        Ok(Self {
            sandbox,
            cni_version: config.version()?,
            records: Records::of_network(sandbox.paths(), name),
            journal,
            pod: PodName::of(&attachment.args),
            bin_dirs: bin_dirs(&configuration, environment),
            configuration,
        })
    }

    /// The context of a plan without a pod.
    pub(crate) fn plan_context<'b>(&'b self, cluster: Option<&'b Kubernetes>) -> PlanContext<'b> {
        PlanContext {
            configuration: &self.configuration,
            paths: self.sandbox.paths(),
            cluster,
            pod: None,
            kubelet_uid: None,
            container_id: "",
            ifname: "",
        }
    }

    /// The cluster of the configuration, or of the pod that weir runs in; none outside Kubernetes.
    pub(crate) fn cluster(&self, limits: Limits) -> Option<Kubernetes> {
        let kubeconfig = self.configuration.kubeconfig.as_deref();
        let is_there = kubeconfig.is_some() || kubernetes::is_in_cluster();
        is_there.then(|| Kubernetes::connect(kubeconfig, self.sandbox.paths(), limits))
    }

    /// The cluster and the pod, if this call is about one.
    pub(crate) fn cluster_of_pod(&self) -> Option<(Kubernetes, &PodName)> {
        let pod = self.pod.as_ref()?;
        Some((self.cluster(Limits::default())?, pod))
    }

    /// A recorded attachment's network.
    pub(crate) fn network(&self, recorded: &RecordedAttachment) -> Result<Network, Error> {
        recorded.network(self.sandbox, &self.bin_dirs)
    }

    /// The cluster-wide default network. Errors: as of [`plan::cluster_network`].
    pub(crate) fn default_network(
        &self,
        cluster: Option<&Kubernetes>,
        capability_args: Map<String, Value>,
    ) -> Result<Network, Error> {
        let (list, source) = plan::cluster_network(self.plan_context(cluster))?;
        Ok(Network::new(self.sandbox, list, capability_args)
            .from_source(source)
            .with_native(self.bin_dirs.clone()))
    }

    /// Logs a failure that does not fail the call.
    pub(crate) fn warn(&self, what: &str, outcome: Result<(), Error>) {
        if let Err(error) = outcome {
            self.journal.write(Level::Warn, &format!("{what}: {error}"));
        }
    }
}

fn bin_dirs(configuration: &Configuration, environment: &Environment) -> Vec<PathBuf> {
    match &configuration.bin_dir {
        Some(directory) => vec![directory.clone()],
        None => environment.path.iter().map(PathBuf::from).collect(),
    }
}
