//! Why an operation is not carried out.

use std::fmt;

use weir_grant::{Closest, doing};

/// An operation that the gate does not let through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// No rule of the grant allows it.
    Denied(Denied),
    /// The grant allows it, but weir refuses it: why.
    Refused(String),
    /// The grant allows it, but the link does not exist: which.
    NotFound(String),
    /// It is allowed, but cannot be recorded: why. A change is not made then.
    Unrecorded(String),
}

/// An operation that no rule of the grant allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denied {
    /// `create bridge `br0` in host`.
    pub requirement: String,
    /// The rule that came closest; none if the grant has no rule for the capability.
    pub closest: Option<Closest>,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Denied(denied) => denied.fmt(f),
            Self::Refused(why) | Self::NotFound(why) => f.write_str(why),
            Self::Unrecorded(why) => write!(
                f,
                "not done, because it cannot be recorded in the audit log: {why}"
            ),
        }
    }
}

impl Denied {
    /// Whether the answer of a record is this denial, in the present words or in those of older records.
    pub fn is_said_by(&self, answer: &str) -> bool {
        let former = || {
            format!(
                "the grant does not allow to {} ({})", // in older logs
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
