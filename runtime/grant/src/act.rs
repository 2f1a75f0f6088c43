//! What an operation does, for people: in words that name the act, and how far it reaches.
//!
//! A requirement uses the words of a grant, `update veth `eth0` in container`. That does not say that the
//! link is taken to the host, or that all input is dropped. What an operation does is described here once, and denials, the
//! audit log's lines and page, and the tools print it.

use super::facts::LinkFacts;
use super::invocation::Invocation;
use super::namespace::Namespace;
use super::owner::Owner;
use super::word::words;

/// What an operation does.
pub trait Act {
    /// Says what is done, as it follows "to": "move veth `eth0` from container to host as `h0`".
    ///
    /// A plugin that is denied the operation reads it too, so it tells nothing of links but what [`LinkFacts`] of the
    /// operation say, and nothing else of the host.
    fn act(&self) -> String;

    /// Says how far it reaches. What changes the host is at least [`Severity::ChangesHost`].
    fn severity(&self, invocation: &Invocation) -> Severity;
}

words! {
    /// How far an operation reaches, by its facts. Later ones are graver.
    #[derive(PartialOrd, Ord)]
    pub enum Severity {
        /// Changes nothing.
        Reads = "reads",
        /// Changes the container, or the plugin's own state.
        Contained = "contained",
        /// Changes the host's namespace or its files.
        ChangesHost = "changes-host",
        /// Can reach traffic that is not the attachment's, or a link that weir did not make for it.
        ReachesOthers = "reaches-others",
        /// Disables a protection of the kernel, of a bridge or of firewalld.
        DisablesProtection = "disables-protection",
        /// Brings something of the container into the host's namespace, or runs a program outside the sandbox.
        LeavesContainer = "leaves-container",
    }
}

impl Severity {
    /// Says it in a sentence about the operation: "it changes the host".
    pub fn phrase(self) -> &'static str {
        match self {
            Self::Reads => "changes nothing",
            Self::Contained => "stays in the container",
            Self::ChangesHost => "changes the host",
            Self::ReachesOthers => "can reach traffic of others",
            Self::DisablesProtection => "disables a protection",
            Self::LeavesContainer => "leaves the container or the sandbox",
        }
    }

    /// A change in a namespace about which nothing else is known.
    pub(crate) fn of_change_in(namespace: Namespace) -> Self {
        match namespace {
            Namespace::Host => Self::ChangesHost,
            Namespace::Container => Self::Contained,
        }
    }

    /// A change in a namespace that can reach the traffic of others if it is the host's.
    pub(crate) fn of_traffic_in(namespace: Namespace) -> Self {
        match namespace {
            Namespace::Host => Self::ReachesOthers,
            Namespace::Container => Self::Contained,
        }
    }

    /// A change of a link: one of the host that is not the attachment's own carries the traffic of others.
    pub(crate) fn of_changing(link: &LinkFacts, invocation: &Invocation) -> Self {
        Self::of_owned(link, Owner::Attachment, invocation)
    }

    /// The use of a link as it is, such as adding a port to a bridge: the network's links are there for that.
    pub(crate) fn of_using(link: &LinkFacts, invocation: &Invocation) -> Self {
        Self::of_owned(link, Owner::Network, invocation)
    }

    fn of_owned(link: &LinkFacts, owner: Owner, invocation: &Invocation) -> Self {
        if owner.has(&link.owner, invocation) {
            Self::of_change_in(link.namespace)
        } else {
            Self::of_traffic_in(link.namespace)
        }
    }
}
