//! Native plugins: programs outside the sandbox, which run only if weir's own configuration lists them by name, digest and
//! network.
//!
//! Each call passes the gate, which has the listing for rules, and is recorded even if it is refused.

mod answer;
mod binary;
mod listing;
mod successor;

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::json;
use weir_cni::{AddResult, Command, Error, PluginConfig};
use weir_files::Paths;
use weir_gate::{Audit, Gate, Outcome, Permit, Refusal, Subject};
use weir_grant::document::Digest;
use weir_grant::native::{Execute, NativePlugin};
use weir_grant::{Capabilities, Invocation};
use weir_host::Log;
use weir_kernel::exec::{self, Call, MOST_MESSAGES};
use weir_sandbox::Sandbox;
use weir_sandbox::codes::unrecorded;

pub use binary::inspect;
pub use successor::{Successor, Surroundings};

use self::binary::Binary;
use self::listing::Listing;
use super::attachment::Attachment;
use super::codes;
use super::failures::with_left;
use super::in_order::AddFailed;
use super::source::MADE_BY;

/// `PATH` of native plugins.
pub const SEARCH_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// One call of a plugin, for one network.
#[derive(Clone, Copy)]
pub struct NativeCall<'a> {
    /// `type`.
    pub plugin: &'a str,
    pub command: Command,
    pub attachment: &'a Attachment,
    /// The execution configuration.
    pub config: &'a PluginConfig,
    pub network: &'a str,
    /// The network's NetworkAttachmentDefinition, if it has one. Listings then name the network by it.
    pub definition: Option<&'a str>,
}

impl NativeCall<'_> {
    fn granted_as(&self) -> &str {
        self.definition.unwrap_or(self.network)
    }

    fn operation(&self, command: Command, digest: &Digest) -> Execute {
        Execute {
            plugin: self.plugin.to_owned(),
            digest: digest.clone(),
            command: command.as_str().to_owned(),
        }
    }

    /// The gate for a program of this digest, by these listings, and the log for what the program prints.
    ///
    /// Errors: an ADD that cannot be recorded.
    fn gate(
        &self,
        sandbox: &Sandbox,
        digest: &Digest,
        native: Vec<NativePlugin>,
    ) -> Result<(Gate, Log), Error> {
        let subject = Subject {
            command: self.command.as_str(),
            container_id: self.attachment.container_id.clone(),
            ifname: self.attachment.ifname.clone(),
            network: self.network.to_owned(),
            definition: self.definition.map(str::to_owned),
            pod: self.attachment.args.pod().full_name(),
            plugin: self.plugin.to_owned(),
            digest: digest.to_string(),
        };
        let invocation = Invocation {
            container_id: subject.container_id.clone(),
            ifname: subject.ifname.clone(),
            network: self.granted_as().to_owned(),
            ..Invocation::default()
        };
        let audit = sandbox.audit_log();
        if let (Command::Add, Some(why)) = (self.command, audit.failure()) {
            return Err(unrecorded(why));
        }
        let capabilities = Capabilities {
            native,
            ..Capabilities::default()
        };
        let most = MOST_MESSAGES as u64 * 8;
        let log = Log::new(sandbox.paths().log(), subject.for_log(), most);
        let gate = Gate::new(capabilities, invocation, Audit::new(subject, audit, false));
        Ok((gate, log))
    }

    /// The variables of CNI section 2, and where the configuration comes from.
    fn environment(&self, command: Command, search: String) -> Vec<(&'static str, String)> {
        let attachment = self.attachment;
        let mut environment = vec![
            ("CNI_COMMAND", command.as_str().to_owned()),
            ("CNI_PATH", search),
        ];
        if command.is_about_attachment() {
            environment.extend([
                ("CNI_CONTAINERID", attachment.container_id.clone()),
                ("CNI_NETNS", attachment.netns.clone()),
                ("CNI_IFNAME", attachment.ifname.clone()),
                ("CNI_ARGS", attachment.args.to_string()),
            ]);
        }
        environment.retain(|(_, value)| !value.is_empty());
        // Empty for a configuration of the node's own.
        let definition = self.definition.unwrap_or_default();
        environment.push((MADE_BY, definition.to_owned()));
        environment
    }
}

/// Runs a plugin that is not a component, from `bin_dirs`: `CNI_PATH`, or the directories that a configuration names. Only
/// ADD has a result. After an ADD that fails it runs DEL, and the runtime's DEL must do so again.
///
/// Errors: the plugin's own; `sandbox::codes::NO_PLUGIN` if there is none of that name; those of [`codes`] if it does not
/// run, or does not answer.
pub(super) fn call(
    sandbox: &Sandbox,
    bin_dirs: &[PathBuf],
    asked: NativeCall<'_>,
) -> Result<Option<AddResult>, AddFailed> {
    let paths = sandbox.paths();
    let listing = Listing::load(paths)?;
    let bin_dirs = listing.bin_dirs(paths, asked.plugin, bin_dirs);
    let Some(binary) = Binary::find(asked.plugin, &bin_dirs)? else {
        return Err(missing(sandbox, asked.plugin, &bin_dirs).into());
    };
    Run::new(sandbox, asked, &listing, &binary, &bin_dirs)?.carry_out()
}

/// Whether weir's own configuration lists a program, for any network. Errors: `codes::SETTINGS`.
pub(super) fn is_listed(paths: &Paths, program: &Path) -> Result<bool, Error> {
    let listing = Listing::load(paths)?;
    if listing.entries().is_empty() {
        return Ok(false);
    }
    let digest = inspect(program).ok();
    let mut entries = listing.entries().iter();
    Ok(entries.any(|entry| Some(&entry.digest) == digest.as_ref()))
}

/// Neither a component nor a program has that name.
fn missing(sandbox: &Sandbox, plugin: &str, bin_dirs: &[PathBuf]) -> Error {
    let shown = bin_dirs.iter().map(|d| format!("`{}`", d.display()));
    let shown = shown.collect::<Vec<_>>().join(", ");
    let nor = format!("no native plugin of that name in {shown} either");
    match sandbox.catalogue().find(plugin) {
        Err(error) => error.and_details([nor]),
        Ok(_) => Error::try_again_later(format!("plugin `{plugin}` has just been installed")),
    }
}

/// One call, with its gate and its log.
struct Run<'a> {
    asked: NativeCall<'a>,
    listing: &'a Listing,
    binary: &'a Binary,
    /// `CNI_PATH`.
    search: String,
    gate: Gate,
    log: Log,
    time: Duration,
}

impl<'a> Run<'a> {
    fn new(
        sandbox: &Sandbox,
        asked: NativeCall<'a>,
        listing: &'a Listing,
        binary: &'a Binary,
        bin_dirs: &[PathBuf],
    ) -> Result<Self, Error> {
        let digest = binary.program.digest();
        let (gate, log) = asked.gate(sandbox, digest, listing.entries().to_vec())?;
        Ok(Self {
            asked,
            listing,
            binary,
            search: joined(bin_dirs),
            gate,
            log,
            time: listing.time(asked.plugin, digest, asked.granted_as()),
        })
    }

    fn carry_out(&mut self) -> Result<Option<AddResult>, AddFailed> {
        let command = self.asked.command;
        let call = self.call(command);
        let operation = self.operation(command);
        let (binary, log) = (self.binary, &mut self.log);
        let done = self.gate.perform(operation, |permit| {
            let ended = run(permit, &binary.program, &call, log)?;
            answer::read(command, self.asked.config, &ended).map_err(Failure::Failed)
        });
        let done = match (done, self.gate.audit().failure()) {
            (Ok(_), Some(why)) if command == Command::Add => Err(Failure::Failed(unrecorded(why))),
            (done, _) => done,
        };
        let outcome = done.map_err(|failure| self.explain(failure));
        self.log.close();
        outcome
    }

    fn operation(&self, command: Command) -> Execute {
        self.asked.operation(command, self.binary.program.digest())
    }

    fn explain(&mut self, failure: Failure) -> AddFailed {
        let plugin = self.asked.plugin;
        let failed = match failure {
            Failure::Denied(_) => {
                let granted_as = self.asked.granted_as();
                return self.listing.refusal(plugin, self.binary, granted_as).into();
            }
            Failure::Unfit(error) => error.into(),
            Failure::Failed(error) if self.asked.command == Command::Add => AddFailed {
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
        let call = self.call(Command::Del);
        let operation = self.operation(Command::Del);
        let (binary, log) = (self.binary, &mut self.log);
        let deleted = self.gate.undo(operation, |permit| {
            let ended = run(permit, &binary.program, &call, log)?;
            answer::read(Command::Del, self.asked.config, &ended).map_err(Failure::Failed)
        });
        match deleted {
            Ok(_) => error,
            Err(left) => with_left(error, &[left.into()]),
        }
    }

    fn call(&self, command: Command) -> Call {
        let mut environment = self.asked.environment(command, self.search.clone());
        environment.push(("PATH", SEARCH_PATH.to_owned()));
        Call {
            called_as: self.binary.path.display().to_string(),
            arguments: Vec::new(),
            environment,
            input: json!(self.asked.config).to_string().into_bytes(),
            time: self.time,
        }
    }
}

enum Failure {
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

/// Runs a program to its end, and logs what it prints on standard error.
fn run(
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
    for line in messages.lines().filter(|line| !line.trim().is_empty()) {
        log.write("info", line, &[]);
    }
    ran
}

fn joined(directories: &[PathBuf]) -> String {
    let shown = directories.iter().map(|d| d.display().to_string());
    shown.collect::<Vec<_>>().join(":")
}
