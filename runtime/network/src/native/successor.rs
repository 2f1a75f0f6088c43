//! The plugin that serves an attachment once weir is removed, and the tools that such plugins use. `weir uninstall` runs
//! them without a listing. They run as root for every container from then on, so only files that root alone could have
//! written are used.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use weir_cni::{Command, Error};
use weir_files::file_trust::{self, Untrusted};
use weir_grant::native::{NativeLimits, NativePlugin};
use weir_grant::pattern::Pattern;
use weir_kernel::exec::{Call, Ended};
use weir_sandbox::codes::unrecorded;
use weir_sandbox::{Sandbox, own_digest};

use super::answer;
use super::binary::{Binary, unfit};
use super::call::NativeCall;
use super::run::{Failure, run};
use crate::codes;
use crate::trust::unread;

/// The bus of firewalld, which such programs look for.
const SYSTEM_BUS: &str = "DBUS_SYSTEM_BUS_ADDRESS";

/// A program that was read once.
pub struct Successor {
    name: String,
    binary: Binary,
}

/// The environment in which the tools run.
#[derive(Clone, Debug)]
pub struct ToolEnvironment {
    /// `PATH`.
    pub search: String,
    /// `CNI_PATH`.
    pub bin_dir: PathBuf,
}

impl Successor {
    /// Returns the program of a plugin or a tool at this path. Errors: `codes::UNFIT` for a file that others could have
    /// written, is not a program, or is weir itself.
    pub fn open(name: &str, path: &Path, root: &Path) -> Result<Self, Error> {
        let file = file_trust::open(path, root).map_err(|untrusted| match untrusted {
            Untrusted::Unreadable(error) => unfit(name, path, &error),
            exposed => unread(format!("`{}`", path.display()), &exposed, codes::UNFIT),
        })?;
        let binary = Binary::of(name, path, &file)?;
        // A copy of weir counts as weir.
        if *binary.program.digest() == own_digest()? {
            return Err(unfit(name, path, &"it is weir itself"));
        }
        Ok(Self {
            name: name.to_owned(),
            binary,
        })
    }

    pub fn path(&self) -> &Path {
        &self.binary.path
    }

    /// ADD of the plugin. No DEL follows a failure: it could remove what weir made, such as an address in a zone of
    /// firewalld.
    ///
    /// Errors: the plugin's own; it does not run.
    pub fn add(
        &self,
        sandbox: &Arc<Sandbox>,
        native_call: NativeCall<'_>,
        tools: &ToolEnvironment,
    ) -> Result<(), Error> {
        let search = tools.bin_dir.display().to_string();
        let environment = native_call.environment(Command::Add, search);
        let call = Call {
            input: json!(native_call.config).to_string().into_bytes(),
            ..self.call(tools, environment)
        };
        let ended = self.run(sandbox, native_call, &call)?;
        answer::read(Command::Add, native_call.config, &ended)
            .map(drop)
            .map_err(|e| e.with_prefix(format_args!("`{}`", self.binary.path.display())))
    }

    /// Runs a tool with these arguments.
    pub fn tool(
        &self,
        sandbox: &Arc<Sandbox>,
        native_call: NativeCall<'_>,
        tools: &ToolEnvironment,
        arguments: Vec<String>,
    ) -> Result<Ended, Error> {
        let call = Call {
            arguments,
            ..self.call(tools, Vec::new())
        };
        self.run(sandbox, native_call, &call)
    }

    fn call(&self, tools: &ToolEnvironment, mut environment: Vec<(&'static str, String)>) -> Call {
        environment.push(("PATH", tools.search.clone()));
        environment.extend(std::env::var(SYSTEM_BUS).ok().map(|bus| (SYSTEM_BUS, bus)));
        // By its own name: the programs of iptables are one file, and look at it.
        let directory = self.binary.path.parent().unwrap_or(Path::new("/"));
        Call {
            called_as: directory.join(&self.name).display().to_string(),
            arguments: Vec::new(),
            environment,
            input: Vec::new(),
            time: NativeLimits::default().time,
        }
    }

    /// Runs the program through the gate, which records it.
    fn run(
        &self,
        sandbox: &Arc<Sandbox>,
        native_call: NativeCall<'_>,
        call: &Call,
    ) -> Result<Ended, Error> {
        let digest = self.binary.program.digest();
        let native_call = NativeCall {
            plugin: &self.name,
            ..native_call
        };
        let listed = NativePlugin {
            name: self.name.clone(),
            digest: digest.clone(),
            networks: vec![Pattern::literal(native_call.network)],
            bin_dir: None,
            limits: NativeLimits::default(),
        };
        let (mut gate, mut log) = native_call.gate(sandbox, digest, vec![listed])?;
        let ended = gate.perform(
            native_call.operation(native_call.command, digest),
            |permit| run(permit, &self.binary.program, call, &mut log).map_err(Failure::from),
        );
        log.close();
        let path = self.binary.path.display();
        let ended =
            ended.map_err(|failure| Error::from(failure).with_prefix(format_args!("`{path}`")))?;
        match gate.audit_failure() {
            Some(why) => Err(unrecorded(why)),
            None => Ok(ended),
        }
    }
}
