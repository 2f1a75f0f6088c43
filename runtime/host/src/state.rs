//! What one invocation of one plugin has at hand: the state behind every host function.

use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Trap};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use weir_cni::AddResult;
use weir_engine::bounds;
use weir_files::Paths;
use weir_gate::{Gate, MOST_RECORDED};
use weir_grant::link::LinkFacts;
use weir_grant::store::Configured;
use weir_grant::{Limits, Namespace};
use weir_kernel::firewalld::Firewalld;
use weir_kernel::link::Link;
use weir_kernel::without_permit::SharedLock;
use weir_kernel::{self as kernel, Error, Namespaces};

use super::bindings::weir::cni::types::{self, LinkReference};
use super::ipam::run::RunIpam;
use super::log::lines::Log;
use super::undo::done::Done;

/// What the caller decides about an invocation.
pub struct Setup {
    pub gate: Gate,
    pub namespaces: Namespaces,
    pub paths: Paths,
    /// The plugin's name.
    pub plugin: String,
    /// The network's name in its configuration.
    pub network: String,
    /// What ADD returned, for the commands that come after it.
    pub previous: Option<AddResult>,
    /// The name by which the stores of a tenant's network were called once, for an attachment that may have been
    /// made then.
    pub former_network: Option<String>,
    /// Places that the node's own configuration names; none of a tenant's.
    pub configured: Configured,
    pub limits: Limits,
    /// Bytes of memory that the plugin's code takes of its limit.
    pub code: usize,
    /// When the invocation's time is over.
    pub deadline: Instant,
    pub log: Log,
    /// Held while an ADD is under way.
    pub lock: Option<SharedLock>,
    /// Runs the IPAM plugin that the configuration names; none for an IPAM plugin itself.
    pub ipam: Option<Box<dyn RunIpam>>,
}

/// The state of one invocation.
pub struct Host {
    pub(super) gate: Gate,
    pub(super) namespaces: Namespaces,
    pub(super) paths: Paths,
    pub(super) plugin: String,
    pub(super) network: String,
    pub(super) previous: Option<AddResult>,
    pub(super) former_network: Option<String>,
    pub(super) configured: Configured,
    pub(super) deadline: Instant,
    pub(super) log: Log,
    pub(super) lock: Option<SharedLock>,
    pub(super) ipam: Option<Box<dyn RunIpam>>,
    pub(super) firewalld: Firewalld,
    /// What this invocation did, in order, and the host can undo.
    pub(super) done: Done,
    /// The links that this invocation made, by their namespace and index: they go with it.
    pub(super) made: Vec<(Namespace, u32)>,
    /// The links that this invocation has met, each as it left them.
    known: Vec<(Namespace, Link)>,
    pub(super) table: ResourceTable,
    /// Made when it is first used: most plugins never do.
    wasi: Option<WasiCtx>,
    stderr: MemoryOutputPipe,
    limits: Limits,
    usage: Usage,
    /// Bytes of what transactions of stores have changed and not committed.
    pub(super) uncommitted: usize,
    pub(super) open_stores: usize,
}

/// What of its limits an invocation has used up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Calls of host functions.
    pub calls: u64,
    /// The largest sum of code, memory and tables, in bytes.
    pub memory: usize,
    /// An allocation was refused.
    pub memory_refused: bool,
    /// What the plugin has made or changed.
    pub changes: u64,
    /// Bytes that the host keeps to undo it.
    pub kept: usize,
    /// Bytes of its records in the audit log.
    pub recorded: usize,
}

/// The most bytes that the host keeps to undo what one invocation did.
pub const MOST_KEPT: usize = 8 << 20;

impl Usage {
    fn is_over(&self, limits: &Limits) -> bool {
        self.calls > limits.calls
            || self.changes > limits.changes
            || self.kept > MOST_KEPT
            || self.recorded > MOST_RECORDED
    }
}

impl Host {
    /// The state of a new invocation.
    pub fn new(setup: Setup) -> Self {
        let log_bytes = usize::try_from(setup.limits.log.as_u64()).unwrap_or(usize::MAX);
        let stderr = MemoryOutputPipe::new(log_bytes);
        Self {
            gate: setup.gate,
            namespaces: setup.namespaces,
            firewalld: Firewalld::new(setup.paths.system_bus(), setup.deadline),
            paths: setup.paths,
            plugin: setup.plugin,
            network: setup.network,
            previous: setup.previous,
            former_network: setup.former_network,
            configured: setup.configured,
            deadline: setup.deadline,
            log: setup.log,
            lock: setup.lock,
            ipam: setup.ipam,
            done: Done::default(),
            made: Vec::new(),
            known: Vec::new(),
            table: ResourceTable::new(),
            wasi: None,
            stderr,
            limits: setup.limits,
            usage: Usage {
                memory: setup.code,
                ..Usage::default()
            },
            uncommitted: 0,
            open_stores: 0,
        }
    }

    /// The bounds of this invocation.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// What of them is used up.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// When the invocation's time is over.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Counts a call of a host function. Errors: when one of the limits is used up, which [`usage`](Self::usage) tells;
    /// [`Trap::Interrupt`] when the time is over.
    pub fn count_call(&mut self) -> wasmtime::Result<()> {
        self.usage.calls += 1;
        self.usage.changes = self.done.noted();
        self.usage.kept = self.kept();
        self.usage.recorded = self.gate.recorded();
        if Instant::now() >= self.deadline {
            return Err(Trap::Interrupt.into());
        }
        match self.usage.is_over(&self.limits) {
            true => Err(wasmtime::Error::msg("a limit is used up")),
            false => Ok(()),
        }
    }

    /// Counts what one call has others do, one for each of `all`: the call itself was counted as one.
    pub(super) fn count_more_calls(&mut self, all: usize) {
        self.usage.calls += (all as u64).saturating_sub(1);
    }

    /// Bytes that the host keeps to undo what the plugin did.
    pub(super) fn kept(&self) -> usize {
        self.done.size() + self.uncommitted
    }

    /// What the plugin wrote to its standard error and output, for the log.
    pub fn standard_error(&self) -> String {
        String::from_utf8_lossy(&self.stderr.contents()).into_owned()
    }

    /// The plugin's log.
    pub fn log(&mut self) -> &mut Log {
        &mut self.log
    }

    /// Takes back what is only needed while the plugin runs: open stores are closed, and what they
    /// did not commit is undone.
    pub fn close(&mut self) {
        self.table = ResourceTable::new();
        (self.uncommitted, self.open_stores) = (0, 0);
    }

    /// The facts about a link, for the gate, also where there is none: whether a plugin may learn that is for the gate
    /// to say. Errors: `Invalid`, `NoNamespace`.
    ///
    /// The kernel gives an index to one link only, and no link another kind, so that a link which a
    /// plugin names by its index is looked up once. One that is gone meanwhile is for the kernel to
    /// refuse, and one that somebody else renames is judged by the name under which it was met; see
    /// [`note_update`](Self::note_update) and [`forget_links`](Self::forget_links) for those that the
    /// plugin changes.
    pub(super) fn identify(
        &mut self,
        namespace: types::Namespace,
        link: &LinkReference,
    ) -> Result<LinkFacts, Error> {
        let there = namespace.into();
        let known = match link {
            LinkReference::Index(index) => self.known_by_index(there, *index),
            // Somebody else may have given the name to another link.
            LinkReference::Name(_) => None,
        };
        match known {
            Some(known) => Ok(LinkFacts {
                by_index: true,
                ..known.facts(there)
            }),
            None => self.look_up(namespace, link),
        }
    }

    /// The same of a link as it is now. Errors: those of [`identify`](Self::identify).
    pub(super) fn look_up(
        &mut self,
        namespace: types::Namespace,
        link: &LinkReference,
    ) -> Result<LinkFacts, Error> {
        let there = namespace.into();
        match self.find(namespace, link) {
            Ok(found) => Ok(LinkFacts {
                by_index: matches!(link, LinkReference::Index(_)),
                ..found.facts(there)
            }),
            Err(error) if error.is_not_found() => Ok(absent(there, link)),
            Err(error) => Err(error),
        }
    }

    /// A link that was identified, with what this invocation has changed of it since; none where there was none.
    pub(super) fn met(&self, link: &LinkFacts) -> Option<Link> {
        let known = (!link.is_absent()).then(|| self.known_by_index(link.namespace, link.index));
        known.flatten().cloned()
    }

    fn known_by_index(&self, namespace: Namespace, index: u32) -> Option<&Link> {
        self.known_in(namespace).find(|known| known.index == index)
    }

    /// The link itself, which only the gate's consent may show to the plugin.
    pub(super) fn find(
        &mut self,
        namespace: types::Namespace,
        link: &LinkReference,
    ) -> Result<Link, Error> {
        let there = namespace.into();
        let found =
            kernel::without_permit::find_link(self.namespaces.of(there)?, &link.clone().into())?;
        self.meet(there, found.clone());
        Ok(found)
    }

    /// Remembers a link as it is now.
    pub(super) fn meet(&mut self, namespace: Namespace, link: Link) {
        let is_other = |known: &Link| known.index != link.index;
        self.known
            .retain(|(known_in, known)| *known_in != namespace || is_other(known));
        self.known.push((namespace, link));
    }

    /// The links of a namespace that are remembered.
    pub(super) fn known_in(&self, namespace: Namespace) -> impl Iterator<Item = &Link> {
        let known = self.known.iter().filter(move |known| known.0 == namespace);
        known.map(|(_, link)| link)
    }

    /// Forgets what is about to change: before a link is moved or deleted, whether or not that
    /// succeeds.
    pub(super) fn forget_links(&mut self) {
        self.known.clear();
    }

    /// Writes what is still due in the audit log.
    pub fn finish_audit(&mut self) {
        self.gate.finish();
    }

    /// Why audit records are missing, where they could not be written.
    pub fn audit_failure(&self) -> Option<&str> {
        self.gate.audit_failure()
    }
}

/// The facts about a link that is not there.
fn absent(namespace: Namespace, link: &LinkReference) -> LinkFacts {
    let (index, name) = match link {
        LinkReference::Name(name) => (0, name.clone()),
        LinkReference::Index(index) => (*index, String::new()),
    };
    LinkFacts {
        namespace,
        index,
        name,
        kind: String::new(),
        owner: String::new(),
        by_index: matches!(link, LinkReference::Index(_)),
    }
}

impl From<LinkReference> for kernel::link::LinkReference {
    fn from(link: LinkReference) -> Self {
        match link {
            LinkReference::Name(name) => Self::Name(name),
            LinkReference::Index(index) => Self::Index(index),
        }
    }
}

impl WasiView for Host {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self
                .wasi
                .get_or_insert_with(|| wasi(&self.stderr, &self.limits)),
            table: &mut self.table,
        }
    }
}

/// No arguments, no environment, no directories, no sockets; standard output is the protocol's and
/// not the plugin's.
fn wasi(stderr: &MemoryOutputPipe, limits: &Limits) -> WasiCtx {
    WasiCtx::builder()
        .stdout(stderr.clone())
        .stderr(stderr.clone())
        // Random numbers cross like all else.
        .max_random_size(limits.transfer.as_u64())
        .build()
}

impl ResourceLimiter for Host {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        Ok(self.grow(desired.saturating_sub(current)))
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let elements = desired.saturating_sub(current);
        Ok(self.grow(elements.saturating_mul(size_of::<usize>())))
    }

    // Code that an older weir compiled was not held to the bounds.
    fn instances(&self) -> usize {
        bounds::INSTANCES as usize
    }

    fn memories(&self) -> usize {
        bounds::MEMORIES as usize
    }

    fn tables(&self) -> usize {
        bounds::TABLES as usize
    }
}

impl Host {
    fn grow(&mut self, bytes: usize) -> bool {
        let wanted = self.usage.memory.saturating_add(bytes);
        if u64::try_from(wanted).is_ok_and(|w| w <= self.limits.memory.as_u64()) {
            self.usage.memory = wanted;
            return true;
        }
        self.usage.memory_refused = true;
        false
    }
}
