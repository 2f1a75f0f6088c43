//! What a transaction on packet filters does, in words, and how far it reaches.
//!
//! A rule is described by what it does with a packet, on which hook, to which packets. Of a long transaction the gravest
//! commands are described, and the others are counted.

use super::mapped::Translations;
use super::ports::protocol;
use super::{
    Apply, Chain, Chains, Command, Condition, Element, ElementData, Elements, Field, GetElement,
    ListChains, ListElements, ListRules, ListSets, MapLookup, Nat, NatTarget, Policy,
    RemoveReference, Rule, Statement, StatementKind, Value, Verdict,
};
use crate::act::{Act, Severity};
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::operation::reads;
use crate::owner::Owner;
use crate::phrase::joined;

reads!(ListChains, ListSets, ListRules, GetElement, ListElements);

/// How many commands are described one by one.
const MOST_TOLD: usize = 4;
/// How many elements and conditions of one command are described one by one.
const MOST_PARTS: usize = 4;

impl Act for Apply {
    fn act(&self) -> String {
        let table = format!(
            "nftables table `{} {}` in {}",
            self.family, self.table, self.namespace
        );
        let mut chains = Chains::default();
        let mut summary = ActSummary::default();
        let translations = Translations::of(&self.commands);
        let commands = self.commands.iter();
        commands.for_each(|command| summary.add(chains.summary(command, &translations)));
        let words = summary.words();
        if words.is_empty() {
            return format!("write {table}");
        }
        format!("{}, in {table}", joined(words, "and"))
    }

    /// Whose the packets are, no condition of a rule says for certain.
    fn severity(&self, invocation: &Invocation) -> Severity {
        let mut chains = Chains::default();
        let translations = Translations::default();
        let commands = self.commands.iter();
        let mut summary = commands.flat_map(|command| chains.summary(command, &translations));
        let is_foreign = |mark: &String| !Owner::Attachment.has(mark, invocation);
        if summary.any(|(is_grave, _)| is_grave) || self.removed.iter().any(is_foreign) {
            Severity::of_traffic_in(self.namespace)
        } else {
            Severity::of_change_in(self.namespace)
        }
    }
}

/// What commands do: a few of them, however many there are.
#[derive(Default)]
struct ActSummary {
    grave: Vec<String>,
    other: Vec<String>,
    count: usize,
}

impl ActSummary {
    fn add(&mut self, all: Vec<(bool, String)>) {
        for (is_grave, text) in all {
            let list = if is_grave {
                &mut self.grave
            } else {
                &mut self.other
            };
            if list.contains(&text) {
                continue;
            }
            self.count += 1;
            if list.len() < MOST_TOLD {
                list.push(text);
            }
        }
    }

    /// The grave ones first.
    fn words(self) -> Vec<String> {
        let all = self.grave.into_iter().chain(self.other);
        let mut words: Vec<String> = all.take(MOST_TOLD).collect();
        if self.count > words.len() {
            words.push(format!("do {} more things", self.count - words.len()));
        }
        words
    }
}

impl Act for RemoveReference {
    fn act(&self) -> String {
        format!(
            "remove what the reference plugin `{}` made for this attachment from the packet filters in host",
            self.plugin
        )
    }

    fn severity(&self, _: &Invocation) -> Severity {
        Severity::of_change_in(Namespace::Host)
    }
}

impl<'a> Chains<'a> {
    /// What a command does, each with whether it decides on packets or may remove what does.
    fn summary(
        &mut self,
        command: &'a Command,
        translations: &Translations<'_>,
    ) -> Vec<(bool, String)> {
        // The chains are followed as for the requirements.
        let summary = match command {
            Command::AddChain(chain) | Command::CreateChain(chain) => vec![made(chain)],
            Command::AppendRule(rule) | Command::InsertRule(rule) => vec![self.ruled(rule)],
            Command::KeepRules(rules) => rules.iter().map(|rule| self.ruled(rule)).collect(),
            Command::AddElements(elements) | Command::CreateElements(elements) => {
                put(elements, translations)
            }
            Command::DeleteElements(elements) => {
                let (keys, set) = (keys(&elements.elements), &elements.set);
                vec![(false, format!("take {keys} out of set `{set}`"))]
            }
            Command::AddSet(set) | Command::CreateSet(set) => {
                vec![(false, format!("add set `{}`", set.name))]
            }
            Command::DeleteChain(name) => vec![(true, format!("delete chain `{name}`"))],
            Command::FlushChain(name) => {
                vec![(true, format!("remove every rule of chain `{name}`"))]
            }
            Command::DeleteRule(rule) => {
                vec![(
                    true,
                    format!("remove rule {} of chain `{}`", rule.handle, rule.chain),
                )]
            }
            Command::DeleteSet(name) => vec![(true, format!("delete set `{name}`"))],
            Command::FlushSet(name) => vec![(true, format!("empty set `{name}`"))],
            Command::DeleteTable => vec![(true, "delete every chain and rule".to_owned())],
        };
        self.subjects(command);
        summary
    }

    /// A rule: "drop packets from 10.1.0.2 on hook input".
    fn ruled(&self, rule: &Rule) -> (bool, String) {
        let place = match self.hook(&rule.chain) {
            Some(hook) => format!("on hook {hook}"),
            None => format!("in chain `{}`", rule.chain),
        };
        let packets = packets(&rule.conditions);
        let mut is_grave = false;
        let mut does = Vec::new();
        for statement in &rule.statements {
            is_grave |= is_of_packets(statement.kind());
            does.push(statement_words(statement));
        }
        if does.is_empty() {
            return (false, format!("match {packets} {place}"));
        }
        // The packets are named in the first one.
        let mut does = does.into_iter();
        let first = does
            .next()
            .map(|(before, after)| format!("{before} {packets} {place}{after}"));
        let rest = does.map(|(before, after)| format!("{before} them{after}"));
        let all = first.into_iter().chain(rest).collect();
        (is_grave, joined(all, "and"))
    }
}

/// Whether a statement decides what becomes of a packet, or changes it. Accepting one ends no other table's chains.
fn is_of_packets(kind: StatementKind) -> bool {
    match kind {
        StatementKind::Drop
        | StatementKind::Reject
        | StatementKind::Masquerade
        | StatementKind::Snat
        | StatementKind::Dnat
        | StatementKind::SetMark
        | StatementKind::SetConnectionMark
        | StatementKind::Notrack => true,
        StatementKind::Accept
        | StatementKind::Return
        | StatementKind::Jump
        | StatementKind::Goto
        | StatementKind::VerdictMap
        | StatementKind::Counter => false,
    }
}

fn made(chain: &Chain) -> (bool, String) {
    let name = &chain.name;
    let Some(base) = &chain.base else {
        return (false, format!("add chain `{name}`"));
    };
    let device = base
        .device
        .as_ref()
        .map(|device| format!(" of device `{device}`"));
    let at = format!("on hook {}{}", base.hook, device.unwrap_or_default());
    match base.policy {
        Policy::Accept => (false, format!("add chain `{name}` {at}")),
        Policy::Drop => (
            true,
            format!("drop every packet {at} that no rule of chain `{name}` accepts"),
        ),
    }
}

/// A statement's words before and after the packets.
fn statement_words(statement: &Statement) -> (String, String) {
    let alone = |verb: &str| (verb.to_owned(), String::new());
    let marked =
        |change: &super::MarkChange| format!(" with mark {:#x}/{:#x}", change.value, change.mask);
    match statement {
        Statement::Accept => alone("accept"),
        Statement::Drop => alone("drop"),
        Statement::Reject => alone("reject"),
        Statement::Counter => alone("count"),
        Statement::Masquerade(_) => alone("masquerade"),
        Statement::Return => ("leave".to_owned(), " to the calling chain".to_owned()),
        Statement::Jump(chain) | Statement::Goto(chain) => {
            ("send".to_owned(), format!(" through chain `{chain}`"))
        }
        Statement::VerdictMap(map) => ("decide on".to_owned(), format!(" by {}", looked_up(map))),
        Statement::Snat(nat) => (
            "give".to_owned(),
            format!(" the source {}", translated(nat)),
        ),
        Statement::Dnat(nat) => ("redirect".to_owned(), format!(" to {}", translated(nat))),
        Statement::SetMark(change) => ("mark".to_owned(), marked(change)),
        Statement::SetConnectionMark(change) => {
            ("mark the connection of".to_owned(), marked(change))
        }
        Statement::Notrack => ("exempt".to_owned(), " from connection tracking".to_owned()),
    }
}

fn translated(nat: &Nat) -> String {
    match &nat.target {
        NatTarget::Fixed { address, port } => {
            let port = port.map(|port| format!("port {port}"));
            let address = address.map(|address| address.to_string());
            let parts: Vec<String> = address.into_iter().chain(port).collect();
            if parts.is_empty() {
                return "an address of the link".to_owned();
            }
            parts.join(" ")
        }
        NatTarget::FromMap { lookup, .. } => format!("what {} says", looked_up(lookup)),
    }
}

fn looked_up(lookup: &MapLookup) -> String {
    format!("map `{}`", lookup.map)
}

/// The packets that meet all conditions.
fn packets(conditions: &[Condition]) -> String {
    if conditions.is_empty() {
        return "every packet".to_owned();
    }
    let mut all: Vec<String> = conditions.iter().take(MOST_PARTS).map(condition).collect();
    if conditions.len() > MOST_PARTS {
        all.push(format!(
            "under {} more conditions",
            conditions.len() - MOST_PARTS
        ));
    }
    format!("packets {}", all.join(" "))
}

fn condition(condition: &Condition) -> String {
    let (negate, text) = match condition {
        Condition::Equals {
            field,
            value,
            negate,
        } => (negate, compared(*field, value)),
        Condition::Within {
            field,
            network,
            negate,
        } => (negate, with_preposition(*field, network.to_string())),
        Condition::Masked {
            field,
            mask,
            value,
            negate,
        } => (negate, format!("with {field} & {mask:#x} == {value:#x}")),
        Condition::InSet {
            fields,
            set,
            negate,
        } => {
            let fields: Vec<String> = fields.iter().map(ToString::to_string).collect();
            (
                negate,
                format!("with {} in set `{set}`", fields.join(" . ")),
            )
        }
    };
    if *negate { format!("not {text}") } else { text }
}

fn compared(field: Field, value: &Value) -> String {
    match (field, value) {
        (Field::TransportProtocol, Value::Number(number)) => match protocol(*number) {
            Some(word) => format!("of {word}"),
            None => format!("of protocol {number}"),
        },
        (Field::InputLinkName, Value::Name(name)) => format!("coming in on `{name}`"),
        (Field::OutputLinkName, Value::Name(name)) => format!("going out of `{name}`"),
        _ => with_preposition(field, value.to_string()),
    }
}

/// "from 10.1.0.2"; another field in nft's spelling.
fn with_preposition(field: Field, value: String) -> String {
    match field {
        Field::Ipv4Source | Field::Ipv6Source => format!("from {value}"),
        Field::Ipv4Destination | Field::Ipv6Destination => format!("to {value}"),
        Field::SourcePort => format!("from port {value}"),
        Field::DestinationPort => format!("to port {value}"),
        Field::MacSource => format!("from MAC address {value}"),
        Field::MacDestination => format!("to MAC address {value}"),
        _ => format!("with {field} {value}"),
    }
}

/// Elements of a set or a map: port mappings one by one, and of the others those that decide on packets first.
fn put(elements: &Elements, translations: &Translations<'_>) -> Vec<(bool, String)> {
    let set = &elements.set;
    let (mut acts, mut others) = (Vec::new(), Vec::new());
    for element in &elements.elements {
        match translations.words(set, element) {
            Some(words) => acts.push((true, words)),
            None => others.push(element),
        }
    }
    if others.is_empty() {
        return acts;
    }
    let is_grave = |element: &&Element| match &element.data {
        ElementData::None => false,
        ElementData::Verdict(verdict) => is_of_packets(verdict.kind()),
        ElementData::Values(_) => true,
    };
    let count = others.len();
    let (graves, others): (Vec<&Element>, Vec<&Element>) = others.into_iter().partition(is_grave);
    let is_any_grave = !graves.is_empty();
    let first = graves.into_iter().chain(others).take(MOST_PARTS);
    let mut words: Vec<String> = first.map(element_words).collect();
    if count > MOST_PARTS {
        words.push(format!("{} more elements", count - MOST_PARTS));
    }
    acts.push((
        is_any_grave,
        format!("put {} into `{set}`", joined(words, "and")),
    ));
    acts
}

fn element_words(element: &Element) -> String {
    let key = key(element);
    match &element.data {
        ElementData::None => key,
        ElementData::Values(values) => format!("{key} to {}", dotted(values)),
        ElementData::Verdict(verdict) => match verdict {
            Verdict::Jump(chain) | Verdict::Goto(chain) => format!("{key} to chain `{chain}`"),
            Verdict::Accept | Verdict::Drop | Verdict::Return => {
                format!("{key} to {}", verdict.kind())
            }
        },
    }
}

/// The keys of elements.
fn keys(elements: &[Element]) -> String {
    let mut words: Vec<String> = elements.iter().take(MOST_PARTS).map(key).collect();
    if elements.len() > MOST_PARTS {
        words.push(format!("{} more elements", elements.len() - MOST_PARTS));
    }
    if words.is_empty() {
        "nothing".to_owned()
    } else {
        joined(words, "and")
    }
}

/// A key in nft's spelling, or a range of them.
fn key(element: &Element) -> String {
    match &element.key_end {
        Some(end) => format!("{}-{}", dotted(&element.key), dotted(end)),
        None => dotted(&element.key),
    }
}

fn dotted(values: &[Value]) -> String {
    let values: Vec<String> = values.iter().map(ToString::to_string).collect();
    values.join(" . ")
}
