//! The ports that a transaction translates: those in the keys of maps whose values are addresses and ports, and those
//! in the conditions of a translation that has its own; and the numbers of protocols.

use super::commands::{
    Command, Condition, Element, ElementData, Field, MapLookup, NatTarget, Rule, Statement, Value,
};

/// Protocols with ports, by their numbers: TCP, UDP, SCTP.
const PROTOCOLS: [u32; 3] = [6, 17, 132];

/// The ports that the commands translate; none means every port.
pub(super) fn translated(commands: &[Command]) -> Vec<Option<u16>> {
    let mut ports = Vec::new();
    for command in commands {
        match command {
            Command::AddElements(elements) | Command::CreateElements(elements) => {
                ports.extend(elements.elements.iter().flat_map(of_element));
            }
            Command::AppendRule(rule) | Command::InsertRule(rule) => ports.extend(of_rule(rule)),
            Command::KeepRules(rules) => ports.extend(rules.iter().flat_map(of_rule)),
            _ => {}
        }
    }
    ports
}

/// Numbers in a key are protocols or ports; one that may be either counts as a port.
fn of_element(element: &Element) -> Vec<Option<u16>> {
    if !matches!(element.data, ElementData::Values(_)) {
        return Vec::new();
    }
    let numbers = element.key.iter().chain(element.key_end.iter().flatten());
    let numbers: Vec<u32> = numbers.filter_map(number).collect();
    match protocol_and_port(&numbers) {
        // A range of keys may hold any port between its ends.
        _ if element.key_end.is_some() => vec![None],
        Some((_, port)) => vec![port_of(port)],
        None => numbers.iter().map(|port| port_of(*port)).collect(),
    }
}

pub(super) fn number(value: &Value) -> Option<u32> {
    match value {
        Value::Number(number) => Some(*number),
        _ => None,
    }
}

/// Which of the two numbers of a key is the protocol, and which the port; none if there are others, or neither is a protocol
/// with ports.
pub(super) fn protocol_and_port(numbers: &[u32]) -> Option<(u32, u32)> {
    match *numbers {
        [protocol, port] | [port, protocol] if PROTOCOLS.contains(&protocol) => {
            Some((protocol, port))
        }
        _ => None,
    }
}

/// The word for a protocol's number.
pub(super) fn protocol(number: u32) -> Option<&'static str> {
    match number {
        1 => Some("icmp"),
        6 => Some("tcp"),
        17 => Some("udp"),
        58 => Some("icmpv6"),
        132 => Some("sctp"),
        _ => None,
    }
}

fn port_of(number: u32) -> Option<u16> {
    number.try_into().ok()
}

fn of_rule(rule: &Rule) -> Vec<Option<u16>> {
    let translations = rule
        .statements
        .iter()
        .filter_map(|statement| match statement {
            Statement::Dnat(nat) => Some(&nat.target),
            _ => None,
        });
    let of = |target: &NatTarget| match target {
        // Its elements say.
        NatTarget::FromMap {
            lookup: MapLookup { fields, .. },
            ..
        } if fields.contains(&Field::DestinationPort) => None,
        _ => Some(rule.conditions.iter().find_map(port_of_condition)),
    };
    translations.filter_map(of).collect()
}

fn port_of_condition(condition: &Condition) -> Option<u16> {
    match condition {
        Condition::Equals {
            field: Field::DestinationPort,
            value: Value::Number(port),
            negate: false,
        } => port_of(*port),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn ports(commands: Json) -> Vec<Option<u16>> {
        let commands: Vec<Command> = serde_json::from_value(commands).expect("commands");
        translated(&commands)
    }

    fn elements(key: Json) -> Json {
        let element = json!({ "key": key, "data": { "values": ["10.0.0.2", 80] } });
        json!([{ "create-elements": { "set": "ports4", "elements": [element] } }])
    }

    #[test]
    fn the_port_of_a_mapping_is_told_from_its_protocol() {
        assert_eq!(ports(elements(json!([6, 8080]))), [Some(8080)]);
        assert_eq!(ports(elements(json!([8080, 17]))), [Some(8080)]);
        assert_eq!(ports(elements(json!(["192.0.2.1", 6, 22]))), [Some(22)]);
        assert_eq!(ports(elements(json!([8080]))), [Some(8080)]);
        // Both could be.
        assert_eq!(ports(elements(json!([22, 8080]))), [Some(22), Some(8080)]);
        assert_eq!(ports(elements(json!([6, 70000]))), [None]);
    }

    #[test]
    fn a_range_of_keys_may_be_any_port() {
        let element =
            json!({ "key": [6, 1], "key-end": [6, 65535], "data": { "values": ["10.0.0.2"] } });
        let commands = json!([{ "add-elements": { "set": "all", "elements": [element] } }]);
        assert_eq!(ports(commands), [None]);
    }

    #[test]
    fn a_set_translates_nothing() {
        let commands =
            json!([{ "add-elements": { "set": "hairpin4", "elements": [{ "key": [6, 22] }] } }]);
        assert_eq!(ports(commands), []);
    }

    #[test]
    fn a_translation_of_its_own_has_the_port_of_its_condition() {
        let rule = |conditions: Json| {
            let to = json!({ "dnat": { "target": { "fixed": { "address": "10.0.0.2" } }, "options": {} } });
            ports(
                json!([{ "append-rule": { "chain": "c", "conditions": conditions, "statements": [to] } }]),
            )
        };
        let port = |negate: bool| json!({ "equals": { "field": "destination-port", "value": 22, "negate": negate } });
        assert_eq!(rule(json!([port(false)])), [Some(22)]);
        assert_eq!(rule(json!([port(true)])), [None]);
        assert_eq!(rule(json!([])), [None]);
    }
}
