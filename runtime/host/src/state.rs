//! The state of one invocation of one plugin, behind every host function.

use std::time::Instant;

use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, Trap};
use wasmtime_wasi::p2::pipe::MemoryOutputPipe;
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};
use weir_cni::AddResult;
use weir_engine::bounds;
use weir_grant::store::Configured;
use weir_grant::{Limits, Rule};
use weir_kernel::Broker;

use super::firewall::FirewallView;
use super::ipam::{IpamView, SharedIpam};
use super::link::LinkView;
use super::log::lines::Log;
use super::store::{OpenStores, StoreView};
use super::usage::Usage;
use super::view::View;

/// The caller's settings for an invocation.
pub struct Setup {
    /// The gate, the kernel and the undo log.
    pub broker: Broker,
    /// The plugin's name.
    pub plugin: String,
    /// The network's name in its configuration.
    pub network: String,
    /// The result of ADD, for the commands after it.
    pub previous: Option<AddResult>,
    /// The paths that the node's own configuration names; none for a tenant's.
    pub configured: Configured,
    pub limits: Limits,
    /// The bytes of the memory limit that the plugin's code takes.
    pub code: usize,
    /// When the invocation's time ends.
    pub deadline: Instant,
    pub log: Log,
    /// Runs the IPAM plugin that the configuration names.
    pub ipam: SharedIpam,
}

/// The state of one invocation. Each capability has a view of the part that it needs (`linker.rs`).
pub struct State {
    pub(super) broker: Broker,
    plugin: String,
    network: String,
    previous: Option<AddResult>,
    configured: Configured,
    pub(super) ipam: SharedIpam,
    pub(super) log: Log,
    table: ResourceTable,
    stores: OpenStores,
    /// Created on first use: most plugins never use it.
    wasi: Option<WasiCtx>,
    stderr: MemoryOutputPipe,
    limits: Limits,
    usage: Usage,
    deadline: Instant,
    /// The interface of the plugin's last call.
    interface: Option<&'static str>,
}

impl State {
    /// Returns the state of a new invocation.
    pub fn new(setup: Setup) -> Self {
        let log_bytes = usize::try_from(setup.limits.log.as_u64()).unwrap_or(usize::MAX);
        Self {
            broker: setup.broker,
            plugin: setup.plugin,
            network: setup.network,
            previous: setup.previous,
            configured: setup.configured,
            ipam: setup.ipam,
            log: setup.log,
            table: ResourceTable::new(),
            stores: OpenStores::default(),
            wasi: None,
            stderr: MemoryOutputPipe::new(log_bytes),
            limits: setup.limits,
            usage: Usage {
                memory: setup.code,
                ..Usage::default()
            },
            deadline: setup.deadline,
            interface: None,
        }
    }

    /// Notes the interface of a call, which begins.
    fn call(&mut self, interface: &'static str) {
        self.interface = Some(interface);
        self.broker.gate_mut().begin_call();
    }

    /// Returns the last call of the contract that the plugin made: its operation, such as `link.get`, or only the
    /// interface if the call asked for none; none before the first call.
    pub fn last_call(&self) -> Option<&'static str> {
        self.broker.gate().last().or(self.interface)
    }

    /// Returns the view of a capability that needs only its operations and facts.
    pub(super) fn view<R: Rule>(&mut self) -> View<'_, R> {
        self.call(R::CAPABILITY.word());
        View::new(&mut self.broker)
    }

    pub(super) fn links(&mut self) -> LinkView<'_> {
        self.call("link");
        LinkView {
            view: View::new(&mut self.broker),
            calls: &mut self.usage.calls,
        }
    }

    pub(super) fn firewall(&mut self) -> FirewallView<'_> {
        self.call("firewall");
        FirewallView {
            view: View::new(&mut self.broker),
            plugin: &self.plugin,
            network: &self.network,
            previous: self.previous.as_ref(),
        }
    }

    pub(super) fn stores(&mut self) -> StoreView<'_> {
        self.call("store");
        StoreView {
            view: View::new(&mut self.broker),
            table: &mut self.table,
            open: &mut self.stores,
            configured: &self.configured,
        }
    }

    pub(super) fn ipam(&mut self) -> IpamView<'_> {
        self.call("ipam");
        IpamView {
            broker: &mut self.broker,
            ipam: &self.ipam,
        }
    }

    /// Returns the limits of this invocation.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns how much of them is used.
    pub fn usage(&self) -> Usage {
        self.usage
    }

    /// When the invocation's time ends.
    pub fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Counts a call of a host function. Errors: a limit is exceeded, see [`usage`](Self::usage); [`Trap::Interrupt`] if
    /// the time is over.
    pub fn count_call(&mut self) -> wasmtime::Result<()> {
        self.usage.calls += 1;
        self.usage.changes = self.broker.log().noted();
        self.usage.kept = self.broker.log().size() + self.stores.uncommitted();
        self.usage.recorded = self.broker.gate().audit().recorded();
        if Instant::now() >= self.deadline {
            return Err(Trap::Interrupt.into());
        }
        if self.usage.is_over(&self.limits) {
            return Err(wasmtime::Error::msg("a limit is exceeded"));
        }
        Ok(())
    }

    /// Returns the plugin's standard error and output, for the log.
    pub fn standard_error(&self) -> String {
        String::from_utf8_lossy(&self.stderr.contents()).into_owned()
    }

    pub(super) fn called_log(&mut self) -> &mut Log {
        self.call("log.write");
        &mut self.log
    }

    /// Returns the message of a panic, if the plugin logged one: it begins with `panicked at`.
    pub fn logged_panic(&self) -> Option<&str> {
        self.log.panic()
    }

    /// Returns the plugin's log.
    pub fn log(&mut self) -> &mut Log {
        &mut self.log
    }

    /// Releases what is only needed while the plugin runs. Open stores are closed, and their uncommitted changes undone.
    pub fn close(&mut self) {
        self.table = ResourceTable::new();
        self.stores = OpenStores::default();
    }

    /// Undoes all changes of this invocation. Returns the failures, for the log.
    pub fn undo(&mut self) -> Vec<String> {
        self.close();
        self.broker.undo()
    }

    /// Keeps the changes of this invocation. Returns the failures to note them, for the log.
    pub fn keep(&mut self) -> Vec<String> {
        self.broker.keep()
    }

    /// Writes the audit log's outstanding lines.
    pub fn finish_audit(&mut self) {
        self.broker.gate_mut().finish();
    }

    /// Why audit records are missing, if they could not be written.
    pub fn audit_failure(&mut self) -> Option<&str> {
        self.broker.gate_mut().audit_failure()
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView {
            ctx: self
                .wasi
                .get_or_insert_with(|| wasi(&self.stderr, &self.limits)),
            table: &mut self.table,
        }
    }
}

/// WASI without arguments, environment, directories and sockets. A plugin's standard output goes to the log, as weir's
/// own is for the protocol.
fn wasi(stderr: &MemoryOutputPipe, limits: &Limits) -> WasiCtx {
    WasiCtx::builder()
        .stdout(stderr.clone())
        .stderr(stderr.clone())
        // Random numbers are limited like other data that crosses.
        .max_random_size(limits.transfer.as_u64())
        .build()
}

impl ResourceLimiter for State {
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

    // Code compiled by an older weir may exceed the bounds.
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

impl State {
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
