//! What the operation of a record does, in words, and how far it reaches.

use serde_json::Value;
use weir_grant::operation_names::recorded;
use weir_grant::query::Query;
use weir_grant::{Namespace, Severity};

use super::Record;

/// How deep lists are nested in the arguments of an operation: commands of a transaction, and their elements.
const DEEPEST: usize = 3;

impl Record {
    /// What the operation does: "move veth `eth0` from container to host". None for an event, and for arguments that are
    /// not those of a known operation.
    pub fn act(&self) -> Option<String> {
        let operation = self.operation()?;
        let act = operation.act();
        match self.shortened_from {
            Some(_) => Some(format!("{act}; and what is not recorded")),
            None => Some(act),
        }
    }

    /// How far the operation reaches. What is not recorded may be anything that its namespace allows. None for an event.
    pub fn severity(&self) -> Option<Severity> {
        let is_of_host = || self.namespaces.iter().any(|n| n == Namespace::Host.word());
        let known = self.operation().map(|o| o.severity(&self.invocation()));
        let least = match (&known, self.shortened_from) {
            _ if self.is_event() => return None,
            (Some(_), None) | (Some(Severity::Reads), _) => return known,
            _ if !is_of_host() => Severity::Contained,
            (None, None) => Severity::ChangesHost,
            (_, Some(_)) => Severity::ReachesOthers,
        };
        Some(known.map_or(least, |known| known.max(least)))
    }

    /// The operation, of a shortened record as far as it is recorded.
    fn operation(&self) -> Option<Box<dyn Query>> {
        let whole = recorded(&self.operation, &self.arguments).ok();
        if whole.is_some() || self.shortened_from.is_none() {
            return whole;
        }
        // The last element of a list may be there in part.
        (0..DEEPEST).rev().find_map(|depth| {
            let mut arguments = self.arguments.clone();
            let is_shorter = without_last(&mut arguments, depth);
            is_shorter.then(|| recorded(&self.operation, &arguments).ok())?
        })
    }
}

/// Takes the last element of a list out: of the outermost one, or of one that many lists below it.
fn without_last(value: &mut Value, depth: usize) -> bool {
    match value {
        Value::Array(list) if depth == 0 => list.pop().is_some(),
        Value::Array(list) => list
            .last_mut()
            .is_some_and(|last| without_last(last, depth - 1)),
        Value::Object(members) => {
            let mut members = members.values_mut();
            members.any(|member| without_last(member, depth))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(operation: &str, arguments: Value) -> Record {
        let namespaces: &[&str] = match arguments["namespace"] {
            Value::Null => &[],
            _ => &["host"],
        };
        let record = json!({
            "time": "2026-03-01T10:00:00Z", "command": "ADD", "network": "n", "plugin": "p", "digest": "d",
            "operation": operation, "namespaces": namespaces, "arguments": arguments, "verdict": "allowed",
            "answer": "ok",
        });
        serde_json::from_value(record).expect("a record")
    }

    fn shortened(commands: Value) -> Record {
        let arguments =
            json!({ "namespace": "host", "family": "inet", "table": "t", "commands": commands });
        Record {
            shortened_from: Some(99_999),
            ..record("firewall.apply", arguments)
        }
    }

    #[test]
    fn a_shortened_record_tells_what_it_has_and_is_as_grave_as_it_may_be() {
        let jump = json!({ "append-rule": { "chain": "c", "statements": [{ "jump": "d" }] } });
        let part = json!({ "append-rule": { "chain": "c", "statements": [{ "jump": "e" }], "conditions": [{}] } });
        for commands in [json!([jump]), json!([jump, part]), json!([jump, {}])] {
            let record = shortened(commands);
            let act = record.act().expect("words");
            let told = "send every packet in chain `c` through chain `d`";
            assert!(act.starts_with(told), "{act}");
            assert!(act.ends_with("; and what is not recorded"), "{act}");
            assert_eq!(record.severity(), Some(Severity::ReachesOthers));
        }
        let hopeless = shortened(json!("x"));
        assert_eq!(hopeless.act(), None);
        assert_eq!(hopeless.severity(), Some(Severity::ReachesOthers));
    }

    #[test]
    fn what_is_not_known_is_not_less_than_a_change() {
        let later = record("link.bend", json!({ "namespace": "host" }));
        assert_eq!(later.act(), None);
        assert_eq!(later.severity(), Some(Severity::ChangesHost));
        let event = Record {
            capability: "plugin".to_owned(),
            ..record("plugin.add", json!({}))
        };
        assert_eq!(event.severity(), None);
    }

    /// Before links had owners, and before policy rules were called so.
    #[test]
    fn older_records_are_told_as_well() {
        let link = json!({ "namespace": "container", "index": 2, "name": "eth0", "kind": "veth" });
        let moved = record(
            "link.move",
            json!({ "link": link, "to": "host", "name": "eth0" }),
        );
        assert_eq!(
            moved.act().as_deref(),
            Some("move veth `eth0` from container to host")
        );
        assert_eq!(moved.severity(), Some(Severity::LeavesContainer));
        let rule = json!({ "namespace": "host", "rule": { "family": "ipv4", "table": 100 } });
        assert_eq!(
            record("rule.add", rule).severity(),
            Some(Severity::ReachesOthers)
        );
    }
}
