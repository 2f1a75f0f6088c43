//! Conversions of rules, sets and elements between the contract and the operations.

use weir_grant::firewall;
use weir_kernel::{Error, Result};

use super::bindings::weir::cni::firewall as contract;
use super::convert::{each, mac, network, same_fields, same_names};

same_names! {
    contract::Family, firewall::Family { Ip Ip6 Inet Arp Bridge Netdev }
    contract::Hook, firewall::Hook {
        Prerouting Input Forward Output Postrouting Ingress Egress
    }
    contract::ChainType, firewall::ChainType { Filter Nat Route }
    contract::Policy, firewall::Policy { Accept Drop }
    contract::DataType, firewall::DataType {
        Ipv4Address Ipv6Address MacAddress LinkName Port Protocol Mark Verdict
    }
    contract::Field, firewall::Field {
        InputLinkName OutputLinkName Mark NetworkProtocol TransportProtocol Ipv4Source
        Ipv4Destination Ipv6Source Ipv6Destination SourcePort DestinationPort MacSource
        MacDestination EtherType ConnectionState ConnectionStatus ConnectionMark
        ConnectionOriginalDestinationPort
        DestinationAddressType SourceAddressType
    }
}

same_fields! {
    contract::Chain => firewall::Chain { name; map base }
    firewall::Chain => contract::Chain { name; map base }
    contract::BaseChain => firewall::BaseChain { chain_type hook priority policy device }
    firewall::BaseChain => contract::BaseChain { chain_type hook priority policy device }
    contract::MapLookup => firewall::MapLookup { map; each fields }
    contract::MarkChange => firewall::MarkChange { mask value }
    contract::RuleHandle => firewall::RuleHandle { chain handle }
    contract::Set => firewall::Set { name interval; each key data }
}

/// Converts each value of a list. Errors: the first.
pub(crate) fn all<T, U: TryFrom<T, Error = Error>>(values: Vec<T>) -> Result<Vec<U>> {
    values.into_iter().map(TryInto::try_into).collect()
}

impl TryFrom<contract::Value> for firewall::Value {
    type Error = Error;

    fn try_from(value: contract::Value) -> Result<Self> {
        Ok(match value {
            contract::Value::Number(number) => Self::Number(number),
            contract::Value::Address(address) => Self::Address(address.into()),
            contract::Value::Name(name) => Self::Name(name),
            contract::Value::Mac(bytes) => Self::Mac(mac(bytes)?),
        })
    }
}

impl From<firewall::Value> for contract::Value {
    fn from(value: firewall::Value) -> Self {
        match value {
            firewall::Value::Number(number) => Self::Number(number),
            firewall::Value::Address(address) => Self::Address(address.into()),
            firewall::Value::Name(name) => Self::Name(name),
            firewall::Value::Mac(mac) => Self::Mac(mac.0),
        }
    }
}

impl TryFrom<contract::Condition> for firewall::Condition {
    type Error = Error;

    fn try_from(condition: contract::Condition) -> Result<Self> {
        Ok(match condition {
            contract::Condition::Equals(c) => Self::Equals {
                field: c.field.into(),
                value: c.value.try_into()?,
                negate: c.negate,
            },
            contract::Condition::Within(c) => Self::Within {
                field: c.field.into(),
                network: network(c.network)?,
                negate: c.negate,
            },
            contract::Condition::Masked(c) => Self::Masked {
                field: c.field.into(),
                mask: c.mask,
                value: c.value,
                negate: c.negate,
            },
            contract::Condition::InSet(c) => Self::InSet {
                fields: each(c.fields),
                set: c.set,
                negate: c.negate,
            },
        })
    }
}

impl From<contract::NatOptions> for firewall::NatOptions {
    fn from(options: contract::NatOptions) -> Self {
        Self {
            random: options.contains(contract::NatOptions::RANDOM),
            fully_random: options.contains(contract::NatOptions::FULLY_RANDOM),
            persistent: options.contains(contract::NatOptions::PERSISTENT),
        }
    }
}

impl From<contract::Nat> for firewall::Nat {
    fn from(nat: contract::Nat) -> Self {
        let target = match nat.target {
            contract::NatTarget::Fixed(fixed) => firewall::NatTarget::Fixed {
                address: fixed.address.map(Into::into),
                port: fixed.port,
            },
            contract::NatTarget::FromMap(map) => firewall::NatTarget::FromMap {
                lookup: map.lookup.into(),
                with_port: map.with_port,
                ipv6: map.ipv6,
            },
        };
        Self {
            target,
            options: nat.options.into(),
        }
    }
}

impl From<contract::Statement> for firewall::Statement {
    fn from(statement: contract::Statement) -> Self {
        match statement {
            contract::Statement::Accept => Self::Accept,
            contract::Statement::Drop => Self::Drop,
            contract::Statement::ReturnToCaller => Self::Return,
            contract::Statement::Jump(chain) => Self::Jump(chain),
            contract::Statement::Goto(chain) => Self::Goto(chain),
            contract::Statement::VerdictMap(lookup) => Self::VerdictMap(lookup.into()),
            contract::Statement::Masquerade(options) => Self::Masquerade(options.into()),
            contract::Statement::Snat(nat) => Self::Snat(nat.into()),
            contract::Statement::Dnat(nat) => Self::Dnat(nat.into()),
            contract::Statement::SetMark(change) => Self::SetMark(change.into()),
            contract::Statement::SetConnectionMark(change) => {
                Self::SetConnectionMark(change.into())
            }
            contract::Statement::Reject => Self::Reject,
            contract::Statement::Counter => Self::Counter,
            contract::Statement::Notrack => Self::Notrack,
        }
    }
}

impl TryFrom<contract::Rule> for firewall::Rule {
    type Error = Error;

    fn try_from(rule: contract::Rule) -> Result<Self> {
        Ok(Self {
            chain: rule.chain,
            conditions: all(rule.conditions)?,
            statements: each(rule.statements),
            comment: rule.comment,
            handle: rule.handle,
        })
    }
}

/// `list-rules` answers with handles and comments only.
impl From<firewall::Rule> for contract::Rule {
    fn from(rule: firewall::Rule) -> Self {
        Self {
            chain: rule.chain,
            conditions: Vec::new(),
            statements: Vec::new(),
            comment: rule.comment,
            handle: rule.handle,
        }
    }
}

impl From<contract::Verdict> for firewall::Verdict {
    fn from(verdict: contract::Verdict) -> Self {
        match verdict {
            contract::Verdict::Accept => Self::Accept,
            contract::Verdict::Drop => Self::Drop,
            contract::Verdict::ReturnToCaller => Self::Return,
            contract::Verdict::Jump(chain) => Self::Jump(chain),
            contract::Verdict::Goto(chain) => Self::Goto(chain),
        }
    }
}

impl From<firewall::Verdict> for contract::Verdict {
    fn from(verdict: firewall::Verdict) -> Self {
        match verdict {
            firewall::Verdict::Accept => Self::Accept,
            firewall::Verdict::Drop => Self::Drop,
            firewall::Verdict::Return => Self::ReturnToCaller,
            firewall::Verdict::Jump(chain) => Self::Jump(chain),
            firewall::Verdict::Goto(chain) => Self::Goto(chain),
        }
    }
}

impl TryFrom<contract::Element> for firewall::Element {
    type Error = Error;

    fn try_from(element: contract::Element) -> Result<Self> {
        Ok(Self {
            key: all(element.key)?,
            key_end: element.key_end.map(all).transpose()?,
            data: match element.data {
                contract::ElementData::None => firewall::ElementData::None,
                contract::ElementData::Verdict(v) => firewall::ElementData::Verdict(v.into()),
                contract::ElementData::Values(v) => firewall::ElementData::Values(all(v)?),
            },
            comment: element.comment,
        })
    }
}

impl From<firewall::Element> for contract::Element {
    fn from(element: firewall::Element) -> Self {
        Self {
            key: each(element.key),
            key_end: element.key_end.map(each),
            data: match element.data {
                firewall::ElementData::None => contract::ElementData::None,
                firewall::ElementData::Verdict(v) => contract::ElementData::Verdict(v.into()),
                firewall::ElementData::Values(v) => contract::ElementData::Values(each(v)),
            },
            comment: element.comment,
        }
    }
}

impl TryFrom<contract::Elements> for firewall::Elements {
    type Error = Error;

    fn try_from(elements: contract::Elements) -> Result<Self> {
        Ok(Self {
            set: elements.set,
            elements: all(elements.elements)?,
        })
    }
}

impl TryFrom<contract::Command> for firewall::Command {
    type Error = Error;

    fn try_from(command: contract::Command) -> Result<Self> {
        Ok(match command {
            contract::Command::AddChain(chain) => Self::AddChain(chain.into()),
            contract::Command::CreateChain(chain) => Self::CreateChain(chain.into()),
            contract::Command::DeleteChain(name) => Self::DeleteChain(name),
            contract::Command::FlushChain(name) => Self::FlushChain(name),
            contract::Command::AppendRule(rule) => Self::AppendRule(rule.try_into()?),
            contract::Command::InsertRule(rule) => Self::InsertRule(rule.try_into()?),
            contract::Command::KeepRules(rules) => Self::KeepRules(all(rules)?),
            contract::Command::DeleteRule(rule) => Self::DeleteRule(rule.into()),
            contract::Command::AddSet(set) => Self::AddSet(set.into()),
            contract::Command::CreateSet(set) => Self::CreateSet(set.into()),
            contract::Command::DeleteSet(name) => Self::DeleteSet(name),
            contract::Command::AddElements(e) => Self::AddElements(e.try_into()?),
            contract::Command::CreateElements(e) => Self::CreateElements(e.try_into()?),
            contract::Command::DeleteElements(e) => Self::DeleteElements(e.try_into()?),
            contract::Command::FlushSet(name) => Self::FlushSet(name),
            contract::Command::DeleteTable => Self::DeleteTable,
        })
    }
}
