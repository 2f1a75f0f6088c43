//! Numbers with a unit: sizes and durations, as documents have them.

use std::fmt;
use std::time::Duration;

use bytesize::ByteSize;
use serde::de::{Error, Visitor};
use serde::{Deserializer, Serializer};

use super::size::Exact;

/// No plugin is given more time than this for one call.
pub(super) const MOST_TIME: Duration = Duration::from_secs(60);

/// `with` for sizes, as `64MiB`.
pub(super) struct Size;

impl Size {
    pub(super) fn serialize<S: Serializer>(
        size: &ByteSize,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Exact::from(*size))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<ByteSize, D::Error> {
        let size = Quantity("a size", "64MiB").read(deserializer, |text| text.parse().ok());
        size.map(|(_, size)| size)
    }
}

/// A number with its unit: what it is, and an example. Errors say what was expected.
#[derive(Clone, Copy)]
struct Quantity(&'static str, &'static str);

impl Quantity {
    /// Reads it. Returns the text as well.
    fn read<'de, D: Deserializer<'de>, T>(
        self,
        deserializer: D,
        parse: impl FnOnce(&str) -> Option<T>,
    ) -> Result<(String, T), D::Error> {
        let Self(what, example) = self;
        let text = deserializer.deserialize_str(self)?;
        match parse(&text) {
            Some(value) => Ok((text, value)),
            None => Err(D::Error::custom(format!(
                "`{text}` is not {what}; expected one such as `{example}`"
            ))),
        }
    }
}

impl Visitor<'_> for Quantity {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, such as `{}`", self.0, self.1)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
        Ok(text.to_owned())
    }
}

/// `with` for durations, as `60s`.
pub(super) struct Time;

impl Time {
    pub(super) fn serialize<S: Serializer>(
        time: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(*time))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let parse = |text: &str| humantime::parse_duration(text).ok();
        let (text, time) = Quantity("a duration", "60s").read(deserializer, parse)?;
        if time.is_zero() || time > MOST_TIME {
            let most = MOST_TIME.as_secs();
            return Err(D::Error::custom(format!(
                "`{text}` is too short or too long; expected a duration from 1ms to {most}s"
            )));
        }
        Ok(time)
    }
}
