//! The commands on a table: chains, rules, sets, elements.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::super::link::Mac;
use super::super::word::words;

words! {
    /// The family of a table.
    #[derive(Hash)]
    pub enum Family {
        Ip = "ip",
        Ip6 = "ip6",
        Inet = "inet",
        Arp = "arp",
        Bridge = "bridge",
        Netdev = "netdev",
    }
}

words! {
    /// Where a base chain is called from.
    pub enum Hook {
        Prerouting = "prerouting",
        Input = "input",
        Forward = "forward",
        Output = "output",
        Postrouting = "postrouting",
        Ingress = "ingress",
        Egress = "egress",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChainType {
    Filter,
    Nat,
    Route,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    Accept,
    Drop,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct BaseChain {
    pub chain_type: ChainType,
    pub hook: Hook,
    /// Lower is earlier.
    pub priority: i32,
    pub policy: Policy,
    /// The link of `ingress` and `egress` chains.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chain {
    pub name: String,
    /// None for a regular chain, which only `jump` and `goto` reach.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseChain>,
}

/// What of a packet is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    InputLinkName,
    OutputLinkName,
    Mark,
    NetworkProtocol,
    TransportProtocol,
    Ipv4Source,
    Ipv4Destination,
    Ipv6Source,
    Ipv6Destination,
    SourcePort,
    DestinationPort,
    MacSource,
    MacDestination,
    EtherType,
    ConnectionState,
    ConnectionStatus,
    ConnectionMark,
    ConnectionOriginalDestinationPort,
    DestinationAddressType,
    SourceAddressType,
}

/// In nft's spelling.
impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InputLinkName => "meta iifname",
            Self::OutputLinkName => "meta oifname",
            Self::Mark => "meta mark",
            Self::NetworkProtocol => "meta nfproto",
            Self::TransportProtocol => "meta l4proto",
            Self::Ipv4Source => "ip saddr",
            Self::Ipv4Destination => "ip daddr",
            Self::Ipv6Source => "ip6 saddr",
            Self::Ipv6Destination => "ip6 daddr",
            Self::SourcePort => "th sport",
            Self::DestinationPort => "th dport",
            Self::MacSource => "ether saddr",
            Self::MacDestination => "ether daddr",
            Self::EtherType => "ether type",
            Self::ConnectionState => "ct state",
            Self::ConnectionStatus => "ct status",
            Self::ConnectionMark => "ct mark",
            Self::ConnectionOriginalDestinationPort => "ct original proto-dst",
            Self::DestinationAddressType => "fib daddr type",
            Self::SourceAddressType => "fib saddr type",
        })
    }
}

/// A constant to compare with, or a part of a set element's key or data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Number(u32),
    Address(IpAddr),
    /// An interface name.
    Name(String),
    Mac(Mac),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Address(address) => write!(f, "{address}"),
            Self::Name(name) => write!(f, "\"{name}\""),
            Self::Mac(mac) => write!(f, "{mac}"),
        }
    }
}

/// Leaves an empty field out of the audit log.
pub(super) fn is_false(value: &bool) -> bool {
    !value
}

/// A condition for a rule's statements to be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    Equals {
        field: Field,
        value: Value,
        #[serde(default, skip_serializing_if = "is_false")]
        negate: bool,
    },
    Within {
        field: Field,
        network: IpNet,
        #[serde(default, skip_serializing_if = "is_false")]
        negate: bool,
    },
    Masked {
        field: Field,
        mask: u32,
        value: u32,
        #[serde(default, skip_serializing_if = "is_false")]
        negate: bool,
    },
    InSet {
        fields: Vec<Field>,
        set: String,
        #[serde(default, skip_serializing_if = "is_false")]
        negate: bool,
    },
}

/// The fields, concatenated, as the key of a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapLookup {
    pub fields: Vec<Field>,
    pub map: String,
}

/// `mark & ~mask | value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkChange {
    pub mask: u32,
    pub value: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct NatOptions {
    #[serde(default, skip_serializing_if = "is_false")]
    pub random: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub fully_random: bool,
    #[serde(default, skip_serializing_if = "is_false")]
    pub persistent: bool,
}

/// A translation's new address and port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Nat {
    pub target: NatTarget,
    pub options: NatOptions,
}

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NatTarget {
    Fixed {
        address: Option<IpAddr>,
        port: Option<u16>,
    },
    FromMap {
        lookup: MapLookup,
        with_port: bool,
        ipv6: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statement {
    Accept,
    Drop,
    Return,
    Jump(String),
    Goto(String),
    VerdictMap(MapLookup),
    Masquerade(NatOptions),
    Snat(Nat),
    Dnat(Nat),
    SetMark(MarkChange),
    SetConnectionMark(MarkChange),
    Reject,
    Counter,
    Notrack,
}

impl Statement {
    /// Returns the word of it in a grant.
    pub fn kind(&self) -> StatementKind {
        match self {
            Self::Accept => StatementKind::Accept,
            Self::Drop => StatementKind::Drop,
            Self::Return => StatementKind::Return,
            Self::Jump(_) => StatementKind::Jump,
            Self::Goto(_) => StatementKind::Goto,
            Self::VerdictMap(_) => StatementKind::VerdictMap,
            Self::Masquerade(_) => StatementKind::Masquerade,
            Self::Snat(_) => StatementKind::Snat,
            Self::Dnat(_) => StatementKind::Dnat,
            Self::SetMark(_) => StatementKind::SetMark,
            Self::SetConnectionMark(_) => StatementKind::SetConnectionMark,
            Self::Reject => StatementKind::Reject,
            Self::Counter => StatementKind::Counter,
            Self::Notrack => StatementKind::Notrack,
        }
    }
}

words! {
    /// The kind of a statement: what `statements:` in a grant lists.
    pub enum StatementKind {
        Accept = "accept",
        Drop = "drop",
        Return = "return",
        Jump = "jump",
        Goto = "goto",
        VerdictMap = "verdict-map",
        Masquerade = "masquerade",
        Snat = "snat",
        Dnat = "dnat",
        SetMark = "set-mark",
        SetConnectionMark = "set-connection-mark",
        Reject = "reject",
        Counter = "counter",
        Notrack = "notrack",
    }
}

#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    pub chain: String,
    /// All must hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// In order; only the last may be a verdict or a translation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
    /// At most 128 bytes.
    pub comment: Option<String>,
    /// Only in answers.
    pub handle: Option<u64>,
}

words! {
    /// The type of a part of a key or of a map's data.
    pub enum DataType {
        Ipv4Address = "ipv4-address",
        Ipv6Address = "ipv6-address",
        MacAddress = "mac-address",
        LinkName = "link-name",
        Port = "port",
        Protocol = "protocol",
        Mark = "mark",
        Verdict = "verdict",
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    pub name: String,
    /// One part, or several for a concatenation.
    pub key: Vec<DataType>,
    /// Empty for a set; `[Verdict]` alone, or the parts of a data value, for a map.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataType>,
    /// Elements are ranges.
    #[serde(default, skip_serializing_if = "is_false")]
    pub interval: bool,
}

/// A verdict in a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Accept,
    Drop,
    Return,
    Jump(String),
    Goto(String),
}

impl Verdict {
    /// Returns the word in a grant of the statement that it is equivalent to.
    pub fn kind(&self) -> StatementKind {
        Statement::from(self.clone()).kind()
    }
}

impl From<Verdict> for Statement {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Accept => Self::Accept,
            Verdict::Drop => Self::Drop,
            Verdict::Return => Self::Return,
            Verdict::Jump(chain) => Self::Jump(chain),
            Verdict::Goto(chain) => Self::Goto(chain),
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ElementData {
    #[default]
    None,
    Verdict(Verdict),
    Values(Vec<Value>),
}

impl ElementData {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Element {
    pub key: Vec<Value>,
    /// The last key of a range, in an `interval` set.
    pub key_end: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "ElementData::is_none")]
    pub data: ElementData,
    /// At most 128 bytes.
    pub comment: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Elements {
    pub set: String,
    pub elements: Vec<Element>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleHandle {
    pub chain: String,
    pub handle: u64,
}

/// One command of a transaction. `Add…` of what exists already as described is not an error;
/// `Create…` of what exists is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    AddChain(Chain),
    CreateChain(Chain),
    DeleteChain(String),
    FlushChain(String),
    AppendRule(Rule),
    InsertRule(Rule),
    /// The rules that their chains must have, in this order, identified by their comments.
    KeepRules(Vec<Rule>),
    DeleteRule(RuleHandle),
    AddSet(Set),
    CreateSet(Set),
    DeleteSet(String),
    AddElements(Elements),
    CreateElements(Elements),
    DeleteElements(Elements),
    FlushSet(String),
    DeleteTable,
}

impl Command {
    /// Roughly the memory that it takes, in bytes: only elements can be many.
    pub(super) fn size(&self) -> usize {
        let elements = match self {
            Self::AddElements(elements)
            | Self::CreateElements(elements)
            | Self::DeleteElements(elements) => elements.elements.as_slice(),
            _ => &[],
        };
        size_of::<Self>() + elements.iter().map(Element::size).sum::<usize>()
    }
}

impl Element {
    fn size(&self) -> usize {
        let data = match &self.data {
            ElementData::Values(values) => values.len(),
            ElementData::None | ElementData::Verdict(_) => 1,
        };
        let values = self.key.len() + self.key_end.as_ref().map_or(0, Vec::len) + data;
        let comment = self.comment.as_ref().map_or(0, String::len);
        size_of::<Self>() + values * size_of::<Value>() + comment
    }
}
