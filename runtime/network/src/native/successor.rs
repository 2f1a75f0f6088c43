//! What serves an attachment once weir is gone: the plugin of the same name that comes back, and the tools that such
//! plugins use. `weir uninstall` runs them for whoever has called it, with no listing but itself: they run as root for
//! every container from then on, and so only what nobody but root can have put there is taken.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;
use weir_cni::{Command, Error};
use weir_files::file_trust::{self, Untrusted};
use weir_gate::{Audit, Gate, Subject};
use weir_grant::native::{Execute, NativeLimits, NativePlugin};
use weir_grant::pattern::Pattern;
use weir_grant::{Capabilities, Invocation};
use weir_host::Log;
use weir_kernel::exec::{Call, Ended, MOST_MESSAGES};
use weir_sandbox::{Sandbox, own_digest};

use super::answer;
use super::binary::{Binary, unfit};
use super::{Asked, Failure, MADE_BY, run, unrecorded};
use crate::codes;
use crate::trust::unread;

/// Where such programs look for others, and the bus of firewalld: as the reference plugins are told it.
const HANDED_ON: [&str; 1] = ["DBUS_SYSTEM_BUS_ADDRESS"];

/// A program that was read once.
pub struct Successor {
    name: String,
    binary: Binary,
}

/// What the programs find.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// `PATH`.
    pub search: String,
    /// `CNI_PATH`.
    pub bin_dir: PathBuf,
}

impl Successor {
    /// The program of a plugin or a tool at this path. Errors: `codes::UNFIT` for one that others can have written, that
    /// is not a program, or that is weir itself.
    pub fn open(name: &str, path: &Path, root: &Path) -> Result<Self, Error> {
        let file = file_trust::open(path, root).map_err(|untrusted| match untrusted {
            Untrusted::Unreadable(error) => unfit(name, path, &error),
            exposed => unread(format!("`{}`", path.display()), &exposed, codes::UNFIT),
        })?;
        let binary = Binary::of(name, path, &file)?;
        // A copy of weir is weir, too.
        if *binary.program.digest() == own_digest()? {
            return Err(unfit(name, path, &"it is weir itself"));
        }
        Ok(Self {
            name: name.to_owned(),
            binary,
        })
    }

    /// Where it was found.
    pub fn path(&self) -> &Path {
        &self.binary.path
    }

    /// ADD of the plugin. It is not followed by a DEL where it fails: what such a plugin removes then may be what weir
    /// has made as well, such as an address in a zone of firewalld.
    ///
    /// Errors: the plugin's own, and those of its not being run.
    pub fn add(
        &self,
        sandbox: &Arc<Sandbox>,
        asked: Asked<'_>,
        around: &Surroundings,
    ) -> Result<(), Error> {
        let attachment = asked.attachment;
        let mut environment = vec![
            ("CNI_COMMAND", Command::Add.as_str().to_owned()),
            ("CNI_PATH", around.bin_dir.display().to_string()),
            ("CNI_CONTAINERID", attachment.container_id.clone()),
            ("CNI_NETNS", attachment.netns.clone()),
            ("CNI_IFNAME", attachment.ifname.clone()),
            ("CNI_ARGS", attachment.args.to_string()),
        ];
        environment.retain(|(_, value)| !value.is_empty());
        environment.push((MADE_BY, String::new()));
        let call = Call {
            arguments: Vec::new(),
            input: json!(asked.config).to_string().into_bytes(),
            ..self.call(around, environment)
        };
        let ended = self.run(sandbox, asked, &call)?;
        answer::read(Command::Add, asked.config, &ended)
            .map(drop)
            .map_err(|e| e.with_prefix(format_args!("`{}`", self.binary.path.display())))
    }

    /// Runs a tool with these arguments.
    pub fn tool(
        &self,
        sandbox: &Arc<Sandbox>,
        asked: Asked<'_>,
        around: &Surroundings,
        arguments: Vec<String>,
    ) -> Result<Ended, Error> {
        let call = Call {
            arguments,
            ..self.call(around, Vec::new())
        };
        self.run(sandbox, asked, &call)
    }

    fn call(&self, around: &Surroundings, mut environment: Vec<(&'static str, String)>) -> Call {
        environment.push(("PATH", around.search.clone()));
        let handed_on = HANDED_ON.into_iter();
        environment.extend(handed_on.filter_map(|name| Some((name, std::env::var(name).ok()?))));
        Call {
            called_as: self.called_as(),
            arguments: Vec::new(),
            environment,
            input: Vec::new(),
            time: NativeLimits::default().time,
        }
    }

    /// By its own name: the programs of iptables are one, and go by it.
    fn called_as(&self) -> String {
        let directory = self.binary.path.parent().unwrap_or(Path::new("/"));
        directory.join(&self.name).display().to_string()
    }

    /// Past the gate, and recorded.
    fn run(&self, sandbox: &Arc<Sandbox>, asked: Asked<'_>, call: &Call) -> Result<Ended, Error> {
        let digest = self.binary.program.digest();
        let subject = Subject {
            command: asked.command.as_str(),
            container_id: asked.attachment.container_id.clone(),
            ifname: asked.attachment.ifname.clone(),
            network: asked.network.to_owned(),
            pod: asked.attachment.args.pod().full_name(),
            plugin: self.name.clone(),
            digest: digest.to_string(),
            ..Subject::default()
        };
        let invocation = Invocation {
            container_id: subject.container_id.clone(),
            ifname: subject.ifname.clone(),
            network: subject.network.clone(),
        };
        let audit = sandbox.audit_log();
        if let Some(why) = audit.failure() {
            return Err(unrecorded(why));
        }
        let capabilities = Capabilities {
            native: vec![NativePlugin {
                name: self.name.clone(),
                digest: digest.clone(),
                networks: vec![Pattern::literal(asked.network)],
                bin_dir: None,
                limits: NativeLimits::default(),
            }],
            ..Capabilities::default()
        };
        let most = MOST_MESSAGES as u64;
        let mut log = Log::new(sandbox.paths().log(), subject.for_log(), most);
        let mut gate = Gate::new(capabilities, invocation, Audit::new(subject, audit, false));
        let operation = Execute {
            plugin: self.name.clone(),
            digest: digest.clone(),
            command: asked.command.as_str().to_owned(),
        };
        let ended = gate.perform(operation, |permit| {
            run(permit, &self.binary.program, call, &mut log).map_err(Failure::from)
        });
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
