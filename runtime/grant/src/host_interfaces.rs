//! The interfaces of the host that networks may use: `hostInterfaces` of weir's own configuration.
//!
//! A grant refers to them by the placeholder `{hostInterfaces}`, so that the node's owner names them in one place, for all
//! plugins that use a device which is not weir's: as the master of new interfaces, or to move it into a container.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::facts::flaw_of_name;

/// The placeholder for every name that the list has. It stands alone: as a whole name, or as a whole part of a key.
pub const HOST_INTERFACES: &str = "{hostInterfaces}";

/// What the placeholder stands for, in a sentence.
pub(crate) const LISTED: &str = "that `hostInterfaces` of weir's configuration lists";

/// The list: names of interfaces, as globs. None by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostInterfaces {
    names: Vec<HostInterface>,
}

/// A name, or a glob of names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
struct HostInterface {
    glob: glob::Pattern,
}

impl HostInterfaces {
    /// Reads a list. Errors: what is not a name or a glob.
    pub fn read<T: Into<String>>(names: impl IntoIterator<Item = T>) -> Result<Self, String> {
        let names = names.into_iter().map(|name| name.into().try_into());
        Ok(Self {
            names: names.collect::<Result<_, _>>()?,
        })
    }

    /// Whether networks may use the interface of this name.
    pub fn has(&self, name: &str) -> bool {
        self.names.iter().any(|own| own.glob.matches(name))
    }

    /// Whether the list has the name itself, and not only a glob that matches it.
    pub fn has_literally(&self, name: &str) -> bool {
        self.names
            .iter()
            .any(|own| own.is_literal() && own.glob.as_str() == name)
    }

    /// Returns the names and globs, as they were written.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(|own| own.glob.as_str())
    }
}

impl HostInterface {
    /// Whether it has no wildcard.
    fn is_literal(&self) -> bool {
        is_literal(self.glob.as_str())
    }
}

/// Whether a text has nothing that a glob would have to escape.
fn is_literal(text: &str) -> bool {
    glob::Pattern::escape(text) == text
}

impl TryFrom<String> for HostInterface {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let example = "expected a name such as `eth1`, or a glob such as `ens*`";
        if text.contains(['{', '}']) {
            return Err(format!("`{text}` has a brace; {example}"));
        }
        if is_literal(&text)
            && let Some(flaw) = flaw_of_name(&text)
        {
            return Err(format!("{flaw}; {example}"));
        }
        let glob = glob::Pattern::new(&text);
        let glob = glob.map_err(|e| format!("`{text}` is not a valid glob: {}", e.msg))?;
        Ok(Self { glob })
    }
}

impl From<HostInterface> for String {
    fn from(name: HostInterface) -> Self {
        name.glob.as_str().to_owned()
    }
}

/// What lets networks use an interface that the list does not have.
pub(crate) struct ToList<'a>(pub &'a str);

impl fmt::Display for ToList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.0;
        write!(
            f,
            "to let networks use `{name}`, add `\"hostInterfaces\": [\"{name}\"]` to /etc/weir/weir.json"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> HostInterfaces {
        HostInterfaces::read(names.iter().copied()).expect("a list")
    }

    #[test]
    fn it_has_what_it_names() {
        let list = list(&["eth1", "ens[0-9]*"]);
        for name in ["eth1", "ens3", "ens10f0"] {
            assert!(list.has(name), "{name}");
        }
        for name in ["eth0", "eth10", "ens", "", "eth1 "] {
            assert!(!list.has(name), "{name}");
        }
        assert!(!HostInterfaces::default().has("eth1"));
    }

    #[test]
    fn a_glob_does_not_name_literally() {
        let list = list(&["*", "eth1"]);
        assert!(list.has("eth0") && !list.has_literally("eth0"));
        assert!(list.has_literally("eth1") && !list.has_literally("*"));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for name in ["", "a b", "eth0/1", "{ifname}", "eth[", "sixteen-byte-nam"] {
            let why = HostInterfaces::read([name]).expect_err(name);
            assert!(why.contains(name), "{why}");
        }
    }
}
