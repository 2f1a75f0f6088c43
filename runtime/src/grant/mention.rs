//! Whether a grant speaks of a link at all: what a plugin may learn from there being none of a name.

use super::document::Capabilities;
use super::operation::{Invocation, Namespace, any};
use super::pattern::Pattern;

impl Capabilities {
    /// Whether some rule, of whatever verb and of each capability that names links, could be about a link of
    /// that name.
    pub fn mention_link(&self, namespace: Namespace, name: &str, invocation: &Invocation) -> bool {
        let about = |there: Option<Namespace>, names: Option<&[Pattern]>| {
            there.is_none_or(|there| there == namespace)
                && any(names, |pattern| pattern.matches(name, invocation))
        };
        let links = |r: &super::link::LinkRule| about(r.namespace, r.names.as_deref());
        self.link.iter().any(links)
            || self
                .address
                .iter()
                .any(|r| about(r.namespace, r.links.as_deref()))
            || self
                .route
                .iter()
                .any(|r| about(r.namespace, r.links.as_deref()))
            || self
                .neighbour
                .iter()
                .any(|r| about(r.namespace, r.links.as_deref()))
            || self
                .traffic
                .iter()
                .any(|r| about(r.namespace, r.links.as_deref()))
            // Devices are the host's, and packets the container's.
            || self
                .device
                .iter()
                .any(|r| about(Some(Namespace::Host), r.links.as_deref()))
            || self
                .packet
                .iter()
                .any(|r| about(Some(Namespace::Container), r.links.as_deref()))
    }
}
