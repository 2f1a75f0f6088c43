//! Events, reported by a process of their own, so that a container does not wait for them.
//!
//! The process is never waited for, so that the runtime has the answer, and the end of its output, at once.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use weir_cni::Error;
use weir_files::memory;
use weir_files::paths::{Paths, ROOT_VARIABLE};
use weir_host::Log;

use super::cluster::{Event, PodName};
use super::kubernetes::{Kubernetes, Limits};

/// The running binary, even if its file was replaced.
pub const OWN_PROGRAM: &str = "/proc/self/exe";

/// The command of that process. It is not for people.
pub const COMMAND: &str = "report-events";

/// How long that process may take.
pub const LIMITS: Limits = Limits {
    request: Duration::from_secs(5),
    call: Duration::from_secs(10),
};

/// The environment variables that the process needs.
const KEPT: [&str; 3] = [
    ROOT_VARIABLE,
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
];

/// What the process reads from standard input.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Report {
    kubeconfig: Option<PathBuf>,
    pod: PodName,
    events: Vec<Event>,
}

/// Has `program`, which is [`OWN_PROGRAM`] except in tests, report events about a pod. `kubeconfig` is as in
/// [`Kubernetes::connect`]. Errors: the process cannot be started.
pub fn later(
    program: &Path,
    kubeconfig: Option<&Path>,
    pod: &PodName,
    events: &[Event],
) -> io::Result<()> {
    if events.is_empty() {
        return Ok(());
    }
    let report = Report {
        kubeconfig: kubeconfig.map(Path::to_owned),
        pod: pod.clone(),
        events: events.to_vec(),
    };
    let kept = KEPT
        .iter()
        .filter_map(|key| Some((key, std::env::var_os(key)?)));
    Command::new(program)
        .arg(COMMAND)
        .env_clear()
        .envs(kept)
        // With a pipe, this process would have to write while the other one reads.
        .stdin(memory::input(c"events", &serde_json::to_vec(&report)?)?)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}

/// Returns the work of that process: reports the events that it reads. A failure is logged too, since nothing waits for
/// the process.
pub fn carry_out(mut input: impl Read, paths: &Paths) -> Result<(), Error> {
    let mut text = Vec::new();
    let read = input.read_to_end(&mut text);
    read.map_err(|error| Error::io_failure(format!("the events to report: {error}")))?;
    let report: Report = serde_json::from_slice(&text)
        .map_err(|error| Error::decoding_failure(format!("the events to report: {error}")))?;
    let cluster = Kubernetes::connect(report.kubeconfig.as_deref(), paths, LIMITS);
    let reported = cluster.report(&report.pod, &report.events);
    reported.inspect_err(|error| {
        let PodName {
            namespace, name, ..
        } = &report.pod;
        let subject = json!({ "pod": format!("{namespace}/{name}") });
        Log::new(paths.log(), subject, 0).note("warn", &error.to_string());
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::EventKind;

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = Report {
            kubeconfig: Some("/etc/kubeconfig".into()),
            pod: PodName {
                namespace: "default".to_owned(),
                name: "web".to_owned(),
                uid: Some("1".to_owned()),
            },
            events: vec![Event {
                kind: EventKind::Normal,
                reason: "AddedInterface".to_owned(),
                message: "Add eth0".to_owned(),
            }],
        };
        let text = serde_json::to_vec(&report).expect("JSON");
        let read: Report = serde_json::from_slice(&text).expect("a report");
        assert_eq!(read, report);
    }

    #[test]
    fn what_is_no_report_is_an_error() {
        let error = carry_out(&b"{}"[..], &Paths::below("/nowhere")).unwrap_err();
        assert!(error.msg.contains("events to report"), "{error}");
    }
}
