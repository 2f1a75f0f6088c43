//! Why an operation is not carried out.

use std::fmt;

use weir_grant::Closest;

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
    /// `create bridge `br0` in host`; of an operation with several requirements, also which one no rule meets.
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
    /// Whether the answer of a record is this denial: in the present words, also without the kinds of links, or in those of
    /// older records.
    pub fn is_said_by(&self, answer: &str) -> bool {
        is_same_but_kinds(&self.to_string(), answer) || self.is_said_by_older(answer)
    }

    /// "the grant does not allow to create …", or "creating …", in older logs.
    fn is_said_by_older(&self, answer: &str) -> bool {
        let object = |act: &str| act.split_once(' ').map(|(_, object)| object.to_owned());
        let reason = format!(" ({})", self.reason());
        let act = answer.strip_prefix("the grant does not allow ");
        let act = act.map(|act| act.strip_prefix("to ").unwrap_or(act));
        let said = act
            .and_then(|act| act.strip_suffix(&reason))
            .and_then(object);
        said.is_some() && said == object(&self.requirement)
    }

    fn reason(&self) -> String {
        match &self.closest {
            Some(closest) => format!("closest rule: {closest}"),
            None => "it has no rule for this capability".to_owned(),
        }
    }
}

/// Whether a plugin got this answer, with "link" for the kind of a link that it may not read: "loopback `lo`", "link `lo`".
fn is_same_but_kinds(denial: &str, other: &str) -> bool {
    let (mut words, mut others) = (denial.split(' '), other.split(' '));
    loop {
        match (words.next(), others.next()) {
            (None, None) => return true,
            (Some(word), Some(other)) if word == other || other == "link" => {}
            _ => return false,
        }
    }
}

impl fmt::Display for Denied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { requirement, .. } = self;
        write!(
            f,
            "the grant does not allow it to {requirement} ({})",
            self.reason()
        )?;
        let to_list = self.closest.as_ref().and_then(Closest::to_list);
        to_list.map_or(Ok(()), |to_list| write!(f, "; {to_list}"))
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_says_how_to_list_an_interface() {
        let denied = |unlisted: Option<&str>| Denied {
            requirement: "look at physical `eth1` in host".to_owned(),
            closest: Some(Closest {
                unlisted: unlisted.map(str::to_owned),
                ..Closest::new("tenants.link[0]", "names")
            }),
        };
        let bare = denied(None).to_string();
        let said = denied(Some("eth1")).to_string();
        let hint = said.strip_prefix(&bare).expect("the denial first");
        assert_eq!(
            hint,
            "; to let networks use `eth1`, add `\"hostInterfaces\": [\"eth1\"]` to /etc/weir/weir.json"
        );
        assert!(denied(Some("eth1")).is_said_by(&said));
    }

    #[test]
    fn a_denial_is_the_same_without_the_kinds_of_links() {
        let denied = Denied {
            requirement: "take loopback `lo` in host down".to_owned(),
            closest: None,
        };
        let shorter = "the grant does not allow it to take link `lo` in host down (it has no rule for this capability)";
        assert!(denied.is_said_by(shorter) && denied.is_said_by(&denied.to_string()));
        for other in [
            shorter.replace("`lo`", "`eth0`"),
            shorter.replace(" link", ""),
            format!("{shorter} now"),
            "link `lo` does not exist in host".to_owned(),
        ] {
            assert!(!denied.is_said_by(&other), "{other}");
        }
    }
}
