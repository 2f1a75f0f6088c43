//! Capability `firewall`: chains, rules and sets of a plugin's own nftables tables.

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};

use super::document::Capabilities;
use super::link::Mac;
use super::operation::{
    self, Capability, Fields, Invocation, Miss, Namespace, Operation, Verb, any,
};

/// The family of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    Ip,
    Ip6,
    Inet,
    Arp,
    Bridge,
    Netdev,
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ip => "ip",
            Self::Ip6 => "ip6",
            Self::Inet => "inet",
            Self::Arp => "arp",
            Self::Bridge => "bridge",
            Self::Netdev => "netdev",
        })
    }
}

/// Where a base chain is called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Hook {
    Prerouting,
    Input,
    Forward,
    Output,
    Postrouting,
    Ingress,
    Egress,
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Prerouting => "prerouting",
            Self::Input => "input",
            Self::Forward => "forward",
            Self::Output => "output",
            Self::Postrouting => "postrouting",
            Self::Ingress => "ingress",
            Self::Egress => "egress",
        })
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChainType {
    Filter,
    Nat,
    Route,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    Accept,
    Drop,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Chain {
    pub name: String,
    /// None for a regular chain, which is reached by `jump` and `goto` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<BaseChain>,
}

/// What of a packet is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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

/// Leaves a field out of the audit log where it says nothing.
fn is_false(value: &bool) -> bool {
    !value
}

/// What must hold for a rule's statements to be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Condition {
    Equals {
        field: Field,
        value: Value,
        #[serde(skip_serializing_if = "is_false")]
        negate: bool,
    },
    Within {
        field: Field,
        network: IpNet,
        #[serde(skip_serializing_if = "is_false")]
        negate: bool,
    },
    Masked {
        field: Field,
        mask: u32,
        value: u32,
        #[serde(skip_serializing_if = "is_false")]
        negate: bool,
    },
    InSet {
        fields: Vec<Field>,
        set: String,
        #[serde(skip_serializing_if = "is_false")]
        negate: bool,
    },
}

/// The fields, concatenated, as the key of a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MapLookup {
    pub fields: Vec<Field>,
    pub map: String,
}

/// `mark & ~mask | value`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MarkChange {
    pub mask: u32,
    pub value: u32,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct NatOptions {
    #[serde(skip_serializing_if = "is_false")]
    pub random: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub fully_random: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub persistent: bool,
}

/// A translation's new address and port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Nat {
    pub target: NatTarget,
    pub options: NatOptions,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NatTarget {
    Fixed {
        #[serde(skip_serializing_if = "Option::is_none")]
        address: Option<IpAddr>,
        #[serde(skip_serializing_if = "Option::is_none")]
        port: Option<u16>,
    },
    FromMap {
        lookup: MapLookup,
        with_port: bool,
        ipv6: bool,
    },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
    /// The word of it in a grant.
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

/// The kind of a statement: what `statements:` in a grant lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StatementKind {
    Accept,
    Drop,
    Return,
    Jump,
    Goto,
    VerdictMap,
    Masquerade,
    Snat,
    Dnat,
    SetMark,
    SetConnectionMark,
    Reject,
    Counter,
    Notrack,
}

impl fmt::Display for StatementKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Accept => "accept",
            Self::Drop => "drop",
            Self::Return => "return",
            Self::Jump => "jump",
            Self::Goto => "goto",
            Self::VerdictMap => "verdict-map",
            Self::Masquerade => "masquerade",
            Self::Snat => "snat",
            Self::Dnat => "dnat",
            Self::SetMark => "set-mark",
            Self::SetConnectionMark => "set-connection-mark",
            Self::Reject => "reject",
            Self::Counter => "counter",
            Self::Notrack => "notrack",
        })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Rule {
    pub chain: String,
    /// All must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// In order; only the last may be a verdict or a translation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub statements: Vec<Statement>,
    /// At most 128 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
    /// Only in answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<u64>,
}

/// The type of a part of a key or of a map's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DataType {
    Ipv4Address,
    Ipv6Address,
    MacAddress,
    LinkName,
    Port,
    Protocol,
    Mark,
    Verdict,
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4Address => "ipv4-address",
            Self::Ipv6Address => "ipv6-address",
            Self::MacAddress => "mac-address",
            Self::LinkName => "link-name",
            Self::Port => "port",
            Self::Protocol => "protocol",
            Self::Mark => "mark",
            Self::Verdict => "verdict",
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Set {
    pub name: String,
    /// One part, or several for a concatenation.
    pub key: Vec<DataType>,
    /// Empty for a set; `[Verdict]` alone, or the parts of a data value, for a map.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub data: Vec<DataType>,
    /// Elements are ranges.
    #[serde(skip_serializing_if = "is_false")]
    pub interval: bool,
}

/// A verdict in a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Accept,
    Drop,
    Return,
    Jump(String),
    Goto(String),
}

impl Verdict {
    /// The statement that it amounts to.
    pub fn kind(&self) -> StatementKind {
        match self {
            Self::Accept => StatementKind::Accept,
            Self::Drop => StatementKind::Drop,
            Self::Return => StatementKind::Return,
            Self::Jump(_) => StatementKind::Jump,
            Self::Goto(_) => StatementKind::Goto,
        }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Element {
    pub key: Vec<Value>,
    /// The last key of a range, in an `interval` set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key_end: Option<Vec<Value>>,
    #[serde(skip_serializing_if = "ElementData::is_none")]
    pub data: ElementData,
    /// At most 128 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elements {
    pub set: String,
    pub elements: Vec<Element>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RuleHandle {
    pub chain: String,
    pub handle: u64,
}

/// One command of a transaction. `Add…` of what exists already as described is no error;
/// `Create…` of what exists is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    AddChain(Chain),
    CreateChain(Chain),
    DeleteChain(String),
    FlushChain(String),
    AppendRule(Rule),
    InsertRule(Rule),
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
    /// The hook that a base chain of it hangs on.
    fn hook(&self) -> Option<Hook> {
        self.base_chain().map(|base| base.hook)
    }

    /// What it can make happen to a packet. A chain's policy `drop` and a map's verdicts count
    /// like the statements of their names.
    fn statements(&self) -> Vec<StatementKind> {
        match self {
            Self::AddChain(_) | Self::CreateChain(_) => {
                let drops = self
                    .base_chain()
                    .is_some_and(|base| base.policy == Policy::Drop);
                drops.then_some(StatementKind::Drop).into_iter().collect()
            }
            Self::AppendRule(rule) | Self::InsertRule(rule) => {
                rule.statements.iter().map(Statement::kind).collect()
            }
            Self::AddElements(elements) | Self::CreateElements(elements) => {
                elements.elements.iter().filter_map(verdict_of).collect()
            }
            _ => Vec::new(),
        }
    }

    fn base_chain(&self) -> Option<&BaseChain> {
        match self {
            Self::AddChain(chain) | Self::CreateChain(chain) => chain.base.as_ref(),
            _ => None,
        }
    }
}

fn verdict_of(element: &Element) -> Option<StatementKind> {
    match &element.data {
        ElementData::Verdict(verdict) => Some(verdict.kind()),
        _ => None,
    }
}

/// Carries out commands as one transaction in the plugin's table of a family.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub struct Apply {
    pub namespace: Namespace,
    pub family: Family,
    /// `weir_<plugin>`: named by the host.
    pub table: String,
    pub commands: Vec<Command>,
    /// Chains, sets and the table are deleted only while they are empty, and are `busy`
    /// otherwise. What the host sets to undo: others may have put something into them meanwhile.
    #[serde(skip_serializing_if = "is_false")]
    pub only_empty: bool,
}

/// Lists the chains of the plugin's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListChains {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
}

/// Lists the names of the sets and maps of the plugin's table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListSets {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
}

/// Lists the handles and comments of one chain's rules.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListRules {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub chain: String,
}

/// Reads one element by its key.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GetElement {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub set: String,
    pub key: Vec<Value>,
}

/// Lists the elements of a set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ListElements {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub set: String,
}

impl Operation for Apply {
    type Rule = FirewallRule;
    const NAME: &'static str = "firewall.apply";
    const VERB: Verb = Verb::Write;

    fn requirements(&self) -> Vec<Requirement> {
        let mut needed = vec![Subject::Table];
        let mut need = |subject| {
            if !needed.contains(&subject) {
                needed.push(subject);
            }
        };
        for command in &self.commands {
            command
                .hook()
                .map(Subject::Hook)
                .into_iter()
                .for_each(&mut need);
            command
                .statements()
                .into_iter()
                .map(Subject::Statement)
                .for_each(&mut need);
        }
        let requirement = |subject| Requirement {
            namespace: self.namespace,
            family: self.family,
            table: self.table.clone(),
            verb: Self::VERB,
            subject,
        };
        needed.into_iter().map(requirement).collect()
    }
}

/// Implements `Operation` for operations that read a table.
macro_rules! operation_that_reads {
    ($($operation:ident, $name:literal;)*) => {$(
        impl Operation for $operation {
            type Rule = FirewallRule;
            const NAME: &'static str = $name;
            const VERB: Verb = Verb::Read;

            fn requirements(&self) -> Vec<Requirement> {
                vec![Requirement {
                    namespace: self.namespace,
                    family: self.family,
                    table: self.table.clone(),
                    verb: Self::VERB,
                    subject: Subject::Table,
                }]
            }
        }
    )*};
}

operation_that_reads! {
    ListChains, "firewall.list-chains";
    ListSets, "firewall.list-sets";
    ListRules, "firewall.list-rules";
    GetElement, "firewall.get-element";
    ListElements, "firewall.list-elements";
}

/// `firewall:` in a grant. Absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FirewallRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub families: Option<Vec<Family>>,
    /// `read`, `write`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verbs: Option<Vec<Verb>>,
    /// Hooks that base chains may hang on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks: Option<Vec<Hook>>,
    /// Statements of rules, verdicts of maps, and `drop` as the policy of a base chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statements: Option<Vec<StatementKind>>,
}

/// A table, or what is hung up or said in it, and what is done.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    pub family: Family,
    pub table: String,
    pub verb: Verb,
    pub subject: Subject,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    Table,
    Hook(Hook),
    Statement(StatementKind),
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            namespace,
            family,
            table,
            verb,
            subject,
        } = self;
        match subject {
            Subject::Table => write!(f, "{verb}")?,
            Subject::Hook(hook) => write!(f, "{verb} a chain on hook {hook} to")?,
            Subject::Statement(kind) => write!(f, "{verb} `{kind}` to")?,
        }
        write!(f, " nftables table `{family} {table}` in {namespace}")
    }
}

impl operation::Rule for FirewallRule {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Firewall;

    fn of(capabilities: &Capabilities) -> &[Self] {
        &capabilities.firewall
    }

    fn miss(&self, r: &Requirement, _: &Invocation) -> Option<Miss> {
        let on_hook = match r.subject {
            Subject::Hook(hook) => any(self.hooks.as_deref(), |h| *h == hook),
            _ => true,
        };
        let with_statement = match r.subject {
            Subject::Statement(kind) => any(self.statements.as_deref(), |s| *s == kind),
            _ => true,
        };
        Fields::default()
            .field("namespace", self.namespace.is_none_or(|n| n == r.namespace))
            .field(
                "families",
                any(self.families.as_deref(), |f| *f == r.family),
            )
            .field("verbs", any(self.verbs.as_deref(), |v| *v == r.verb))
            .field("hooks", on_hook)
            .field("statements", with_statement)
            .miss()
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::{Decision, decide};
    use super::*;

    const MASQUERADE: &str = r#"{"firewall": [{
        "namespace": "host", "families": ["inet"], "verbs": ["read", "write"],
        "hooks": ["postrouting"], "statements": ["verdict-map", "jump", "return", "masquerade"]
    }]}"#;

    fn capabilities(json: &str) -> Capabilities {
        serde_json::from_str(json).expect("a grant")
    }

    fn apply(commands: Vec<Command>) -> Apply {
        Apply {
            namespace: Namespace::Host,
            family: Family::Inet,
            table: "weir_bridge".to_owned(),
            commands,
            only_empty: false,
        }
    }

    fn base(hook: Hook, policy: Policy) -> Command {
        Command::AddChain(Chain {
            name: "c".to_owned(),
            base: Some(BaseChain {
                chain_type: ChainType::Nat,
                hook,
                priority: 100,
                policy,
                device: None,
            }),
        })
    }

    fn rule(statements: Vec<Statement>) -> Command {
        Command::AppendRule(Rule {
            chain: "c".to_owned(),
            statements,
            ..Rule::default()
        })
    }

    fn element(verdict: Verdict) -> Command {
        Command::CreateElements(Elements {
            set: "m".to_owned(),
            elements: vec![Element {
                key: vec![Value::Address([10, 0, 0, 1].into())],
                data: ElementData::Verdict(verdict),
                ..Element::default()
            }],
        })
    }

    fn decision<O: Operation>(grant: &str, operation: &O) -> Decision {
        decide(&capabilities(grant), &Invocation::default(), operation)
    }

    fn denied(requirement: &str, closest: Option<&str>) -> Decision {
        Decision::Denied {
            requirement: requirement.to_owned(),
            closest: closest.map(str::to_owned),
        }
    }

    fn allowed() -> Decision {
        Decision::Allowed {
            rules: vec!["firewall[0]".to_owned()],
        }
    }

    #[test]
    fn what_is_listed_is_allowed() {
        let commands = vec![
            base(Hook::Postrouting, Policy::Accept),
            rule(vec![Statement::Return]),
            rule(vec![Statement::Masquerade(NatOptions::default())]),
            element(Verdict::Jump("net".to_owned())),
        ];
        assert_eq!(decision(MASQUERADE, &apply(commands)), allowed());
    }

    #[test]
    fn without_a_rule_nothing_is_allowed() {
        let expected = denied("write nftables table `inet weir_bridge` in host", None);
        assert_eq!(decision("{}", &apply(Vec::new())), expected);
    }

    #[test]
    fn a_hook_that_is_not_listed_is_denied() {
        let operation = apply(vec![base(Hook::Input, Policy::Accept)]);
        let requirement =
            "write a chain on hook input to nftables table `inet weir_bridge` in host";
        let expected = denied(requirement, Some("firewall[0]: hooks"));
        assert_eq!(decision(MASQUERADE, &operation), expected);
    }

    #[test]
    fn every_statement_of_a_rule_counts() {
        let operation = apply(vec![rule(vec![Statement::Counter, Statement::Return])]);
        let requirement = "write `counter` to nftables table `inet weir_bridge` in host";
        let expected = denied(requirement, Some("firewall[0]: statements"));
        assert_eq!(decision(MASQUERADE, &operation), expected);
    }

    #[test]
    fn a_verdict_in_a_map_counts_as_its_statement() {
        let requirement = "write `drop` to nftables table `inet weir_bridge` in host";
        let expected = denied(requirement, Some("firewall[0]: statements"));
        assert_eq!(
            decision(MASQUERADE, &apply(vec![element(Verdict::Drop)])),
            expected
        );
    }

    #[test]
    fn the_policy_drop_counts_as_the_statement() {
        let operation = apply(vec![base(Hook::Postrouting, Policy::Drop)]);
        let requirement = "write `drop` to nftables table `inet weir_bridge` in host";
        let expected = denied(requirement, Some("firewall[0]: statements"));
        assert_eq!(decision(MASQUERADE, &operation), expected);
    }

    #[test]
    fn another_namespace_or_family_is_denied() {
        let mut operation = apply(Vec::new());
        operation.namespace = Namespace::Container;
        let requirement = "write nftables table `inet weir_bridge` in container";
        let expected = denied(requirement, Some("firewall[0]: namespace"));
        assert_eq!(decision(MASQUERADE, &operation), expected);

        let mut operation = apply(Vec::new());
        operation.family = Family::Bridge;
        let requirement = "write nftables table `bridge weir_bridge` in host";
        let expected = denied(requirement, Some("firewall[0]: families"));
        assert_eq!(decision(MASQUERADE, &operation), expected);
    }

    #[test]
    fn reading_needs_its_verb() {
        let operation = ListChains {
            namespace: Namespace::Host,
            family: Family::Inet,
            table: "weir_bridge".to_owned(),
        };
        assert_eq!(decision(MASQUERADE, &operation), allowed());
        let write_only = r#"{"firewall": [{"verbs": ["write"]}]}"#;
        let requirement = "read nftables table `inet weir_bridge` in host";
        let expected = denied(requirement, Some("firewall[0]: verbs"));
        assert_eq!(decision(write_only, &operation), expected);
    }

    #[test]
    fn unknown_keys_and_words_are_refused() {
        for json in [
            r#"{"firewall": [{"tables": ["x"]}]}"#,
            r#"{"firewall": [{"hooks": ["somewhere"]}]}"#,
            r#"{"firewall": [{"statements": ["return-to-caller"]}]}"#,
        ] {
            assert!(
                serde_json::from_str::<Capabilities>(json).is_err(),
                "{json}"
            );
        }
    }

    #[test]
    fn the_audit_log_stays_compact() {
        let json = serde_json::to_string(&apply(vec![element(Verdict::Jump("net".to_owned()))]));
        assert_eq!(
            json.expect("JSON"),
            r#"{"namespace":"host","family":"inet","table":"weir_bridge","commands":[{"create-elements":{"set":"m","elements":[{"key":["10.0.0.1"],"data":{"verdict":{"jump":"net"}}}]}}]}"#
        );
    }
}
