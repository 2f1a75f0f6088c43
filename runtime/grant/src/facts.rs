//! The facts about a link, which rules about links match.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::namespace::Namespace;

/// `IFNAMSIZ` without the NUL at its end.
const LONGEST_NAME: usize = 15;

/// What the kernel reports about a link. weir looks it up before it asks the gate, and the kernel
/// layer acts on the index, so a name cannot change its meaning in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkFacts {
    pub namespace: Namespace,
    /// 0 in a person's question, and for a link that does not exist.
    #[serde(default)]
    pub index: u32,
    /// Empty for a link that does not exist and was named by its index.
    pub name: String,
    /// `IFLA_INFO_KIND`; `loopback` and `physical` for devices without one. Empty for a link that does not exist.
    pub kind: String,
    /// The owner's mark ([`weir_cni::owner`]) of a link in `host`: its alias, which only weir writes. Empty for
    /// what weir did not make.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
    /// The plugin named it by its index, and need not know its name.
    #[serde(skip)]
    pub by_index: bool,
}

impl LinkFacts {
    /// Whether there is no such link.
    pub fn is_absent(&self) -> bool {
        self.kind.is_empty()
    }

    /// Returns the facts as they would be if it did not exist.
    #[must_use]
    pub fn absent(&self) -> Self {
        let (index, name) = if self.by_index {
            (self.index, String::new())
        } else {
            (0, self.name.clone())
        };
        Self {
            index,
            name,
            kind: String::new(),
            owner: String::new(),
            ..*self
        }
    }

    /// Names it without its namespace: "veth `eth0`".
    pub(crate) fn title(&self) -> String {
        let kind = if self.is_absent() { "link" } else { &self.kind };
        if self.name.is_empty() {
            format!("{kind} {}", self.index)
        } else {
            format!("{kind} `{}`", self.name)
        }
    }

    /// The namespace and the name in it.
    pub(crate) fn name(&self) -> (Namespace, &str) {
        (self.namespace, &self.name)
    }

    /// The kind, if the link exists.
    pub(crate) fn kind_if_there(&self) -> Option<&str> {
        (!self.is_absent()).then_some(&*self.kind)
    }

    /// The owner's mark, if the link exists.
    pub(crate) fn owner_if_there(&self) -> Option<&str> {
        (!self.is_absent()).then_some(&*self.owner)
    }

    /// Returns the message that no such link exists.
    pub fn not_found(&self) -> String {
        // A link of the host may also be hidden.
        let or = match self.namespace {
            Namespace::Host => ", or none that the grant shows",
            Namespace::Container => "",
        };
        if self.name.is_empty() {
            format!("no link {} in {}{or}", self.index, self.namespace)
        } else {
            format!("no link `{}` in {}{or}", self.name, self.namespace)
        }
    }
}

impl fmt::Display for LinkFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.title(), self.namespace)
    }
}

/// Says why this is not a link's name. The kernel itself refuses most of these. It must not see a `%`, which it
/// replaces with a number, nor a NUL, at which it stops reading: a grant allows the name as it is written.
pub fn flaw_of_name(name: &str) -> Option<String> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "/:%".contains(c);
    let is_dots = matches!(name, "." | "..");
    let is_wrong =
        name.is_empty() || name.len() > LONGEST_NAME || name.contains(forbidden) || is_dots;
    is_wrong.then(|| {
        format!(
            "`{}` is not a link's name: 1 to {LONGEST_NAME} bytes without spaces, `/`, `:` and `%`, \
             and neither `.` nor `..`",
            name.escape_debug()
        )
    })
}
