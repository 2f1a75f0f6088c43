//! A host in memory, which answers the functions of the contract on native targets; [`testing`](crate::testing) is what
//! the author of a plugin sees of it.
//!
//! [`contract`] is the only place that replaces what wit-bindgen generates. One module for each capability carries its
//! functions out on the [`Machine`], each through [`Call`], which records it. What the host does not have answers
//! `unsupported` and names the function.

// The capability modules of the crate document what they wrap; what they re-export is documented here.
#![allow(missing_docs)]

mod address;
mod conntrack;
pub mod contract;
mod device;
mod error;
mod firewall;
mod firewalld;
mod ipam;
mod link;
mod log;
mod neighbour;
mod packet;
pub mod parameters;
mod policy_rule;
mod route;
mod state;
mod store;
mod sysctl;
mod traffic;
mod undo;

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use crate::bindings::OperationError;
use crate::bindings::weir::cni::cni::{AttachmentResult, Failure};
use crate::bindings::weir::cni::log::Level;
use crate::bindings::weir::cni::types::{ErrorCode, LinkReference, Namespace};

pub(crate) use error::Result;
pub(crate) use link::remove_container;
pub(crate) use state::{Machine, Marks};

thread_local! {
    static CURRENT: RefCell<Option<Rc<RefCell<Host>>>> = const { RefCell::new(None) };
}

/// The host of a thread.
#[derive(Default)]
pub(crate) struct Host {
    pub machine: Machine,
    pub calls: Vec<Called>,
    pub lines: Vec<LogLine>,
    /// Functions that are to fail when they are called next.
    pub faults: Vec<(String, ErrorCode)>,
    /// What the IPAM plugin answers.
    pub ipam: Option<Result<AttachmentResult, Failure>>,
}

/// A call of a function of the contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called {
    /// Its name, such as `link.create`: capability and function as in `wit/`.
    pub function: &'static str,
    /// Namespace, link and what else was asked, such as `container eth0 up=true`.
    pub arguments: String,
    /// Why it failed; none where it succeeded.
    pub error: Option<String>,
}

/// A line that the plugin wrote to the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// How important it is.
    pub level: Level,
    /// The message.
    pub message: String,
    /// Keys and values beside the message.
    pub fields: Vec<(String, String)>,
}

/// Makes the fake host of this thread. Panics if it has one.
pub(crate) fn install() -> Rc<RefCell<Host>> {
    let host = Rc::<RefCell<Host>>::default();
    let former = CURRENT.replace(Some(host.clone()));
    assert!(former.is_none(), "this thread has a fake host already");
    host
}

/// Notes that weir has run DEL of the IPAM plugin.
pub(crate) fn release_addresses() {
    // An error would not reach the plugin either.
    let _ = ipam::del();
}

/// Takes the host of this thread away.
pub(crate) fn uninstall() {
    CURRENT.take();
}

fn current(function: &'static str) -> Result<Rc<RefCell<Host>>> {
    CURRENT.with_borrow(Option::clone).ok_or_else(|| {
        let why = "outside weir a function of the contract needs a fake host: make a \
                   `weir_sdk::testing::FakeHost` in this thread first";
        error::error(ErrorCode::Unsupported, format!("{function}: {why}"))
    })
}

impl Host {
    fn take_fault(&mut self, function: &str) -> Result<()> {
        let Some(at) = self.faults.iter().position(|(of, _)| *of == function) else {
            return Ok(());
        };
        let (_, code) = self.faults.remove(at);
        Err(error::error(code, "the test has asked for this failure"))
    }
}

/// One call of a function of the contract.
struct Call<'a> {
    function: &'static str,
    namespace: Option<Namespace>,
    link: Option<&'a LinkReference>,
    arguments: String,
}

impl<'a> Call<'a> {
    /// A call of a function, named `capability.function`.
    fn of(function: &'static str) -> Self {
        Call {
            function,
            namespace: None,
            link: None,
            arguments: String::new(),
        }
    }

    fn within(self, namespace: Namespace) -> Self {
        Call {
            namespace: Some(namespace),
            ..self
        }
    }

    fn on(self, namespace: Namespace, link: &'a LinkReference) -> Self {
        Call {
            link: Some(link),
            ..self.within(namespace)
        }
    }

    fn with(self, arguments: impl std::fmt::Display) -> Self {
        Call {
            arguments: arguments.to_string(),
            ..self
        }
    }

    /// Carries the call out, all of it or nothing, and records it.
    fn run<T>(self, act: impl FnOnce(&mut Machine) -> Result<T>) -> Result<T> {
        let host = current(self.function)?;
        let mut host = host.borrow_mut();
        let arguments = self.text(&host.machine);
        let before = host.machine.clone();
        let outcome = host.take_fault(self.function);
        let outcome = outcome.and_then(|()| act(&mut host.machine));
        if outcome.is_err() {
            host.machine = before;
        }
        let outcome = outcome.map_err(|error| {
            let message = format!("{} {arguments}: {}", self.function, error.message);
            OperationError { message, ..error }
        });
        note(&mut host, self.function, arguments, outcome.as_ref().err());
        outcome
    }

    /// Answers that the fake host does not have the function.
    fn unsupported<T>(self) -> Result<T> {
        self.run(|_| {
            let why = "the fake host does not have this function: test it with `weir plugin test`";
            Err(error::error(ErrorCode::Unsupported, why))
        })
    }

    fn text(&self, machine: &Machine) -> String {
        let namespace = self.namespace.map(state::word);
        let link = self.namespace.zip(self.link);
        let link = link.map(|(namespace, link)| machine.name_of(namespace, link));
        let words = [
            namespace.map(str::to_owned),
            link,
            Some(self.arguments.clone()),
        ];
        let words = words.into_iter().flatten().filter(|word| !word.is_empty());
        words.collect::<Vec<_>>().join(" ")
    }
}

fn note(
    host: &mut RefMut<'_, Host>,
    function: &'static str,
    arguments: String,
    error: Option<&impl std::fmt::Display>,
) {
    host.calls.push(Called {
        function,
        arguments,
        error: error.map(ToString::to_string),
    });
}
