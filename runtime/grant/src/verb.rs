//! What an operation does to its object.

use super::Capability;
use super::word::words;

words! {
    /// What an operation does to its object.
    pub enum Verb {
        Create = "create",
        Read = "read",
        Update = "update",
        Delete = "delete",
        Write = "write",
        Announce = "announce",
        Open = "open",
        Run = "run",
    }
}

impl Verb {
    /// Whether the verb changes nothing. Reads are recorded only on request.
    pub const fn is_read(self) -> bool {
        matches!(self, Self::Read)
    }
}

/// The verbs of a capability: those that its rules may name.
pub trait VerbSet: 'static {
    const CAPABILITY: Capability;

    /// What the capability's operations do.
    const VERBS: &'static [Verb];

    /// The verbs' words in a document.
    const VERB_WORDS: &'static [&'static str];
}
