//! What one invocation of one plugin has at hand: the state behind every host function.

use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Trap};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use weir_cni::AddResult;
use weir_engine::bounds;

use super::bindings::weir::cni::types::{self, LinkReference};
use super::ipam::run::RunIpam;
use super::log::lines::Log;
use super::undo::done::Done;
use crate::gate::Gate;
use crate::grant::link::{LinkFacts, Read};
use crate::grant::store::Configured;
use crate::grant::{Limits, Namespace};
use crate::kernel::firewalld::Firewalld;
use crate::kernel::link::Link;
use crate::kernel::lock::Shared;
use crate::kernel::{self, Error, Namespaces};
use crate::paths::Paths;

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
    pub lock: Option<Shared>,
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
    pub(super) lock: Option<Shared>,
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
    /// The first link of the call under way of which the plugin must not learn what it is.
    unseen: Option<Unseen>,
}

/// A link of which a plugin may not know what it is, as the plugin named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unseen {
    /// By its index, and it may not look at it.
    Index,
    /// By its name, and nothing in its grant is about links of that name, so that the call is refused.
    Name(Namespace, String),
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
}

/// The most bytes that the host keeps to undo what one invocation did.
pub const MOST_KEPT: usize = 8 << 20;

impl Usage {
    fn is_over(&self, limits: &Limits) -> bool {
        self.calls > limits.calls || self.changes > limits.changes || self.kept > MOST_KEPT
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
            unseen: None,
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
        self.unseen = None;
        self.usage.calls += 1;
        self.usage.changes = self.done.noted();
        self.usage.kept = self.kept();
        if Instant::now() >= self.deadline {
            return Err(Trap::Interrupt.into());
        }
        match self.usage.is_over(&self.limits) {
            true => Err(wasmtime::Error::msg("a limit is used up")),
            false => Ok(()),
        }
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

    /// The facts about a link, for the gate. Errors: `NotFound`, `NoNamespace`.
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
        let known = self.recall(namespace, link)?;
        Ok(known.facts(namespace.into()))
    }

    /// A link as it was met, with what this invocation has changed of it since.
    pub(super) fn recall(
        &mut self,
        namespace: types::Namespace,
        link: &LinkReference,
    ) -> Result<&Link, Error> {
        let is_meant = |(known_in, known): &(Namespace, Link)| match link {
            LinkReference::Index(index) => (*known_in, known.index) == (namespace.into(), *index),
            // Somebody else may have given the name to another link.
            LinkReference::Name(_) => false,
        };
        match self.known.iter().position(is_meant) {
            Some(at) => self.look_at(at, link),
            None => self.find(namespace, link),
        }
    }

    /// One of the known links, and whether the plugin may know what it is.
    fn look_at(&mut self, at: usize, link: &LinkReference) -> Result<&Link, Error> {
        let (namespace, known) = &self.known[at];
        if !self.made.contains(&(*namespace, known.index)) {
            let read = Read {
                link: known.facts(*namespace),
            };
            let unseen = match link {
                LinkReference::Index(_) => (!self.gate.allows(&read)).then_some(Unseen::Index),
                LinkReference::Name(name) => self.unmentioned(*namespace, name),
            };
            self.unseen = self.unseen.take().or(unseen);
        }
        Ok(&self.known[at].1)
    }

    /// The link of which an error of the call under way must not tell the plugin.
    pub(super) fn unseen(&self) -> Option<&Unseen> {
        self.unseen.as_ref()
    }

    /// A name about which nothing is in the grant: a plugin must not learn whether a link has it.
    fn unmentioned(&self, namespace: Namespace, name: &str) -> Option<Unseen> {
        let mentioned = self.gate.mentions_link(namespace, name);
        (!mentioned).then(|| Unseen::Name(namespace, name.to_owned()))
    }

    /// The link itself, which only the gate's consent may show to the plugin.
    pub(super) fn find(
        &mut self,
        namespace: types::Namespace,
        link: &LinkReference,
    ) -> Result<&Link, Error> {
        let there = namespace.into();
        match kernel::link::find(&mut self.namespaces, there, &link.clone().into()) {
            Ok(found) => {
                self.meet(there, found);
                self.look_at(self.known.len() - 1, link)
            }
            Err(error) if error.is_not_found() => Err(self.not_found(namespace, link, error)),
            Err(error) => Err(error),
        }
    }

    /// What a plugin learns of there being no such link: nothing, where nothing in its grant is about
    /// links of that name.
    fn not_found(
        &mut self,
        namespace: types::Namespace,
        link: &LinkReference,
        error: Error,
    ) -> Error {
        let unmentioned = match link {
            LinkReference::Name(name) => self.unmentioned(namespace.into(), name),
            LinkReference::Index(_) => None,
        };
        match unmentioned {
            None => error,
            unseen => {
                self.unseen = self.unseen.take().or(unseen);
                self.missing(namespace, link.clone(), error)
            }
        }
    }

    /// Remembers a link as it is now.
    pub(super) fn meet(&mut self, namespace: Namespace, link: Link) -> &Link {
        let is_other = |known: &Link| known.index != link.index;
        self.known
            .retain(|(known_in, known)| *known_in != namespace || is_other(known));
        self.known.push((namespace, link));
        &self.known[self.known.len() - 1].1
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

    /// Why audit records are missing, where they could not be written.
    pub fn audit_failure(&self) -> Option<&str> {
        self.gate.audit_failure()
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
