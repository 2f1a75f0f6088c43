//! Which changes are in the log before they are made, and which come with the next record.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result};
use nix::sys::resource::{Resource, setrlimit};
use nix::sys::signal::{SigHandler, Signal, signal};
use tempfile::TempDir;
use weir_files::Paths;
use weir_gate::{Audit, Gate, Log, Refusal, Subject};
use weir_grant::sysctl::Write;
use weir_grant::{Invocation, Namespace};
use weir_kit::gate::every_rule;

/// An ADD that changes parameters.
struct Add {
    gate: Gate,
    /// Removed after what still waits is written there.
    root: TempDir,
}

impl Add {
    fn begin() -> Result<Self> {
        let root = TempDir::with_prefix("weir-waiting-")?;
        let log = Arc::new(Log::open(&Paths::below(root.path())));
        let subject = Subject {
            command: "ADD".into(),
            plugin: "tuning".to_owned(),
            ..Subject::default()
        };
        let audit = Audit::new(subject, log, false);
        let gate = Gate::new(every_rule(), Invocation::default(), audit);
        Ok(Self { gate, root })
    }

    /// Changes a parameter. Returns the records of changes that the log has while that is done.
    fn change(&mut self, namespace: Namespace) -> Result<usize> {
        let operation = Write {
            namespace,
            key: "net.ipv4.ip_default_ttl".to_owned(),
            value: "65".to_owned(),
            owner: String::new(),
        };
        let log = Paths::below(self.root.path()).audit_log();
        let recorded = self.gate.perform(operation, |_| {
            let text = fs::read_to_string(&log).unwrap_or_default();
            Ok::<_, Refusal>(text.matches("\"sysctl.write\"").count())
        });
        recorded.context("the change is carried out")
    }

    fn recorded(&self) -> Result<usize> {
        let text = fs::read_to_string(Paths::below(self.root.path()).audit_log())?;
        Ok(text.matches("\"sysctl.write\"").count())
    }
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

/// However many there are, they do not stay in memory.
#[test]
fn not_everything_waits() -> Result<()> {
    let mut add = Add::begin()?;
    for _ in 0..1000 {
        add.change(Namespace::Container)?;
    }
    assert!(add.recorded()? > 500);
    Ok(())
}

#[test]
fn an_add_fails_if_what_waits_cannot_be_recorded() -> Result<()> {
    let mut add = Add::begin()?;
    add.change(Namespace::Container)?;
    let size = fs::metadata(Paths::below(add.root.path()).audit_log())?.len();
    // SAFETY: a signal that is ignored runs no handler.
    unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) }?;
    setrlimit(Resource::RLIMIT_FSIZE, size, size)?;
    add.change(Namespace::Container)?;
    let failure = add.gate.audit_failure().context("a failure")?;
    assert!(failure.contains("audit.jsonl"), "{failure}");
    Ok(())
}
