//! What the operation of a record does, in words, and how far it reaches.

use weir_grant::Severity;
use weir_grant::operation_names::recorded::Recorded;

use super::Record;

impl Record {
    /// Returns what the operation does: "move veth `eth0` from container to host". None for an event, and for arguments
    /// that are not those of a known operation.
    pub fn act(&self) -> Option<String> {
        self.recorded().act()
    }

    /// Returns how far the operation reaches. What is not recorded may be anything that its namespace allows. None for
    /// an event.
    pub fn severity(&self) -> Option<Severity> {
        (!self.is_event()).then(|| self.recorded().severity(&self.subject.invocation()))
    }

    fn recorded(&self) -> Recorded<'_> {
        Recorded {
            operation: &self.operation,
            arguments: &self.arguments,
            is_shortened: self.shortened_from.is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn record(operation: &str, arguments: Value) -> Record {
        let record = json!({
            "time": "2026-03-01T10:00:00Z", "command": "ADD", "network": "n", "plugin": "p", "digest": "d",
            "operation": operation, "arguments": arguments, "verdict": "allowed",
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
    fn older_records_are_described_as_well() {
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
