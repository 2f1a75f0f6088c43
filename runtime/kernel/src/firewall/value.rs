//! Values as the kernel compares them: byte order, length and padding of each type.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use weir_grant::firewall::{DataType, Value};
use weir_grant::link::Mac;

use super::check;
use crate::error::{Error, Result};

/// `IFNAMSIZ`.
pub(super) const LINK_NAME_LENGTH: usize = 16;

/// How a value lies in a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    Ipv4,
    Ipv6,
    Mac,
    LinkName,
    /// One byte.
    Byte,
    /// Two bytes in network byte order.
    Short,
    /// Four bytes in the host's byte order.
    Word,
}

impl Format {
    /// In bytes.
    pub(super) fn length(self) -> usize {
        match self {
            Self::Byte => 1,
            Self::Short => 2,
            Self::Ipv4 | Self::Word => 4,
            Self::Mac => 6,
            Self::Ipv6 | Self::LinkName => 16,
        }
    }

    /// Whether the order of the bytes is that of the values, as ranges need it.
    pub(super) fn has_order(self) -> bool {
        !matches!(self, Self::Word | Self::LinkName)
    }

    /// Encodes a value. Errors: `Invalid` for a value of another type.
    pub(super) fn encode(self, value: &Value) -> Result<Vec<u8>> {
        match (self, value) {
            (Self::Ipv4, Value::Address(IpAddr::V4(address))) => Ok(address.octets().to_vec()),
            (Self::Ipv6, Value::Address(IpAddr::V6(address))) => Ok(address.octets().to_vec()),
            (Self::Mac, Value::Mac(Mac(bytes))) if bytes.len() == 6 => Ok(bytes.clone()),
            (Self::LinkName, Value::Name(name)) => {
                check::link_name(name)?;
                let mut bytes = name.as_bytes().to_vec();
                bytes.resize(LINK_NAME_LENGTH, 0);
                Ok(bytes)
            }
            (Self::Byte, Value::Number(n @ 0..=0xff)) => Ok(vec![*n as u8]),
            (Self::Short, Value::Number(n @ 0..=0xffff)) => Ok((*n as u16).to_be_bytes().to_vec()),
            (Self::Word, Value::Number(number)) => Ok(number.to_ne_bytes().to_vec()),
            _ => Err(Error::invalid(format!(
                "{value} is not {}",
                self.description()
            ))),
        }
    }

    fn decode(self, bytes: &[u8]) -> Option<Value> {
        Some(match self {
            Self::Ipv4 => Value::Address(Ipv4Addr::from(*bytes.first_chunk()?).into()),
            Self::Ipv6 => Value::Address(Ipv6Addr::from(*bytes.first_chunk()?).into()),
            Self::Mac => Value::Mac(Mac(bytes.first_chunk::<6>()?.to_vec())),
            Self::LinkName => {
                let name = bytes.split(|b| *b == 0).next()?;
                Value::Name(String::from_utf8_lossy(name).into_owned())
            }
            Self::Byte => Value::Number((*bytes.first()?).into()),
            Self::Short => Value::Number(u16::from_be_bytes(*bytes.first_chunk()?).into()),
            Self::Word => Value::Number(u32::from_ne_bytes(*bytes.first_chunk()?)),
        })
    }

    fn description(self) -> &'static str {
        match self {
            Self::Ipv4 => "an IPv4 address",
            Self::Ipv6 => "an IPv6 address",
            Self::Mac => "a MAC address of 6 bytes",
            Self::LinkName => "the name of a link",
            Self::Byte => "a number of 0 to 255",
            Self::Short => "a number of 0 to 65535",
            Self::Word => "a number",
        }
    }
}

/// The types of parts of keys and data, with nft(8)'s numbers, and how each lies in a register.
pub(super) const TYPES: [(DataType, u32, Format); 7] = [
    (DataType::Ipv4Address, 7, Format::Ipv4),
    (DataType::Ipv6Address, 8, Format::Ipv6),
    (DataType::MacAddress, 9, Format::Mac),
    (DataType::Protocol, 12, Format::Byte),
    (DataType::Port, 13, Format::Short),
    (DataType::Mark, 19, Format::Word),
    (DataType::LinkName, 41, Format::LinkName),
];

/// The parts of a key or of data, in order. Several are a concatenation, in which each is padded
/// to whole registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Parts(Vec<Format>);

impl Parts {
    /// Errors: `Invalid` for a verdict among them.
    pub(super) fn new(types: &[DataType]) -> Result<Self> {
        let format = |part: &DataType| {
            let known = TYPES.iter().find(|(known, ..)| known == part);
            known.map(|(.., format)| *format)
        };
        let formats: Option<_> = types.iter().map(format).collect();
        let verdict = || Error::invalid("a verdict stands alone, and only as the data of a map");
        formats.map(Self).ok_or_else(verdict)
    }

    pub(super) fn formats(&self) -> &[Format] {
        &self.0
    }

    pub(super) fn is_concatenation(&self) -> bool {
        self.0.len() > 1
    }

    /// In bytes.
    pub(super) fn length(&self) -> usize {
        self.0.iter().map(|format| self.room(*format)).sum()
    }

    fn room(&self, format: Format) -> usize {
        if self.is_concatenation() {
            format.length().next_multiple_of(4)
        } else {
            format.length()
        }
    }

    /// Errors: `Invalid` for another number of values, and for values of other types.
    pub(super) fn encode(&self, values: &[Value]) -> Result<Vec<u8>> {
        if values.len() != self.0.len() {
            return Err(Error::invalid(format!(
                "{} parts where the set has {}",
                values.len(),
                self.0.len()
            )));
        }
        let mut bytes = Vec::with_capacity(self.length());
        for (format, value) in self.0.iter().zip(values) {
            let end = bytes.len() + self.room(*format);
            bytes.extend(format.encode(value)?);
            bytes.resize(end, 0);
        }
        Ok(bytes)
    }

    /// Errors: `Failed` when there are fewer bytes than the parts have.
    pub(super) fn decode(&self, mut bytes: &[u8]) -> Result<Vec<Value>> {
        let short = || Error::failed("the kernel's element is shorter than the set's key");
        let mut values = Vec::with_capacity(self.0.len());
        for format in &self.0 {
            values.push(format.decode(bytes).ok_or_else(short)?);
            bytes = bytes.get(self.room(*format)..).unwrap_or_default();
        }
        Ok(values)
    }
}
