//! The sandbox of a process: plugins, their grants and their code, and how an invocation is set up.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytesize::ByteSize;
use wasmtime::Engine;
use weir_cni::{AddResult, Command, Error};
use weir_files::Paths;
use weir_gate::{Audit, Gate, Log as AuditLog, Subject};
use weir_grant::section::in_one_part;
use weir_grant::size::Exact;
use weir_grant::{Capabilities, HostInterfaces, Invocation, Limits};
use weir_host::{Log, Setup, SharedIpam, State};
use weir_kernel::store::{Former, StoreOwner};
use weir_kernel::without_permit::SharedLock;
use weir_kernel::{Broker, Linux, Namespaces};

use super::attached::Attached;
use super::call::Call;
use super::catalogue::{Catalogue, Plugin};
use super::codes;
use super::component_cache::ComponentCache;
use super::grants::{Granted, Grants};
use super::ipam::{Ipam, NativeIpam, NativeIpamCall, NoFurther, RunNativeIpam};
use super::request::Request;
use super::trap::LimitsFrom;
use super::validate_result;

/// Runs plugins. One for a process; cheap to share.
pub struct Sandbox {
    paths: Paths,
    catalogue: Catalogue,
    components: ComponentCache,
    grants: OnceLock<Result<Grants, Error>>,
    audit: OnceLock<Arc<AuditLog>>,
    audit_reads: bool,
}

impl Sandbox {
    /// A sandbox over these paths. `audit_reads` records allowed reads as well.
    ///
    /// Errors: code 999 when this machine cannot run the engine.
    pub fn new(paths: Paths, audit_reads: bool) -> Result<Arc<Self>, Error> {
        Ok(Arc::new(Self {
            catalogue: Catalogue::new(&paths),
            paths,
            components: ComponentCache::new()?,
            grants: OnceLock::new(),
            audit: OnceLock::new(),
            audit_reads,
        }))
    }

    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    /// The engine, for reading components.
    pub fn engine(&self) -> &Engine {
        self.components.engine()
    }

    pub(super) fn components(&self) -> &ComponentCache {
        &self.components
    }

    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// The grants in force. Errors: `codes::NO_GRANT`.
    fn grants(&self) -> Result<&Grants, Error> {
        let grants = self.grants.get_or_init(|| {
            let grants = Grants::load(&self.paths)?;
            self.record_changed_grants(grants.seen());
            Ok(grants)
        });
        grants.as_ref().map_err(Clone::clone)
    }

    /// Runs one command of a plugin. Only ADD has a result. `native` runs its IPAM plugin if that is not a component; none
    /// if only components may run.
    ///
    /// Errors: the plugin's own; those of [`super::codes`]. A failed ADD is undone.
    pub fn run(
        self: &Arc<Self>,
        plugin: &str,
        request: &Request,
        native: Option<Arc<dyn RunNativeIpam>>,
    ) -> Result<Option<AddResult>, Error> {
        let latest = Instant::now() + Limits::MOST_TIME;
        let role = Role::Main {
            sandbox: Arc::clone(self),
            native,
        };
        self.run_as(plugin, request, role, latest)
    }

    /// Runs the IPAM plugin of a request: a component of that name, or else the program.
    fn run_ipam(
        &self,
        native: &NativeIpam,
        name: &str,
        request: &Request,
        latest: Instant,
    ) -> Result<Option<AddResult>, Error> {
        let program = native.as_ref().filter(|_| !self.catalogue.has(name));
        let Some(program) = program else {
            return self.run_as(name, request, Role::Ipam, latest);
        };
        let check = |result: AddResult| {
            result.validate()?;
            validate_result::check(result, request)
        };
        program.run(NativeIpamCall {
            plugin: name,
            command: request.command,
            latest,
            check: &check,
        })
    }

    fn run_as(
        &self,
        name: &str,
        request: &Request,
        role: Role,
        latest: Instant,
    ) -> Result<Option<AddResult>, Error> {
        let Admitted {
            plugin,
            grant,
            code,
        } = self.find_admitted(name, request, latest)?;
        let refused = |error| self.refused(name, Some(&plugin.digest), request, error);
        let own = Instant::now() + grant.limits.time;
        let from = LimitsFrom {
            grant: Some(grant.origin.clone()),
            is_time_of_main_plugin: role.is_ipam() && latest < own,
        };
        let state = self.state(&plugin, code, grant, request, role, latest.min(own))?;
        let prepared = self.components.prepare(&plugin).map_err(refused)?;
        let mut call = Call::new(self.engine(), &plugin.name, state, from)?;
        let outcome = call.invoke(&prepared, request);
        // Also if the plugin itself failed.
        let removed = call.remove_left(request);
        let outcome = outcome.and_then(|result| removed.map(|()| result));
        let outcome = call.finish(request.command, outcome);
        self.forget(&plugin, request, outcome.is_ok());
        outcome
    }

    fn attached(&self, plugin: &str) -> Attached {
        Attached::of(&self.paths.plugins(), plugin)
    }

    /// The plugin for a request, if it may run. For ADD its version is noted; if it was replaced before that, the new one is found.
    ///
    /// Errors: why it does not run; code 11 if it was replaced again and again until `latest`.
    fn find_admitted(
        &self,
        name: &str,
        request: &Request,
        latest: Instant,
    ) -> Result<Admitted, Error> {
        loop {
            let found = self.find_version(name, request);
            let plugin = found.map_err(|error| self.refused(name, None, request, error))?;
            let (grant, code) = (self.admit(&plugin, request))
                .map_err(|error| self.refused(name, Some(&plugin.digest), request, error))?;
            self.check_audit_log(request.command)?;
            if self.note(&plugin, request)? {
                return Ok(Admitted {
                    plugin,
                    grant,
                    code,
                });
            }
            if Instant::now() >= latest {
                let what = format!("plugin `{name}` was replaced again and again");
                return Err(Error::try_again_later(what));
            }
        }
    }

    /// The plugin for a request: for DEL and CHECK the version that made the attachment, if that is kept and still has a grant.
    fn find_version(&self, name: &str, request: &Request) -> Result<Plugin, Error> {
        let current = self.catalogue.find(name)?;
        if current.is_built_in() || !matches!(request.command, Command::Del | Command::Check) {
            return Ok(current);
        }
        let version = self.attached(name).version(request, &current.digest);
        let replaced = version.filter(|digest| *digest != current.digest);
        // One that is not kept any more, as after a restored backup, cannot run at all.
        let Some(digest) = replaced.filter(|digest| self.catalogue.keeps(name, digest)) else {
            return Ok(current);
        };
        let kept = self.catalogue.kept_version(name, &digest)?;
        let is_granted = self.admit(&kept, request).is_ok();
        Ok(if is_granted { kept } else { current })
    }

    /// Notes which version of an installed plugin makes an attachment, so that it is kept. False if it was replaced before that:
    /// this version may be gone. Errors: code 5.
    fn note(&self, plugin: &Plugin, request: &Request) -> Result<bool, Error> {
        if plugin.is_built_in() || request.command != Command::Add {
            return Ok(true);
        }
        let name = &plugin.name;
        let noted = self.attached(name).note(&plugin.digest, request);
        noted.map_err(|e| {
            Error::io_failure(format!("plugin `{name}`: its version cannot be noted: {e}"))
        })?;
        let is_current = self.catalogue.find(name)?.digest == plugin.digest;
        if !is_current {
            self.forget(plugin, request, false);
        }
        Ok(is_current)
    }

    /// Removes the note about an attachment that is gone, or was not made.
    fn forget(&self, plugin: &Plugin, request: &Request, succeeded: bool) {
        if plugin.is_built_in() {
            return;
        }
        let attached = self.attached(&plugin.name);
        // What stays keeps a version that nobody needs, until the next GC.
        let _ = match (request.command, succeeded) {
            (Command::Add, false) | (Command::Del, true) => attached.forget(request),
            (Command::Gc, true) => attached.forget_others(request),
            _ => Ok(()),
        };
    }

    /// What a plugin may do for a request, and the memory that its code takes. Errors: why it does not run.
    fn admit(&self, plugin: &Plugin, request: &Request) -> Result<(Granted, usize), Error> {
        let grant = self.grants()?.for_plugin(plugin, request)?;
        let code = plugin.memory_of_code()?;
        check_code(&plugin.name, code, &grant)?;
        Ok((grant, code))
    }

    /// The audit log, for the operations of one subject.
    pub(super) fn audit(&self, subject: Subject) -> Audit {
        Audit::new(subject, self.audit_log(), self.audit_reads)
    }

    pub fn audit_log(&self) -> Arc<AuditLog> {
        let open = || Arc::new(AuditLog::open(&self.paths));
        Arc::clone(self.audit.get_or_init(open))
    }

    /// Fails an ADD whose operations could not be recorded.
    fn check_audit_log(&self, command: Command) -> Result<(), Error> {
        match self.audit_log().failure() {
            Some(why) if command == Command::Add => Err(codes::unrecorded(why)),
            _ => Ok(()),
        }
    }

    /// The interfaces of the host that networks may use, where the rules need them.
    ///
    /// Errors: the list cannot be read. What takes an attachment away needs none.
    fn host_interfaces(
        &self,
        capabilities: &Capabilities,
        command: Command,
    ) -> Result<HostInterfaces, Error> {
        if !capabilities.need_host_interfaces() {
            return Ok(HostInterfaces::default());
        }
        match weir_gate::host_interfaces(&self.paths) {
            Err(_) if matches!(command, Command::Del | Command::Gc) => {
                Ok(HostInterfaces::default())
            }
            list => list.map_err(|why| {
                let what =
                    format!("weir's configuration cannot be read for `hostInterfaces`: {why}");
                Error::new(codes::SETTINGS, what)
            }),
        }
    }

    fn state(
        &self,
        plugin: &Plugin,
        code: usize,
        grant: Granted,
        request: &Request,
        role: Role,
        deadline: Instant,
    ) -> Result<State, Error> {
        let subject = request.subject(&plugin.name, plugin.digest.to_string());
        // An IPAM plugin runs under the lock of its main plugin.
        let lock = match (&role, request.command) {
            (Role::Main { .. }, Command::Add) => {
                Some(SharedLock::take(&self.paths).map_err(|e| Error::io_failure(e.to_string()))?)
            }
            _ => None,
        };
        let Granted {
            section,
            capabilities,
            limits,
            origin: _,
        } = grant;
        let log = Log::new(self.paths.log(), subject.for_log(), limits.log.as_u64());
        let audit = self.audit(subject);
        let invocation = Invocation {
            container_id: request.container_id.clone(),
            ifname: request.ifname.clone(),
            network: request.granted_as().to_owned(),
            host_interfaces: self.host_interfaces(&capabilities, request.command)?,
        };
        let namespaces = Namespaces::new(duplicate(request.container.as_deref())?);
        let mut kernel = Linux::new(namespaces, self.paths.clone(), deadline)
            .with_stores_of(store_owner(&plugin.name, request, &invocation));
        let gate = Gate::new(capabilities, invocation, audit).of_sections(section);
        if request.command == Command::Add {
            kernel = kernel.for_add(gate.audit().invocation(), lock);
        }
        Ok(State::new(Setup {
            broker: Broker::new(gate, Box::new(kernel)),
            plugin: plugin.name.clone(),
            network: request.network.clone(),
            previous: request.previous.clone(),
            configured: request.configured(&plugin.name),
            limits,
            code,
            deadline,
            log,
            ipam: role.ipam(request, deadline),
        }))
    }
}

/// A plugin that may run for a request.
struct Admitted {
    plugin: Plugin,
    grant: Granted,
    /// The bytes of memory that its code takes.
    code: usize,
}

/// Fails if a plugin's code alone takes more memory than the grant allows.
fn check_code(name: &str, code: usize, grant: &Granted) -> Result<(), Error> {
    let memory = grant.limits.memory;
    if u64::try_from(code).is_ok_and(|code| code <= memory.as_u64()) {
        return Ok(());
    }
    let most = Exact::from(memory);
    let what = format!("plugin `{name}` needs more memory than `limits.memory: {most}`");
    let code = ByteSize::b(code as u64).display().iec();
    Err(Error::new(codes::MEMORY, what).with_details(format!(
        "loading its code takes {code}, not counting the first 16 MiB; {}",
        grant.origin.place()
    )))
}

/// The owner of the stores that a plugin opens for a request.
fn store_owner(plugin: &str, request: &Request, invocation: &Invocation) -> StoreOwner {
    let former = request.former_network().map(|network| Former {
        network,
        container_id: invocation.container_id.clone(),
        ifname: invocation.ifname.clone(),
    });
    StoreOwner {
        plugin: plugin.to_owned(),
        network: in_one_part(&invocation.network),
        former,
    }
}

/// Whether a plugin may run another.
enum Role {
    Main {
        sandbox: Arc<Sandbox>,
        native: NativeIpam,
    },
    Ipam,
}

impl Role {
    fn is_ipam(&self) -> bool {
        matches!(self, Self::Ipam)
    }

    fn ipam(self, request: &Request, deadline: Instant) -> SharedIpam {
        match self {
            Self::Ipam => SharedIpam::new(NoFurther::new(request)),
            Self::Main { sandbox, native } => {
                let run = move |name: &str, request: &Request, latest| {
                    sandbox.run_ipam(&native, name, request, latest)
                };
                SharedIpam::new(Ipam::new(request.clone(), deadline, run))
            }
        }
    }
}

fn duplicate(container: Option<&OwnedFd>) -> Result<Option<OwnedFd>, Error> {
    let duplicate = container.map(OwnedFd::try_clone).transpose();
    duplicate.map_err(|e| Error::internal(format!("cannot duplicate a descriptor: {e}")))
}
