//! One run of a native plugin: through the gate, with a log of what the program prints, and with DEL after an ADD that
//! fails.

use std::fmt;
use std::time::{Duration, Instant};

use serde_json::json;
use weir_cni::{AddResult, Command, Error};
use weir_gate::{Gate, Outcome, Permit, Refusal};
use weir_grant::native::Execute;
use weir_host::{Log, shorten_loops};
use weir_kernel::exec::{self, Call};
use weir_sandbox::codes::unrecorded;
use weir_sandbox::{CheckResult, Sandbox};

use super::answer;
use super::call::{NativeCall, SEARCH_PATH};
use super::found::Found;
use crate::codes;
use crate::failures::with_left;
use crate::in_order::AddFailed;

/// One call, with its gate and its log.
pub(super) struct Run<'a> {
    native_call: NativeCall<'a>,
    found: &'a Found,
    gate: Gate,
    log: Log,
    /// The time of its entry, for each run.
    time: Duration,
    /// The end of the first run, for an IPAM plugin.
    latest: Option<Instant>,
    /// What an IPAM plugin's result must pass.
    check: Option<&'a CheckResult<'a>>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        sandbox: &Sandbox,
        native_call: NativeCall<'a>,
        found: &'a Found,
    ) -> Result<Self, Error> {
        let digest = found.binary.program.digest();
        let listing = &found.listing;
        let (gate, log) = native_call.gate(sandbox, digest, listing.entries().to_vec())?;
        Ok(Self {
            native_call,
            found,
            gate,
            log,
            time: listing.time(native_call.plugin, digest, native_call.granted_as()),
            latest: None,
            check: None,
        })
    }

    /// The same with less time: until `latest`. A DEL that follows a failed ADD has its own.
    pub(super) fn until(self, latest: Instant) -> Self {
        let latest = Some(latest);
        Self { latest, ..self }
    }

    /// The same with a check of the result.
    pub(super) fn checked_by(self, check: &'a CheckResult<'a>) -> Self {
        let check = Some(check);
        Self { check, ..self }
    }

    pub(super) fn carry_out(mut self) -> Result<Option<AddResult>, AddFailed> {
        let command = self.native_call.command;
        let left = self
            .latest
            .map(|latest| latest.saturating_duration_since(Instant::now()));
        let time = left.map_or(self.time, |left| left.min(self.time));
        let done = self.once(command, time);
        let done = match (done, self.gate.audit_failure()) {
            (Ok(_), Some(why)) if command == Command::Add => Err(Failure::Failed(unrecorded(why))),
            (done, _) => done,
        };
        let outcome = done.map_err(|failure| self.explain(failure));
        self.log.close();
        outcome
    }

    /// Runs the program once, through the gate: with the requested command, or with the one that takes it back.
    fn once(&mut self, command: Command, time: Duration) -> Result<Option<AddResult>, Failure> {
        let program = &self.found.binary.program;
        let call = self.call(command, time);
        let operation = self.native_call.operation(command, program.digest());
        let (config, check, log) = (self.native_call.config, self.check, &mut self.log);
        let act = |permit: &Permit<Execute>| {
            let ended = run(permit, program, &call, log)?;
            let result = answer::read(command, config, &ended).map_err(Failure::Failed)?;
            let result = match check {
                Some(check) => result.map(check).transpose(),
                None => Ok(result),
            };
            result.map_err(Failure::Failed)
        };
        if command == self.native_call.command {
            self.gate.perform(operation, act)
        } else {
            self.gate.undo(operation, act)
        }
    }

    fn explain(&mut self, failure: Failure) -> AddFailed {
        let plugin = self.native_call.plugin;
        let failed = match failure {
            Failure::Denied(_) => {
                let granted_as = self.native_call.granted_as();
                let Found {
                    listing, binary, ..
                } = self.found;
                return listing.refusal(plugin, binary, granted_as).into();
            }
            Failure::Unfit(error) => error.into(),
            Failure::Failed(error) if self.native_call.command == Command::Add => AddFailed {
                error: self.deleted(error),
                owed: 1,
            },
            Failure::Failed(error) => error.into(),
        };
        failed.with_prefix(format_args!("native plugin `{plugin}`"))
    }

    /// Runs DEL after a failed ADD, since only the program knows what it did. It is the same program, even if its file was
    /// replaced. Returns the error, with that of DEL in its details.
    fn deleted(&mut self, error: Error) -> Error {
        match self.once(Command::Del, self.time) {
            Ok(_) => error,
            Err(left) => with_left(error, &[left.into()]),
        }
    }

    fn call(&self, command: Command, time: Duration) -> Call {
        let mut environment = self
            .native_call
            .environment(command, self.found.search.clone());
        environment.push(("PATH", SEARCH_PATH.to_owned()));
        Call {
            called_as: self.found.binary.path.display().to_string(),
            arguments: Vec::new(),
            environment,
            input: json!(self.native_call.config).to_string().into_bytes(),
            time,
        }
    }
}

pub(super) enum Failure {
    /// It is not listed.
    Denied(Refusal),
    /// It did not run.
    Unfit(Error),
    /// It has run, and failed.
    Failed(Error),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(refusal) => refusal.fmt(f),
            Self::Unfit(error) | Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Unrecorded(why) => Self::Unfit(unrecorded(&why)),
            refusal => Self::Denied(refusal),
        }
    }
}

impl Outcome for Failure {
    fn is_refusal(&self) -> bool {
        false
    }
}

impl From<exec::Error> for Failure {
    fn from(error: exec::Error) -> Self {
        let what = error.to_string();
        match error {
            exec::Error::Killed { messages, .. } => {
                let said = answer::said("standard error", &messages).unwrap_or_default();
                Self::Failed(Error::new(codes::KILLED, what).with_details(said))
            }
            error if error.has_run() => Self::Failed(Error::io_failure(what)),
            _ => Self::Unfit(Error::new(codes::UNFIT, what)),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Denied(refusal) => Self::internal(refusal.to_string()),
            Failure::Unfit(error) | Failure::Failed(error) => error,
        }
    }
}

/// Runs a program to its end, and logs what it prints on standard error, the lines of a loop once.
pub(super) fn run(
    permit: &Permit<Execute>,
    program: &exec::Sealed,
    call: &Call,
    log: &mut Log,
) -> Result<exec::Ended, exec::Error> {
    let ran = exec::run(permit, program, call);
    let messages = match &ran {
        Ok(ended) => &ended.messages,
        Err(error) => error.messages(),
    };
    let messages = String::from_utf8_lossy(messages);
    let lines = messages.lines().filter(|line| !line.trim().is_empty());
    for line in shorten_loops(&Vec::from_iter(lines)) {
        log.write("info", &line, &[]);
    }
    ran
}
