//! Carrying out an operation, and all the operations that a kernel carries out.

mod facts;
mod known_links;
mod undo;

use std::time::Instant;

use serde_json::Value;
use weir_gate::{Gate, Permit};
use weir_grant::{
    Operation, address, conntrack, firewall, firewalld, link, neighbour, route, store, sysctl,
    traffic,
};

pub use self::facts::Facts;
pub use self::known_links::KnownLinks;
pub use self::undo::{Inverse, Undo, UndoLog};

use super::error::Result;

/// Carries out operations of one type: a kernel those on links, addresses and so on ([`Kernel`]), an open store those on
/// its keys ([`Transaction`]).
pub trait Perform<O: Operation> {
    /// What the operation answers.
    type Answer;

    /// Carries out what was authorised, and notes in `changes` what takes it back.
    ///
    /// Errors: those of the operation. What has been noted by then counts as well.
    fn perform(&mut self, permit: &Permit<O>, changes: &mut Changes<'_>) -> Result<Self::Answer>;
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
    K: ?Sized + Perform<O, Answer = A>,
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

/// A kernel of whatever sort.
pub type DynKernel = dyn Kernel;

/// A kernel: the one that weir runs on ([`Linux`](super::Linux)), or a model of it.
///
/// The bounds are the list of all operations, each with its answer.
pub trait Kernel:
    Send
    + Facts
    + Perform<link::Create, Answer = link::Link>
    + Perform<link::Read, Answer = link::Link>
    + Perform<link::List, Answer = Vec<link::Link>>
    + Perform<link::Delete, Answer = ()>
    + Perform<link::Update, Answer = ()>
    + Perform<link::UpdatePort, Answer = ()>
    + Perform<link::UpdateBridge, Answer = ()>
    + Perform<link::AddVlans, Answer = ()>
    + Perform<link::DeleteVlans, Answer = ()>
    + Perform<link::ListVlans, Answer = Vec<link::BridgeVlan>>
    + Perform<link::Move, Answer = link::Link>
    + Perform<link::GetPeer, Answer = link::Peer>
    + Perform<link::WaitUp, Answer = ()>
    + Perform<address::Add, Answer = ()>
    + Perform<address::Delete, Answer = ()>
    + Perform<address::List, Answer = Vec<address::Address>>
    + Perform<address::Settle, Answer = ()>
    + Perform<route::Add, Answer = ()>
    + Perform<route::Replace, Answer = ()>
    + Perform<route::Delete, Answer = ()>
    + Perform<route::List, Answer = Vec<route::Route<u32>>>
    + Perform<route::Get, Answer = route::Route<u32>>
    + Perform<neighbour::Add, Answer = ()>
    + Perform<neighbour::Delete, Answer = ()>
    + Perform<neighbour::List, Answer = Vec<neighbour::Neighbour>>
    + Perform<neighbour::Announce, Answer = ()>
    + Perform<traffic::AddQdisc, Answer = ()>
    + Perform<traffic::DeleteQdisc, Answer = ()>
    + Perform<traffic::ListQdiscs, Answer = Vec<traffic::Qdisc>>
    + Perform<traffic::AddClass, Answer = ()>
    + Perform<traffic::DeleteClass, Answer = ()>
    + Perform<traffic::ListClasses, Answer = Vec<traffic::Class>>
    + Perform<traffic::AddFilter, Answer = ()>
    + Perform<traffic::DeleteFilter, Answer = ()>
    + Perform<traffic::ListFilters, Answer = Vec<traffic::Filter<u32>>>
    + Perform<firewall::Apply, Answer = ()>
    + Perform<firewall::ListChains, Answer = Vec<firewall::Chain>>
    + Perform<firewall::ListSets, Answer = Vec<String>>
    + Perform<firewall::ListRules, Answer = Vec<firewall::Rule>>
    + Perform<firewall::GetElement, Answer = Option<firewall::Element>>
    + Perform<firewall::ListElements, Answer = Vec<firewall::Element>>
    + Perform<firewall::RemoveReference, Answer = u32>
    + Perform<firewalld::IsRunning, Answer = bool>
    + Perform<firewalld::ZoneOfSource, Answer = Option<String>>
    + Perform<firewalld::AddSource, Answer = ()>
    + Perform<firewalld::RemoveSource, Answer = ()>
    + Perform<conntrack::Delete, Answer = ()>
    + Perform<sysctl::Read, Answer = String>
    + Perform<sysctl::Write, Answer = ()>
    + Perform<store::ReadFile, Answer = Vec<u8>>
    + Perform<store::OpenRead, Answer = Box<DynTransaction>>
    + Perform<store::OpenWrite, Answer = Box<DynTransaction>>
    + Perform<store::Revert, Answer = ()>
{
    /// Deletes links of one namespace, those that are gone aside, in one step where the kernel can.
    ///
    /// Errors: those of [`link::Delete`], the first; all are tried.
    fn delete_links(&mut self, permits: &[Permit<link::Delete>]) -> Result<()>;

    /// Sets a parameter of the host back that this invocation changed to `changed`.
    ///
    /// Errors: `Busy` where another invocation has written it since; those of [`sysctl::Write`].
    fn set_back(&mut self, permit: &Permit<sysctl::Write>, changed: &str) -> Result<()>;

    /// Lets a parameter of the host stay as this invocation has set it. Errors: `Failed`.
    fn keep_parameter(&mut self, write: &sysctl::Write) -> Result<()>;

    /// Whether no other ADD is under way on this node. Errors: `Failed`.
    fn is_alone(&mut self) -> Result<bool>;

    /// Waits for others until `deadline` from now on, where it would have waited less.
    fn wait_until(&mut self, deadline: Instant);
}

/// An open store. It is locked until it is dropped, and what was not committed by then is undone.
pub trait Transaction:
    Send
    + Perform<store::Get, Answer = Vec<u8>>
    + Perform<store::Put, Answer = ()>
    + Perform<store::Claim, Answer = Option<String>>
    + Perform<store::Delete, Answer = ()>
    + Perform<store::Keys, Answer = Vec<String>>
    + Perform<store::Find, Answer = Vec<String>>
{
    /// Keeps what was done since opening or the last commit, and notes what takes it back. Removals survive a power
    /// failure from here on.
    ///
    /// Errors: `exhausted`, `failed`; nothing is kept then.
    fn commit(&mut self, changes: &mut Changes<'_>) -> Result<()>;

    /// What the changes take in memory until they are committed, in bytes.
    fn uncommitted(&self) -> usize;
}

/// An open store of whatever kernel.
pub type DynTransaction = dyn Transaction;
