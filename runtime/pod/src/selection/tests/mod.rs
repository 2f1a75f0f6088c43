//! The selection annotation, clause by clause.

mod formats;
mod keys;
mod later_keys;
mod refusals;

use serde_json::{Value, json};

use super::{Consequence, Element, Refused, Selection, networks};
use crate::codes;

/// The namespace of the pod.
const OWN: &str = "my-namespace";

#[track_caller]
fn selected(text: &str) -> Selection {
    networks(text, OWN).unwrap_or_else(|refused| panic!("{text}: {refused:?}"))
}

#[track_caller]
fn refused(text: &str) -> Refused {
    let refused = networks(text, OWN).expect_err(text);
    assert_eq!(refused.error.code, codes::SELECTION, "{text}");
    let prefix = "annotation k8s.v1.cni.cncf.io/networks: ";
    assert!(refused.error.msg.starts_with(prefix), "{refused:?}");
    refused
}

/// An element of the network `net-b` with these keys.
fn with(keys: Value) -> String {
    let mut element = json!({ "name": "net-b" });
    let own = element.as_object_mut().unwrap();
    own.extend(keys.as_object().unwrap().clone());
    json!([element]).to_string()
}

#[track_caller]
fn element(keys: Value) -> Element {
    selected(&with(keys)).elements.remove(0)
}

/// Fails unless each of these values of a key is refused with words that name element and key.
#[track_caller]
fn assert_refused(key: &str, consequence: Consequence, cases: &[(Value, &str)]) {
    for (value, expected) in cases {
        let refused = refused(&with(json!({ key: value })));
        assert_eq!(refused.consequence, consequence, "{value}: {refused:?}");
        let place = format!("element 1 (my-namespace/net-b): {key}: ");
        let (_, fault) = refused
            .error
            .msg
            .split_once(&place)
            .unwrap_or_else(|| panic!("{value}: {refused:?}"));
        assert!(fault.contains(expected), "{value}: {fault}");
    }
}

/// `namespace/name` of each element.
fn names(selection: &Selection) -> Vec<String> {
    let elements = selection.elements.iter();
    elements.map(|e| e.reference.to_string()).collect()
}
