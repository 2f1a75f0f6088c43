//! Programs of this system, copied, run, and replaced meanwhile.

use std::fs::{self, File};

use tempfile::{NamedTempFile, TempPath};
use weir_gate::Refusal;
use weir_grant::Capabilities;
use weir_grant::document::Digest;
use weir_kit::gate;

use super::*;

/// A copy of a program of this system, for one test.
struct Program(TempPath);

impl Program {
    fn of(program: &str) -> Self {
        let path = NamedTempFile::new().expect("a file").into_temp_path();
        fs::copy(program, &path).expect("a program of this system");
        Self(path)
    }

    fn sealed(&self) -> Sealed {
        let file = File::open(&self.0).expect("the copy");
        Sealed::copy("test", &file).expect("a program")
    }
}

fn call(environment: &[(&'static str, &str)], time: Duration) -> Call {
    let variables = environment.iter();
    Call {
        called_as: "program".to_owned(),
        arguments: Vec::new(),
        environment: variables.map(|(k, v)| (*k, (*v).to_owned())).collect(),
        input: b"a line\n".to_vec(),
        time,
    }
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Denied,
    Failed(String),
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

impl From<Refusal> for Outcome {
    fn from(_: Refusal) -> Self {
        Self::Denied
    }
}

impl weir_gate::Outcome for Outcome {
    fn is_refusal(&self) -> bool {
        false
    }
}

/// Runs a program with a permit for one of the digest.
fn run_as(program: &Sealed, permitted: &Digest, call: &Call) -> Result<Ended, Outcome> {
    let entry = serde_json::json!({ "name": "test", "digest": permitted, "networks": ["*"] });
    let capabilities = Capabilities {
        native: vec![serde_json::from_value(entry).expect("an entry")],
        ..Capabilities::default()
    };
    let mut gate = gate::granting(capabilities);
    let operation = Execute {
        plugin: "test".to_owned(),
        digest: permitted.clone(),
        command: "ADD".to_owned(),
    };
    gate.perform(operation, |permit| {
        run(permit, program, call).map_err(|error| Outcome::Failed(error.to_string()))
    })
}

const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn what_was_hashed_is_what_runs() {
    let program = Program::of("/bin/cat");
    let sealed = program.sealed();
    // Written over, and another in its place: neither is what was looked at.
    for other in ["/bin/false", "/bin/ls"] {
        fs::copy(other, &program.0).expect("another program");
        let ended = run_as(&sealed, sealed.digest(), &call(&[], PATIENCE)).expect("it runs");
        assert_eq!(
            (ended.status, ended.output.as_slice()),
            (Some(0), &b"a line\n"[..])
        );
        fs::remove_file(&program.0).expect("removed");
    }
}

#[test]
fn a_permit_is_for_one_program() {
    let program = Program::of("/bin/true");
    let other = Digest::new([7; 32]);
    let failed = run_as(&program.sealed(), &other, &call(&[], PATIENCE));
    let Err(Outcome::Failed(why)) = failed else {
        panic!("{failed:?}");
    };
    assert!(why.starts_with(&format!("{other} was authorised")), "{why}");
}

#[test]
fn it_has_the_environment_that_it_is_given() {
    let program = Program::of("/usr/bin/env");
    let sealed = program.sealed();
    let given = call(&[("CNI_COMMAND", "ADD"), ("PATH", "/bin")], PATIENCE);
    let ended = run_as(&sealed, sealed.digest(), &given).expect("it runs");
    let mut lines: Vec<&[u8]> = ended.output.split(|b| *b == b'\n').collect();
    lines.sort();
    assert_eq!(lines, [&b""[..], b"CNI_COMMAND=ADD", b"PATH=/bin"]);
}

#[test]
fn one_that_prints_without_end_is_killed() {
    let program = Program::of("/usr/bin/yes");
    let sealed = program.sealed();
    let killed = run_as(&sealed, sealed.digest(), &call(&[], PATIENCE));
    assert_eq!(
        killed.err(),
        Some(Outcome::Failed(format!(
            "{} and was killed",
            Excess::Output
        )))
    );
}

#[test]
fn a_signal_and_a_timeout_are_reported() {
    let program = Program::of("/bin/sh");
    let sealed = program.sealed();
    let mut killed = call(&[], PATIENCE);
    killed.input = b"kill -TERM $$\n".to_vec();
    let ended = run_as(&sealed, sealed.digest(), &killed).expect("it runs");
    assert_eq!((ended.status, ended.signal), (None, Some(15)));
    let mut hangs = call(&[], Duration::from_millis(50));
    hangs.input = b"while :; do :; done\n".to_vec();
    let ended = run_as(&sealed, sealed.digest(), &hangs).err();
    let excess = Excess::Time(Duration::from_millis(50));
    assert_eq!(
        ended,
        Some(Outcome::Failed(format!("{excess} and was killed")))
    );
}
