//! Reads a document as an administrator wrote it, in YAML, and reports all of its mistakes.
//!
//! The text becomes a tree that knows the place of each node, and the types of the document are
//! read from that. After a mistake, the node that is wrong is removed from the tree, and the rest
//! is read again.

mod decode;
mod tree;

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use self::tree::{Node, PlacedNode};
use super::diagnostic::{Diagnostic, Position};
use super::document::Document;
use super::section::Section;

/// The largest document, in bytes.
pub const MOST_BYTES: usize = 1024 * 1024;
/// The most mistakes that are reported at once.
const MOST_MISTAKES: usize = 20;

impl Document {
    /// Reads a document. Errors: what is wrong with it, in the order of its lines; at least one mistake.
    pub fn read(bytes: &[u8]) -> Result<Self, Vec<Diagnostic>> {
        read(
            bytes,
            "a grant, with `apiVersion`, `kind`, `metadata` and `spec`",
        )
    }
}

/// The sections of a valid document, with each capability's list as it is written.
#[derive(Deserialize)]
struct Written {
    spec: WrittenSpec,
}

#[derive(Deserialize)]
struct WrittenSpec {
    #[serde(default)]
    capabilities: BTreeMap<String, Vec<IgnoredAny>>,
    #[serde(default)]
    tenants: WrittenTenants,
}

#[derive(Default, Deserialize)]
struct WrittenTenants {
    #[serde(default)]
    capabilities: BTreeMap<String, Vec<IgnoredAny>>,
}

/// Returns the capabilities that a valid document has an empty list for, such as `sysctl` and `tenants.sysctl`. A
/// [`Document`] does not distinguish that from a missing one.
pub fn empty_lists(bytes: &[u8]) -> Vec<String> {
    let Ok(Written { spec }) = read(bytes, "a grant") else {
        return Vec::new();
    };
    let sections = [
        (Section::Node, spec.capabilities),
        (Section::Tenants, spec.tenants.capabilities),
    ];
    let lists = sections.into_iter().flat_map(|(section, lists)| {
        let empty = lists.into_iter().filter(|(_, rules)| rules.is_empty());
        empty.map(move |(capability, _)| section.rule(&capability))
    });
    lists.collect()
}

/// Reads a document of any type. `expected` says what an empty one should have been.
///
/// Errors: what is wrong with it, in the order of its lines; at least one mistake.
pub fn read<T: DeserializeOwned>(bytes: &[u8], expected: &str) -> Result<T, Vec<Diagnostic>> {
    if bytes.len() > MOST_BYTES {
        return Err(vec![too_large()]);
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        let (before, rest) = bytes.split_at(error.valid_up_to());
        vec![not_utf8(before, rest)]
    })?;
    let tree = tree::parse(text).map_err(|mistake| vec![mistake])?;
    match tree.node {
        Node::Null => Err(vec![empty(expected)]),
        _ => read_tree(tree),
    }
}

fn read_tree<T: DeserializeOwned>(mut tree: PlacedNode) -> Result<T, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    loop {
        let failure = match decode::decode(&tree) {
            Ok(document) if mistakes.is_empty() => return Ok(document),
            Ok(_) => break,
            Err(failure) => failure,
        };
        if !failure.follows_from_another(&tree) {
            mistakes.push(failure.diagnostic(&tree));
        }
        if mistakes.len() == MOST_MISTAKES || !tree.remove(failure.path()) {
            break;
        }
    }
    mistakes.sort_by_key(|mistake| mistake.position.map(|at| (at.line, at.column)));
    Err(mistakes)
}

fn too_large() -> Diagnostic {
    Diagnostic::of_all(format!(
        "the document is too large; expected at most {MOST_BYTES} bytes"
    ))
}

fn empty(expected: &str) -> Diagnostic {
    let start = Position { line: 1, column: 1 };
    Diagnostic::at(start, format!("the document is empty; expected {expected}"))
}

fn not_utf8(before: &[u8], rest: &[u8]) -> Diagnostic {
    let before = String::from_utf8_lossy(before);
    let line = before.split('\n').next_back().unwrap_or_default();
    let position = Position {
        line: before.matches('\n').count() as u64 + 1,
        column: line.chars().count() as u64 + 1,
    };
    let byte = rest.first().copied().unwrap_or_default();
    Diagnostic::at(
        position,
        format!("byte {byte:#04x} is not UTF-8; expected text in UTF-8"),
    )
}

#[cfg(test)]
mod tests;
