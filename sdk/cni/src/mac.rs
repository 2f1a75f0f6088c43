//! Hardware addresses: 6 bytes (EUI-48), 8 bytes (EUI-64) or 20 bytes (IP over InfiniBand).

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The longest hardware address, in bytes.
const MAX: usize = 20;

/// A hardware address. Prints as lower-case pairs with colons.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac {
    bytes: [u8; MAX],
    len: u8,
}

impl Mac {
    /// Makes an address of 6, 8 or 20 bytes; `None` for any other length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Mac> {
        if !matches!(bytes.len(), 6 | 8 | MAX) {
            return None;
        }
        let mut mac = Mac {
            bytes: [0; MAX],
            len: bytes.len() as u8,
        };
        mac.bytes[..bytes.len()].copy_from_slice(bytes);
        Some(mac)
    }

    /// Returns the address's 6, 8 or 20 bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    /// Whether an EUI-48 or EUI-64 address is one of a group (multicast or broadcast), which no
    /// interface may have as its own.
    pub fn is_multicast(&self) -> bool {
        usize::from(self.len) < MAX && self.bytes[0] & 1 == 1
    }

    /// Whether all bytes are zero.
    pub fn is_zero(&self) -> bool {
        self.as_bytes().iter().all(|byte| *byte == 0)
    }
}

impl From<[u8; 6]> for Mac {
    fn from(eui48: [u8; 6]) -> Self {
        let mut bytes = [0; MAX];
        bytes[..6].copy_from_slice(&eui48);
        Mac { bytes, len: 6 }
    }
}

impl From<Mac> for Vec<u8> {
    fn from(mac: Mac) -> Self {
        mac.as_bytes().to_vec()
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.as_bytes().iter().enumerate() {
            let separator = if index == 0 { "" } else { ":" };
            write!(f, "{separator}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mac({self})")
    }
}

impl FromStr for Mac {
    type Err = String;

    /// Parses `02:00:5e:10:00:01`, `02-00-5e-10-00-01` or `0200.5e10.0001`, in either case.
    fn from_str(text: &str) -> Result<Self, String> {
        let groups = if text.contains(':') {
            hex_groups(text, ':', 2)
        } else if text.contains('-') {
            hex_groups(text, '-', 2)
        } else {
            hex_groups(text, '.', 4)
        };
        let mac = groups.and_then(|bytes| Mac::from_bytes(&bytes));
        mac.ok_or_else(|| {
            format!(
                "`{}` is not a hardware address: expected 6, 8 or 20 bytes such as `02:00:5e:10:00:01`",
                text.escape_debug()
            )
        })
    }
}

/// The bytes of groups of `digits` hexadecimal digits each.
fn hex_groups(text: &str, separator: char, digits: usize) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(MAX);
    for group in text.split(separator) {
        if group.len() != digits || !group.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        for start in (0..digits).step_by(2) {
            bytes.push(u8::from_str_radix(&group[start..start + 2], 16).ok()?);
        }
    }
    Some(bytes)
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(de::Error::custom)
    }
}
