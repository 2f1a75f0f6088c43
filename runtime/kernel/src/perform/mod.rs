//! How operations are carried out, and the list of those of a kernel.

mod facts;
mod known_links;
mod undo;

use std::time::Instant;

use serde_json::Value;
use weir_gate::{Gate, Permit};
use weir_grant::{
    Operation, address, conntrack, device, firewall, firewalld, link, neighbour, policy_rule,
    route, store, sysctl, traffic,
};

pub use self::facts::Facts;
pub use self::known_links::KnownLinks;
pub use self::undo::{Inverse, Undo, UndoLog};

use super::error::Result;

/// Carries out operations of one type, which answer `A`: a kernel those on links, addresses and so on ([`Kernel`]), an open
/// store those on its keys ([`Transaction`]).
pub trait Perform<O: Operation, A = ()> {
    /// Carries out what was authorised, and notes in `changes` what takes it back.
    ///
    /// Errors: those of the operation. Inverses noted before the error count as well.
    fn perform(&mut self, permit: &Permit<O>, changes: &mut Changes<'_>) -> Result<A>;
}

/// Carries out operations of one type that note nothing: they change nothing, or nothing that could be taken back, or
/// something that is noted later, as what an open store keeps.
pub trait Answer<O: Operation, A = ()> {
    /// Carries out what was authorised. Errors: those of the operation.
    fn answer(&mut self, permit: &Permit<O>) -> Result<A>;
}

impl<O: Operation, A, K: Answer<O, A>> Perform<O, A> for K {
    fn perform(&mut self, permit: &Permit<O>, _: &mut Changes<'_>) -> Result<A> {
        self.answer(permit)
    }
}

/// Authorises an operation, carries it out, records both, and notes in `log` what takes it back.
///
/// Errors: `Denied` and the other refusals of the gate; those of the operation.
pub fn perform<O, A, K>(
    gate: &mut Gate,
    kernel: &mut K,
    log: &mut UndoLog,
    operation: O,
) -> Result<A>
where
    O: Operation,
    K: ?Sized + Perform<O, A>,
{
    gate.perform_noting(operation, |permit, previous| {
        let mut changes = Changes::new(log);
        let answer = kernel.perform(permit, &mut changes);
        *previous = changes.previous;
        answer
    })
}

/// What an operation changes: how to take it back, and what was there before.
pub struct Changes<'a> {
    /// Where inverses are noted.
    pub log: &'a mut UndoLog,
    /// The value that something had before, for the record.
    pub previous: Option<Value>,
}

impl<'a> Changes<'a> {
    /// Nothing has been changed yet.
    pub fn new(log: &'a mut UndoLog) -> Self {
        Self {
            log,
            previous: None,
        }
    }

    /// Notes what takes the operation back.
    pub fn undo_with(&mut self, inverse: impl Inverse) {
        self.log.note(Box::new(inverse));
    }
}

/// Any kernel.
pub type DynKernel = dyn Kernel;

/// A kernel: the one that weir runs on ([`Linux`](super::Linux)), or a model of it.
///
/// The bounds are the list of all operations, each with what it answers.
pub trait Kernel:
    Send
    + Facts
    + Perform<link::Create, link::Link>
    + Perform<link::Read, link::Link>
    + Perform<link::List, Vec<link::Link>>
    + Perform<link::Delete>
    + Perform<link::Update>
    + Perform<link::UpdatePort>
    + Perform<link::UpdateBridge>
    + Perform<link::AddVlans>
    + Perform<link::DeleteVlans>
    + Perform<link::ListVlans, Vec<link::BridgeVlan>>
    + Perform<link::Move, link::Link>
    + Perform<link::GetPeer, link::Peer>
    + Perform<link::WaitUp>
    + Perform<address::Add>
    + Perform<address::Delete>
    + Perform<address::List, Vec<address::Address>>
    + Perform<address::Settle>
    + Perform<route::Add>
    + Perform<route::Replace>
    + Perform<route::Delete>
    + Perform<route::List, Vec<route::Route<u32>>>
    + Perform<route::Get, route::Route<u32>>
    + Perform<policy_rule::Add>
    + Perform<policy_rule::Delete>
    + Perform<policy_rule::List, Vec<policy_rule::PolicyRule>>
    + Perform<neighbour::Add>
    + Perform<neighbour::Delete>
    + Perform<neighbour::List, Vec<neighbour::Neighbour>>
    + Perform<neighbour::Announce>
    + Perform<traffic::AddQdisc>
    + Perform<traffic::DeleteQdisc>
    + Perform<traffic::ListQdiscs, Vec<traffic::Qdisc>>
    + Perform<traffic::AddClass>
    + Perform<traffic::DeleteClass>
    + Perform<traffic::ListClasses, Vec<traffic::Class>>
    + Perform<traffic::AddFilter>
    + Perform<traffic::DeleteFilter>
    + Perform<traffic::ListFilters, Vec<traffic::Filter<u32>>>
    + Perform<firewall::Apply>
    + Perform<firewall::ListChains, Vec<firewall::Chain>>
    + Perform<firewall::ListSets, Vec<String>>
    + Perform<firewall::ListRules, Vec<firewall::Rule>>
    + Perform<firewall::GetElement, Option<firewall::Element>>
    + Perform<firewall::ListElements, Vec<firewall::Element>>
    + Perform<firewall::RemoveReference, u32>
    + Perform<firewalld::IsRunning, bool>
    + Perform<firewalld::ZoneOfSource, Option<String>>
    + Perform<firewalld::AddSource>
    + Perform<firewalld::RemoveSource>
    + Perform<conntrack::Delete>
    + Perform<device::ByLink, device::Device>
    + Perform<device::ByPciAddress, device::Device>
    + Perform<device::ByAuxiliaryName, device::Device>
    + Perform<device::ByKernelPath, device::Device>
    + Perform<sysctl::Read, String>
    + Perform<sysctl::Write>
    + Perform<store::ReadFile, Vec<u8>>
    + Perform<store::OpenRead, Box<DynTransaction>>
    + Perform<store::OpenWrite, Box<DynTransaction>>
    + Perform<store::Revert>
{
    /// Deletes links of one namespace, in one step if the kernel can. Links that are gone are skipped.
    ///
    /// Errors: those of [`link::Delete`], the first; all are tried.
    fn delete_links(&mut self, permits: &[Permit<link::Delete>]) -> Result<()>;

    /// Restores a parameter of the host that this invocation changed to `changed`.
    ///
    /// Errors: `Busy` if another invocation has written it since; those of [`sysctl::Write`].
    fn set_back(&mut self, permit: &Permit<sysctl::Write>, changed: &str) -> Result<()>;

    /// Keeps a parameter of the host as this invocation has set it. Errors: `Failed`.
    fn keep_parameter(&mut self, write: &sysctl::Write) -> Result<()>;

    /// Whether no other ADD is running on this node. Errors: `Failed`.
    fn is_alone(&mut self) -> Result<bool>;

    /// Extends the deadline of waits to `deadline`.
    fn wait_until(&mut self, deadline: Instant);
}

/// An open store. It is locked until it is dropped, and what was not committed by then is undone.
pub trait Transaction:
    Send
    + Perform<store::Get, Vec<u8>>
    + Perform<store::Put>
    + Perform<store::Claim, Option<String>>
    + Perform<store::Delete>
    + Perform<store::Keys, Vec<String>>
    + Perform<store::Find, Vec<String>>
{
    /// Keeps what was done since opening or the last commit, and notes what takes it back. Removals survive a power
    /// failure from here on.
    ///
    /// Errors: `exhausted`, `failed`; nothing is kept then.
    fn commit(&mut self, changes: &mut Changes<'_>) -> Result<()>;

    /// What the changes take in memory until they are committed, in bytes.
    fn uncommitted(&self) -> usize;
}

/// An open store of any kernel.
pub type DynTransaction = dyn Transaction;
