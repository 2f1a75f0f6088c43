//! Sections 4.1, 4.1.1 and 4.1.2, and what surrounds the keys.

use serde_json::json;

use super::super::{LARGEST, MOST_ELEMENTS, NETWORKS, default_network, networks};
use super::*;

#[test]
fn npwg_4_1_the_annotation_has_its_name_and_two_formats() {
    assert_eq!(NETWORKS, "k8s.v1.cni.cncf.io/networks");
    let comma = selected("net-a,other-ns/net-c");
    let json = selected(r#"[{"name": "net-a"}, {"name": "net-c", "namespace": "other-ns"}]"#);
    assert_eq!(comma, json);
}

#[test]
fn npwg_4_1_without_anything_in_it_nothing_is_selected() {
    for text in ["", "  \n", "[]", " [ ] "] {
        assert_eq!(selected(text), Selection::default(), "{text:?}");
    }
}

#[test]
fn npwg_4_1_1_the_example_of_the_comma_delimited_format() {
    let selection = selected("net-a,net-b,other-ns/net-c");
    assert_eq!(
        names(&selection),
        ["my-namespace/net-a", "my-namespace/net-b", "other-ns/net-c"]
    );
    assert!(selection.elements.iter().all(|e| e.interface.is_none()));
    assert!(selection.notes.is_empty());
}

#[test]
fn npwg_4_1_1_white_space_and_interfaces() {
    let selection = selected("\n net-a@eth7 ,\tother-ns / net-c @ data0\n, net.with.dots");
    assert_eq!(
        names(&selection),
        [
            "my-namespace/net-a",
            "other-ns/net-c",
            "my-namespace/net.with.dots"
        ]
    );
    let interfaces = selection.elements.iter().map(|e| e.interface.as_deref());
    let interfaces: Vec<_> = interfaces.collect();
    assert_eq!(interfaces, [Some("eth7"), Some("data0"), None]);
}

#[test]
fn npwg_4_1_1_what_is_no_reference_fails_the_pod() {
    let cases = [
        ("net-a,", "element 2: is empty"),
        (",net-a", "element 1: is empty"),
        ("net-a,,net-b", "element 2: is empty"),
        (
            "a/b/c",
            r#"element 1: `a/b/c`: expected [namespace/]name[@interface]"#,
        ),
        (
            "net-a@eth1@eth2",
            r#"expected [namespace/]name[@interface]"#,
        ),
        ("/net-a", r#"element 1: namespace ``: expected"#),
        ("ns/", r#"element 1: name ``: expected"#),
        ("@eth1", r#"element 1: name ``: expected"#),
        ("Net-A", r#"element 1: name `Net-A`: expected lower case"#),
        ("-net", r#"name `-net`: expected"#),
        ("net_a", r#"name `net_a`: expected"#),
        ("net a", r#"name `net a`: expected"#),
        ("../net-a", r#"namespace `..`: expected"#),
        ("a.b/net-a", r#"namespace `a.b`: expected"#),
        (
            r#""net-a""#,
            "a selection in JSON is a list and begins with `[`",
        ),
    ];
    for (text, expected) in cases {
        let refused = refused(text);
        assert_eq!(refused.consequence, Consequence::PodFails, "{text}");
        assert!(refused.error.msg.contains(expected), "{text}: {refused:?}");
    }
}

#[test]
fn npwg_4_1_2_the_example_of_the_json_list_format() {
    let selection = selected(
        r#"
        [
          {"name":"net-a"},
          {
            "name":"net-b",
            "ips": ["1.2.3.4"],
            "mac": "aa:bb:cc:dd:ee:ff"
          },
          {
            "name":"net-c",
            "namespace":"other-ns"
          }
        ]"#,
    );
    assert_eq!(
        names(&selection),
        ["my-namespace/net-a", "my-namespace/net-b", "other-ns/net-c"]
    );
    let b = &selection.elements[1];
    assert_eq!(b.ips[0].to_string(), "1.2.3.4");
    assert_eq!(b.mac.unwrap().to_string(), "aa:bb:cc:dd:ee:ff");
    assert!(selection.elements[0].ips.is_empty() && selection.elements[0].mac.is_none());
}

#[test]
fn npwg_4_1_2_what_is_no_json_list_fails_the_pod() {
    let cases = [
        (
            r#"[{"name": "net-a"}"#,
            "is not a JSON list: EOF while parsing",
        ),
        (
            r#"[{"name": "net-a"}] x"#,
            "is not a JSON list: trailing characters",
        ),
        ("[net-a]", "is not a JSON list: expected"),
        (r#"{"name": "net-a"}"#, "put it between `[` and `]`"),
        (
            r#"["net-a"]"#,
            "element 1: expected an object with the key name, found \"net-a\"",
        ),
        (r#"[[]]"#, "element 1: expected an object"),
        (r#"[null]"#, "element 1: expected an object"),
    ];
    for (text, expected) in cases {
        let refused = refused(text);
        assert_eq!(refused.consequence, Consequence::PodFails, "{text}");
        assert!(refused.error.msg.contains(expected), "{text}: {refused:?}");
    }
    // Deeper than anybody writes by hand: refused, and not a full stack.
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert!(refused(&deep).error.msg.contains("recursion limit"));
}

#[test]
fn npwg_4_1_2_1_keys_with_a_period_belong_to_others() {
    let keys = json!({ "org.foo.bar.key-name": { "any": 1 }, "ips.old": "x", ".": null });
    assert!(selected(&with(keys)).notes.is_empty());
}

#[test]
fn npwg_4_1_2_1_unknown_keys_without_a_period_are_ignored_and_reported() {
    let keys = json!({
        "Mac": "x", "ip": [], "interfaceRequest": "eth1", "default_route": [], "vlan": 7
    });
    let selection = selected(&with(keys));
    assert_eq!(selection.elements[0], element(json!({})));
    let place = "element 1 (my-namespace/net-b)";
    assert_eq!(
        selection.notes,
        [
            format!("{place}: `Mac` is not a key and is ignored; did you mean mac?"),
            format!(
                "{place}: `default_route` is not a key and is ignored; did you mean default-route?"
            ),
            format!(
                "{place}: `interfaceRequest` is not a key and is ignored; did you mean interface?"
            ),
            format!("{place}: `ip` is not a key and is ignored; did you mean ips?"),
            format!("{place}: `vlan` is not a key and is ignored"),
        ]
    );
}

#[test]
fn npwg_4_2_the_same_network_twice_is_two_attachments() {
    for text in [
        "net-a,net-a",
        r#"[{"name": "net-a"}, {"name": "net-a", "namespace": "my-namespace"}]"#,
    ] {
        let selection = selected(text);
        assert_eq!(
            names(&selection),
            ["my-namespace/net-a", "my-namespace/net-a"],
            "{text}"
        );
    }
}

#[test]
fn npwg_4_2_2_the_example_is_two_elements() {
    let selection = selected("net-a,net-a");
    assert_eq!(selection.elements.len(), 2);
    assert_eq!(selection.elements[0], selection.elements[1]);
}

#[test]
fn an_annotation_has_a_largest_size_and_a_most_of_elements() {
    let many = vec!["net-a"; MOST_ELEMENTS].join(",");
    assert_eq!(selected(&many).elements.len(), MOST_ELEMENTS);
    let expected = format!("has {} elements, expected at most 64", MOST_ELEMENTS + 1);
    let too_many = format!("{many},net-a");
    assert!(refused(&too_many).error.msg.ends_with(&expected));
    let listed = vec![r#"{"name":"net-a"}"#; MOST_ELEMENTS + 1].join(",");
    assert!(
        refused(&format!("[{listed}]"))
            .error
            .msg
            .ends_with(&expected)
    );

    let blank = " ".repeat(2 * LARGEST);
    assert_eq!(selected(&blank), Selection::default());
    let large = |size: usize| with(json!({ "cni-args": { "a": "x".repeat(size) } }));
    let frame = large(0).len();
    selected(&large(LARGEST - frame));
    let refused = refused(&large(LARGEST - frame + 1));
    assert_eq!(refused.consequence, Consequence::PodFails);
    assert!(
        refused
            .error
            .msg
            .ends_with("has 262145 bytes, expected at most 262144")
    );
}

#[test]
fn the_default_network_is_exactly_one() {
    let of = |text: &str| default_network(text, "kube-system");
    assert_eq!(
        of("net-a").unwrap().reference.to_string(),
        "kube-system/net-a"
    );
    assert_eq!(
        of(" other-ns/net-a").unwrap().reference.to_string(),
        "other-ns/net-a"
    );
    let listed = of(r#"[{"name": "net-a", "mac": "02:00:00:00:00:01"}]"#).unwrap();
    assert!(listed.mac.is_some());
    for (text, expected) in [
        ("", "expected exactly one network, found 0"),
        ("[]", "expected exactly one network, found 0"),
        ("net-a,net-b", "expected exactly one network, found 2"),
        ("Net", "element 1: name `Net`"),
        (
            r#"[{"name": "net-a", "mac": "x"}]"#,
            "element 1 (kube-system/net-a): mac: expected",
        ),
    ] {
        let refused = of(text).unwrap_err();
        assert_eq!(refused.error.code, codes::SELECTION);
        assert_eq!(refused.consequence, Consequence::PodFails, "{text}");
        let prefix = format!("annotation v1.multus-cni.io/default-network: {expected}");
        assert!(
            refused.error.msg.starts_with(&prefix),
            "{text}: {refused:?}"
        );
    }
}

#[test]
fn the_namespace_of_the_pod_is_checked_like_any() {
    let refused = networks("net-a", "Not A Namespace").unwrap_err();
    assert!(refused.error.msg.contains("namespace `Not A Namespace`"));
}
