//! Selections with several faults: one error tells them all.

use serde_json::json;

use super::*;

#[test]
fn all_faults_are_reported_at_once() {
    let refused = refused(
        r#"[{"name": "net-a", "portMappings": {}, "cni-args": []}, {"ips": 1},
            {"name": "net-b", "mac": "aa:bb"}]"#,
    );
    let Refused { error, .. } = refused;
    assert_eq!(
        error.msg,
        "annotation k8s.v1.cni.cncf.io/networks: element 1 (my-namespace/net-a): cni-args: \
         expected an object, found []"
    );
    assert_eq!(
        error.details,
        "element 1 (my-namespace/net-a): portMappings: expected a list of objects with hostPort and \
         containerPort, found {}; element 2: name: is missing, expected that of a \
         NetworkAttachmentDefinition; element 2: ips: expected a list of at least one address, found \
         1; element 3 (my-namespace/net-b): mac: expected 6 bytes such as \"02:23:45:67:89:01\", or \
         the 20 bytes of IP over InfiniBand, found \"aa:bb\""
    );
}

/// The standard has the annotation ignored for an invalid `ips`, whatever else is in it.
#[test]
fn npwg_4_1_2_1_3_a_selection_that_is_ignored_fails_no_pod() {
    let both = r#"[{"name": "Net"}, {"name": "net-b", "ips": []}]"#;
    assert_eq!(refused(both).consequence, Consequence::SelectionIgnored);
    let other = r#"[{"name": "Net"}, {"name": "net-b", "cni-args": 1}]"#;
    assert_eq!(refused(other).consequence, Consequence::PodFails);
}

#[test]
fn many_faults_and_long_values_are_shortened() {
    let selection = vec!["Net"; 40].join(",");
    let error = refused(&selection).error;
    assert!(error.details.ends_with("; and 24 more"), "{error}");
    assert_eq!(error.details.matches("element").count(), 15);

    let long = "ä".repeat(10_000);
    let error = refused(&with(json!({ "mac": long, "ips": [long] }))).error;
    assert!(error.msg.len() + error.details.len() < 1000, "{error}");
    assert!(error.msg.ends_with('…'), "{error}");
}

#[test]
fn what_a_user_wrote_reaches_no_terminal() {
    for text in [
        "net\u{1b}[2J",
        "net-a@\u{7}:",
        "[{\"name\": \"net-a\", \"mac\": \"\\u001b[2J\"}]",
        "[{\"name\": \"\\u001b[2J\"}]",
    ] {
        let error = refused(text).error;
        assert!(!error.msg.contains(char::is_control), "{error:?}");
    }
}
