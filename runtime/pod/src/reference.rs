//! The name of a NetworkAttachmentDefinition (sections 3.3 and 4.1.1).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::quoted::quoted;

/// Namespace and name of a NetworkAttachmentDefinition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Reference {
    pub namespace: String,
    pub name: String,
}

impl Reference {
    /// Both parts must be made of DNS-1123 labels. Errors: the part that is not.
    pub fn new(namespace: &str, name: &str) -> Result<Self, String> {
        if !is_label(namespace) {
            return Err(format!("namespace {}: {EXPECTED_LABEL}", quoted(namespace)));
        }
        if !name.split('.').all(is_label) || name.len() > LONGEST_NAME {
            return Err(format!("name {}: {EXPECTED_NAME}", quoted(name)));
        }
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        })
    }
}

const EXPECTED_LABEL: &str =
    "expected at most 63 lower case letters, digits or `-`, with a letter or digit first and last";

const EXPECTED_NAME: &str =
    "expected lower case letters, digits, `-` or `.`, with a letter or digit first and last";

/// The longest label (RFC 1123), and the longest name of a Kubernetes object.
const LONGEST_LABEL: usize = 63;
const LONGEST_NAME: usize = 253;

fn is_label(label: &str) -> bool {
    let is_inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let ends_well = !label.starts_with('-') && !label.ends_with('-');
    (1..=LONGEST_LABEL).contains(&label.len()) && ends_well && label.bytes().all(is_inner)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
