//! What a plugin may learn about links of the host that it may not see: nothing, not even that they are there.
//!
//! A grant says which links a plugin may read. Whatever it asks of another one is answered as if there were no such link,
//! with the same words and the same code, and a list leaves it out. The audit log has what was really asked.
//!
//! One thing shows through: where a plugin may create a link of a name, it finds out whether the name is taken.

use weir_grant::link::{LinkFacts, Read};
use weir_grant::{Namespace, Operation};

use super::Gate;
use crate::refusal::{Denied, Refusal};

impl Gate {
    /// Whether a plugin may be shown a link. Nothing is recorded.
    pub fn shows(&self, link: LinkFacts) -> bool {
        self.allows(&Read { link })
    }

    /// What a plugin is told of a denial. Of a link of the host that is hidden from it, it is told what it would be told if
    /// there were no such link.
    pub(super) fn told<O: Operation>(&self, operation: &O, denied: &Denied) -> Refusal {
        let blind = self.without_hidden_links(operation);
        let told = blind.and_then(|blind| match self.decide(&blind) {
            Ok(_) => not_found(&blind),
            Err(denied) => Some(Refusal::Denied(denied)),
        });
        told.unwrap_or_else(|| Refusal::Denied(denied.clone()))
    }

    /// An operation as if the links that are hidden from the plugin were not there; none where it names no such link.
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

    /// Whether a plugin must not learn that there is a link: one of the host that it may not look at. Where it may create
    /// one of that name, it finds out by that.
    fn is_hidden(&self, link: &LinkFacts) -> bool {
        let mut rules = self.capabilities.link.iter();
        let mut may_create = || rules.any(|rule| rule.may_create_named(link, &self.invocation));
        link.namespace == Namespace::Host
            && !link.is_absent()
            && !self.shows(link.clone())
            && (link.by_index || !may_create())
    }
}

/// That a link that an operation names is not there; none where all are.
pub(super) fn not_found<O: Operation>(operation: &O) -> Option<Refusal> {
    let absent = operation.links().into_iter().find(|link| link.is_absent());
    absent.map(|link| Refusal::NotFound(link.not_found()))
}
