//! Capability `traffic`: queueing disciplines, classes and filters.

use ipnet::IpNet;

use crate::bindings::weir::cni::traffic as raw;
use crate::{LinkReference, Namespace, OperationError};

pub use raw::{Action, Class, Discipline, Handle, Qdisc, TokenBucket};

/// A handle of its two parts.
pub const fn handle(major: u16, minor: u16) -> Handle {
    (major as u32) << 16 | minor as u32
}

/// Which packets to do something with.
#[derive(Clone, Debug)]
pub struct Filter {
    /// The discipline that the filter belongs to.
    pub parent: Handle,
    /// Lower is earlier; 0: the kernel chooses.
    pub priority: u16,
    /// Packets from this network.
    pub source: Option<IpNet>,
    /// Packets to this network.
    pub destination: Option<IpNet>,
    /// What to do.
    pub action: Action,
}

impl From<Filter> for raw::Filter {
    fn from(filter: Filter) -> Self {
        raw::Filter {
            parent: filter.parent,
            priority: filter.priority,
            source: filter.source.map(Into::into),
            destination: filter.destination.map(Into::into),
            action: filter.action,
        }
    }
}

impl From<raw::Filter> for Filter {
    fn from(filter: raw::Filter) -> Self {
        Filter {
            parent: filter.parent,
            priority: filter.priority,
            source: filter.source.map(IpNet::from),
            destination: filter.destination.map(IpNet::from),
            action: filter.action,
        }
    }
}

/// Adds a queueing discipline. Errors: `exists`, `not-found`, `unsupported`, `invalid`.
pub fn add_qdisc(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    qdisc: Qdisc,
) -> Result<(), OperationError> {
    Ok(raw::add_qdisc(namespace, &link.into(), &qdisc)?)
}

/// Removes a queueing discipline. Errors: `not-found`.
pub fn delete_qdisc(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    parent: Handle,
) -> Result<(), OperationError> {
    Ok(raw::delete_qdisc(namespace, &link.into(), parent)?)
}

/// The queueing disciplines of a link.
pub fn list_qdiscs(
    namespace: Namespace,
    link: impl Into<LinkReference>,
) -> Result<Vec<Qdisc>, OperationError> {
    Ok(raw::list_qdiscs(namespace, &link.into())?)
}

/// Adds a class. Errors: `exists`, `not-found`, `invalid`.
pub fn add_class(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    class: Class,
) -> Result<(), OperationError> {
    Ok(raw::add_class(namespace, &link.into(), class)?)
}

/// The classes of a link.
pub fn list_classes(
    namespace: Namespace,
    link: impl Into<LinkReference>,
) -> Result<Vec<Class>, OperationError> {
    Ok(raw::list_classes(namespace, &link.into())?)
}

/// Adds a filter. Errors: `not-found`, `unsupported`, `invalid`.
pub fn add_filter(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    filter: Filter,
) -> Result<(), OperationError> {
    Ok(raw::add_filter(namespace, &link.into(), &filter.into())?)
}

/// The filters of a discipline.
pub fn list_filters(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    parent: Handle,
) -> Result<Vec<Filter>, OperationError> {
    let filters = raw::list_filters(namespace, &link.into(), parent)?;
    Ok(filters.into_iter().map(Filter::from).collect())
}
