//! The status annotation, clause by clause, and for results of every version.

use serde_json::{Value, json};
use weir_cni::{AddResult, Version, from_json, to_json};

use super::*;
use crate::default_route::Attached;

fn result(json: Value) -> AddResult {
    from_json(&json).unwrap()
}

fn with_interfaces(interfaces: Value) -> AddResult {
    result(json!({ "cniVersion": "0.4.0", "interfaces": interfaces }))
}

/// Name, interface, and whether it is the default network.
type About<'a> = (&'a str, &'a str, bool);

fn about<'a>(name: &'a str, ifname: &'a str, is_default: bool) -> About<'a> {
    (name, ifname, is_default)
}

fn of(result: &AddResult, (name, ifname, is_default): &About<'_>) -> Status {
    super::of(&attached(result, name, ifname), *is_default, None)
}

fn attached(result: &AddResult, name: &str, ifname: &str) -> Attached {
    Attached {
        network: name.to_owned(),
        ifname: ifname.to_owned(),
        wanted: None,
        result: result.clone(),
    }
}

/// The status of an attachment of the interface `net1`, as JSON.
fn status(result: &AddResult) -> Value {
    json!(of(result, &about("other-ns/net-a", "net1", false)))
}

/// What `bridge` answers: host interfaces first, then the container's.
fn bridged(version: &str) -> AddResult {
    result(json!({
        "cniVersion": version,
        "interfaces": [
            { "name": "cni0", "mac": "02:00:00:00:00:01", "mtu": 9000 },
            { "name": "veth1", "mac": "02:00:00:00:00:02" },
            { "name": "net1", "mac": "02:11:22:33:44:55", "mtu": 1400, "sandbox": "/run/netns/a" },
        ],
        "ips": [
            { "version": "4", "address": "1.2.3.4/24", "gateway": "1.2.3.1", "interface": 2 },
            { "version": "6", "address": "2001:abba::2234/64", "interface": 2 },
            { "version": "4", "address": "1.2.3.1/24", "interface": 0 },
        ],
        "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "10.0.0.0/8", "gw": "1.2.3.9" }],
        "dns": { "nameservers": ["4.2.2.1"], "search": ["foobar.com"] },
    }))
}

#[test]
fn npwg_5_the_annotation_has_its_name_and_is_a_list_of_maps() {
    assert_eq!(NETWORK_STATUS, "k8s.v1.cni.cncf.io/network-status");
    let statuses = [
        of(&bridged("1.0.0"), &about("default-net", "eth0", true)),
        of(&bridged("1.0.0"), &about("ns/net-a", "net1", false)),
    ];
    let list: Value = serde_json::from_str(&annotation(&statuses)).unwrap();
    assert_eq!(list.as_array().unwrap().len(), 2);
    assert!(list.as_array().unwrap().iter().all(Value::is_object));
    assert_eq!(annotation(&[]), "[]");
}

#[test]
fn npwg_5_1_what_is_useful_in_the_pod_alone_is_left_out() {
    let status = status(&bridged("1.1.0"));
    let keys: Vec<&String> = status.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "default",
            "default-route",
            "dns",
            "gateway",
            "interface",
            "ips",
            "mac",
            "mtu",
            "name"
        ]
    );
    assert!(!status.to_string().contains("10.0.0.0/8"), "{status}");
}

#[test]
fn npwg_5_1_1_the_first_sandbox_interface_is_the_source() {
    let several = result(json!({
        "cniVersion": "1.1.0",
        "interfaces": [
            { "name": "host0", "mac": "02:00:00:00:00:01" },
            { "name": "first", "mac": "02:00:00:00:00:02", "mtu": 1500, "sandbox": "/run/netns/a" },
            { "name": "second", "mac": "02:00:00:00:00:03", "mtu": 1400, "sandbox": "/run/netns/a" },
        ],
        "ips": [
            { "address": "10.0.0.1/24", "interface": 2 },
            { "address": "10.0.0.2/24", "interface": 1 },
            { "address": "fd00::2/64", "interface": 1 },
            { "address": "10.0.0.3/24", "interface": 0 },
        ],
    }));
    assert_eq!(
        status(&several),
        json!({
            "name": "other-ns/net-a", "interface": "first", "ips": ["10.0.0.2", "fd00::2"],
            "mac": "02:00:00:00:00:02", "mtu": 1500, "default": false
        })
    );
}

#[test]
fn npwg_5_1_1_without_a_result_there_is_a_minimal_status() {
    assert_eq!(
        status(&AddResult::default()),
        json!({ "name": "other-ns/net-a", "interface": "net1", "default": false })
    );
}

#[test]
fn npwg_5_1_1_results_of_every_version_make_the_same_status() {
    let whole = bridged("1.1.0");
    let read = |version: Version| from_json(&to_json(&whole, version).unwrap()).unwrap();
    for version in Version::ALL {
        let status = status(&read(version));
        assert_eq!(status["name"], "other-ns/net-a", "{version}");
        assert_eq!(status["interface"], "net1", "{version}");
        assert_eq!(
            status["ips"],
            json!(["1.2.3.4", "2001:abba::2234"]),
            "{version}"
        );
        assert_eq!(status["gateway"], json!(["1.2.3.1"]), "{version}");
        assert_eq!(status["dns"]["search"], json!(["foobar.com"]), "{version}");
        let mac = status.get("mac").map(|mac| mac.as_str().unwrap());
        let expected = version.has_interfaces().then_some("02:11:22:33:44:55");
        assert_eq!(mac, expected, "{version}");
        let mtu = status.get("mtu").map(|mtu| mtu.as_u64().unwrap());
        let has_mtu = version.has_interface_and_route_attributes();
        assert_eq!(mtu, has_mtu.then_some(1400), "{version}");
    }
}

#[test]
fn npwg_5_2_the_default_network_has_an_entry() {
    let entry = of(
        &bridged("1.0.0"),
        &about("cluster-wide-default", "eth0", true),
    );
    assert!(entry.default);
    assert_eq!(entry.name, "cluster-wide-default");
    let list: Value = serde_json::from_str(&annotation(&[entry])).unwrap();
    assert_eq!(list[0]["default"], true);
}

#[test]
fn npwg_5_3_only_keys_of_the_standard_are_written() {
    const KNOWN: [&str; 10] = [
        "name",
        "interface",
        "ips",
        "mac",
        "mtu",
        "default",
        "dns",
        "default-route",
        "gateway",
        "device-info",
    ];
    let mut entry = of(&bridged("1.1.0"), &about("a", "net1", true));
    entry.device_info = Some(json!({ "type": "pci" }));
    let written = json!(entry);
    let keys: Vec<&String> = written.as_object().unwrap().keys().collect();
    assert_eq!(keys.len(), KNOWN.len());
    assert!(keys.iter().all(|key| KNOWN.contains(&key.as_str())));
}

#[test]
fn npwg_5_3_1_name_is_required() {
    assert_eq!(status(&AddResult::default())["name"], "other-ns/net-a");
    assert_eq!(json!(Status::default())["name"], "");
}

#[test]
fn npwg_5_3_2_interface_is_the_pods() {
    assert_eq!(status(&bridged("0.3.0"))["interface"], "net1");
}

#[test]
fn npwg_5_3_2_1_interface_is_the_first_with_a_valid_sandbox() {
    let empty = with_interfaces(json!([
        { "name": "veth1", "sandbox": "" }, { "name": "veth2" },
        { "name": "data0", "sandbox": "/run/netns/a" },
    ]));
    assert_eq!(status(&empty)["interface"], "data0");
    let of_host = with_interfaces(json!([{ "name": "veth1" }]));
    assert!(status(&of_host).get("interface").is_none());
}

#[test]
fn npwg_5_3_2_1_before_0_3_0_interface_is_that_of_cni_ifname() {
    let old = result(json!({ "cniVersion": "0.2.0", "ip4": { "ip": "1.2.3.4/24" } }));
    assert_eq!(status(&old)["interface"], "net1");
}

#[test]
fn npwg_5_3_3_ips_have_no_prefix_length() {
    assert_eq!(
        status(&bridged("1.0.0"))["ips"],
        json!(["1.2.3.4", "2001:abba::2234"])
    );
}

#[test]
fn npwg_5_3_3_1_ips_are_those_of_the_first_sandbox_interface() {
    let unindexed = result(json!({
        "cniVersion": "1.0.0",
        "interfaces": [{ "name": "net1", "sandbox": "/run/netns/a" }],
        "ips": [{ "address": "10.0.0.1/24" }, { "address": "10.0.0.2/24", "interface": 0 }],
    }));
    assert_eq!(status(&unindexed)["ips"], json!(["10.0.0.2"]));
}

#[test]
fn npwg_5_3_3_1_without_a_sandbox_interface_ips_are_those_of_no_interface() {
    for (interfaces, index) in [
        (json!([]), json!(null)),
        (json!([{ "name": "host0" }]), json!(null)),
        (json!([{ "name": "host0" }]), json!(-1)),
    ] {
        let result = result(json!({
            "cniVersion": "0.3.1",
            "interfaces": interfaces,
            "ips": [
                { "version": "4", "address": "10.0.0.1/24", "interface": 0 },
                { "version": "4", "address": "10.0.0.2/24", "interface": index },
                { "version": "6", "address": "fd00::2/64" },
            ],
        }));
        assert_eq!(
            status(&result)["ips"],
            json!(["10.0.0.2", "fd00::2"]),
            "{interfaces} {index}"
        );
    }
}

#[test]
fn npwg_5_3_3_1_otherwise_there_are_no_ips() {
    let of_host = result(json!({
        "cniVersion": "1.0.0",
        "interfaces": [{ "name": "host0" }, { "name": "net1", "sandbox": "/run/netns/a" }],
        "ips": [{ "address": "10.0.0.1/24", "interface": 0 }],
    }));
    assert!(status(&of_host).get("ips").is_none());
}

#[test]
fn npwg_5_3_3_1_before_0_3_0_ips_are_those_of_ip4_and_ip6() {
    for version in ["0.1.0", "0.2.0"] {
        let old = result(json!({
            "cniVersion": version,
            "ip6": { "ip": "fd00::2/64" }, "ip4": { "ip": "10.0.0.2/24" },
        }));
        assert_eq!(status(&old)["ips"], json!(["10.0.0.2", "fd00::2"]));
    }
}

#[test]
fn npwg_5_3_4_mac_comes_with_interface() {
    for version in ["0.3.0", "0.3.1", "0.4.0", "1.0.0", "1.1.0"] {
        let status = status(&bridged(version));
        assert_eq!(status["mac"], "02:11:22:33:44:55");
        assert_eq!(status["interface"], "net1");
    }
    let of_host = with_interfaces(json!([{ "name": "host0", "mac": "02:00:00:00:00:01" }]));
    assert!(status(&of_host).get("mac").is_none());
}

#[test]
fn npwg_5_3_4_1_mac_is_that_of_the_first_sandbox_interface() {
    let silent = with_interfaces(json!([
        { "name": "a", "mac": "02:00:00:00:00:01" },
        { "name": "b", "mac": "", "sandbox": "/run/netns/a" },
        { "name": "c", "mac": "02:00:00:00:00:03", "sandbox": "/run/netns/a" },
    ]));
    assert!(status(&silent).get("mac").is_none(), "no other's");
    let old = result(json!({ "cniVersion": "0.1.0", "ip4": { "ip": "10.0.0.2/24" } }));
    assert!(status(&old).get("mac").is_none());
}

#[test]
fn npwg_5_3_5_default_is_always_written_and_true_once() {
    let entry = |name: &str, is_default| of(&bridged("1.0.0"), &about(name, "net1", is_default));
    let statuses = [entry("a", false), entry("b", true), entry("c", true)];
    let list: Value = serde_json::from_str(&annotation(&statuses)).unwrap();
    let defaults: Vec<&Value> = (0..3).map(|index| &list[index]["default"]).collect();
    assert_eq!(defaults, [&json!(false), &json!(true), &json!(false)]);
}

#[test]
fn npwg_5_3_6_dns_is_written_where_there_is_something() {
    assert_eq!(
        status(&bridged("1.0.0"))["dns"],
        json!({ "nameservers": ["4.2.2.1"], "search": ["foobar.com"] })
    );
    let nothing = result(json!({ "cniVersion": "0.4.0", "dns": {} }));
    assert!(status(&nothing).get("dns").is_none());
}

/// A key of the result's `dns` is in the status.
fn assert_dns(key: &str, value: Value) {
    let result = result(json!({ "cniVersion": "1.0.0", "dns": { key: value } }));
    assert_eq!(status(&result)["dns"], json!({ key: value }));
}

#[test]
fn npwg_5_3_6_1_nameservers_are_addresses() {
    assert_dns("nameservers", json!(["4.2.2.1", "2001:4860:4860::8888"]));
}

#[test]
fn npwg_5_3_6_2_domain_is_text() {
    assert_dns("domain", json!("foobar.com"));
}

#[test]
fn npwg_5_3_6_3_search_is_a_list() {
    assert_dns("search", json!(["eng.foobar.com", "foobar.com"]));
}

/// The standard's example, but for prefix lengths, which the clients of Multus do not expect.
#[test]
fn npwg_5_4_the_example() {
    let attachment = |ifname: &str, ips: [&str; 2], mac: &str, dns: Value| {
        result(json!({
            "cniVersion": "1.0.0",
            "interfaces": [{ "name": ifname, "mac": mac, "sandbox": "/run/netns/a" }],
            "ips": ips.map(|ip| json!({ "address": ip, "interface": 0 })),
            "dns": dns,
        }))
    };
    let dns = json!({
        "nameservers": ["4.2.2.1", "2001:4860:4860::8888"], "search": ["eng.foobar.com", "foobar.com"]
    });
    let default = attachment(
        "eth5",
        ["1.2.3.1/24", "2001:abba::2230/64"],
        "02:11:22:33:44:54",
        json!({}),
    );
    let some = attachment(
        "eth1",
        ["1.2.3.4/24", "2001:abba::2234/64"],
        "02:11:22:33:44:55",
        dns.clone(),
    );
    let statuses = [
        of(&default, &about("cluster-wide-default", "eth5", true)),
        of(&some, &about("some-network", "eth1", false)),
    ];
    let list: Value = serde_json::from_str(&annotation(&statuses)).unwrap();
    assert_eq!(
        list,
        json!([
            {
                "name": "cluster-wide-default", "interface": "eth5",
                "ips": ["1.2.3.1", "2001:abba::2230"], "mac": "02:11:22:33:44:54", "default": true
            },
            {
                "name": "some-network", "interface": "eth1",
                "ips": ["1.2.3.4", "2001:abba::2234"], "mac": "02:11:22:33:44:55", "dns": dns,
                "default": false
            },
        ])
    );
}

#[test]
fn the_text_is_indented_as_multus_does_it() {
    let one = of(
        &result(json!({ "cniVersion": "0.2.0", "ip4": { "ip": "10.0.0.2/24" } })),
        &about("ns/a", "net1", false),
    );
    let expected = r#"{
    "name": "ns/a",
    "interface": "net1",
    "ips": [
        "10.0.0.2"
    ],
    "default": false
}"#;
    assert_eq!(
        annotation(&[one.clone(), one]),
        format!("[{expected},{expected}]")
    );
}

#[test]
fn gateways_are_real_ones() {
    let of_routes = |routes: Value, gateway: Value| {
        let result = result(json!({
            "cniVersion": "1.1.0",
            "interfaces": [{ "name": "net1", "sandbox": "/run/netns/a" }],
            "ips": [
                { "address": "10.0.0.2/24", "gateway": gateway, "interface": 0 },
                { "address": "fd00::2/64", "gateway": "fd00::1", "interface": 0 },
            ],
            "routes": routes,
        }));
        let status = status(&result);
        assert_eq!(status.get("gateway"), status.get("default-route"));
        status.get("gateway").cloned()
    };
    let of_address = json!("10.0.0.1");
    let default = json!([{ "dst": "0.0.0.0/0" }]);
    for (routes, gateway, expected) in [
        (default.clone(), json!(null), None),
        (
            default.clone(),
            of_address.clone(),
            Some(json!(["10.0.0.1"])),
        ),
        (json!([]), of_address.clone(), None),
        (json!(null), of_address.clone(), None),
        (json!([{ "dst": "10.0.0.0/8" }]), of_address.clone(), None),
        (
            json!([{ "dst": "0.0.0.0/0", "gw": "10.0.0.9" }, { "dst": "::/0" }]),
            of_address.clone(),
            Some(json!(["10.0.0.9", "fd00::1"])),
        ),
        (
            json!([{ "dst": "0.0.0.0/0", "gw": "10.0.0.9" }, { "dst": "0.0.0.0/0", "gw": "10.0.0.9", "priority": 9 }]),
            of_address.clone(),
            Some(json!(["10.0.0.9"])),
        ),
        (
            json!([{ "dst": "0.0.0.0/0", "gw": "0.0.0.0" }]),
            json!(null),
            None,
        ),
        (
            json!([{ "dst": "0.0.0.0/0", "gw": "10.0.0.9", "table": 100 }]),
            of_address,
            None,
        ),
    ] {
        assert_eq!(of_routes(routes.clone(), gateway), expected, "{routes}");
    }
}

#[test]
fn device_info_is_handed_on_word_for_word() {
    let info =
        json!({ "type": "pci", "version": "1.1.0", "pci": { "pci-address": "0000:01:00.2" } });
    let attached = attached(&AddResult::default(), "a", "net1");
    let status = super::of(&attached, false, Some(info.clone()));
    assert_eq!(json!(status)["device-info"], info);
}
