//! Why an operation is not carried out.

use std::fmt;

use weir_grant::{Closest, doing};

/// An operation that the gate does not let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No rule of the grant allows it.
    Denied(Denied),
    /// The grant allows it, and weir itself refuses it: why.
    Refused(String),
    /// The grant allows it, and there is no link of that name or index: which.
    NotFound(String),
    /// It is allowed, and cannot be recorded: why not. What changes something is not done then.
    Unrecorded(String),
}

/// An operation that no rule of the grant allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// `create bridge `br0` in host`.
    pub requirement: String,
    /// The rule that came closest; none where the grant has no rule for the capability.
    pub closest: Option<Closest>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denied) => denied.fmt(f),
            Self::Refused(why) | Self::NotFound(why) => f.write_str(why),
            Self::Unrecorded(why) => write!(
                f,
                "it is not done, as it cannot be recorded in the audit log: {why}"
            ),
        }
    }
}

impl Denied {
    /// Whether the answer of a record says this, in the present words or in those of older records.
    pub fn is_said_by(&self, answer: &str) -> bool {
        let former = || {
            format!(
                "the grant does not allow to {} ({})",
                self.requirement,
                self.reason()
            )
        };
        answer == self.to_string() || answer == former()
    }

    fn reason(&self) -> String {
        match &self.closest {
            Some(closest) => format!("closest rule: {closest}"),
            None => "it has no rule for this capability".to_owned(),
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing = doing(&self.requirement);
        write!(f, "the grant does not allow {doing} ({})", self.reason())
    }
}

impl std::error::Error for Refusal {}
