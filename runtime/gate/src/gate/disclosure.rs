//! What a plugin may learn about links of the host that it may not read: nothing, not even that they exist.
//!
//! A grant says which links a plugin may read. An operation on any other link is answered as if the link did not exist,
//! with the same message and code, and lists leave it out. The audit log has the real operation.
//!
//! One thing shows: a plugin that may create a link with some name finds out whether that name is taken.

use weir_grant::link::{LinkFacts, Read};
use weir_grant::{Namespace, Operation};

use super::Gate;
use crate::refusal::{Denied, Refusal};

impl Gate {
    /// Whether the plugin may read a link. Records nothing.
    pub fn shows(&self, link: LinkFacts) -> bool {
        self.allows(&Read { link })
    }

    /// What a plugin learns of a denial. For a hidden link of the host, that is the answer that it would get if the link did
    /// not exist.
    pub(super) fn refusal_of<O: Operation>(&self, operation: &O, denied: &Denied) -> Refusal {
        let blind = self.without_hidden_links(operation);
        let refusal = blind.and_then(|blind| match self.decide(&blind) {
            Ok(_) => not_found(&blind),
            Err(denied) => Some(Refusal::Denied(denied)),
        });
        refusal.unwrap_or_else(|| Refusal::Denied(denied.clone()))
    }

    /// The operation as if hidden links did not exist; none if it names no hidden link.
    fn without_hidden_links<O: Operation>(&self, operation: &O) -> Option<O> {
        let mut blind = operation.clone();
        let mut is_blind = false;
        for link in blind.links_mut() {
            if self.is_hidden(link) {
                *link = link.absent();
                is_blind = true;
            }
        }
        is_blind.then_some(blind)
    }

    /// Whether a plugin must not learn that a link exists: a link of the host that it may not read. If it may create one
    /// with that name, it finds out anyway.
    fn is_hidden(&self, link: &LinkFacts) -> bool {
        let mut rules = self.capabilities.link.iter();
        let mut may_create = || rules.any(|rule| rule.may_create_named(link, &self.invocation));
        link.namespace == Namespace::Host
            && !link.is_absent()
            && !self.shows(link.clone())
            && (link.by_index || !may_create())
    }
}

/// The refusal for a link that an operation names and that does not exist; none if all exist.
pub(super) fn not_found<O: Operation>(operation: &O) -> Option<Refusal> {
    let absent = operation.links().into_iter().find(|link| link.is_absent());
    absent.map(|link| Refusal::NotFound(link.not_found()))
}
