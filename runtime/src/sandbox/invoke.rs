//! One invocation of one plugin: a fresh store, its grant, its limits, and what is left behind
//! when it fails.

use std::collections::HashMap;
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Instant;

use serde_json::{Map, Value, json};
use wasmtime::component::{Component, Linker};
use wasmtime::{CallHook, Engine, Store, UpdateDeadline};
use weir_cni::{AddResult, Attachment, Command, Error, Version};

use super::catalogue::{Catalogue, Plugin};
use super::grants::Grants;
use super::watchdog::Watchdog;
use super::{claim, code, imports, linker, trap};
use crate::gate::{Audit, Gate, Subject};
use crate::grant::{Document, Invocation, Limits};
use crate::host::bindings::weir::cni::cni;
use crate::host::bindings;
use crate::host::convert;
use crate::host::{Host, Log, RunIpam, Setup, printable};
use crate::kernel::Namespaces;
use crate::kernel::lock::Shared;
use crate::paths::Paths;

/// Runs plugins. One for a process; cheap to share.
pub struct Sandbox {
    paths: Paths,
    catalogue: Catalogue,
    engine: Engine,
    linker: OnceLock<Linker<Host>>,
    grants: OnceLock<Result<Grants, Error>>,
    components: Mutex<HashMap<String, Component>>,
    audit_reads: bool,
}

/// What a plugin is asked to do.
#[derive(Clone, Debug)]
pub struct Request {
    pub command: Command,
    pub container_id: String,
    pub ifname: String,
    pub network: String,
    /// `CNI_ARGS`.
    pub args: Vec<(String, String)>,
    /// The execution configuration.
    pub config: Map<String, Value>,
    pub previous: Option<AddResult>,
    /// `CNI_NETNS`, as the caller wrote it.
    pub sandbox: String,
    /// The container's namespace, where there is one.
    pub container: Option<Arc<OwnedFd>>,
    /// For GC.
    pub valid_attachments: Vec<Attachment>,
}

/// What a plugin says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub name: String,
    pub version: String,
    pub description: String,
}

impl Sandbox {
    /// A sandbox over these paths. `audit_reads` records allowed reads as well.
    ///
    /// Errors: code 999 when this machine cannot run the engine.
    pub fn new(paths: Paths, audit_reads: bool) -> Result<Arc<Self>, Error> {
        let engine = weir_engine::runner()
            .map_err(|e| Error::internal(format!("the WebAssembly engine does not start: {e:#}")))?;
        Ok(Arc::new(Self {
            catalogue: Catalogue::new(&paths),
            paths,
            engine,
            linker: OnceLock::new(),
            grants: OnceLock::new(),
            components: Mutex::new(HashMap::new()),
            audit_reads,
        }))
    }

    /// The plugins of this node.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The engine, for reading components.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Where everything is.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The grants in force. Errors: `codes::NO_GRANT`.
    pub fn grants(&self) -> Result<&Grants, Error> {
        let grants = self.grants.get_or_init(|| Grants::load(&self.paths));
        grants.as_ref().map_err(Clone::clone)
    }

    /// Runs one command of a plugin. Only ADD has a result.
    ///
    /// Errors: the plugin's own; those of [`super::codes`]. An ADD that fails has been undone.
    pub fn run(self: &Arc<Self>, plugin: &str, request: &Request) -> Result<Option<AddResult>, Error> {
        let latest = Instant::now() + Limits::MOST_TIME;
        let role = Role::Main {
            sandbox: Arc::clone(self),
        };
        self.run_as(plugin, request, role, latest)
    }

    fn run_as(
        &self,
        name: &str,
        request: &Request,
        role: Role,
        latest: Instant,
    ) -> Result<Option<AddResult>, Error> {
        let plugin = self.catalogue.find(name)?;
        let grant = &self.grants()?.for_plugin(&plugin, &request.network)?.document;
        let component = self.component(&plugin)?;
        let deadline = latest.min(Instant::now() + grant.spec.limits.time);
        let watched = role.is_watched(request.command) && deadline == latest;
        let host = self.host(&plugin, grant, request, role, deadline)?;
        let mut call = Call::new(self, &plugin, host, watched)?;
        let outcome = call.make(&component, self.linker()?, request);
        call.finish(request.command, outcome)
    }

    fn host(
        &self,
        plugin: &Plugin,
        grant: &Document,
        request: &Request,
        role: Role,
        deadline: Instant,
    ) -> Result<Host, Error> {
        let subject = Subject {
            command: request.command.as_str(),
            container_id: request.container_id.clone(),
            ifname: request.ifname.clone(),
            network: request.network.clone(),
            plugin: plugin.name.clone(),
            digest: plugin.digest.to_string(),
        };
        let lock = match request.command {
            Command::Add => Some(Shared::take(&self.paths).map_err(|e| Error::io_failure(e.to_string()))?),
            _ => None,
        };
        let limits = grant.spec.limits.clone();
        let log = Log::new(self.paths.log(), log_subject(&subject), limits.log.as_u64());
        let audit = Audit::new(subject, open_audit(&self.paths.audit_log()), self.audit_reads);
        let invocation = Invocation {
            container_id: request.container_id.clone(),
            ifname: request.ifname.clone(),
            network: request.network.clone(),
        };
        Ok(Host::new(Setup {
            gate: Gate::new(grant.spec.capabilities.clone(), invocation, audit),
            namespaces: Namespaces::new(duplicate(request.container.as_deref())?),
            paths: self.paths.clone(),
            plugin: plugin.name.clone(),
            limits,
            deadline,
            log,
            lock,
            ipam: role.ipam(request, deadline),
        }))
    }

    fn component(&self, plugin: &Plugin) -> Result<Component, Error> {
        let mut components = self.components.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(component) = components.get(&plugin.name) {
            return Ok(component.clone());
        }
        let component = code::load(&self.engine, plugin)?;
        // A test checks those of the binary's own.
        if !plugin.is_built_in() {
            imports::check(&plugin.name, &imports::requested(&self.engine, &component))?;
        }
        components.insert(plugin.name.clone(), component.clone());
        Ok(component)
    }

    fn linker(&self) -> Result<&Linker<Host>, Error> {
        if let Some(linker) = self.linker.get() {
            return Ok(linker);
        }
        let linker = linker::new(&self.engine)
            .map_err(|e| Error::internal(format!("the contract cannot be linked: {e:#}")))?;
        Ok(self.linker.get_or_init(|| linker))
    }
}

/// Whether a plugin may run another.
enum Role {
    Main { sandbox: Arc<Sandbox> },
    Ipam,
}

impl Role {
    /// Whether the call that this one is part of is under way, and is watched. What was taken is
    /// given back after it.
    fn is_watched(&self, command: Command) -> bool {
        matches!(self, Self::Ipam) && command != Command::Del
    }

    fn ipam(self, request: &Request, deadline: Instant) -> Option<Box<dyn RunIpam>> {
        match self {
            Self::Ipam => None,
            Self::Main { sandbox } => Some(Box::new(Ipam {
                sandbox,
                request: request.clone(),
                deadline,
            })),
        }
    }
}

/// The IPAM plugin of an invocation, in a sandbox of its own.
struct Ipam {
    sandbox: Arc<Sandbox>,
    request: Request,
    deadline: Instant,
}

impl RunIpam for Ipam {
    fn plugin(&self) -> Result<String, Error> {
        let named = self.request.config.get("ipam").and_then(|ipam| ipam.get("type"));
        named.and_then(Value::as_str).map(str::to_owned).ok_or_else(|| {
            Error::invalid_config("ipam.type: missing; it names the plugin that assigns addresses")
        })
    }

    fn run(&mut self, command: Command) -> Result<Option<AddResult>, Error> {
        let mut request = self.request.clone();
        request.command = command;
        if command == Command::Add {
            request.previous = None;
        }
        // What was taken must be given back even when the time is over.
        let latest = match command {
            Command::Del => Instant::now() + Limits::MOST_TIME,
            _ => self.deadline,
        };
        self.sandbox.run_as(&self.plugin()?, &request, Role::Ipam, latest)
    }
}

/// A plugin's call under way.
struct Call {
    plugin: String,
    store: Store<Host>,
    _watchdog: Option<Watchdog>,
}

impl Call {
    /// `watched`: another call's watchdog goes off at this one's deadline.
    fn new(
        sandbox: &Sandbox,
        plugin: &Plugin,
        host: Host,
        watched: bool,
    ) -> Result<Self, Error> {
        let deadline = host.deadline();
        let transfer = usize::try_from(host.limits().transfer.as_u64()).unwrap_or(usize::MAX);
        let mut store = Store::new(&sandbox.engine, host);
        store.limiter(|host| host);
        store.set_hostcall_fuel(transfer);
        store.set_epoch_deadline(1);
        // The epoch is the whole process's: another invocation's end must not be this one's.
        store.epoch_deadline_callback(|store| {
            Ok(match Instant::now() >= store.data().deadline() {
                true => UpdateDeadline::Interrupt,
                false => UpdateDeadline::Continue(1),
            })
        });
        store.call_hook(|mut store, hook| match hook {
            CallHook::CallingHost => store.data_mut().count_call(),
            _ => Ok(()),
        });
        let watchdog = (!watched)
            .then(|| Watchdog::start(&sandbox.engine, deadline))
            .transpose()
            .map_err(|e| Error::internal(format!("no thread can be made: {e}")))?;
        Ok(Self {
            plugin: plugin.name.clone(),
            store,
            _watchdog: watchdog,
        })
    }

    fn make(
        &mut self,
        component: &Component,
        linker: &Linker<Host>,
        request: &Request,
    ) -> Result<Option<AddResult>, Error> {
        let plugin = bindings::Plugin::instantiate(&mut self.store, component, linker)
            .map_err(|e| self.explain(&e))?;
        let store = &mut self.store;
        let returned = match request.command {
            Command::Add => {
                let returned = plugin.call_add(store, &attachment(request));
                return match returned.map_err(|e| self.explain(&e))? {
                    Ok(result) => claim::check(convert::result(result)?, request).map(Some),
                    Err(failure) => Err(failure.into()),
                };
            }
            Command::Del => plugin.call_del(store, &attachment(request)),
            Command::Check => plugin.call_check(store, &attachment(request)),
            Command::Status => plugin.call_status(store, &status(request)),
            Command::Gc => plugin.call_gc(store, &gc(request)),
            Command::Version => Ok(Ok(())),
        };
        match returned.map_err(|e| self.explain(&e))? {
            Ok(()) => Ok(None),
            Err(failure) => Err(failure.into()),
        }
    }

    fn explain(&self, error: &wasmtime::Error) -> Error {
        trap::explain(self.store.data(), error)
    }

    /// Undoes a failed ADD, writes what is left for the log, and says whose error it was.
    fn finish(
        mut self,
        command: Command,
        outcome: Result<Option<AddResult>, Error>,
    ) -> Result<Option<AddResult>, Error> {
        let host = self.store.data_mut();
        host.close();
        let outcome = outcome.and_then(|result| match host.audit_failure() {
            Some(why) if command == Command::Add => Err(Error::io_failure(format!(
                "what it did cannot be recorded in the audit log: {why}"
            ))),
            _ => Ok(result),
        });
        let stderr = host.standard_error();
        if !stderr.is_empty() {
            host.log().write("info", stderr.trim_end(), &[]);
        }
        if outcome.is_err() && command == Command::Add {
            for failure in host.undo() {
                host.log().note("error", &format!("not undone: {failure}"));
            }
        }
        host.log().close();
        let plugin = &self.plugin;
        outcome.map_err(|error| readable(error).with_prefix(format_args!("plugin `{plugin}`")))
    }
}

/// A plugin's error ends in logs and terminals, which its text must not drive.
fn readable(error: Error) -> Error {
    Error::new(error.code, printable(&error.msg)).with_details(printable(&error.details))
}

fn attachment(request: &Request) -> cni::Request {
    cni::Request {
        container_id: request.container_id.clone(),
        ifname: request.ifname.clone(),
        network: request.network.clone(),
        args: request.args.clone(),
        config: configuration(request),
        previous: request.previous.clone().map(Into::into),
        has_container: request.container.is_some(),
        sandbox: request.sandbox.clone(),
    }
}

fn status(request: &Request) -> cni::StatusRequest {
    cni::StatusRequest {
        network: request.network.clone(),
        config: configuration(request),
    }
}

fn gc(request: &Request) -> cni::GcRequest {
    let valid = request.valid_attachments.iter().map(|attachment| cni::Attachment {
        container_id: attachment.container_id.clone(),
        ifname: attachment.ifname.clone(),
    });
    cni::GcRequest {
        network: request.network.clone(),
        config: configuration(request),
        valid_attachments: valid.collect(),
    }
}

/// The configuration as a plugin sees it: of the newest version, and without what the request has
/// in typed form.
fn configuration(request: &Request) -> String {
    const TYPED: [&str; 3] = ["prevResult", "cni.dev/valid-attachments", "cni.dev/attachments"];
    let mut config = request.config.clone();
    config.retain(|key, _| !TYPED.contains(&key.as_str()));
    config.insert("cniVersion".to_owned(), Version::LATEST.to_string().into());
    Value::Object(config).to_string()
}

fn log_subject(subject: &Subject) -> Value {
    json!({
        "command": subject.command,
        "containerId": subject.container_id,
        "ifname": subject.ifname,
        "network": subject.network,
        "plugin": subject.plugin,
    })
}

fn open_audit(path: &Path) -> Result<File, String> {
    let open = || OpenOptions::new().append(true).create(true).mode(0o640).open(path);
    let opened = open().or_else(|error| {
        let Some(directory) = path.parent().filter(|d| !d.exists()) else {
            return Err(error);
        };
        DirBuilder::new().recursive(true).mode(0o755).create(directory)?;
        open()
    });
    opened.map_err(|e| format!("`{}`: {e}", path.display()))
}

fn duplicate(container: Option<&OwnedFd>) -> Result<Option<OwnedFd>, Error> {
    let duplicate = container.map(OwnedFd::try_clone).transpose();
    duplicate.map_err(|e| Error::internal(format!("no descriptor is left: {e}")))
}
