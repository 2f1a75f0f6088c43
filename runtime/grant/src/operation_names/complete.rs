//! Completes the JSON of an operation with what a person need not give.

use serde_json::{Map, Value, json};

/// A field that has no default, in words.
pub(super) type Missing = String;

/// Leaves the JSON as it is.
pub(super) fn nothing(_: &mut Map<String, Value>) -> Result<(), Missing> {
    Ok(())
}

/// Moves the fields of one kind where that kind has them.
pub(super) fn new_link(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    let kind = operation.get("kind").and_then(Value::as_str);
    let kind = kind.unwrap_or_default().to_owned();
    let own = match kind.as_str() {
        "veth" => json!({}),
        "macvlan" => json!({ "mode": "bridge" }),
        "ipvlan" => json!({ "mode": "l2" }),
        "vlan" => json!({ "id": 1, "protocol": "802.1Q" }),
        "vrf" => json!({ "table": 1 }),
        "tap" => json!({ "multi_queue": false }),
        _ => json!({}),
    };
    if let Value::Object(own) = own {
        operation.extend(own);
    }
    let needed = match kind.as_str() {
        "veth" => Some(("peer", &["namespace"][..])),
        "macvlan" | "ipvlan" | "vlan" => Some(("lower", &LINK[..])),
        _ => None,
    };
    if let Some((member, fields)) = needed {
        let link = operation.get(member).unwrap_or(&Value::Null);
        has_all(link, member, fields).map_err(|missing| match kind.as_str() {
            "veth" => format!("a veth needs {missing}, and `peer.name` if you choose it"),
            kind => format!("a {kind} needs {missing}"),
        })?;
    }
    master(operation, "/master")?;
    if let Some(Value::Object(peer)) = operation.get_mut("peer") {
        peer.entry("name").or_insert_with(|| "".into());
        peer.insert("up".to_owned(), false.into());
    }
    Ok(())
}

/// Identifies an existing link.
const LINK: [&str; 3] = ["namespace", "kind", "name"];

/// A change of a link; its new master is an existing link.
pub(super) fn changed_link(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    master(operation, "/master/link")
}

fn master(operation: &Map<String, Value>, place: &str) -> Result<(), Missing> {
    let document = Value::Object(operation.clone());
    match document.pointer(place) {
        Some(link @ Value::Object(_)) => {
            has_all(link, "master", &LINK).map_err(|m| format!("a master needs {m}"))
        }
        _ => Ok(()),
    }
}

/// Checks that a link has these fields. Errors: the missing ones, as a person gives them.
fn has_all(link: &Value, member: &str, fields: &[&str]) -> Result<(), Missing> {
    let missing = fields.iter().filter(|field| link.get(field).is_none());
    let missing: Vec<String> = missing.map(|f| format!("`{member}.{f}`")).collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(missing.join(", "))
    }
}

/// A link by its name alone, for rules without kinds.
pub(super) fn link(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    let namespace = operation.get("namespace").cloned();
    by_name(operation.get_mut("link"), namespace);
    Ok(())
}

pub(super) fn route(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    let namespace = operation.get("namespace").cloned();
    by_name(operation["route"].get_mut("link"), namespace);
    Ok(())
}

fn by_name(link: Option<&mut Value>, namespace: Option<Value>) {
    if let Some(Value::Object(link)) = link {
        link.entry("kind").or_insert_with(|| "link".into());
        link.extend(namespace.map(|namespace| ("namespace".to_owned(), namespace)));
    }
}

/// A discipline by its word alone.
pub(super) fn discipline(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    let word = operation["discipline"].as_str().unwrap_or_default();
    let parameters = match word {
        "tbf" => json!({ "rate": 0, "burst": 0, "latency": 0 }),
        "htb" => json!({ "default": 0 }),
        "ingress" | "clsact" => json!({}),
        other => json!({ "discipline": "other", "word": other }),
    };
    operation.extend(parameters.as_object().cloned().unwrap_or_default());
    Ok(())
}

pub(super) fn filter(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    let action = match operation.remove("target") {
        Some(target) => json!({ "redirect": target }),
        None => json!({ "classify": "1:1" }),
    };
    operation.insert("action".to_owned(), action);
    Ok(())
}

/// Commands that add base chains on these hooks with these statements in each; without hooks, one regular chain,
/// which may be reached from every hook.
pub(super) fn commands(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    let mut take = |key| match operation.remove(key) {
        Some(Value::Array(words)) => words,
        _ => Vec::new(),
    };
    let (hooks, statements) = (take("hooks"), take("statements"));
    let named = |hook: &Value| format!("chain-{}", hook.as_str().unwrap_or_default());
    let chains = hooks.iter().map(|hook| {
        let base = json!({
            "chain-type": "filter", "hook": hook, "priority": 0, "policy": "accept",
        });
        json!({ "add-chain": { "name": named(hook), "base": base } })
    });
    let mut names: Vec<String> = hooks.iter().map(named).collect();
    if names.is_empty() {
        names.push("chain".to_owned());
    }
    let rules = names.iter().flat_map(|chain| {
        statements.iter().map(move |word| {
            let statement = statement(word.as_str().unwrap_or_default());
            json!({ "append-rule": { "chain": chain, "statements": [statement] } })
        })
    });
    let commands: Vec<Value> = chains.chain(rules).collect();
    operation.insert("commands".to_owned(), commands.into());
    Ok(())
}

/// A statement by its word alone.
fn statement(word: &str) -> Value {
    match word {
        "jump" | "goto" => json!({ word: "chain" }),
        "verdict-map" => json!({ word: { "fields": [], "map": "map" } }),
        "masquerade" => json!({ word: {} }),
        "snat" | "dnat" => json!({ word: { "target": { "fixed": {} }, "options": {} } }),
        "set-mark" | "set-connection-mark" => json!({ word: { "mask": 0, "value": 0 } }),
        word => json!(word),
    }
}

pub(super) fn store(operation: &mut Map<String, Value>) -> Result<(), Missing> {
    operation
        .entry("location")
        .or_insert_with(|| "private".into());
    Ok(())
}
