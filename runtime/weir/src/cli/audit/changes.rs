//! Plugins that were installed or removed, and grants that changed.

use std::collections::VecDeque;

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use serde_with::skip_serializing_none;
use weir_gate::GRANT_CHANGE;

use crate::cli::record::Record;

/// The most changes that are kept. Of more, only the number is known of the first ones.
const MOST: usize = 200;

/// The last changes, in the order of the records.
#[derive(Default, Serialize)]
pub struct Changes {
    pub latest: VecDeque<Change>,
    /// How many there were before.
    pub earlier: u64,
}

#[skip_serializing_none]
#[derive(Debug, PartialEq, Serialize)]
pub struct Change {
    /// When it was done, or, for a grant, when an invocation found it.
    pub time: Timestamp,
    /// Empty for a file without a grant.
    pub plugin: String,
    /// What was done, in words.
    pub what: String,
    /// Who did it; none where that is not known.
    pub user: Option<Value>,
    /// When a grant's file was last written.
    pub modified: Option<String>,
}

impl Changes {
    pub fn add(&mut self, record: &Record) {
        let Some(what) = what(record) else {
            return;
        };
        if self.latest.len() == MOST {
            self.latest.pop_front();
            self.earlier += 1;
        }
        self.latest.push_back(Change {
            time: record.time,
            plugin: record.subject.plugin.clone(),
            what,
            user: record.arguments.get("user").cloned(),
            modified: text(record, "modified").map(str::to_owned),
        });
    }
}

/// What changed; none for a record of something else.
fn what(record: &Record) -> Option<String> {
    let new = &record.subject.digest;
    match record.operation.as_str() {
        "plugin.add" => Some(match text(record, "replaced") {
            Some(old) if old == new => format!("component `{new}` was installed again"),
            Some(old) => format!("component `{new}` was installed in place of `{old}`"),
            None => format!("component `{new}` was installed"),
        }),
        "plugin.remove" => Some(format!("component `{new}` was removed")),
        GRANT_CHANGE => {
            let done = match (text(record, "before"), text(record, "after")) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            };
            let file = text(record, "document").unwrap_or_default();
            Some(format!("grant `{file}` was {done}"))
        }
        _ => None,
    }
}

fn text<'a>(record: &'a Record, argument: &str) -> Option<&'a str> {
    record.arguments.get(argument)?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(operation: &str, arguments: Value) -> Record {
        let record = json!({
            "time": "2026-03-01T10:00:00Z", "command": "", "network": "", "plugin": "labels", "digest": "sha256:02", "operation": operation,
            "arguments": arguments, "verdict": "allowed", "answer": "ok",
        });
        serde_json::from_value(record).expect("a record")
    }

    fn words(operation: &str, arguments: Value) -> Option<String> {
        what(&record(operation, arguments))
    }

    #[test]
    fn what_changed_is_said() {
        let grant = |digests: Value| {
            let mut arguments = json!({ "document": "/etc/weir/grants.d/p.yaml" });
            let members = arguments.as_object_mut().expect("an object");
            members.extend(digests.as_object().expect("an object").clone());
            words(GRANT_CHANGE, arguments)
        };
        for (said, expected) in [
            (
                words("plugin.add", json!({})),
                "component `sha256:02` was installed",
            ),
            (
                words("plugin.add", json!({ "replaced": "sha256:01" })),
                "component `sha256:02` was installed in place of `sha256:01`",
            ),
            (
                words("plugin.add", json!({ "replaced": "sha256:02" })),
                "component `sha256:02` was installed again",
            ),
            (
                words("plugin.remove", json!({})),
                "component `sha256:02` was removed",
            ),
            (
                grant(json!({ "after": "b" })),
                "grant `/etc/weir/grants.d/p.yaml` was added",
            ),
            (
                grant(json!({ "before": "a", "after": "b" })),
                "grant `/etc/weir/grants.d/p.yaml` was changed",
            ),
            (
                grant(json!({ "before": "a" })),
                "grant `/etc/weir/grants.d/p.yaml` was removed",
            ),
        ] {
            assert_eq!(said.as_deref(), Some(expected));
        }
        assert_eq!(words("link.create", json!({ "after": "b" })), None);
    }

    #[test]
    fn the_last_ones_are_kept() {
        let mut changes = Changes::default();
        for _ in 0..MOST {
            changes.add(&record("plugin.add", json!({})));
        }
        changes.add(&record("plugin.remove", json!({ "user": { "uid": 0 } })));
        assert_eq!((changes.latest.len(), changes.earlier), (MOST, 1));
        let last = changes.latest.back().expect("the last one");
        assert_eq!(last.user, Some(json!({ "uid": 0 })));
        assert_eq!(last.what, "component `sha256:02` was removed");
    }
}
