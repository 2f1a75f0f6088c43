//! Which changes are in the log before they are made, and which come with the next record.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use nix::sys::resource::{RLIM_INFINITY, Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use serde_json::Value;
use tempfile::TempDir;
use weir_files::Paths;
use weir_gate::{Audit, Gate, Log, Refusal, Subject};
use weir_grant::ipam::Run;
use weir_grant::sysctl::Write;
use weir_grant::{Invocation, Namespace};
use weir_kit::gate::every_rule;

/// An ADD that changes parameters.
struct Add {
    gate: Gate,
    log: Arc<Log>,
    /// Removed after what still waits is written there.
    root: TempDir,
}

impl Add {
    fn begin() -> Result<Self> {
        let root = TempDir::with_prefix("weir-waiting-")?;
        let log = Arc::new(Log::open(&Paths::below(root.path())));
        let gate = gate("bridge", &log);
        Ok(Self { gate, log, root })
    }

    /// Changes a parameter. Returns the records of changes that the log has while that is done.
    fn change(&mut self, namespace: Namespace) -> Result<usize> {
        let recorded = change(&mut self.gate, namespace, || recorded(&self.root));
        recorded.context("the change is carried out")?
    }

    /// Changes it so many times.
    fn change_often(&mut self, times: usize, namespace: Namespace) -> Result<()> {
        (0..times).try_for_each(|_| self.change(namespace).map(drop))
    }

    /// Runs an IPAM plugin, as long as `act` takes, which gets its gate.
    fn run_ipam(&mut self, act: impl FnOnce(&mut Gate) -> Result<()>) -> Result<()> {
        let _guard = self.gate.audit().run_another();
        let run = Run {
            plugin: "host-local".to_owned(),
            command: "ADD",
        };
        let done = self.gate.perform(run, |_| {
            Ok::<_, Refusal>(act(&mut gate("host-local", &self.log)))
        });
        done.context("the IPAM plugin runs")?
    }

    fn recorded(&self) -> Result<usize> {
        recorded(&self.root)
    }

    fn text(&self) -> Result<String> {
        text(&self.root)
    }
}

/// The gate of a plugin in an ADD, which may do everything, and run the IPAM plugin `host-local`.
fn gate(plugin: &str, log: &Arc<Log>) -> Gate {
    let subject = Subject {
        command: "ADD".into(),
        plugin: plugin.to_owned(),
        ..Subject::default()
    };
    let audit = Audit::new(subject, Arc::clone(log), false);
    let mut capabilities = every_rule();
    capabilities.ipam = vec!["host-local".to_owned()];
    Gate::new(capabilities, Invocation::default(), audit)
}

/// Changes a parameter by `act`.
fn change<T>(gate: &mut Gate, namespace: Namespace, act: impl FnOnce() -> T) -> Result<T, Refusal> {
    let operation = Write {
        namespace,
        key: "net.ipv4.ip_default_ttl".to_owned(),
        value: "65".to_owned(),
        owner: String::new(),
    };
    gate.perform(operation, |_| Ok(act()))
}

/// How many changes of parameters a log has.
fn recorded(root: &TempDir) -> Result<usize> {
    Ok(text(root)?.matches("\"sysctl.write\"").count())
}

fn text(root: &TempDir) -> Result<String> {
    Ok(fs::read_to_string(Paths::below(root.path()).audit_log())?)
}

/// From now on, no file gets longer than the log is. Errors: it has no log.
fn fill_disk(root: &Path) -> Result<()> {
    let size = fs::metadata(Paths::below(root).audit_log())?.len();
    // SAFETY: a signal that is ignored runs no handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
    Ok(setrlimit(Resource::RLIMIT_FSIZE, size, RLIM_INFINITY)?)
}

/// Files may get longer again.
fn free_disk() -> Result<()> {
    Ok(setrlimit(
        Resource::RLIMIT_FSIZE,
        RLIM_INFINITY,
        RLIM_INFINITY,
    )?)
}

/// A kill after a change of the host leaves the change, and its record.
#[test]
fn a_change_of_the_host_is_recorded_before_it_is_made() -> Result<()> {
    let mut add = Add::begin()?;
    for recorded in 1..4 {
        assert_eq!(add.change(Namespace::Host)?, recorded);
    }
    Ok(())
}

#[test]
fn a_change_in_the_container_is_recorded_with_the_next_one() -> Result<()> {
    let mut add = Add::begin()?;
    assert_eq!(add.change(Namespace::Container)?, 1, "the first at once");
    assert_eq!(add.change(Namespace::Container)?, 1);
    assert_eq!(add.change(Namespace::Container)?, 1);
    assert_eq!(add.change(Namespace::Host)?, 4);
    Ok(())
}

#[test]
fn what_waits_is_recorded_before_the_outcome_is_known() -> Result<()> {
    let mut add = Add::begin()?;
    add.change(Namespace::Container)?;
    add.change(Namespace::Container)?;
    assert_eq!(add.gate.audit_failure(), None);
    assert_eq!(add.recorded()?, 2);
    Ok(())
}

/// A kill before an IPAM plugin has changed anything leaves nothing to record.
#[test]
fn running_an_ipam_plugin_is_recorded_with_its_first_change() -> Result<()> {
    let mut add = Add::begin()?;
    add.change(Namespace::Host)?;
    let root = add.root.path().to_owned();
    let log = || fs::read_to_string(Paths::below(&root).audit_log());
    add.run_ipam(|gate| {
        assert!(!log()?.contains("ipam.run"));
        let text = change(gate, Namespace::Host, log)??;
        let run = text.find("\"ipam.run\"").context("a record")?;
        let head = text.find("\"plugin\":\"host-local\"");
        assert!(head.context("a head")? > run, "{text}");
        assert_eq!(text.matches("\"sysctl.write\"").count(), 2);
        Ok(())
    })
}

#[test]
fn the_last_answer_of_an_ipam_plugin_is_written_with_the_next_record() -> Result<()> {
    let mut add = Add::begin()?;
    let answers = |text: &str| text.matches("{\"answered\":").count();
    add.change(Namespace::Host)?;
    add.run_ipam(|gate| Ok(change(gate, Namespace::Host, || ())?))?;
    assert_eq!(answers(&add.text()?), 1);
    add.change(Namespace::Host)?;
    assert_eq!(
        answers(&add.text()?),
        3,
        "the change and the run of the plugin"
    );
    add.gate.finish();
    assert_eq!(answers(&add.text()?), 4);
    Ok(())
}

/// Whatever becomes of the plugin that ran it.
#[test]
fn all_answers_are_written_at_the_end() -> Result<()> {
    let mut add = Add::begin()?;
    add.run_ipam(|gate| Ok(change(gate, Namespace::Host, || ())?))?;
    let Add { gate, root, .. } = add;
    drop(gate);
    let text = text(&root)?;
    assert_eq!(text.matches("{\"answered\":").count(), 2, "{text}");
    Ok(())
}

/// What waits may be of two invocations. The file that gets it has the head of neither.
#[test]
fn what_cannot_be_recorded_is_kept_with_the_heads_of_all_invocations() -> Result<()> {
    let mut add = Add::begin()?;
    add.change(Namespace::Host)?;
    add.run_ipam(|gate| Ok(change(gate, Namespace::Host, || ())?))?;
    fill_disk(add.root.path())?;
    add.gate.finish();
    let kept = fs::read_to_string(Paths::below(add.root.path()).audit_spool())?;
    let lines = kept.lines().map(serde_json::from_str::<Value>);
    let lines: Vec<Value> = lines.collect::<Result<_, _>>()?;
    let mut known = Vec::new();
    for line in &lines {
        let invocation = line["invocation"].as_str().context("an invocation")?;
        if line["plugin"].is_string() {
            known.push(invocation);
        } else {
            assert!(known.contains(&invocation), "{kept}");
        }
    }
    let answers = lines.iter().filter(|line| line["answered"].is_u64());
    assert_eq!(answers.count(), 2, "{kept}");
    Ok(())
}

/// Once lines of an invocation are in the spool, its later ones follow, also if it was another that put them there: the log
/// would have them in another order.
#[test]
fn what_another_invocation_has_spooled_is_followed() -> Result<()> {
    let mut add = Add::begin()?;
    // So long a log that the spool has room below its size.
    add.change_often(8, Namespace::Host)?;
    add.change(Namespace::Container)?;
    let root = add.root.path().to_owned();
    let wrong = Write {
        namespace: Namespace::Container,
        key: "kernel.core_pattern".to_owned(),
        value: "1".to_owned(),
        owner: String::new(),
    };
    add.run_ipam(|gate| {
        fill_disk(&root)?;
        let refused = gate.perform(wrong, |_| Ok::<_, Refusal>(()));
        assert!(refused.is_err());
        free_disk()
    })?;
    let refused = add.change(Namespace::Host).err().context("a refusal")?;
    assert!(
        format!("{refused:#}").contains("audit.jsonl"),
        "{refused:#}"
    );
    add.gate.finish();
    assert_eq!(add.recorded()?, 8);
    let kept = fs::read_to_string(Paths::below(&root).audit_spool())?;
    assert!(kept.contains("\"ipam.run\""), "{kept}");
    Ok(())
}

/// However many there are, they do not stay in memory.
#[test]
fn not_everything_waits() -> Result<()> {
    let mut add = Add::begin()?;
    add.change_often(1000, Namespace::Container)?;
    assert!(add.recorded()? > 500);
    Ok(())
}

#[test]
fn an_add_fails_if_what_waits_cannot_be_recorded() -> Result<()> {
    let mut add = Add::begin()?;
    add.change(Namespace::Container)?;
    fill_disk(add.root.path())?;
    add.change(Namespace::Container)?;
    let failure = add.gate.audit_failure().context("a failure")?;
    assert!(failure.contains("audit.jsonl"), "{failure}");
    Ok(())
}
