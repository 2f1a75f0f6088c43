//! Events that a process of its own tells: what it has of its parent, and when it ends.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{assert_contains, binary, wait_for};
use weir_pod::cluster::{Event, EventKind, PodName};
use weir_pod::kubernetes::Limits;
use weir_pod::report;

use crate::support::{KUBECONFIG, Root, Scene};

fn added(message: &str) -> Event {
    Event {
        kind: EventKind::Normal,
        reason: "AddedInterface".to_owned(),
        message: message.to_owned(),
    }
}

fn document(pod: &PodName, kubeconfig: Option<&str>) -> Value {
    json!({
        "kubeconfig": kubeconfig,
        "pod": pod,
        "events": [added("Add eth0")],
    })
}

/// `weir report-events` as a shell runs it, with this environment.
fn report_events(root: &Root, input: &Value) -> Result<Command> {
    root.write("/events.json", &input.to_string())?;
    let mut command = Command::new(binary());
    command
        .arg(report::COMMAND)
        .env_clear()
        .env("WEIR_ROOT", root.path())
        .stdin(fs::File::open(root.path().join("events.json"))?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    Ok(command)
}

/// The process that this one started to tell of a pod.
fn reporter(pod: &str) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir("/proc")? {
        let process = entry?.path();
        let read = |file: &str| fs::read(process.join(file)).unwrap_or_default();
        // Of others the input may be a pipe, of which a read would wait and take.
        if !read("cmdline").ends_with(b"report-events\0") {
            continue;
        }
        let is_memory = fs::read_link(process.join("fd/0"))
            .is_ok_and(|target| target.to_string_lossy().starts_with("/memfd:"));
        if is_memory && String::from_utf8_lossy(&read("fd/0")).contains(pod) {
            return Ok(Some(process));
        }
    }
    Ok(None)
}

#[test]
fn events_are_sent_later() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    // The parent's own place of files is not the test's, so that the path is the whole one.
    let kubeconfig = scene.root.path().join(KUBECONFIG.trim_start_matches('/'));
    let pod = scene.pod("later")?;
    let events = [added("Add eth0"), added("Add net1")];
    report::later(&binary(), Some(&kubeconfig), &pod, &events)?;
    let told = wait_for("two events", || {
        let told = scene.server.events("default")?;
        Ok((told.len() == 2).then_some(told))
    })?;
    let messages: Vec<_> = told
        .iter()
        .filter_map(|it| it["message"].as_str())
        .collect();
    assert_eq!(messages, ["Add eth0", "Add net1"]);
    Ok(())
}

#[test]
fn nothing_is_started_for_no_events() -> Result<()> {
    let pod = PodName {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: None,
    };
    report::later(Path::new("/nonexistent"), None, &pod, &[])?;
    assert!(report::later(Path::new("/nonexistent"), None, &pod, &[added("")]).is_err());
    Ok(())
}

#[test]
fn the_process_has_nothing_of_its_parent() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    let kubeconfig = scene.root.path().join(KUBECONFIG.trim_start_matches('/'));
    let pod = scene.pod("detached")?;
    scene.server.faults(json!([{ "answer": "hang" }]))?;
    report::later(&binary(), Some(&kubeconfig), &pod, &[added("Add eth0")])?;
    wait_for("a request", || {
        Ok((!scene.server.requests()?.is_empty()).then_some(()))
    })?;
    let process = reporter(&pod.name)?.context("the process is there")?;

    let environment = fs::read_to_string(process.join("environ"))?;
    for variable in environment.split_terminator('\0') {
        let key = variable.split('=').next().unwrap_or_default();
        let kept = [
            "WEIR_ROOT",
            "KUBERNETES_SERVICE_HOST",
            "KUBERNETES_SERVICE_PORT",
        ];
        assert!(kept.contains(&key), "{variable}");
    }
    assert_eq!(fs::read_link(process.join("cwd"))?, Path::new("/"));
    for output in ["fd/1", "fd/2"] {
        assert_eq!(fs::read_link(process.join(output))?, Path::new("/dev/null"));
    }
    for entry in fs::read_dir(process.join("fd"))? {
        let target = fs::read_link(entry?.path())?;
        assert!(!target.to_string_lossy().starts_with("pipe:"), "{target:?}");
    }
    // `man 5 proc`: the session is the sixth field, and the fourth after the name in parentheses.
    let stat = fs::read_to_string(process.join("stat"))?;
    let fields = stat.rsplit_once(')').context("a name")?.1;
    let session = fields.split_whitespace().nth(3).context("a session")?;
    assert_eq!(process.file_name().context("a number")?, session);

    scene.server.faults(json!([]))?;
    Ok(())
}

#[test]
fn the_process_ends_in_its_own_time() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    let pod = scene.pod("slow")?;
    scene.server.faults(json!([{ "answer": "hang" }]))?;
    let input = document(&pod, Some(KUBECONFIG));
    let begun = Instant::now();
    let output = report_events(&scene.root, &input)?.output()?;
    assert!(!output.status.success());
    assert!(
        begun.elapsed() < Duration::from_secs(20),
        "{:?}",
        begun.elapsed()
    );
    let said = String::from_utf8(output.stderr)?;
    assert_contains(&said, &["create event about pod default/slow"]);
    assert!(output.stdout.is_empty());
    Ok(())
}

#[test]
fn a_failure_stands_in_the_log() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    let pod = scene.pod("forbidden")?;
    scene.server.set_rules(json!([]))?;
    let input = document(&pod, Some(KUBECONFIG));
    let output = report_events(&scene.root, &input)?.output()?;
    assert!(!output.status.success());
    let log = fs::read_to_string(scene.root.paths().log())?;
    let line: Value = serde_json::from_str(log.trim())?;
    assert_eq!(line["pod"], "default/forbidden");
    assert_eq!(line["level"], "warn");
    let message = line["message"].as_str().context("a message")?;
    assert!(message.contains(r#"resources: ["events"]"#), "{message}");
    Ok(())
}

/// Runs the process that reports events, which must succeed and have reported one.
fn reports_one_event(scene: &Scene, reporter: &mut Command) -> Result<()> {
    let output = reporter.output()?;
    assert!(output.status.success(), "{output:?}");
    assert_eq!(scene.server.events("default")?.len(), 1);
    Ok(())
}

#[test]
fn a_pod_s_service_account_is_used_without_a_kubeconfig() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    let pod = scene.pod("inside")?;
    let directory = "/var/run/secrets/kubernetes.io/serviceaccount";
    let token = format!("{}\n", scene.server.token());
    scene.root.write(&format!("{directory}/token"), &token)?;
    let authority = scene.server.authority();
    scene
        .root
        .write(&format!("{directory}/ca.crt"), authority)?;
    let url = scene.server.url();
    let (_, port) = url.rsplit_once(':').context("a port")?;
    let mut reporter = report_events(&scene.root, &document(&pod, None))?;
    reporter
        .env("KUBERNETES_SERVICE_HOST", "127.0.0.1")
        .env("KUBERNETES_SERVICE_PORT", port);
    reports_one_event(&scene, &mut reporter)
}

#[test]
fn outside_of_a_pod_a_missing_kubeconfig_is_reported() -> Result<()> {
    let root = Root::new()?;
    let pod = PodName {
        namespace: "default".to_owned(),
        name: "web".to_owned(),
        uid: None,
    };
    let output = report_events(&root, &document(&pod, None))?.output()?;
    assert!(!output.status.success());
    let said = String::from_utf8(output.stderr)?;
    assert_contains(
        &said,
        &["KUBERNETES_SERVICE_HOST", "`kubeconfig`", "default/web"],
    );
    Ok(())
}

/// A container runtime has one for its images.
#[test]
fn a_proxy_of_the_environment_is_not_asked() -> Result<()> {
    let scene = Scene::new(Limits::default())?;
    let pod = scene.pod("direct")?;
    let mut reporter = report_events(&scene.root, &document(&pod, Some(KUBECONFIG)))?;
    reports_one_event(&scene, reporter.env("HTTPS_PROXY", "http://127.0.0.1:1"))
}

#[test]
fn nobody_is_shown_the_command() -> Result<()> {
    let help = Command::new(binary()).arg("--help").output()?;
    let help = String::from_utf8(help.stdout)?;
    assert!(
        help.contains("install") && !help.contains(report::COMMAND),
        "{help}"
    );
    Ok(())
}
