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
    pub fn is_read(self) -> bool {
        self == Self::Read
    }

    fn gerund(self) -> &'static str {
        match self {
            Self::Create => "creating",
            Self::Read => "reading",
            Self::Update => "updating",
            Self::Delete => "deleting",
            Self::Write => "writing",
            Self::Announce => "announcing",
            Self::Open => "opening",
            Self::Run => "running",
        }
    }
}

/// Turns a requirement into what a grant does not allow: `create bridge` into `creating bridge`.
pub fn doing(requirement: &str) -> String {
    let verb = Verb::ALL.iter().find_map(|verb| {
        let rest = requirement.strip_prefix(verb.word())?;
        rest.starts_with(' ')
            .then(|| format!("{}{rest}", verb.gerund()))
    });
    verb.unwrap_or_else(|| requirement.to_owned())
}

/// The verbs of a capability: those that its rules may name.
pub trait VerbSet: 'static {
    const CAPABILITY: Capability;

    /// What the capability's operations do.
    const VERBS: &'static [Verb];

    /// The verbs' words in a document.
    const VERB_WORDS: &'static [&'static str];
}
