//! The result's shape in each version, and conversion between them.

use serde_json::{Value, json};
use weir_cni::{
    AddResult, Code, Dns, Interface, IpConfig, Route, Version, from_json, from_json_assuming,
    to_json,
};

/// A result that uses all that 1.1.0 can say.
fn full() -> AddResult {
    AddResult {
        interfaces: vec![
            Interface {
                name: "cni0".into(),
                mac: Some("00:11:22:33:44:55".into()),
                mtu: Some(1500),
                ..Interface::default()
            },
            Interface {
                name: "eth0".into(),
                mac: Some("99:88:77:66:55:44".into()),
                mtu: Some(1400),
                sandbox: Some("/run/netns/blue".into()),
                socket_path: Some("/run/vhost.sock".into()),
                pci_id: Some("0000:00:1f.6".into()),
            },
        ],
        ips: vec![
            ip("10.1.0.5/16", Some("10.1.0.1"), Some(1)),
            ip("10.2.0.5/16", None, Some(1)),
            ip("fd00::5/64", Some("fd00::1"), Some(1)),
        ],
        routes: vec![
            Route {
                mtu: Some(1380),
                advmss: Some(1340),
                priority: Some(10),
                table: Some(100),
                scope: Some(0),
                ..route("0.0.0.0/0", Some("10.1.0.1"))
            },
            route("::/0", Some("fd00::1")),
            route("10.9.0.0/16", None),
        ],
        dns: Dns {
            nameservers: vec!["10.1.0.1".into()],
            domain: "example.org".into(),
            search: vec!["a.example.org".into()],
            options: vec!["ndots:2".into()],
        },
    }
}

fn ip(address: &str, gateway: Option<&str>, interface: Option<u32>) -> IpConfig {
    IpConfig {
        interface,
        address: address.parse().unwrap(),
        gateway: gateway.map(|gateway| gateway.parse().unwrap()),
    }
}

fn route(dst: &str, gw: Option<&str>) -> Route {
    Route::new(dst.parse().unwrap(), gw.map(|gw| gw.parse().unwrap()))
}

fn dns() -> Value {
    json!({
        "nameservers": ["10.1.0.1"],
        "domain": "example.org",
        "search": ["a.example.org"],
        "options": ["ndots:2"]
    })
}

/// The shape of 0.3.0 to 1.0.0, with or without `version` in `ips`.
fn middle(version: &str, with_family: bool) -> Value {
    let mut value = json!({
        "cniVersion": version,
        "interfaces": [
            { "name": "cni0", "mac": "00:11:22:33:44:55" },
            { "name": "eth0", "mac": "99:88:77:66:55:44", "sandbox": "/run/netns/blue" }
        ],
        "ips": [
            { "address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 1 },
            { "address": "10.2.0.5/16", "interface": 1 },
            { "address": "fd00::5/64", "gateway": "fd00::1", "interface": 1 }
        ],
        "routes": [
            { "dst": "0.0.0.0/0", "gw": "10.1.0.1" },
            { "dst": "::/0", "gw": "fd00::1" },
            { "dst": "10.9.0.0/16" }
        ],
        "dns": dns()
    });
    if with_family {
        for (index, family) in ["4", "4", "6"].into_iter().enumerate() {
            value["ips"][index]["version"] = family.into();
        }
    }
    value
}

#[test]
fn cni_1_1_0_section_5_interfaces_and_routes_have_their_new_attributes() {
    let value = json!({
        "cniVersion": "1.1.0",
        "interfaces": [
            { "name": "cni0", "mac": "00:11:22:33:44:55", "mtu": 1500 },
            {
                "name": "eth0",
                "mac": "99:88:77:66:55:44",
                "mtu": 1400,
                "sandbox": "/run/netns/blue",
                "socketPath": "/run/vhost.sock",
                "pciID": "0000:00:1f.6"
            }
        ],
        "ips": [
            { "address": "10.1.0.5/16", "gateway": "10.1.0.1", "interface": 1 },
            { "address": "10.2.0.5/16", "interface": 1 },
            { "address": "fd00::5/64", "gateway": "fd00::1", "interface": 1 }
        ],
        "routes": [
            {
                "dst": "0.0.0.0/0",
                "gw": "10.1.0.1",
                "mtu": 1380,
                "advmss": 1340,
                "priority": 10,
                "table": 100,
                "scope": 0
            },
            { "dst": "::/0", "gw": "fd00::1" },
            { "dst": "10.9.0.0/16" }
        ],
        "dns": dns()
    });
    assert_eq!(to_json(&full(), Version::V1_1_0).unwrap(), value);
    assert_eq!(from_json(&value).unwrap(), full());
}

#[test]
fn cni_1_1_0_section_5_routes_have_mtu() {
    let mut result = AddResult::default();
    let mut with_mtu = route("10.0.0.0/8", None);
    with_mtu.mtu = Some(1280);
    result.routes.push(with_mtu);
    let json = to_json(&result, Version::V1_1_0).unwrap();
    assert_eq!(
        json["routes"][0],
        json!({ "dst": "10.0.0.0/8", "mtu": 1280 })
    );
    let json = to_json(&result, Version::V1_0_0).unwrap();
    assert_eq!(json["routes"][0], json!({ "dst": "10.0.0.0/8" }));
}

#[test]
fn cni_1_1_0_section_5_scope_and_table_zero_are_said_and_other_zeros_are_not() {
    let mut zero = route("10.0.0.0/8", None);
    (zero.mtu, zero.advmss, zero.priority) = (Some(0), Some(0), Some(0));
    (zero.table, zero.scope) = (Some(0), Some(0));
    let result = AddResult {
        interfaces: vec![Interface {
            name: "eth0".into(),
            mtu: Some(0),
            mac: Some(String::new()),
            ..Interface::default()
        }],
        routes: vec![zero],
        ..AddResult::default()
    };
    let json = to_json(&result, Version::V1_1_0).unwrap();
    assert_eq!(
        json["routes"][0],
        json!({ "dst": "10.0.0.0/8", "table": 0, "scope": 0 })
    );
    assert_eq!(json["interfaces"][0], json!({ "name": "eth0" }));
}

#[test]
fn cni_1_0_0_section_5_ips_have_no_version() {
    let value = to_json(&full(), Version::V1_0_0).unwrap();
    assert_eq!(value, middle("1.0.0", false));
}

#[test]
fn cni_0_3_0_to_0_4_0_ips_have_a_version() {
    for version in [Version::V0_3_0, Version::V0_3_1, Version::V0_4_0] {
        let value = to_json(&full(), version).unwrap();
        assert_eq!(value, middle(version.as_str(), true));
    }
}

#[test]
fn results_of_0_3_0_to_1_0_0_keep_what_their_shape_can_say() {
    let mut expected = full();
    for interface in &mut expected.interfaces {
        (interface.mtu, interface.socket_path, interface.pci_id) = (None, None, None);
    }
    expected.routes[0] = route("0.0.0.0/0", Some("10.1.0.1"));
    for (version, with_family) in [
        ("0.3.0", true),
        ("0.3.1", true),
        ("0.4.0", true),
        ("1.0.0", false),
    ] {
        assert_eq!(from_json(&middle(version, with_family)).unwrap(), expected);
    }
}

#[test]
fn cni_0_2_0_has_the_first_address_of_each_family_and_the_familys_routes() {
    for version in [Version::V0_1_0, Version::V0_2_0] {
        assert_eq!(
            to_json(&full(), version).unwrap(),
            json!({
                "cniVersion": version.as_str(),
                "ip4": {
                    "ip": "10.1.0.5/16",
                    "gateway": "10.1.0.1",
                    "routes": [{ "dst": "0.0.0.0/0", "gw": "10.1.0.1" }, { "dst": "10.9.0.0/16" }]
                },
                "ip6": {
                    "ip": "fd00::5/64",
                    "gateway": "fd00::1",
                    "routes": [{ "dst": "::/0", "gw": "fd00::1" }]
                },
                "dns": dns()
            })
        );
    }
}

#[test]
fn cni_0_2_0_drops_routes_of_a_family_without_address() {
    let result = AddResult {
        ips: vec![ip("fd00::5/64", None, None)],
        routes: vec![route("0.0.0.0/0", None)],
        ..AddResult::default()
    };
    assert_eq!(
        to_json(&result, Version::V0_2_0).unwrap(),
        json!({ "cniVersion": "0.2.0", "ip6": { "ip": "fd00::5/64" }, "dns": {} })
    );
}

#[test]
fn cni_0_2_0_cannot_say_a_result_without_addresses() {
    let result = AddResult {
        interfaces: full().interfaces,
        ..AddResult::default()
    };
    for version in [Version::V0_1_0, Version::V0_2_0] {
        let error = to_json(&result, version).unwrap_err();
        assert_eq!(error.msg, "cannot convert: no valid IP addresses");
        assert!(error.details.contains(version.as_str()), "{error}");
    }
    for version in Version::ALL.into_iter().filter(|v| v.has_interfaces()) {
        assert!(to_json(&result, version).is_ok());
    }
}

#[test]
fn cni_0_2_0_results_are_read_ipv4_first() {
    let value = json!({
        "cniVersion": "0.2.0",
        "ip6": { "ip": "fd00::5/64", "routes": [{ "dst": "::/0" }] },
        "ip4": { "ip": "10.1.0.5/16", "gateway": "10.1.0.1", "routes": [{ "dst": "0.0.0.0/0" }] },
        "dns": { "nameservers": ["10.1.0.1"] }
    });
    let result = from_json(&value).unwrap();
    assert_eq!(
        result.ips,
        [
            ip("10.1.0.5/16", Some("10.1.0.1"), None),
            ip("fd00::5/64", None, None)
        ]
    );
    assert_eq!(
        result.routes,
        [route("0.0.0.0/0", None), route("::/0", None)]
    );
    assert_eq!(result.dns.nameservers, ["10.1.0.1"]);
}

#[test]
fn empty_dns_is_printed_before_1_0_0_and_left_out_since() {
    let result = AddResult {
        ips: vec![ip("10.1.0.5/16", None, None)],
        ..AddResult::default()
    };
    for version in Version::ALL {
        let json = to_json(&result, version).unwrap();
        let expected = (version < Version::V1_0_0).then(|| json!({}));
        assert_eq!(json.get("dns"), expected.as_ref(), "{version}");
    }
}

#[test]
fn a_result_without_version_is_0_1_0_or_what_is_assumed() {
    let old = json!({ "ip4": { "ip": "10.1.0.5/16" } });
    let expected = [ip("10.1.0.5/16", None, None)];
    assert_eq!(from_json(&old).unwrap().ips, expected);

    let new = json!({ "ips": [{ "address": "10.1.0.5/16" }] });
    let result = from_json_assuming(&new, Version::V1_0_0).unwrap();
    assert_eq!(result.ips, expected);

    // What the result says itself counts more than what is assumed.
    let old = json!({ "cniVersion": "0.2.0", "ip4": { "ip": "10.1.0.5/16" } });
    let result = from_json_assuming(&old, Version::V1_0_0).unwrap();
    assert_eq!(result.ips, expected);
}

#[test]
fn attributes_of_1_1_0_are_understood_in_older_results_as_libcni_prints_them() {
    let result = from_json(&json!({
        "cniVersion": "1.0.0",
        "interfaces": [{ "name": "eth0", "mtu": 1400 }],
        "routes": [{ "dst": "10.0.0.0/8", "mtu": 1300, "scope": 253 }]
    }))
    .unwrap();
    assert_eq!(result.interfaces[0].mtu, Some(1400));
    assert_eq!(result.routes[0].mtu, Some(1300));
    assert_eq!(result.routes[0].scope, Some(253));
}

#[test]
fn null_is_absent_and_unknown_keys_are_ignored() {
    let result = from_json(&json!({
        "cniVersion": "0.4.0",
        "interfaces": null,
        "ips": [{
            "version": null, "address": "10.1.0.5/16", "gateway": null, "interface": null, "x": 1
        }],
        "routes": [{ "dst": "0.0.0.0/0", "gw": "", "mtu": null }],
        "dns": null,
        "vendor.example/key": {}
    }))
    .unwrap();
    assert_eq!(result.ips, [ip("10.1.0.5/16", None, None)]);
    assert_eq!(result.routes, [route("0.0.0.0/0", None)]);
    assert_eq!(result.dns, Dns::default());
}

#[test]
fn an_interface_index_below_zero_is_none() {
    let result = from_json(&json!({
        "cniVersion": "0.3.0",
        "ips": [{ "version": "4", "address": "10.1.0.5/16", "interface": -1 }]
    }))
    .unwrap();
    assert_eq!(result.ips, [ip("10.1.0.5/16", None, None)]);
}

#[test]
fn invalid_results_are_code_6_and_name_key_and_value() {
    let body = |key: &str, value: Value| json!({ "cniVersion": "1.1.0", key: value });
    let cases = [
        (json!([]), "result: expected an object, found []"),
        (
            json!({ "cniVersion": 1 }),
            "result: cniVersion: expected a string, found 1",
        ),
        (body("ips", json!({})), "result: ips: expected a list"),
        (
            body("ips", json!([null])),
            "result: ips[0]: expected an object, found null",
        ),
        (
            body("ips", json!([{}])),
            "result: ips[0]: key `address` is missing",
        ),
        (
            body("ips", json!([{ "address": "10.0.0.1" }])),
            "result: ips[0].address: expected a prefix length after the address, such as `10.0.0.1/32`",
        ),
        (
            body("ips", json!([{ "address": "10.0.0.1/33" }])),
            "expected a prefix length from 0 to 32 after the address, found \"10.0.0.1/33\"",
        ),
        (
            body("ips", json!([{ "address": "10.0.0.1/24", "gateway": "x" }])),
            "result: ips[0].gateway: expected an IP address",
        ),
        (
            body(
                "ips",
                json!([{ "address": "10.0.0.1/24", "interface": 0.5 }]),
            ),
            "result: ips[0].interface: expected a whole number",
        ),
        (
            body("ips", json!([{ "address": "10.0.0.1/24", "version": 4 }])),
            "result: ips[0].version: expected a string",
        ),
        (
            body("interfaces", json!([{ "name": 1 }])),
            "result: interfaces[0].name: expected a string",
        ),
        (
            body(
                "interfaces",
                json!([{ "name": "a", "mtu": 4294967296_u64 }]),
            ),
            "result: interfaces[0].mtu:",
        ),
        (
            body("routes", json!([{ "gw": "10.0.0.1" }])),
            "result: routes[0]: key `dst` is missing",
        ),
        (
            body("routes", json!([{ "dst": "0.0.0.0/0", "scope": 256 }])),
            "result: routes[0].scope: expected a route scope",
        ),
        (
            body("routes", json!([{ "dst": "0.0.0.0/0", "mtu": 1.5 }])),
            "found 1.5",
        ),
        (
            body("dns", json!({ "search": "x" })),
            "result: dns.search: expected a list, found \"x\"",
        ),
        (json!({ "ip4": {} }), "result: ip4: key `ip` is missing"),
        (
            json!({ "ip6": { "ip": "fd00::1/64", "routes": [{ "dst": 1 }] } }),
            "result: ip6.routes[0].dst: expected a string",
        ),
    ];
    for (value, expected) in cases {
        let error = from_json(&value).unwrap_err();
        assert_eq!(error.code, Code::DECODING_FAILURE, "{error}");
        assert!(error.msg.contains(expected), "{error}");
    }
}

#[test]
fn a_result_of_unknown_version_is_code_1() {
    let error = from_json(&json!({ "cniVersion": "3.0.0" })).unwrap_err();
    assert_eq!(error.code, Code::INCOMPATIBLE_VERSION);
}

#[test]
fn serde_prints_the_newest_version_and_reads_any() {
    let json = serde_json::to_value(full()).unwrap();
    assert_eq!(json, to_json(&full(), Version::LATEST).unwrap());
    assert_eq!(serde_json::from_value::<AddResult>(json).unwrap(), full());
    let old = r#"{ "cniVersion": "0.1.0", "ip4": { "ip": "10.1.0.5/16" } }"#;
    let result: AddResult = serde_json::from_str(old).unwrap();
    assert_eq!(result.ips, [ip("10.1.0.5/16", None, None)]);
}

#[test]
fn validate_names_indexes_without_interface_and_gateways_of_another_family() {
    assert_eq!(full().validate(), Ok(()));
    let ipam = AddResult {
        ips: vec![ip("10.1.0.5/16", Some("10.1.0.1"), None)],
        ..AddResult::default()
    };
    assert_eq!(ipam.validate(), Ok(()));

    let mut result = full();
    result.ips[2].interface = Some(2);
    let msg = result.validate().unwrap_err().msg;
    assert!(
        msg.contains("ips[2].interface: no interface has the index 2"),
        "{msg}"
    );

    let mut result = full();
    result.ips[1].gateway = "fd00::1".parse().ok();
    let msg = result.validate().unwrap_err().msg;
    assert!(msg.contains("ips[1].gateway: fd00::1"), "{msg}");

    let mut result = full();
    result.routes[1].gw = "10.1.0.1".parse().ok();
    let msg = result.validate().unwrap_err().msg;
    assert!(msg.contains("routes[1].gw: 10.1.0.1"), "{msg}");
}
