//! Two JSON documents side by side: where they differ.

use std::collections::BTreeSet;

use serde_json::Value;

/// One line for each place where the documents differ.
pub fn differences(reference: &Value, weir: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare(String::new(), reference, weir, &mut lines);
    lines
}

fn compare(path: String, reference: &Value, weir: &Value, lines: &mut Vec<String>) {
    match (reference, weir) {
        // Most of a state is the same.
        (a, b) if a == b => {}
        (Value::Object(a), Value::Object(b)) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in keys {
                compare_present(format!("{path}/{key}"), a.get(key), b.get(key), lines);
            }
        }
        (Value::Array(a), Value::Array(b)) => {
            for index in 0..a.len().max(b.len()) {
                compare_present(format!("{path}/{index}"), a.get(index), b.get(index), lines);
            }
        }
        (a, b) => lines.push(format!("{path}: reference {a}, weir {b}")),
    }
}

fn compare_present(
    path: String,
    reference: Option<&Value>,
    weir: Option<&Value>,
    lines: &mut Vec<String>,
) {
    match (reference, weir) {
        (Some(a), Some(b)) => compare(path, a, b, lines),
        (Some(a), None) => lines.push(format!("{path}: reference {a}, weir nothing")),
        (None, Some(b)) => lines.push(format!("{path}: reference nothing, weir {b}")),
        (None, None) => {}
    }
}

#[test]
fn differences_are_named_by_their_place() {
    use serde_json::json;
    let a = json!({"same": 1, "list": [1, 2], "only": true});
    let b = json!({"same": 1, "list": [1, 3, 4]});
    let expected = [
        "/list/1: reference 2, weir 3",
        "/list/2: reference nothing, weir 4",
        "/only: reference true, weir nothing",
    ];
    assert_eq!(differences(&a, &b), expected);
    assert!(differences(&a, &a).is_empty());
}
