//! A field of an operation, as a person gives it: `name=value`.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::Value;

use super::super::diagnostic::expected_one_of;

/// A field that a person may give.
pub struct Field {
    pub name: &'static str,
    /// Its place in the operation's JSON, as a JSON pointer.
    pub(super) place: &'static str,
    pub kind: Kind,
    pub required: bool,
    /// Whether a question that does not give it is about all of its values.
    pub(super) is_open: bool,
    /// The kinds of new links that have it.
    pub(super) of_kinds: &'static [&'static str],
}

/// How a field is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Flag,
    /// A comma-separated list.
    List,
    /// A comma-separated list of these words.
    ListOf(&'static [&'static str]),
    /// A comma-separated list of IP addresses.
    Addresses,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// An IP address.
    Address,
    /// An IP address and a prefix length.
    Network,
}

impl Field {
    pub(super) const fn text(name: &'static str, place: &'static str) -> Self {
        Self {
            name,
            place,
            kind: Kind::Text,
            required: true,
            is_open: false,
            of_kinds: &[],
        }
    }

    pub(super) const fn of(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    pub(super) const fn optional(mut self) -> Self {
        self.required = false;
        self
    }

    /// Marks an optional field that a question leaves open where it is not given.
    pub(super) const fn open(mut self) -> Self {
        self.is_open = true;
        self
    }

    /// Names the kinds of new links that have it. A question about one of them leaves it open where it is not given.
    pub(super) const fn of_kinds(mut self, kinds: &'static [&'static str]) -> Self {
        self.of_kinds = kinds;
        self
    }

    pub(super) fn parse(&self, text: &str) -> Result<Value, String> {
        let wrong = |expected: &str| format!("`{}={text}` is not {expected}", self.name);
        match self.kind {
            Kind::Text => Ok(Value::from(text)),
            Kind::Number => {
                let number = text.parse::<u64>().map_err(|_| wrong("a number"));
                number.map(Value::from)
            }
            Kind::Flag => {
                let flag = text.parse::<bool>().map_err(|_| wrong("`true` or `false`"));
                flag.map(Value::from)
            }
            Kind::List => Ok(text.split(',').map(Value::from).collect()),
            Kind::OneOf(words) => self.word(text, words),
            Kind::ListOf(words) => text.split(',').map(|part| self.word(part, words)).collect(),
            Kind::Address => self.address(text),
            Kind::Addresses => text.split(',').map(|part| self.address(part)).collect(),
            Kind::Network => {
                let expected = "an IP address and a prefix length, such as `10.1.0.2/24`";
                let network = text.parse::<IpNet>().map_err(|_| wrong(expected))?;
                Ok(Value::from(network.to_string()))
            }
        }
    }

    fn word(&self, text: &str, words: &[&str]) -> Result<Value, String> {
        if words.contains(&text) {
            return Ok(Value::from(text));
        }
        let expected = expected_one_of(text, words);
        Err(format!(
            "`{}={text}` is out of place; {expected}",
            self.name
        ))
    }

    fn address(&self, text: &str) -> Result<Value, String> {
        let address = text.parse::<IpAddr>().map_err(|_| {
            format!(
                "`{}={text}` is not an IP address, such as `10.1.0.2`",
                self.name
            )
        })?;
        Ok(Value::from(address.to_string()))
    }
}
