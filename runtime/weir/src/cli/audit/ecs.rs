//! Records as documents of the Elastic Common Schema, for `weir audit --ecs`. The table of their fields is in `docs/audit.md`.

use serde_json::{Value, json};
use weir_grant::operation_names::function::verbs;
use weir_grant::{Capability, Verb};

use crate::cli::record::{Record, Verdict};

/// A version of the schema that has all fields used here.
const VERSION: &str = "8.17.0";

/// Makes the document of a record. What no field of the schema is for is below `weir`.
pub fn document(record: &Record) -> Value {
    let subject = &record.subject;
    let mut document = json!({
        "@timestamp": record.time,
        "ecs": { "version": VERSION },
        "message": record.act().unwrap_or_else(|| record.operation.clone()),
        "event": event(record),
        "host": { "name": record.node },
        "container": { "id": subject.container_id },
        "orchestrator": subject.pod.as_deref().and_then(orchestrator),
        "network": { "name": subject.network },
        "package": { "name": subject.plugin, "checksum": subject.digest },
        "rule": { "name": record.rules },
        "user": { "id": added_by(record) },
        "weir": {
            "schema": record.schema,
            "invocation": record.invocation,
            "command": subject.command,
            "ifname": subject.ifname,
            "definition": subject.definition,
            "capability": record.capability,
            "namespaces": record.namespaces,
            "verdict": record.verdict,
            "severity": record.severity(),
            "requirement": record.requirement,
            "closest": record.closest,
            "shortened_from": record.shortened_from,
            "arguments_sha256": record.arguments_sha256,
        },
    });
    leave_out_empty(&mut document);
    // As recorded, empty members included.
    document["weir"]["arguments"] = record.arguments.clone();
    if let Some(previous) = &record.previous {
        document["weir"]["previous"] = previous.clone();
    }
    document
}

fn event(record: &Record) -> Value {
    let id = record.invocation.as_deref().zip(record.seq);
    json!({
        "kind": "event",
        "module": "weir",
        "dataset": "weir.audit",
        "id": id.map(|(invocation, seq)| format!("{invocation}-{seq}")),
        "sequence": record.seq,
        "action": record.operation,
        "category": categories(record),
        "type": types(record),
        "outcome": outcome(record),
        "reason": record.remark(),
        "severity": record.severity().map(|severity| severity as u8),
        "duration": record.microseconds.map(|microseconds| microseconds.saturating_mul(1000)),
    })
}

/// The categories, those of the schema to which [`types`] belong.
fn categories(record: &Record) -> &'static [&'static str] {
    match (record.operation.as_str(), record.capability.as_str()) {
        ("plugin.add" | "plugin.remove", _) => &["package"],
        ("plugin.run", _) => &["package", "network"],
        ("grant.change", _) => &["configuration"],
        ("forward.missed", _) => &["host"],
        (_, "denial") => &["network"],
        (_, "store") => &["file", "network"],
        _ => &["configuration", "network"],
    }
}

/// What it does to its object, and whether it was allowed.
fn types(record: &Record) -> Vec<&'static str> {
    let act = match record.operation.as_str() {
        "plugin.add" => return vec!["installation"],
        "plugin.remove" => return vec!["deletion"],
        "grant.change" => return vec!["change"],
        "forward.missed" => return vec!["info"],
        "denial.further" => "info",
        "plugin.run" => "start",
        operation => act(operation),
    };
    let verdict = match record.verdict {
        Verdict::Allowed | Verdict::Undo => "allowed",
        Verdict::Denied | Verdict::Refused => "denied",
    };
    vec![act, verdict]
}

/// What an operation does to its object: by its verb, where it always has the same.
fn act(operation: &str) -> &'static str {
    let verbs = operation.split_once('.').and_then(|(word, function)| {
        let capability = Capability::from_word(word)?;
        Some(verbs(capability, function))
    });
    match verbs.as_deref() {
        Some([Verb::Create]) => "creation",
        Some([Verb::Read]) => "access",
        Some([Verb::Delete]) => "deletion",
        _ => "change",
    }
}

fn outcome(record: &Record) -> &'static str {
    if matches!(record.verdict, Verdict::Denied | Verdict::Refused) {
        return "failure";
    }
    match record.answer.as_deref() {
        Some("ok") => "success",
        Some(_) => "failure",
        None => "unknown",
    }
}

fn orchestrator(pod: &str) -> Option<Value> {
    let (namespace, name) = pod.split_once('/')?;
    let resource = json!({ "type": "pod", "name": name });
    Some(json!({ "type": "kubernetes", "namespace": namespace, "resource": resource }))
}

/// The user who added or removed a plugin. A record of a changed grant does not know its user.
fn added_by(record: &Record) -> Option<String> {
    let user = record.is_event().then(|| record.arguments.get("user"))??;
    Some(user.get("uid")?.to_string())
}

/// Leaves out members without a value, and objects without members. Returns whether nothing is left.
fn leave_out_empty(value: &mut Value) -> bool {
    match value {
        Value::Object(members) => {
            members.retain(|_, member| !leave_out_empty(member));
            members.is_empty()
        }
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(list) => list.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::SCHEMA;
    use super::*;

    const PAGE: &str = include_str!("../../../../../docs/audit.md");

    /// A record with the members of any, and with these in their place.
    fn record(members: Value) -> Record {
        let mut record = json!({
            "time": "2026-03-01T10:00:00.000001Z", "schema": 1, "node": "n1", "invocation": "0123456789abcdef", "seq": 3,
            "command": "ADD", "container_id": "c", "ifname": "eth0", "network": "pods", "definition": "shop/pods",
            "pod": "shop/web-0", "plugin": "p", "digest": "sha256:aa", "capability": "link", "operation": "link.delete",
            "namespaces": ["host"], "verdict": "allowed", "rules": ["link[0]"], "answer": "ok", "microseconds": 5,
            "arguments": { "link": { "namespace": "host", "index": 3, "name": "", "kind": "veth" } },
        });
        let all = record.as_object_mut().expect("an object");
        all.extend(members.as_object().cloned().expect("an object"));
        serde_json::from_value(record).expect("a record")
    }

    /// One record of each sort.
    fn records() -> Vec<Record> {
        let denied = json!({
            "verdict": "denied", "rules": [], "requirement": "delete veth `` in host",
            "closest": { "rule": "link[0]", "field": "names", "unlisted": "eth0" },
            "answer": "the grant does not allow it to delete veth `` in host (closest rule: link[0]: names)",
        });
        let shortened =
            json!({ "shortened_from": 99_999, "arguments_sha256": "aa", "previous": { "mtu": 1 } });
        let user = json!({ "uid": 1000, "login_uid": 1001 });
        let added = json!({
            "capability": "plugin", "operation": "plugin.add", "arguments": { "user": user }, "rules": [],
        });
        [json!({}), denied, shortened, added].map(record).into()
    }

    /// The names of a document's fields. What is below an object that is stored as it is recorded has no fields of its own.
    fn fields(name: &str, value: &Value, into: &mut BTreeSet<String>) {
        let is_as_recorded = matches!(name, "weir.arguments" | "weir.previous");
        match value.as_object().filter(|_| !is_as_recorded) {
            Some(members) => members.iter().for_each(|(key, member)| {
                let dot = if name.is_empty() { "" } else { "." };
                fields(&format!("{name}{dot}{key}"), member, into);
            }),
            None => {
                into.insert(name.to_owned());
            }
        }
    }

    /// The words in backticks of a column of the page's table of fields.
    fn column(number: usize) -> BTreeSet<String> {
        let (_, section) = PAGE
            .split_once("### In the Elastic Common Schema")
            .expect("the section");
        let (section, _) = section.split_once("\n## ").expect("its end");
        let rows = section.lines().filter(|line| line.starts_with("| "));
        let cells = rows.filter_map(|row| row.split('|').nth(number));
        let words = cells.flat_map(|cell| cell.split('`').skip(1).step_by(2));
        words.map(str::to_owned).collect()
    }

    #[test]
    fn the_page_has_every_key_of_the_schema_and_every_field() {
        let schema: Value = serde_json::from_str(SCHEMA).expect("JSON");
        let keys = schema["$defs"]["joined"]["properties"]
            .as_object()
            .expect("properties");
        let keys: BTreeSet<String> = keys.keys().cloned().collect();
        assert_eq!(column(1), keys);

        let mut made = BTreeSet::new();
        for record in records() {
            fields("", &document(&record), &mut made);
        }
        assert_eq!(column(2), made);
    }

    #[test]
    fn what_was_done_and_what_came_of_it_is_in_the_schemas_own_words() {
        for (members, expected) in [
            ("{}", "deletion allowed success"),
            (
                r#"{"verdict": "undo", "operation": "link.create"}"#,
                "creation allowed success",
            ),
            (
                r#"{"verdict": "denied", "operation": "sysctl.write"}"#,
                "change denied failure",
            ),
            (
                r#"{"verdict": "refused", "operation": "route.list"}"#,
                "access denied failure",
            ),
            (
                r#"{"answer": "busy", "operation": "link.bend"}"#,
                "change allowed failure",
            ),
            (
                r#"{"answer": null, "operation": "firewall.apply"}"#,
                "change allowed unknown",
            ),
            (
                r#"{"verdict": "denied", "operation": "plugin.run"}"#,
                "start denied failure",
            ),
        ] {
            let members = serde_json::from_str(members).expect("JSON");
            let event = document(&record(members))["event"].take();
            let types = event["type"].as_array().into_iter().flatten();
            let told = types.chain([&event["outcome"]]).filter_map(Value::as_str);
            assert_eq!(told.collect::<Vec<_>>().join(" "), expected, "{event:#}");
        }
    }

    #[test]
    fn only_what_has_a_value_is_there_and_arguments_are_as_recorded() {
        let members = json!({ "container_id": "", "ifname": "", "pod": null, "definition": null, "rules": [] });
        let document = document(&record(members));
        for member in ["container", "orchestrator", "rule", "user"] {
            assert_eq!(document.get(member), None, "{document:#}");
        }
        assert_eq!(document["event"].get("reason"), None);
        assert_eq!(document["event"]["id"], "0123456789abcdef-3");
        assert_eq!(document["event"]["duration"], 5000);
        assert_eq!(document["weir"]["arguments"]["link"]["name"], "");
    }
}
