//! What a link is: the facts by which rules about links are matched.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::namespace::Namespace;

/// `IFNAMSIZ` without the NUL at its end.
const LONGEST_NAME: usize = 15;

/// What the kernel says that a link is. The host looks it up before it asks the gate, and the kernel
/// layer acts on the index, so that a name cannot change its meaning in between.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkFacts {
    pub namespace: Namespace,
    /// 0 in what a person asks about, and of a link that is not there.
    #[serde(default)]
    pub index: u32,
    /// Empty of a link that is not there and was named by its index.
    pub name: String,
    /// `IFLA_INFO_KIND`; `loopback` and `physical` for devices that have none. Empty of a link that is not there.
    pub kind: String,
    /// The mark of whose it is ([`weir_cni::owner`]), of a link of `host`: its alias, which weir alone writes. Empty for
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

    /// What would be known of it if it were not there.
    #[must_use]
    pub fn absent(&self) -> Self {
        let (index, name) = match self.by_index {
            true => (self.index, String::new()),
            false => (0, self.name.clone()),
        };
        Self {
            namespace: self.namespace,
            index,
            name,
            kind: String::new(),
            owner: String::new(),
            by_index: self.by_index,
        }
    }

    /// The name, and where that is one.
    pub(crate) fn name(&self) -> (Namespace, &str) {
        (self.namespace, &self.name)
    }

    /// The kind of a link that is there.
    pub(crate) fn kind_if_there(&self) -> Option<&str> {
        (!self.is_absent()).then_some(&*self.kind)
    }

    /// The mark of a link that is there.
    pub(crate) fn owner_if_there(&self) -> Option<&str> {
        (!self.is_absent()).then_some(&*self.owner)
    }

    /// That there is no such link.
    pub fn not_found(&self) -> String {
        // Of the host, it may be hidden as well.
        let or = match self.namespace {
            Namespace::Host => ", or none that the grant shows",
            Namespace::Container => "",
        };
        match self.name.is_empty() {
            true => format!("there is no link {} in {}{or}", self.index, self.namespace),
            false => format!("there is no link `{}` in {}{or}", self.name, self.namespace),
        }
    }
}

impl fmt::Display for LinkFacts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.is_absent() {
            true => "link",
            false => &self.kind,
        };
        match self.name.is_empty() {
            true => write!(f, "{kind} {} in {}", self.index, self.namespace),
            false => write!(f, "{kind} `{}` in {}", self.name, self.namespace),
        }
    }
}

/// Why this is not a link's name. The kernel refuses most of these itself. It must not see a `%`, which it would replace
/// by a number, nor a NUL, at which it would stop reading: a grant allows the name as it is written.
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
