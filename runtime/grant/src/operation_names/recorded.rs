//! The operation of a record of the audit log: what it does, in words, and how far it reaches.

use std::collections::BTreeSet;

use serde_json::Value;

use super::recorded;
use crate::act::Severity;
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::query::Query;

/// How deep lists are nested in the arguments of an operation: commands of a transaction, and their elements.
const DEEPEST: usize = 3;

/// An operation as a record has it.
#[derive(Clone, Copy, Debug)]
pub struct Recorded<'a> {
    /// `link.create`.
    pub operation: &'a str,
    pub arguments: &'a Value,
    /// Whether only a part of the arguments is recorded.
    pub is_shortened: bool,
}

impl Recorded<'_> {
    /// Says what the operation does: "move veth `eth0` from container to host". None for arguments that are not those of a
    /// known operation.
    pub fn act(&self) -> Option<String> {
        let act = self.query()?.act();
        if self.is_shortened {
            return Some(format!("{act}; and what is not recorded"));
        }
        Some(act)
    }

    /// Says how far the operation reaches. What is not recorded may be anything that its namespace allows.
    pub fn severity(&self, invocation: &Invocation) -> Severity {
        let known = self.query().map(|operation| operation.severity(invocation));
        let least = match (known, self.is_shortened) {
            (Some(known), false) | (Some(known @ Severity::Reads), _) => return known,
            _ if !namespaces(self.arguments).contains(Namespace::Host.word()) => {
                Severity::Contained
            }
            (None, false) => Severity::ChangesHost,
            (_, true) => Severity::ReachesOthers,
        };
        known.map_or(least, |known| known.max(least))
    }

    /// The operation, of a shortened record as far as it is recorded.
    fn query(&self) -> Option<Box<dyn Query>> {
        let whole = recorded(self.operation, self.arguments).ok();
        if whole.is_some() || !self.is_shortened {
            return whole;
        }
        // The last element of a list may be there in part.
        (0..DEEPEST).rev().find_map(|depth| {
            let mut arguments = self.arguments.clone();
            let is_shorter = without_last(&mut arguments, depth);
            is_shorter.then(|| recorded(self.operation, &arguments).ok())?
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

/// Lists the namespaces that an operation is about, wherever its arguments have them.
pub fn namespaces(arguments: &Value) -> BTreeSet<&str> {
    let mut found = BTreeSet::new();
    collect(arguments, &mut found);
    found
}

fn collect<'a>(value: &'a Value, into: &mut BTreeSet<&'a str>) {
    match value {
        Value::Object(members) => {
            into.extend(members.get("namespace").and_then(Value::as_str));
            members.values().for_each(|member| collect(member, into));
        }
        Value::Array(list) => list.iter().for_each(|element| collect(element, into)),
        _ => {}
    }
}
