//! Capability `traffic`: queueing disciplines, their classes and their filters, which shape nothing.

mod class;
mod filter;
mod priority;
mod qdisc;
mod rate;

use nix::errno::Errno;
use weir_grant::link::{Link, LinkFacts};
use weir_grant::traffic::{Class, Discipline, Handle, Qdisc};
use weir_kernel::{Code, Error, Result};

use super::link;
use super::state::NetworkState;
pub(crate) use filter::forget_target;
pub use priority::{InstalledFilter, Priority};
pub(crate) use qdisc::present;

/// What shapes the traffic of a link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Traffic {
    /// Not the one that the kernel gives to a link which is up.
    pub qdiscs: Vec<Qdisc>,
    /// By their handles.
    pub classes: Vec<Class>,
    /// The last that was made comes last.
    pub priorities: Vec<Priority>,
}

impl Traffic {
    /// The discipline of a handle.
    fn discipline(&self, handle: Handle) -> Option<&Qdisc> {
        self.qdiscs.iter().find(|qdisc| qdisc.handle == handle)
    }

    /// The discipline at a place.
    fn at(&self, parent: Handle) -> Option<&Qdisc> {
        let place = self.place(parent);
        self.qdiscs.iter().find(|qdisc| qdisc.parent == place)
    }

    /// A place under one name: the ingress hook and the class of a `tbf` have others too.
    fn place(&self, parent: Handle) -> Handle {
        if parent == Handle::ROOT {
            return parent;
        }
        if parent.major() == Handle::INGRESS.major() {
            return Handle::INGRESS;
        }
        match self.discipline(parent.discipline()) {
            Some(of) if of.discipline.word() == "tbf" => Handle(of.handle.0 | 1),
            _ => parent,
        }
    }

    /// The class of an `htb`.
    fn class(&self, handle: Handle) -> Option<&Class> {
        self.classes.iter().find(|class| class.handle == handle)
    }

    fn has_children(&self, class: Handle) -> bool {
        self.classes.iter().any(|child| child.parent == class)
    }

    /// Whether the kernel finds a class: a `tbf` has one of every number, and hooks count as well.
    fn has_class(&self, handle: Handle) -> bool {
        let of = self.discipline(handle.discipline());
        match of.map(|of| &of.discipline) {
            Some(Discipline::Htb { .. }) => self.class(handle).is_some(),
            Some(Discipline::Clsact) => filter::CLSACT_HOOKS.contains(&handle),
            Some(Discipline::Tbf(_) | Discipline::Ingress) => true,
            Some(Discipline::Other { .. }) | None => false,
        }
    }

    /// Removes a discipline with all that is in it.
    fn remove(&mut self, handle: Handle) {
        let is_in = |other: Handle| other.discipline() == handle;
        self.qdiscs.retain(|qdisc| qdisc.handle != handle);
        self.classes.retain(|class| !is_in(class.handle));
        self.priorities.retain(|priority| !is_in(priority.parent));
        let hooks = Handle::ROOT.discipline();
        let below = self.qdiscs.iter().filter(|qdisc| is_in(qdisc.parent));
        let below: Vec<Handle> = below
            .filter(|qdisc| qdisc.parent.discipline() != hooks)
            .map(|qdisc| qdisc.handle)
            .collect();
        for handle in below {
            self.remove(handle);
        }
    }

    /// Removes the discipline in a class.
    fn empty(&mut self, class: Handle) {
        if let Some(in_class) = self.at(class).map(|qdisc| qdisc.handle) {
            self.remove(in_class);
        }
    }
}

/// The kernel's own discipline of a link, which it lists first where there is no other at the root.
fn default(link: &Link) -> Option<Qdisc> {
    let has_queue = matches!(link.kind.as_str(), "ifb" | "tun");
    let word = if has_queue { "pfifo_fast" } else { "noqueue" };
    let qdisc = Qdisc {
        handle: Handle(0),
        parent: Handle::ROOT,
        discipline: Discipline::Other {
            word: word.to_owned(),
        },
    };
    link.up.then_some(qdisc)
}

/// Errors: `NotFound`.
fn of<'a>(network: &'a NetworkState, link: &LinkFacts) -> Result<&'a Traffic> {
    Ok(&link::find(network, link)?.traffic)
}

/// Errors: `NotFound`.
fn of_mut<'a>(network: &'a mut NetworkState, link: &LinkFacts) -> Result<&'a mut Traffic> {
    Ok(&mut link::by_index_mut(network, link.index)?.traffic)
}

/// The kernel's error for a wrong argument, which is one for something that is not there.
fn missing() -> Error {
    Error::from(Errno::EINVAL).with_code(Code::NotFound)
}
