//! The outcome of each plugin of the list, as an annotation of the installer's own pod: each node has one, `kubectl get` shows
//! it, and it goes with the pod.

use std::cell::RefCell;
use std::path::PathBuf;

use serde::Serialize;
use weir_files::Paths;
use weir_network::PodName;
use weir_pod::kubernetes::{Kubernetes, Limits};

use super::document::Entry;
use crate::cli::install::arguments::NodeArguments;
use crate::cli::output::{complain, show};

/// The annotation.
const KEY: &str = "weir.dev/plugins";

/// The longest error in it, in characters. The whole one is printed.
const LONGEST: usize = 300;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Installed,
    Failed,
}

/// The outcome of a plugin, or of the whole list if that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    /// Of the component that the list has.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    is_new: bool,
}

impl Outcome {
    pub fn installed(entry: &Entry, is_new: bool) -> Self {
        Self {
            name: Some(entry.name.clone()),
            digest: Some(entry.digest.to_string()),
            state: State::Installed,
            error: None,
            is_new,
        }
    }

    pub fn failed(entry: &Entry, error: &anyhow::Error) -> Self {
        Self {
            name: Some(entry.name.clone()),
            digest: Some(entry.digest.to_string()),
            ..Self::of_list(error)
        }
    }

    pub fn of_list(error: &anyhow::Error) -> Self {
        let error = format!("{error:#}");
        Self {
            name: None,
            digest: None,
            state: State::Failed,
            error: Some(error.chars().take(LONGEST).collect()),
            is_new: false,
        }
    }

    pub fn has_failed(&self) -> bool {
        self.state == State::Failed
    }

    pub fn is_new(&self) -> bool {
        self.is_new
    }
}

/// The pod, if its name is known, and what it says.
pub struct Report {
    pod: Option<PodName>,
    /// That of the node, which the installer writes or is given.
    kubeconfig: PathBuf,
    paths: Paths,
    sent: RefCell<Option<String>>,
}

impl Report {
    pub fn new(arguments: &NodeArguments, paths: &Paths, kubeconfig: PathBuf) -> Self {
        let names = arguments
            .pod_namespace
            .clone()
            .zip(arguments.pod_name.clone());
        let pod = names.map(|(namespace, name)| PodName {
            namespace,
            name,
            uid: None,
        });
        Self {
            pod,
            kubeconfig,
            paths: paths.clone(),
            sent: RefCell::new(None),
        }
    }

    /// Writes the annotation if it has changed. An API server that cannot be reached is reported, and tried
    /// again at the next pass.
    pub fn send(&self, outcomes: &[Outcome]) {
        let Some(pod) = &self.pod else {
            return;
        };
        let text = serde_json::to_string(outcomes).expect("text is JSON");
        if self.sent.borrow().as_ref() == Some(&text) {
            return;
        }
        let cluster = Kubernetes::connect(Some(&self.kubeconfig), &self.paths, Limits::default());
        match cluster.annotate(pod, KEY, Some(&text)) {
            Ok(()) => *self.sent.borrow_mut() = Some(text),
            Err(error) => complain(&format!("{:#}", show(error).context("report the plugins"))),
        }
    }
}
