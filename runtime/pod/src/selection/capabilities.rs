//! `portMappings` and `bandwidth`, checked and converted to the capabilities of the same names.

use std::net::IpAddr;

use serde_json::{Map, Value};

use super::keys::not;

use crate::quoted::quoted;

const PROTOCOLS: [&str; 3] = ["tcp", "udp", "sctp"];

const RATES: [&str; 4] = ["ingressRate", "ingressBurst", "egressRate", "egressBurst"];

/// The mappings: `hostPort` and `containerPort`, optionally `protocol` and `hostIP`.
pub(super) fn port_mappings(value: &Value) -> Result<Value, String> {
    let expected = "a list of objects with hostPort and containerPort";
    let items = value.as_array().ok_or_else(|| not(expected, value))?;
    let read = |(index, item): (usize, &Value)| {
        mapping(item).map_err(|fault| format!("mapping {}: {fault}", index + 1))
    };
    let mappings = items.iter().enumerate().map(read);
    mappings.collect::<Result<Vec<_>, _>>().map(Value::from)
}

fn mapping(item: &Value) -> Result<Value, String> {
    let given = object(item)?;
    known(given, &["hostPort", "containerPort", "protocol", "hostIP"])?;
    let mut mapping = Map::new();
    for key in ["hostPort", "containerPort"] {
        mapping.insert(key.to_owned(), port(key, given.get(key))?.into());
    }
    if let Some(protocol) = optional(given, "protocol") {
        let named = protocol.as_str().map(str::to_lowercase);
        let named = named.filter(|name| PROTOCOLS.contains(&name.as_str()));
        let named =
            named.ok_or_else(|| of("protocol", "\"tcp\", \"udp\" or \"sctp\"", protocol))?;
        mapping.insert("protocol".to_owned(), named.into());
    }
    if let Some(ip) = optional(given, "hostIP") {
        let parsed = ip.as_str().and_then(|text| text.parse::<IpAddr>().ok());
        let parsed = parsed.ok_or_else(|| of("hostIP", "an IP address", ip))?;
        mapping.insert("hostIP".to_owned(), parsed.to_string().into());
    }
    Ok(mapping.into())
}

fn port(key: &str, value: Option<&Value>) -> Result<u16, String> {
    let value = value.unwrap_or(&Value::Null);
    let port = value.as_u64().and_then(|port| u16::try_from(port).ok());
    port.filter(|port| *port != 0)
        .ok_or_else(|| of(key, "a port, 1 to 65535", value))
}

/// The rates in bits per second, and the bursts in bits.
pub(super) fn bandwidth(value: &Value) -> Result<Value, String> {
    let given = object(value)?;
    known(given, &RATES)?;
    let mut bandwidth = Map::new();
    for key in RATES {
        if let Some(rate) = given.get(key).filter(|rate| !rate.is_null()) {
            let number = rate.as_u64();
            let number =
                number.ok_or_else(|| of(key, "a whole number of bits, 0 or more", rate))?;
            bandwidth.insert(key.to_owned(), number.into());
        }
    }
    Ok(bandwidth.into())
}

fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value.as_object().ok_or_else(|| not("an object", value))
}

/// A value that is neither missing, null nor empty.
fn optional<'v>(object: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    let value = object.get(key)?;
    Some(value).filter(|value| !value.is_null() && *value != "")
}

/// A misspelt key would silently leave out a port or a limit.
fn known(object: &Map<String, Value>, keys: &[&str]) -> Result<(), String> {
    let is_unknown = |key: &&String| !key.contains('.') && !keys.contains(&key.as_str());
    match object.keys().find(is_unknown) {
        Some(key) => Err(format!(
            "{} is not a key, expected {}",
            quoted(key),
            keys.join(", ")
        )),
        None => Ok(()),
    }
}

fn of(key: &str, expected: &str, value: &Value) -> String {
    match value {
        Value::Null => format!("{key}: is missing, expected {expected}"),
        value => format!("{key}: {}", not(expected, value)),
    }
}
