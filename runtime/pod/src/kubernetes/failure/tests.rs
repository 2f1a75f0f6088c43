//! What a failure is taken for.

use serde_json::{Value, json};

use super::*;

fn refused(status: u16, body: &Value) -> Failure {
    Failure::refused(status, None, body.to_string().as_bytes())
}

#[test]
fn an_object_that_is_missing_is_told_from_a_kind_that_is() {
    let named = json!({ "reason": "NotFound", "details": { "name": "web", "kind": "pods" } });
    assert!(refused(404, &named).is_without_object());
    assert!(!refused(404, &json!({ "details": {} })).is_without_object());
    assert!(!refused(404, &json!("404 page not found")).is_without_object());
    assert!(!refused(410, &named).is_without_object());
}

#[test]
fn another_object_is_told_from_a_conflict_and_from_another_invalid_field() {
    let invalid = |field: &str| {
        let causes = json!([{ "reason": "FieldValueInvalid", "field": field }]);
        refused(
            422,
            &json!({ "reason": "Invalid", "details": { "causes": causes } }),
        )
    };
    assert!(invalid("metadata.uid").is_another_object());
    assert!(!invalid("metadata.annotations").is_another_object());
    let conflict =
        |message: &str| refused(409, &json!({ "reason": "Conflict", "message": message }));
    let uid = conflict("Precondition failed: UID in precondition: 1, UID in object meta: 2");
    assert!(uid.is_another_object() && !uid.is_conflict());
    let of_name = conflict("Operation cannot be fulfilled on pods \"druid-0\": it was modified");
    assert!(of_name.is_conflict() && !of_name.is_another_object());
    let written = conflict("the object has been modified");
    assert!(!written.is_another_object() && written.is_conflict());
    let taken = refused(409, &json!({ "reason": "AlreadyExists" }));
    assert!(taken.is_existing() && !taken.is_conflict());
}

#[test]
fn what_passes_is_tried_again() {
    for (status, passes) in [
        (400, false),
        (401, false),
        (403, false),
        (404, false),
        (422, false),
        (429, true),
        (500, true),
        (503, true),
    ] {
        assert_eq!(refused(status, &json!({})).is_passing(), passes, "{status}");
    }
    let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
    assert!(Failure::of_connection(&refused).is_passing());
    let certificate = rustls::Error::NoCertificatesPresented;
    let wrapped = io::Error::other(io::Error::other(certificate));
    assert!(!Failure::of_connection(&wrapped).is_passing());
}

#[test]
fn the_time_to_wait_is_in_the_head_or_in_the_body() {
    let body = json!({ "details": { "retryAfterSeconds": 3 } }).to_string();
    let time = |head| Failure::refused(429, head, body.as_bytes()).retry_after();
    assert_eq!(time(Some(2)), Some(Duration::from_secs(2)));
    assert_eq!(time(None), Some(Duration::from_secs(3)));
    assert_eq!(Failure::refused(429, None, b"").retry_after(), None);
}

#[test]
fn causes_are_named_once() {
    let inner = io::Error::new(io::ErrorKind::ConnectionRefused, "refused");
    let outer = io::Error::other(io::Error::other(inner));
    let Failure::Connection { error, .. } = Failure::of_connection(&outer) else {
        panic!("not of a connection");
    };
    assert_eq!(error, "refused");
}
