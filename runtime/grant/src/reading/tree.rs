//! A YAML document as a tree of nodes, each with its place.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, MergeKeyPolicy, Options, Spanned};

use super::super::diagnostic::{Diagnostic, Position};

/// A node and its place.
#[derive(Debug)]
pub struct PlacedNode {
    pub position: Position,
    pub node: Node,
}

/// A value, as JSON has them.
#[derive(Debug)]
pub enum Node {
    Null,
    Bool(bool),
    /// A whole number below zero.
    Negative(i64),
    Number(u64),
    Float(f64),
    Text(String),
    List(Vec<PlacedNode>),
    Map(Vec<Entry>),
    /// A node that was wrong and has been removed.
    Removed,
}

/// A key of a mapping, and its value.
#[derive(Debug)]
pub struct Entry {
    pub key: String,
    /// The key's.
    pub position: Position,
    pub value: PlacedNode,
}

/// Parses one document. Errors: the first mistake of its syntax.
pub(super) fn parse(text: &str) -> Result<PlacedNode, Diagnostic> {
    let root: Spanned<Node> =
        serde_saphyr::from_str_with_options(text, options()).map_err(|e| syntax(&e, text))?;
    Ok(root.into())
}

/// Strict YAML: no key twice, `yes` is text, and no aliases that make a short text
/// take long to read.
fn options() -> Options {
    serde_saphyr::options! {
        with_snippet: false,
        strict_booleans: true,
        merge_keys: MergeKeyPolicy::Error,
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
    }
}

fn syntax(error: &serde_saphyr::Error, text: &str) -> Diagnostic {
    use serde_saphyr::Error;

    let message = match error.without_snippet() {
        Error::DuplicateMappingKey { key: Some(key), .. } => {
            format!("duplicate key `{key}`; expected each key once")
        }
        Error::MultipleDocuments { .. } => {
            "a second document starts here; expected one document per file".to_owned()
        }
        other => format!("not valid YAML: {}", without_place(other)),
    };
    match error.location() {
        Some(location) => {
            let position = position(location);
            let hint = match unquoted(text, position) {
                Some(word) => format!("; put `{word}` in quotes: `\"{word}\"`"),
                None => String::new(),
            };
            Diagnostic::at(position, message + &hint)
        }
        None => Diagnostic::of_all(message),
    }
}

/// Finds the word at a place that means something else to YAML: a glob that starts with `*`, a
/// placeholder inside a name.
fn unquoted(text: &str, position: Position) -> Option<&str> {
    let line = text
        .lines()
        .nth(usize::try_from(position.line).ok()?.checked_sub(1)?)?;
    let column = usize::try_from(position.column).ok()?.checked_sub(1)?;
    let (at, _) = line.char_indices().nth(column)?;
    let (before, after) = line.split_at(at);
    let is_between = |c: char| c.is_whitespace() || ",[]".contains(c);
    let start = before.rfind(is_between).map_or(0, |last| {
        last + before[last..].chars().next().map_or(0, char::len_utf8)
    });
    let end = after.find(is_between).map_or(line.len(), |end| at + end);
    let word = &line[start..end];
    let is_placeholder = word.contains('{') && word.contains('}') && !word.starts_with('{');
    // A word in braces ends at the closing one.
    let word = if is_placeholder {
        word
    } else {
        word.trim_end_matches('}')
    };
    (word.starts_with('*') || is_placeholder).then_some(word)
}

/// Removes the place from the end of a message.
fn without_place(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let place = error
        .location()
        .map(|at| format!(" at line {}, column {}", at.line(), at.column()));
    let shorter = place.and_then(|place| text.strip_suffix(&place).map(str::to_owned));
    shorter.unwrap_or(text)
}

fn position(location: Location) -> Position {
    Position {
        line: location.line(),
        column: location.column(),
    }
}

impl From<Spanned<Node>> for PlacedNode {
    fn from(spanned: Spanned<Node>) -> Self {
        Self {
            position: position(spanned.referenced),
            node: spanned.value,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("YAML")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(u64::try_from(value).map_or(Node::Negative(value), Node::Number))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Node, E> {
        Ok(Node::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = list.next_element::<Spanned<Node>>()? {
            elements.push(element.into());
        }
        Ok(Node::List(elements))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, value)) = map.next_entry::<Spanned<String>, Spanned<Node>>()? {
            entries.push(Entry {
                position: position(key.referenced),
                key: key.value,
                value: value.into(),
            });
        }
        Ok(Node::Map(entries))
    }
}

impl PlacedNode {
    /// Finds the node at a path of indices of elements and entries.
    pub fn find(&self, path: &[usize]) -> Option<&Self> {
        let Some((first, rest)) = path.split_first() else {
            return Some(self);
        };
        let child = match &self.node {
            Node::List(elements) => elements.get(*first),
            Node::Map(entries) => entries.get(*first).map(|entry| &entry.value),
            _ => None,
        };
        child?.find(rest)
    }

    /// Removes the node at a path. Returns false for the root, which stays.
    pub fn remove(&mut self, path: &[usize]) -> bool {
        let Some((first, rest)) = path.split_first() else {
            return false;
        };
        let child = match &mut self.node {
            Node::List(elements) => elements.get_mut(*first),
            Node::Map(entries) => entries.get_mut(*first).map(|entry| &mut entry.value),
            _ => None,
        };
        let Some(child) = child else {
            return false;
        };
        if rest.is_empty() {
            child.node = Node::Removed;
            return true;
        }
        child.remove(rest)
    }

    /// Whether something in it was removed.
    pub fn lacks_a_part(&self) -> bool {
        let lacks = |part: &Self| part.is_removed() || part.lacks_a_part();
        match &self.node {
            Node::List(elements) => elements.iter().any(lacks),
            Node::Map(entries) => entries.iter().any(|entry| lacks(&entry.value)),
            _ => false,
        }
    }

    /// Recognises a placeholder without quotes: in YAML `{ifname}` is a mapping with one key.
    pub fn placeholder(&self) -> Option<String> {
        match &self.node {
            Node::Map(entries) => match entries.as_slice() {
                [only] if matches!(only.value.node, Node::Null) => {
                    Some(format!("{{{}}}", only.key))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns the keys on a path, with dots between them.
    pub fn name(&self, path: &[usize]) -> String {
        let mut names: Vec<&str> = Vec::new();
        for end in 0..path.len() {
            let holder = self.find(&path[..end]).map(|place| &place.node);
            if let Some(Node::Map(entries)) = holder
                && let Some(entry) = entries.get(path[end])
            {
                names.push(&entry.key);
            }
        }
        names.join(".")
    }
}
