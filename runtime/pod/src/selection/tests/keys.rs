//! Sections 4.1.2.1.1 to 4.1.2.1.5: the keys of version 1 of the standard.

use serde_json::json;

use super::*;
use Consequence::{PodFails, SelectionIgnored};

#[test]
fn npwg_4_1_2_1_1_name_is_required() {
    for (text, expected) in [
        ("[{}]", "element 1: name: is missing"),
        (r#"[{"name": null}]"#, "element 1: name: is missing"),
        (r#"[{"name": ""}]"#, "element 1: name: is missing"),
        (
            r#"[{"namespace": "other-ns"}]"#,
            "element 1: name: is missing",
        ),
        (
            r#"[{"name": 7}]"#,
            "element 1: name: expected a string, found 7",
        ),
        (r#"[{"name": ["a"]}]"#, "element 1: name: expected a string"),
        (
            r#"[{"name": "Net"}]"#,
            "element 1: name `Net`: expected lower case",
        ),
        (
            r#"[{"name": "ns/net"}]"#,
            "element 1: name `ns/net`: expected",
        ),
        (
            r#"[{"name": "a"}, {"name": "a b"}]"#,
            "element 2: name `a b`: expected",
        ),
    ] {
        let refused = refused(text);
        assert_eq!(refused.consequence, PodFails, "{text}");
        assert!(refused.error.msg.contains(expected), "{text}: {refused:?}");
    }
}

#[test]
fn npwg_4_1_2_1_1_without_a_namespace_the_pods_is_meant() {
    for keys in [
        json!({}),
        json!({ "namespace": "" }),
        json!({ "namespace": null }),
    ] {
        assert_eq!(element(keys).reference.namespace, OWN);
    }
}

#[test]
fn npwg_4_1_2_1_2_namespace_is_that_of_the_object() {
    let other = element(json!({ "namespace": "other-ns" }));
    assert_eq!(other.reference.to_string(), "other-ns/net-b");
    for (namespace, expected) in [
        (json!(1), "element 1: namespace: expected a string, found 1"),
        (json!("a.b"), "element 1: namespace `a.b`: expected"),
        (json!("../x"), "element 1: namespace `../x`: expected"),
        (json!("x".repeat(64)), "expected at most 63"),
    ] {
        let refused = refused(&with(json!({ "namespace": namespace })));
        assert_eq!(refused.consequence, PodFails, "{namespace}");
        assert!(refused.error.msg.contains(expected), "{refused:?}");
    }
}

#[test]
fn npwg_3_3_names_are_made_of_labels() {
    for name in ["a", "0", "a-b", "a.b-c.d", &"x".repeat(63)] {
        assert_eq!(element(json!({ "name": name })).reference.name, *name);
    }
    let long = format!("{}a", "a.".repeat(127));
    for name in [
        "A",
        "-a",
        "a-",
        "a..b",
        ".a",
        "a.",
        "a_b",
        "ä",
        &"x".repeat(64),
        &long,
    ] {
        refused(&with(json!({ "name": name })));
    }
}

#[test]
fn npwg_3_3_1_the_examples_of_references() {
    let selection = selected("example-namespace/attachment-name,attachment-name");
    assert_eq!(
        names(&selection),
        [
            "example-namespace/attachment-name",
            "my-namespace/attachment-name"
        ]
    );
}

#[test]
fn npwg_4_1_2_1_3_ips_are_addresses_of_either_family() {
    let element = element(json!({ "ips": ["10.2.2.42/24", "2001:db8::5", "10.2.2.43"] }));
    let ips: Vec<String> = element.ips.iter().map(ToString::to_string).collect();
    assert_eq!(ips, ["10.2.2.42/24", "2001:db8::5", "10.2.2.43"]);
    assert_eq!(element.ips[1].prefix_len, None);
}

#[test]
fn npwg_4_1_2_1_3_1_the_example_of_ips() {
    let element = element(json!({ "ips": ["10.2.2.42", "2001:db8::5"] }));
    let ips: Vec<String> = element.ips.iter().map(ToString::to_string).collect();
    assert_eq!(ips, ["10.2.2.42", "2001:db8::5"]);
}

#[test]
fn npwg_4_1_2_1_3_with_invalid_ips_the_selection_is_ignored() {
    let address = "expected an IPv4 or IPv6 address";
    let cases = [
        (
            json!([]),
            "expected a list of at least one address, found []",
        ),
        (json!("10.2.2.42"), "expected a list"),
        (json!({}), "expected a list"),
        (json!(["10.2.2.42", ""]), address),
        (json!([1]), address),
        (json!([null]), address),
        (json!(["10.2.2"]), address),
        (json!(["10.2.2.256"]), address),
        (json!(["010.2.2.1"]), address),
        (json!(["10.2.2.42/33"]), address),
        (json!(["10.2.2.42/"]), address),
        (json!(["2001:db8::5/129"]), address),
        (json!(["2001:db8:::5"]), address),
        (json!(["fe80::1%eth0"]), address),
        (json!([" 10.2.2.42"]), address),
        (json!(["10.2.2.42,10.2.2.43"]), address),
        (json!(["host.example"]), address),
        (json!(["10.2.2.42", "10.2.2.42/24"]), "are the same address"),
        (
            json!(["2001:db8::5", "2001:DB8:0::5"]),
            "are the same address",
        ),
    ];
    assert_refused("ips", SelectionIgnored, &cases);
    assert!(element(json!({ "ips": null })).ips.is_empty());
}

#[test]
fn npwg_4_1_2_1_4_mac_is_of_ethernet_or_ip_over_infiniband() {
    let infiniband = "80:00:11:22:33:44:55:66:77:88:99:aa:bb:cc:dd:ee:ff:00:11:22";
    for (text, expected) in [
        ("02:23:45:67:89:01", "02:23:45:67:89:01"),
        ("02-23-45-67-89-AB", "02:23:45:67:89:ab"),
        ("0223.4567.89ab", "02:23:45:67:89:ab"),
        (infiniband, infiniband),
    ] {
        let mac = element(json!({ "mac": text })).mac.unwrap();
        assert_eq!(mac.to_string(), expected);
    }
    assert!(element(json!({ "mac": null })).mac.is_none());
}

#[test]
fn npwg_4_1_2_1_4_1_the_example_of_mac() {
    let mac = element(json!({ "mac": "02:23:45:67:89:01" })).mac;
    assert_eq!(mac, Some([0x02, 0x23, 0x45, 0x67, 0x89, 0x01].into()));
}

#[test]
fn npwg_4_1_2_1_4_with_an_invalid_mac_the_selection_is_ignored() {
    let expected = "expected 6 bytes such as \"02:23:45:67:89:01\", or the 20 bytes";
    let cases = [
        json!(""),
        json!("aa:bb"),
        json!("02:23:45:67:89"),
        json!("02:23:45:67:89:01:02"),
        json!("02:23:45:67:89:01:02:03"),
        json!("02:23:45:67:89:0g"),
        json!("2:23:45:67:89:01"),
        json!("022345678901"),
        json!(" 02:23:45:67:89:01"),
        json!(["02:23:45:67:89:01"]),
        json!(2),
    ];
    let cases = cases.map(|value| (value, expected));
    assert_refused("mac", SelectionIgnored, &cases);
}

#[test]
fn npwg_4_1_2_1_5_interface_is_a_name_that_the_kernel_takes() {
    for name in ["net7", "a", "eth0.100", "fifteen-letters", "ünter"] {
        let element = element(json!({ "interface": name }));
        assert_eq!(element.interface.as_deref(), Some(name));
    }
    assert!(element(json!({ "interface": null })).interface.is_none());
}

#[test]
fn npwg_4_1_2_1_5_with_an_invalid_interface_the_selection_is_ignored() {
    let cases = [
        (json!(""), "is empty, expected 1 to 15 bytes"),
        (
            json!("sixteen-letters-"),
            "`sixteen-letters-` is longer than 15 bytes",
        ),
        (json!("."), "is reserved"),
        (json!(".."), "is reserved"),
        (json!("a/b"), "contains `/` or `:`"),
        (json!("eth0:1"), "contains `/` or `:`"),
        (json!("a b"), "contains white space"),
        (json!("a\n"), "contains white space"),
        (json!(1), "expected a string, found 1"),
        (json!(["net1"]), "expected a string"),
    ];
    assert_refused("interface", SelectionIgnored, &cases);
    for text in ["net-a@", "net-a@a:b", "net-a@sixteen-letters-"] {
        let refused = refused(text);
        assert_eq!(refused.consequence, SelectionIgnored, "{text}");
        assert!(
            refused
                .error
                .msg
                .contains("element 1 (my-namespace/net-a): interface: "),
            "{refused:?}"
        );
    }
}

#[test]
fn npwg_4_1_2_1_5_a_name_that_is_used_already_fails_the_attachment() {
    for text in [
        "net-a@data0,net-b@data1,net-a@data0",
        r#"[{"name": "net-a", "interface": "data0"}, {"name": "x"},
            {"name": "net-a", "interface": "data0"}]"#,
    ] {
        let refused = refused(text);
        assert_eq!(refused.consequence, PodFails, "{text}");
        assert!(
            refused.error.msg.ends_with(
                "element 3 (my-namespace/net-a): interface: `data0` is already that of element 1 \
                 (my-namespace/net-a)"
            ),
            "{refused:?}"
        );
    }
    for text in ["net-a@lo", r#"[{"name": "net-a", "interface": "lo"}]"#] {
        let refused = refused(text);
        assert_eq!(refused.consequence, PodFails, "{text}");
        assert!(refused.error.msg.contains("has this interface already"));
    }
}
