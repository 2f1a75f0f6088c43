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
        let text = deserializer.deserialize_str(Quantity("a size, such as `64MiB`"))?;
        text.parse().map_err(|_| {
            D::Error::custom(format!(
                "`{text}` is not a size; expected one such as `64MiB`"
            ))
        })
    }
}

/// Reads a number with its unit. Errors: what was expected.
struct Quantity(&'static str);

impl Visitor<'_> for Quantity {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
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
        let text = deserializer.deserialize_str(Quantity("a duration, such as `60s`"))?;
        let time = humantime::parse_duration(&text).map_err(|_| {
            D::Error::custom(format!(
                "`{text}` is not a duration; expected one such as `60s`"
            ))
        })?;
        if time.is_zero() || time > MOST_TIME {
            let most = MOST_TIME.as_secs();
            return Err(D::Error::custom(format!(
                "`{text}` is too short or too long; expected a duration from 1ms to {most}s"
            )));
        }
        Ok(time)
    }
}
