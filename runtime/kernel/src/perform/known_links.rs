//! The links that an invocation has met and made.

use weir_grant::Namespace;
use weir_grant::link::{Link, LinkFacts};

/// Links of both namespaces, each as the invocation last saw or left it.
#[derive(Default)]
pub struct KnownLinks {
    known: Vec<(Namespace, Link)>,
    /// The indexes of those that the invocation made, which undo removes.
    made: Vec<(Namespace, u32)>,
}

impl KnownLinks {
    /// Remembers a link as it is now.
    pub fn meet(&mut self, namespace: Namespace, link: Link) {
        let is_other =
            |known: &(Namespace, Link)| (known.0, known.1.index) != (namespace, link.index);
        self.known.retain(is_other);
        self.known.push((namespace, link));
    }

    /// Returns the link with that index, if it has been met.
    pub fn get(&self, namespace: Namespace, index: u32) -> Option<&Link> {
        let is_it = |known: &&(Namespace, Link)| (known.0, known.1.index) == (namespace, index);
        self.known.iter().find(is_it).map(|(_, link)| link)
    }

    /// Returns a link that was identified; none if it did not exist.
    pub fn known(&self, link: &LinkFacts) -> Option<&Link> {
        let found = self.get(link.namespace, link.index);
        found.filter(|_| !link.is_absent())
    }

    /// Forgets all links, before one is moved or deleted and others with it.
    pub fn forget_all(&mut self) {
        self.known.clear();
    }

    /// Remembers that the invocation made a link.
    pub fn note_made(&mut self, namespace: Namespace, index: u32) {
        self.made.push((namespace, index));
    }

    /// Remembers where a link is now that has moved. Returns whether the invocation made it.
    pub fn note_moved(&mut self, from: (Namespace, u32), to: (Namespace, u32)) -> bool {
        let made = self.made.iter_mut().find(|made| **made == from);
        made.map(|made| *made = to).is_some()
    }

    /// Whether the invocation made a link.
    pub fn is_made(&self, namespace: Namespace, index: u32) -> bool {
        self.made.contains(&(namespace, index))
    }

    /// The link of this name, if the invocation made it.
    pub fn made(&self, namespace: Namespace, name: &str) -> Option<&Link> {
        let mut known = self.known.iter();
        let found = known.find(|(known_in, link)| {
            *known_in == namespace && link.name == name && self.is_made(namespace, link.index)
        });
        found.map(|(_, link)| link)
    }
}
