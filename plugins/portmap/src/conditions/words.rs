//! The words of a condition, and what values they can be.

use std::iter::Peekable;
use std::net::IpAddr;
use std::vec::IntoIter;

use ipnet::IpNet;
use weir_sdk::cni::validate_interface_name;
use weir_sdk::firewall::{Comparison, Condition, Containment, Field, MaskedComparison, Value};
use weir_sdk::{Error, IpFamily};

/// What is left to be read.
pub struct Words {
    key: String,
    family: IpFamily,
    left: Peekable<IntoIter<String>>,
}

impl Words {
    /// The words of a list, whose items may have several.
    pub fn new(key: &str, list: &[String], family: IpFamily) -> Self {
        let words = list.iter().flat_map(|item| item.split_whitespace());
        let words: Vec<String> = words.map(str::to_owned).collect();
        Words {
            key: key.to_owned(),
            family,
            left: words.into_iter().peekable(),
        }
    }

    /// The family that the conditions are for.
    pub fn family(&self) -> IpFamily {
        self.family
    }

    /// The next word.
    pub fn peek(&mut self) -> Option<&str> {
        self.left.peek().map(String::as_str)
    }

    /// Takes the next word where it is this one.
    pub fn take_if(&mut self, word: &str) -> bool {
        self.left.next_if(|next| next == word).is_some()
    }

    /// Takes the next word, which must be there after another.
    pub fn take_after(&mut self, before: &str) -> Result<String, Error> {
        let word = self.left.next();
        word.ok_or_else(|| self.fault(format!("expected a value after `{before}`, found the end")))
    }

    /// An error about these words.
    pub fn fault(&self, what: String) -> Error {
        Error::invalid_config(format!("{}: {what}", self.key))
    }

    /// An error about a word that is not known.
    pub fn unknown(&self, word: &str, expected: &str) -> Error {
        let word = word.escape_debug();
        self.fault(format!("`{word}` is not supported; expected {expected}"))
    }

    /// The field of the source or destination address of the family.
    pub fn address_field(&self, is_source: bool) -> Field {
        match (self.family, is_source) {
            (IpFamily::Ipv4, true) => Field::Ipv4Source,
            (IpFamily::Ipv4, false) => Field::Ipv4Destination,
            (IpFamily::Ipv6, true) => Field::Ipv6Source,
            (IpFamily::Ipv6, false) => Field::Ipv6Destination,
        }
    }

    /// Requires an address to be in the network that a word names, or not in it.
    pub fn within(&self, field: Field, word: &str, negate: bool) -> Result<Condition, Error> {
        let address = || word.parse::<IpAddr>().map(IpNet::from).ok();
        let network = word.parse::<IpNet>().ok().or_else(address);
        let of_family = network.filter(|n| IpFamily::of(n.addr()) == self.family);
        let network = of_family.ok_or_else(|| {
            let version = if self.family == IpFamily::Ipv4 { 4 } else { 6 };
            self.unknown(word, &format!("an IPv{version} address or network"))
        })?;
        Ok(Condition::Within(Containment {
            field,
            network: network.trunc().into(),
            negate,
        }))
    }

    /// Requires a field to be the name of an interface.
    pub fn name(&self, field: Field, word: &str, negate: bool) -> Result<Condition, Error> {
        let name = word.trim_matches('"');
        let is_pattern = name.ends_with(['+', '*']);
        if is_pattern || validate_interface_name(name).is_err() {
            return Err(self.unknown(word, "the name of one interface"));
        }
        Ok(equals(field, Value::from(name), negate))
    }

    /// Requires a field to be a port.
    pub fn port(&self, field: Field, word: &str, negate: bool) -> Result<Condition, Error> {
        let port: Option<u16> = word.parse().ok();
        let port = port.ok_or_else(|| self.unknown(word, "one port, 0 to 65535"))?;
        Ok(equals(field, Value::Number(port.into()), negate))
    }

    /// Requires a transport protocol of the packet.
    pub fn protocol(&self, word: &str, negate: bool) -> Result<Condition, Error> {
        let number = match word {
            "tcp" => Some(6),
            "udp" => Some(17),
            "sctp" => Some(132),
            number => number.parse::<u8>().ok(),
        };
        let number = number.ok_or_else(|| self.unknown(word, "tcp, udp, sctp or a number"))?;
        let field = Field::TransportProtocol;
        Ok(equals(field, Value::Number(number.into()), negate))
    }

    /// Requires a mark of the packet: `VALUE` or `VALUE/MASK`, decimal or hexadecimal.
    pub fn mark(&self, word: &str, negate: bool) -> Result<Condition, Error> {
        let (value, mask) = word.split_once('/').unwrap_or((word, "0xffffffff"));
        let (Some(value), Some(mask)) = (number(value), number(mask)) else {
            return Err(self.unknown(word, "a mark such as 0x10 or 0x10/0xff"));
        };
        let field = Field::Mark;
        Ok(Condition::Masked(MaskedComparison {
            field,
            mask,
            value,
            negate,
        }))
    }

    /// Requires a type of the address in the routing tables.
    pub fn address_type(&self, field: Field, word: &str, negate: bool) -> Result<Condition, Error> {
        let number = match word.to_ascii_lowercase().as_str() {
            "unicast" => 1,
            "local" => 2,
            "broadcast" => 3,
            _ => return Err(self.unknown(word, "unicast, local or broadcast")),
        };
        Ok(equals(field, Value::Number(number), negate))
    }
}

fn equals(field: Field, value: Value, negate: bool) -> Condition {
    Condition::Equals(Comparison {
        field,
        value,
        negate,
    })
}

fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
