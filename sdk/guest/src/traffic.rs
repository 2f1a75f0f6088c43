//! Capability `traffic`: queueing disciplines, classes and filters.
//!
//! This redirects everything that arrives at one link to another one, which limits its rate:
//!
//! ```no_run
//! use weir_sdk::traffic::{self, Filter, Qdisc, TokenBucket};
//! use weir_sdk::{Namespace, OperationError};
//!
//! fn shape(host: &str, ifb: &str) -> Result<(), OperationError> {
//!     let bucket = TokenBucket { rate: 1_000_000, burst: 20_000, latency: 25_000 };
//!     traffic::add_qdisc(Namespace::Host, ifb, Qdisc::tbf(bucket))?;
//!     traffic::add_qdisc(Namespace::Host, host, Qdisc::ingress())?;
//!     traffic::add_filter(Namespace::Host, host, Filter::redirect(traffic::INGRESS, ifb))
//! }
//! ```

use crate::bindings::weir::cni::traffic as raw;
use crate::{AsLink, Namespace, Result};

pub use raw::{Action, Class, Discipline, Filter, Handle, Qdisc, TokenBucket};

/// The place of the discipline that everything leaves through (`TC_H_ROOT`).
pub const ROOT: Handle = 0xffff_ffff;

/// The place of `ingress` and `clsact` (`TC_H_INGRESS`).
pub const INGRESS_PLACE: Handle = 0xffff_fff1;

/// The handle of `ingress`, which filters of arriving packets belong to.
pub const INGRESS: Handle = handle(0xffff, 0);

/// Makes a handle of its two parts.
pub const fn handle(major: u16, minor: u16) -> Handle {
    (major as u32) << 16 | minor as u32
}

impl Qdisc {
    /// Makes a token bucket filter at the root, with the handle `1:`.
    pub fn tbf(bucket: TokenBucket) -> Self {
        Qdisc::root(Discipline::Tbf(bucket))
    }

    /// Makes a hierarchy token bucket at the root, with the handle `1:`. `default` is the minor number of the class
    /// for packets that no filter matches.
    pub fn htb(default: u16) -> Self {
        Qdisc::root(Discipline::Htb(default.into()))
    }

    fn root(discipline: Discipline) -> Self {
        Qdisc {
            handle: handle(1, 0),
            parent: ROOT,
            discipline,
        }
    }

    /// Makes the discipline of the ingress hook.
    pub fn ingress() -> Self {
        Qdisc {
            handle: INGRESS,
            parent: INGRESS_PLACE,
            discipline: Discipline::Ingress,
        }
    }
}

impl Class {
    /// Makes a class of the discipline with the same major number. It gets `rate` bytes per second and no more, and
    /// `burst` bytes at once.
    pub fn new(handle: Handle, rate: u64, burst: u32) -> Self {
        Class {
            handle,
            parent: handle & 0xffff_0000,
            rate,
            ceil: rate,
            burst,
            cburst: burst,
        }
    }
}

impl Filter {
    /// Sends every packet out of another link.
    pub fn redirect(parent: Handle, target: impl AsLink) -> Self {
        Filter::all(parent, Action::Redirect(target.into()))
    }

    /// Puts every packet into a class of the discipline with the same major number.
    pub fn classify(class: Handle) -> Self {
        Filter::all(class & 0xffff_0000, Action::Classify(class))
    }

    fn all(parent: Handle, action: Action) -> Self {
        Filter {
            parent,
            priority: 0,
            source: None,
            destination: None,
            action,
        }
    }
}

/// Adds a queueing discipline. Errors: `exists`, `not-found`, `unsupported`, `invalid`.
pub fn add_qdisc(namespace: Namespace, link: impl AsLink, qdisc: Qdisc) -> Result<()> {
    raw::add_qdisc(namespace, &link.into(), &qdisc)
}

/// Removes the queueing discipline that is at a place ([`ROOT`], [`INGRESS_PLACE`], a class), with
/// its classes and filters. Errors: `not-found`.
pub fn delete_qdisc(namespace: Namespace, link: impl AsLink, parent: Handle) -> Result<()> {
    raw::delete_qdisc(namespace, &link.into(), parent)
}

/// Lists the queueing disciplines of a link: at the root, at the ingress hook and in classes. Errors:
/// `not-found` for the link.
pub fn list_qdiscs(namespace: Namespace, link: impl AsLink) -> Result<Vec<Qdisc>> {
    raw::list_qdiscs(namespace, &link.into())
}

/// Adds a class. Errors: `exists`, `not-found`, `invalid`.
pub fn add_class(namespace: Namespace, link: impl AsLink, class: Class) -> Result<()> {
    raw::add_class(namespace, &link.into(), class)
}

/// Lists the classes of a link's `htb` disciplines.
pub fn list_classes(namespace: Namespace, link: impl AsLink) -> Result<Vec<Class>> {
    raw::list_classes(namespace, &link.into())
}

/// Adds a filter. Errors: `not-found`, `unsupported`, `invalid`.
pub fn add_filter(namespace: Namespace, link: impl AsLink, filter: Filter) -> Result<()> {
    raw::add_filter(namespace, &link.into(), &filter)
}

/// Lists the filters of a discipline or class, in order, without those that [`Filter`] cannot express; none where the
/// discipline or class does not exist.
pub fn list_filters(
    namespace: Namespace,
    link: impl AsLink,
    parent: Handle,
) -> Result<Vec<Filter>> {
    raw::list_filters(namespace, &link.into(), parent)
}
