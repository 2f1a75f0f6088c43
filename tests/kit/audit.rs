//! The audit log, as its own documentation describes it: what an invocation's records share stands once before them,
//! and the outcome of what changes something in a line of its own. Chain lines are left out of the records.

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value};

/// The lines of a log, each of them whole; none where there is no log.
pub fn lines(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines().filter(|line| !line.is_empty());
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
        .collect()
}

/// The records of a log, in its order, each with what its invocation's records share. The
/// `answer` of one without is null.
pub fn records(log: &Path) -> Vec<Value> {
    joined(lines(log))
}

/// The lines of a log that are whole, where a process was killed or the disk was full.
pub fn whole_lines(log: &Path) -> Vec<Value> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines = text.lines();
    lines
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect()
}

/// The same for lines. What has lost its head is left out.
pub fn joined(lines: Vec<Value>) -> Vec<Value> {
    let mut heads: HashMap<String, Map<String, Value>> = HashMap::new();
    let mut records: Vec<Value> = Vec::new();
    for line in lines {
        if line["chained"].is_u64() {
            continue;
        }
        let members = line.as_object().expect("an object").clone();
        let invocation = line["invocation"]
            .as_str()
            .expect("an invocation")
            .to_owned();
        if let Some(first) = line["answered"].as_u64() {
            let last = line["through"].as_u64().unwrap_or(first);
            let is_meant = |record: &&mut Value| {
                let seq = record["seq"].as_u64().expect("a number");
                record["invocation"] == invocation.as_str() && (first..=last).contains(&seq)
            };
            let mut answer = members;
            answer.retain(|key, _| !["answered", "through"].contains(&key.as_str()));
            for record in records.iter_mut().filter(is_meant) {
                let own = record.as_object_mut().expect("an object");
                own.extend(answer.clone());
            }
        } else if line["seq"].is_u64() {
            let Some(head) = heads.get(&invocation) else {
                continue;
            };
            let mut record = head.clone();
            record.extend(members);
            let operation = record["operation"]
                .as_str()
                .expect("an operation")
                .to_owned();
            let capability = operation.split('.').next().unwrap_or_default();
            record.insert("capability".to_owned(), capability.into());
            records.push(record.into());
        } else {
            heads.insert(invocation, members);
        }
    }
    records
}
