//! The outcome of each plugin of the list, as an annotation of the installer's own pod: each node has one, `kubectl get` shows
//! it, and it goes with the pod.

use std::cell::RefCell;
use std::path::PathBuf;

use serde::Serialize;
use serde_with::skip_serializing_none;
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

/// The most bytes of it: an object's annotations have 256 KiB together.
const MOST_BYTES: usize = 128 << 10;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
enum State {
    Installed,
    Failed,
}

/// The outcome of a plugin, or of the whole list if that could not be read.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    name: Option<String>,
    /// Of the component that the list has.
    digest: Option<String>,
    state: State,
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
        let text = annotation(outcomes);
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

/// What the annotation has of a plugin, or of several.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Shown<'o> {
    Own(&'o Outcome),
    /// How many plugins of a state have no entry of their own.
    Others {
        state: State,
        plugins: usize,
    },
}

/// The annotation. What failed has an entry before what is installed if there is no room for all; of the others it has the numbers.
fn annotation(outcomes: &[Outcome]) -> String {
    let whole = json(outcomes);
    if whole.len() <= MOST_BYTES {
        return whole;
    }
    // Room for the brackets and the numbers.
    let mut room = MOST_BYTES - 256;
    let (mut shown, mut left) = (Vec::new(), Vec::new());
    for state in [State::Failed, State::Installed] {
        let mut others = 0;
        for outcome in outcomes.iter().filter(|outcome| outcome.state == state) {
            let length = json(outcome).len() + 1;
            if others == 0 && length <= room {
                room -= length;
                shown.push(Shown::Own(outcome));
            } else {
                others += 1;
            }
        }
        if others > 0 {
            left.push(Shown::Others {
                state,
                plugins: others,
            });
        }
    }
    json(&[shown, left].concat())
}

fn json(value: &(impl Serialize + ?Sized)) -> String {
    serde_json::to_string(value).expect("text is JSON")
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use serde_json::Value;

    use super::*;

    fn outcomes(installed: usize, failed: usize) -> Vec<Outcome> {
        let named = |number: usize, outcome: Outcome| Outcome {
            name: Some(format!("plugin-{number}")),
            ..outcome
        };
        let good = Outcome {
            state: State::Installed,
            error: None,
            ..Outcome::of_list(&anyhow!(""))
        };
        let bad = Outcome::of_list(&anyhow!("{}", "\u{1F4A5}".repeat(400)));
        let good = (0..installed).map(|number| named(number, good.clone()));
        good.chain((0..failed).map(|number| named(number, bad.clone())))
            .collect()
    }

    /// How many entries there are of each state, and of how many plugins in all.
    fn read(text: &str) -> ([usize; 2], [u64; 2]) {
        let entries: Vec<Value> = serde_json::from_str(text).expect("JSON");
        let plugins = |state: &str| -> Vec<u64> {
            let of_state = entries.iter().filter(|one| one["state"] == state);
            let plugins = of_state.map(|one| one["plugins"].as_u64().unwrap_or(1));
            plugins.collect()
        };
        let plugins = ["installed", "failed"].map(plugins);
        (
            plugins.each_ref().map(Vec::len),
            plugins.each_ref().map(|all| all.iter().sum()),
        )
    }

    #[test]
    fn an_annotation_has_room_for_each_plugin_of_a_usual_list() {
        let text = annotation(&outcomes(200, 20));
        assert_eq!(read(&text), ([200, 20], [200, 20]));
    }

    /// An API server refuses a longer one, and the node's outcome would stay that of before.
    #[test]
    fn a_long_list_is_counted() {
        for (installed, failed) in [(10_000, 0), (10_000, 3), (3, 10_000), (0, 10_000)] {
            let text = annotation(&outcomes(installed, failed));
            assert!(text.len() <= MOST_BYTES, "{}", text.len());
            let (entries, plugins) = read(&text);
            assert_eq!(plugins, [installed as u64, failed as u64]);
            assert!(entries.iter().sum::<usize>() > 50, "{entries:?}");
            // A few that failed are not lost among those that did not.
            assert!(failed > 3 || entries[1] == failed, "{entries:?}");
        }
    }
}
