//! A field of an operation, as a person gives it: `name=value`.

use std::net::IpAddr;

use serde_json::Value;
use weir_cni::parse_cidr;

use super::super::diagnostic::expected_one_of;

/// A field that a person may give.
pub struct Field {
    pub name: &'static str,
    /// Its place in the operation's JSON, as a JSON pointer.
    pub(super) place: &'static str,
    pub kind: Kind,
    pub required: bool,
}

/// How a field is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Number,
    Flag,
    /// A comma-separated list.
    List,
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
            Kind::OneOf(words) if words.contains(&text) => Ok(Value::from(text)),
            Kind::OneOf(words) => {
                let expected = expected_one_of(text, words);
                Err(format!(
                    "`{}={text}` is out of place; {expected}",
                    self.name
                ))
            }
            Kind::Address => {
                let address = text.parse::<IpAddr>();
                let address = address.map_err(|_| wrong("an IP address, such as `10.1.0.2`"))?;
                Ok(Value::from(address.to_string()))
            }
            Kind::Network => {
                let network = parse_cidr(text).map_err(|expected| {
                    format!(
                        "`{}={text}` is out of place; expected {expected}",
                        self.name
                    )
                })?;
                Ok(Value::from(network.to_string()))
            }
        }
    }
}
