//! Capability `firewall`: packet filtering and address translation in the plugin's own nftables
//! tables.
//!
//! ```no_run
//! # fn main() -> Result<(), weir_sdk::Error> {
//! use weir_sdk::Namespace;
//! use weir_sdk::firewall::{self, Command, Condition, Family, Field, Rule, Statement};
//!
//! let subnet: weir_sdk::IpNet = "10.1.0.0/16".parse().unwrap();
//! let rule = Rule::new("masquerade")
//!     .when(Condition::not_within(Field::Ipv4Destination, subnet))
//!     .then(Statement::masquerade());
//! firewall::apply(Namespace::Host, Family::Inet, &[Command::AppendRule(rule)])?;
//! # Ok(())
//! # }
//! ```

pub mod networks;
pub mod owned;
pub mod shared;

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use weir_cni::Mac;

use crate::IpFamily;
use crate::bindings::weir::cni::firewall as raw;
use crate::owner::Owner;

pub use raw::{
    BaseChain, Chain, ChainType, Command, Comparison, Condition, Containment, DataType, Element,
    ElementData, Elements, Family, Field, Hook, MapLookup, MarkChange, MaskedComparison, Nat,
    NatAddress, NatMap, NatOptions, NatTarget, Policy, Rule, RuleHandle, Set, SetLookup, Statement,
    Value, Verdict,
};
pub use raw::{
    apply, get_element, list_chains, list_elements, list_rules, list_sets, remove_reference_rules,
};

/// The longest comment of a rule or element, in bytes.
pub const COMMENT_MAX: usize = 128;

impl From<IpAddr> for Value {
    fn from(address: IpAddr) -> Self {
        Value::Address(address.into())
    }
}

impl From<Mac> for Value {
    fn from(mac: Mac) -> Self {
        Value::Mac(mac.into())
    }
}

impl From<&str> for Value {
    fn from(link_name: &str) -> Self {
        Value::Name(link_name.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Value::Number(number)
    }
}

/// As nft writes it.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Number(number) => number.fmt(f),
            Value::Address(address) => IpAddr::from(*address).fmt(f),
            Value::Name(name) => write!(f, "\"{}\"", name.escape_debug()),
            Value::Mac(mac) => {
                let bytes: Vec<String> = mac.iter().map(|byte| format!("{byte:02x}")).collect();
                f.write_str(&bytes.join(":"))
            }
        }
    }
}

impl Chain {
    /// Makes a chain that is reached by `jump` and `goto` only.
    pub fn regular(name: impl Into<String>) -> Self {
        Chain {
            name: name.into(),
            base: None,
        }
    }

    /// Makes a chain that the kernel calls at a hook, with the policy `accept`.
    pub fn base(name: impl Into<String>, chain_type: ChainType, hook: Hook, priority: i32) -> Self {
        let base = BaseChain {
            chain_type,
            hook,
            priority,
            policy: Policy::Accept,
            device: None,
        };
        Chain {
            name: name.into(),
            base: Some(base),
        }
    }
}

impl Condition {
    /// Requires that the field equals the value.
    pub fn equals(field: Field, value: impl Into<Value>) -> Self {
        Condition::Equals(Comparison {
            field,
            value: value.into(),
            negate: false,
        })
    }

    /// Requires that the address is in the network.
    pub fn within(field: Field, network: IpNet) -> Self {
        Condition::Within(Containment {
            field,
            network: network.into(),
            negate: false,
        })
    }

    /// Requires that the address is not in the network.
    pub fn not_within(field: Field, network: IpNet) -> Self {
        Condition::Within(Containment {
            field,
            network: network.into(),
            negate: true,
        })
    }

    /// Requires that `field & mask` equals the value.
    pub fn masked(field: Field, mask: u32, value: u32) -> Self {
        Condition::Masked(MaskedComparison {
            field,
            mask,
            value,
            negate: false,
        })
    }

    /// Requires that the fields, concatenated, are in the set.
    pub fn in_set(fields: impl Into<Vec<Field>>, set: impl Into<String>) -> Self {
        Condition::InSet(SetLookup {
            fields: fields.into(),
            set: set.into(),
            negate: false,
        })
    }

    /// Requires that the fields, concatenated, are not in the set.
    pub fn not_in_set(fields: impl Into<Vec<Field>>, set: impl Into<String>) -> Self {
        Condition::InSet(SetLookup {
            fields: fields.into(),
            set: set.into(),
            negate: true,
        })
    }
}

impl Statement {
    /// Translates the source to the address of the output link.
    pub fn masquerade() -> Self {
        Statement::Masquerade(NatOptions::empty())
    }

    /// Translates the destination to the address and port that a map has for the fields.
    pub fn dnat_from_map(
        fields: impl Into<Vec<Field>>,
        map: impl Into<String>,
        family: IpFamily,
    ) -> Self {
        let lookup = MapLookup {
            fields: fields.into(),
            map: map.into(),
        };
        Statement::Dnat(Nat {
            target: NatTarget::FromMap(NatMap {
                lookup,
                with_port: true,
                ipv6: family == IpFamily::Ipv6,
            }),
            options: NatOptions::empty(),
        })
    }

    /// `meta mark set mark & ~mask | value`
    pub fn set_mark(mask: u32, value: u32) -> Self {
        Statement::SetMark(MarkChange { mask, value })
    }

    /// Looks the fields up in a map of verdicts.
    pub fn verdict_map(fields: impl Into<Vec<Field>>, map: impl Into<String>) -> Self {
        Statement::VerdictMap(MapLookup {
            fields: fields.into(),
            map: map.into(),
        })
    }
}

impl Rule {
    /// Makes a rule without conditions and statements.
    pub fn new(chain: impl Into<String>) -> Self {
        Rule {
            chain: chain.into(),
            conditions: Vec::new(),
            statements: Vec::new(),
            comment: None,
            handle: None,
        }
    }

    /// The same with a comment of at most [`COMMENT_MAX`] bytes, by which [`shared`] knows it.
    #[must_use]
    pub fn known_as(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }

    /// With one more condition; all must hold.
    #[must_use]
    pub fn when(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// With one more statement, after those before.
    #[must_use]
    pub fn then(mut self, statement: Statement) -> Self {
        self.statements.push(statement);
        self
    }
}

impl Set {
    /// Makes a set of single elements.
    pub fn new(name: impl Into<String>, key: impl Into<Vec<DataType>>) -> Self {
        Set {
            name: name.into(),
            key: key.into(),
            data: Vec::new(),
            interval: false,
        }
    }

    /// Makes a set of ranges.
    pub fn ranges(name: impl Into<String>, key: impl Into<Vec<DataType>>) -> Self {
        Set {
            interval: true,
            ..Set::new(name, key)
        }
    }

    /// Makes a map from keys to values of these types.
    pub fn map(
        name: impl Into<String>,
        key: impl Into<Vec<DataType>>,
        data: impl Into<Vec<DataType>>,
    ) -> Self {
        Set {
            data: data.into(),
            ..Set::new(name, key)
        }
    }

    /// Makes a map from keys to verdicts.
    pub fn verdict_map(name: impl Into<String>, key: impl Into<Vec<DataType>>) -> Self {
        Set {
            data: vec![DataType::Verdict],
            ..Set::new(name, key)
        }
    }
}

impl Element {
    /// Makes a set's element.
    pub fn new(key: impl Into<Vec<Value>>) -> Self {
        Element {
            key: key.into(),
            key_end: None,
            data: ElementData::None,
            comment: None,
        }
    }

    /// Makes a set's range, from the first key to the last.
    pub fn range(first: impl Into<Vec<Value>>, last: impl Into<Vec<Value>>) -> Self {
        Element {
            key_end: Some(last.into()),
            ..Element::new(first)
        }
    }

    /// The same with a verdict, in a map of verdicts.
    #[must_use]
    pub fn with_verdict(mut self, verdict: Verdict) -> Self {
        self.data = ElementData::Verdict(verdict);
        self
    }

    /// The same with values, in a map.
    #[must_use]
    pub fn with_values(mut self, values: impl Into<Vec<Value>>) -> Self {
        self.data = ElementData::Values(values.into());
        self
    }

    /// The same as an attachment's.
    #[must_use]
    pub fn owned_by(self, owner: &Owner) -> Self {
        self.with_comment(owner.mark())
    }

    /// Whether it is the attachment's.
    pub fn is_of(&self, owner: &Owner) -> bool {
        self.comment.as_deref().is_some_and(|mark| owner.has(mark))
    }

    /// The same with a comment of at most [`COMMENT_MAX`] bytes.
    #[must_use]
    pub fn with_comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }
}

impl Elements {
    /// Names elements of one set.
    pub fn of(set: impl Into<String>, elements: impl Into<Vec<Element>>) -> Self {
        Elements {
            set: set.into(),
            elements: elements.into(),
        }
    }
}
