//! Reading of untrusted JSON, key by key, with errors that name the key, the value and what was
//! expected.

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::error::{Code, Error};
use crate::shown::shown;

/// Parses `text`; what is not JSON is a decoding failure (code 6) with line and column.
pub(crate) fn parse(document: &str, text: &str) -> Result<Value, Error> {
    if text.trim().is_empty() {
        let msg = format!("{document}: is empty, expected a JSON object");
        return Err(Error::decoding_failure(msg));
    }
    serde_json::from_str(text)
        .map_err(|error| Error::decoding_failure(format!("{document}: is not JSON: {error}")))
}

/// A value inside a document and the path that leads to it.
#[derive(Clone)]
pub(crate) struct Node<'v> {
    document: &'static str,
    code: Code,
    path: String,
    value: &'v Value,
}

impl<'v> Node<'v> {
    /// The whole `document`; errors below it have this `code`.
    pub(crate) fn root(document: &'static str, code: Code, value: &'v Value) -> Self {
        Node {
            document,
            code,
            path: String::new(),
            value,
        }
    }

    /// The member `key` of an object; absent and null are the same.
    pub(crate) fn key(&self, key: &str) -> Result<Option<Node<'v>>, Error> {
        let member = self.object()?.get(key).filter(|value| !value.is_null());
        Ok(member.map(|value| self.below(self.path_of(key), value)))
    }

    /// All members of an object that are not null.
    pub(crate) fn members(&self) -> Result<Vec<(&'v str, Node<'v>)>, Error> {
        let members = self.object()?.iter().filter(|(_, value)| !value.is_null());
        Ok(members
            .map(|(key, value)| (key.as_str(), self.below(self.path_of(key), value)))
            .collect())
    }

    /// All items of a list.
    pub(crate) fn items(&self) -> Result<Vec<Node<'v>>, Error> {
        let items = self.value.as_array().ok_or_else(|| self.not("a list"))?;
        let node = |(index, value)| self.below(format!("{}[{index}]", self.path), value);
        Ok(items.iter().enumerate().map(node).collect())
    }

    pub(crate) fn object(&self) -> Result<&'v Map<String, Value>, Error> {
        self.value.as_object().ok_or_else(|| self.not("an object"))
    }

    pub(crate) fn string(&self) -> Result<&'v str, Error> {
        self.value.as_str().ok_or_else(|| self.not("a string"))
    }

    /// The text of the member `key`, if it is neither absent nor empty.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, Error> {
        match self.key(key)? {
            Some(node) => Ok(Some(node.string()?.to_string()).filter(|text| !text.is_empty())),
            None => Ok(None),
        }
    }

    /// A list of strings.
    pub(crate) fn strings(&self) -> Result<Vec<String>, Error> {
        let text = |item: &Node<'v>| item.string().map(str::to_string);
        self.items()?.iter().map(text).collect()
    }

    pub(crate) fn bool(&self) -> Result<bool, Error> {
        let expected = "true or false";
        self.value.as_bool().ok_or_else(|| self.not(expected))
    }

    /// An unsigned number of the type's range.
    pub(crate) fn number<N: TryFrom<u64>>(&self, expected: &str) -> Result<N, Error> {
        let number = self.value.as_u64().and_then(|n| N::try_from(n).ok());
        number.ok_or_else(|| self.not(expected))
    }

    /// A string in the form of `T`.
    pub(crate) fn parsed<T: FromStr>(&self, expected: &str) -> Result<T, Error> {
        self.string()?.parse().map_err(|_| self.not(expected))
    }

    pub(crate) fn value(&self) -> &'v Value {
        self.value
    }

    /// The error that this value is not what was `expected`.
    pub(crate) fn not(&self, expected: &str) -> Error {
        let found = shown(self.value);
        self.error(format!("expected {expected}, found {found}"))
    }

    /// An error about this value, in the document's code, that begins with the value's path.
    pub(crate) fn error(&self, msg: impl std::fmt::Display) -> Error {
        let place = match self.path.as_str() {
            "" => self.document.to_string(),
            path => format!("{}: {path}", self.document),
        };
        Error::new(self.code, format!("{place}: {msg}"))
    }

    /// The error that an object lacks `key`.
    pub(crate) fn missing(&self, key: &str) -> Error {
        self.error(format!("key `{key}` is missing"))
    }

    fn path_of(&self, key: &str) -> String {
        match self.path.as_str() {
            "" => key.to_string(),
            path => format!("{path}.{key}"),
        }
    }

    fn below(&self, path: String, value: &'v Value) -> Node<'v> {
        Node {
            document: self.document,
            code: self.code,
            path,
            value,
        }
    }
}
