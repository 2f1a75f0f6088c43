//! A link-layer address.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A link-layer address, printed as `aa:bb:cc:dd:ee:ff`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mac(pub Vec<u8>);

impl From<Mac> for Vec<u8> {
    fn from(mac: Mac) -> Self {
        mac.0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let colon = if i == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

impl Serialize for Mac {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = text.split(':').map(|byte| match byte.len() {
            2 => u8::from_str_radix(byte, 16).ok(),
            _ => None,
        });
        let bytes: Option<Vec<u8>> = bytes.collect();
        bytes.map(Self).ok_or_else(|| {
            serde::de::Error::custom(format!("`{text}` is not a link-layer address"))
        })
    }
}
