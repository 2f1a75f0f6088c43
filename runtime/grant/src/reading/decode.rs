//! From the tree to the types of the document.

use std::fmt;
use std::iter::Enumerate;
use std::slice;

use serde::de::value::StrDeserializer;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde::forward_to_deserialize_any;

use super::super::Capability;
use super::super::diagnostic::{Diagnostic, Position, choice, expected_one_of, nearest};
use super::tree::{Entry, Node, PlacedNode};

/// Reads a value. Errors: the first thing that is wrong.
pub(super) fn decode<T: DeserializeOwned>(root: &PlacedNode) -> Decoded<T> {
    T::deserialize(root).map_err(|failure| failure.at(root.position))
}

/// What is wrong, and where.
#[derive(Debug)]
pub struct Failure {
    /// The path from the root, as indices.
    path: Vec<usize>,
    position: Option<Position>,
    what: What,
}

#[derive(Debug)]
enum What {
    MissingKey(&'static str),
    Other(String),
}

impl Failure {
    fn new(what: String) -> Self {
        Self {
            path: Vec::new(),
            position: None,
            what: What::Other(what),
        }
    }

    /// Keeps the innermost place.
    fn at(mut self, position: Position) -> Self {
        self.position.get_or_insert(position);
        self
    }

    fn within(mut self, index: usize) -> Self {
        self.path.insert(0, index);
        self
    }

    /// Where it is in the tree.
    pub fn path(&self) -> &[usize] {
        &self.path
    }

    /// Whether it may be a mistake only because another was removed before: a missing key that was wrong or misspelled, or a whole
    /// that lacks a part.
    pub(crate) fn follows_from_another(&self, root: &PlacedNode) -> bool {
        let place = root.find(&self.path);
        let What::MissingKey(missing) = self.what else {
            return place.is_some_and(PlacedNode::lacks_a_part);
        };
        match place.map(|place| &place.node) {
            Some(Node::Map(entries)) => entries.iter().any(|entry| {
                entry.key == missing
                    || entry.value.is_removed() && nearest(&entry.key, &[missing]).is_some()
            }),
            _ => false,
        }
    }

    /// Describes the failure, with its position in the document.
    pub fn diagnostic(&self, root: &PlacedNode) -> Diagnostic {
        let message = match &self.what {
            What::Other(message) => match root.find(&self.path).and_then(PlacedNode::placeholder) {
                Some(word) => format!("{message}; put `{word}` in quotes: `\"{word}\"`"),
                None => message.clone(),
            },
            What::MissingKey(key) => match root.name(&self.path) {
                name if name.is_empty() => format!("missing key `{key}`"),
                name => format!("missing key `{key}` of `{name}`"),
            },
        };
        Diagnostic {
            position: self.position,
            message,
        }
    }
}

/// What is decoded, or why it cannot be.
type Decoded<T> = Result<T, Failure>;

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.what {
            What::MissingKey(key) => write!(f, "missing key `{key}`"),
            What::Other(what) => f.write_str(what),
        }
    }
}

impl std::error::Error for Failure {}

impl Error for Failure {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(message.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let expected = expected_in_words(&expected.to_string(), &unexpected);
        Self::new(format!("found {}; expected {expected}", found(&unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn unknown_variant(variant: &str, expected: &'static [&'static str]) -> Self {
        let expected = expected_one_of(variant, expected);
        Self::new(format!("unknown value `{variant}`; {expected}"))
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let is_former = |word: &&str| Capability::FORMER_WORDS.iter().any(|(f, _)| f == word);
        let expected: Vec<&str> = expected.iter().copied().filter(|w| !is_former(w)).collect();
        let expected = expected_one_of(field, &expected);
        Self::new(format!("unknown key `{field}`; {expected}"))
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            path: Vec::new(),
            position: None,
            what: What::MissingKey(field),
        }
    }
}

fn found(unexpected: &Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => format!("`{value}`"),
        Unexpected::Unsigned(number) => format!("the number `{number}`"),
        Unexpected::Signed(number) => format!("the number `{number}`"),
        Unexpected::Float(number) => format!("the number `{number}`"),
        Unexpected::Str(text) => format!("the text `{text}`"),
        Unexpected::Unit => "nothing".to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a mapping".to_owned(),
        other => other.to_string(),
    }
}

/// Translates what a type expects into the words of this format.
fn expected_in_words(expected: &str, unexpected: &Unexpected<'_>) -> String {
    match (expected, unexpected) {
        ("a string" | "path string", Unexpected::Bool(value)) => {
            format!("text, such as \"{value}\"")
        }
        ("a string" | "path string", Unexpected::Unsigned(number)) => {
            format!("text, such as \"{number}\"")
        }
        ("a string" | "path string", _) => "text".to_owned(),
        ("a sequence", _) => "a list".to_owned(),
        ("u32", _) => format!("a whole number from 0 to {}", u32::MAX),
        ("u64", _) => "a whole number".to_owned(),
        (other, _) => other.to_owned(),
    }
}

impl Node {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null | Self::Removed => Unexpected::Unit,
            Self::Bool(value) => Unexpected::Bool(*value),
            Self::Negative(number) => Unexpected::Signed(*number),
            Self::Number(number) => Unexpected::Unsigned(*number),
            Self::Float(number) => Unexpected::Float(*number),
            Self::Text(text) => Unexpected::Str(text),
            Self::List(_) => Unexpected::Seq,
            Self::Map(_) => Unexpected::Map,
        }
    }
}

impl<'de> Deserializer<'de> for &'de PlacedNode {
    type Error = Failure;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        match &self.node {
            Node::Null | Node::Removed => visitor.visit_unit(),
            Node::Bool(value) => visitor.visit_bool(*value),
            Node::Negative(number) => visitor.visit_i64(*number),
            Node::Number(number) => visitor.visit_u64(*number),
            Node::Float(number) => visitor.visit_f64(*number),
            Node::Text(text) => visitor.visit_str(text),
            Node::List(elements) => visitor.visit_seq(Elements {
                rest: elements.iter().enumerate(),
            }),
            Node::Map(entries) => visitor.visit_map(Entries {
                rest: entries.iter().enumerate(),
                value: None,
            }),
        }
    }

    /// A key without a value is an error: left out, it would match everything.
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Decoded<V::Value> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Decoded<V::Value> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        match &self.node {
            Node::Map(_) => self.deserialize_any(visitor),
            other => Err(Failure::invalid_type(other.unexpected(), &Keys(fields))),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Decoded<V::Value> {
        match &self.node {
            Node::Text(text) => {
                let text: StrDeserializer<'_, Failure> = text.as_str().into_deserializer();
                visitor.visit_enum(text)
            }
            other => Err(Failure::invalid_type(other.unexpected(), &OneOf(variants))),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

struct Keys(&'static [&'static str]);

impl Expected for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a mapping with the keys {}", choice(self.0))
    }
}

struct OneOf(&'static [&'static str]);

impl Expected for OneOf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&choice(self.0))
    }
}

/// The elements of a list that have not been removed.
struct Elements<'t> {
    rest: Enumerate<slice::Iter<'t, PlacedNode>>,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Failure;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Decoded<Option<T::Value>> {
        let next = self.rest.find(|(_, element)| !element.is_removed());
        let read = next.map(|(index, element)| element.read(index, seed));
        read.transpose()
    }
}

/// The entries of a mapping that have not been removed.
struct Entries<'t> {
    rest: Enumerate<slice::Iter<'t, Entry>>,
    /// The value to read next, and its index.
    value: Option<(usize, &'t PlacedNode)>,
}

impl<'de> MapAccess<'de> for Entries<'de> {
    type Error = Failure;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Decoded<Option<K::Value>> {
        let next = self.rest.find(|(_, entry)| !entry.value.is_removed());
        let Some((index, entry)) = next else {
            return Ok(None);
        };
        self.value = Some((index, &entry.value));
        let key: StrDeserializer<'_, Failure> = entry.key.as_str().into_deserializer();
        let key = seed.deserialize(key).map(Some);
        key.map_err(|failure| failure.at(entry.position).within(index))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Decoded<V::Value> {
        let (index, value) = self.value.take().expect("a key comes before its value");
        value.read(index, seed)
    }
}

impl PlacedNode {
    pub fn is_removed(&self) -> bool {
        matches!(self.node, Node::Removed)
    }

    /// Reads it as the child of that index. Errors: what is wrong, and where.
    fn read<'de, T: DeserializeSeed<'de>>(&'de self, index: usize, seed: T) -> Decoded<T::Value> {
        let read = seed.deserialize(self);
        read.map_err(|failure| failure.at(self.position).within(index))
    }
}
