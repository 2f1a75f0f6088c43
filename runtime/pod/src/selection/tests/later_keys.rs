//! The keys that later versions of the standard added.

use serde_json::json;

use super::*;
use Consequence::PodFails;

#[test]
fn cni_args_is_an_object_of_anything() {
    let args = json!({ "labels": [{ "key": "a" }], "n": 7, "deep": { "x": null } });
    let given = element(json!({ "cni-args": args }));
    assert_eq!(Value::from(given.cni_args), args);
    assert!(element(json!({ "cni-args": null })).cni_args.is_empty());
    assert!(element(json!({ "cni-args": {} })).cni_args.is_empty());
    let cases = [json!([]), json!("a=b"), json!(1), json!(true)];
    let cases = cases.map(|value| (value, "expected an object"));
    assert_refused("cni-args", PodFails, &cases);
}

#[test]
fn port_mappings_are_as_the_capability_has_them() {
    let given = element(json!({ "portMappings": [
        { "hostPort": 8080, "containerPort": 80 },
        { "hostPort": 1, "containerPort": 65535, "protocol": "UDP", "hostIP": "::1" },
        { "hostPort": 2, "containerPort": 2, "protocol": "", "hostIP": null, "x.y": 1 },
    ]}));
    assert_eq!(
        given.port_mappings,
        Some(json!([
            { "hostPort": 8080, "containerPort": 80 },
            { "hostPort": 1, "containerPort": 65535, "protocol": "udp", "hostIP": "::1" },
            { "hostPort": 2, "containerPort": 2 },
        ]))
    );
    assert_eq!(element(json!({ "portMappings": null })).port_mappings, None);
    assert_eq!(element(json!({})).port_mappings, None);
}

#[test]
fn invalid_port_mappings_fail_the_pod() {
    let one = |keys: Value| {
        let mut mapping = json!({ "hostPort": 8080, "containerPort": 80 });
        let own = mapping.as_object_mut().unwrap();
        own.extend(keys.as_object().unwrap().clone());
        json!([mapping])
    };
    let port = "a port, 1 to 65535";
    let cases = [
        (json!({}), "expected a list of objects"),
        (json!("80:80"), "expected a list of objects"),
        (json!([80]), "mapping 1: expected an object, found 80"),
        (
            json!([{ "hostPort": 80 }]),
            "mapping 1: containerPort: is missing",
        ),
        (
            json!([{ "containerPort": 80 }]),
            "mapping 1: hostPort: is missing",
        ),
        (one(json!({ "hostPort": 0 })), port),
        (one(json!({ "hostPort": -1 })), port),
        (one(json!({ "hostPort": 65536 })), port),
        (one(json!({ "hostPort": "80" })), port),
        (one(json!({ "containerPort": 80.5 })), port),
        (
            one(json!({ "protocol": "icmp" })),
            "\"tcp\", \"udp\" or \"sctp\"",
        ),
        (
            one(json!({ "protocol": 6 })),
            "\"tcp\", \"udp\" or \"sctp\"",
        ),
        (
            one(json!({ "hostIP": "eth0" })),
            "hostIP: expected an IP address",
        ),
        (
            one(json!({ "hostIp": "10.0.0.1" })),
            "`hostIp` is not a key, expected hostPort",
        ),
    ];
    assert_refused("portMappings", PodFails, &cases);
}

#[test]
fn bandwidth_is_as_the_capability_has_it() {
    let whole = json!({
        "ingressRate": 2048, "ingressBurst": 1600, "egressRate": 0, "egressBurst": u64::MAX
    });
    assert_eq!(
        element(json!({ "bandwidth": whole })).bandwidth,
        Some(whole.clone())
    );
    let part = json!({ "ingressRate": 2048, "egressRate": null });
    assert_eq!(
        element(json!({ "bandwidth": part })).bandwidth,
        Some(json!({ "ingressRate": 2048 }))
    );
    assert_eq!(element(json!({ "bandwidth": null })).bandwidth, None);
    let number = "a whole number of bits, 0 or more";
    let cases = [
        (json!([]), "expected an object"),
        (json!(1000), "expected an object"),
        (json!({ "ingressRate": -1 }), number),
        (json!({ "ingressBurst": 0.5 }), number),
        (json!({ "egressRate": "1M" }), number),
        (json!({ "egressBurst": [] }), number),
        (
            json!({ "rate": 1 }),
            "`rate` is not a key, expected ingressRate",
        ),
    ];
    assert_refused("bandwidth", PodFails, &cases);
}

#[test]
fn default_route_is_a_gateway_of_each_family() {
    let of = |value: Value| element(json!({ "default-route": value })).default_route;
    let gateways = of(json!(["10.1.0.1", "fd00::1"])).unwrap();
    assert_eq!(json!(gateways), json!(["10.1.0.1", "fd00::1"]));
    assert_eq!(of(json!([])), Some(Vec::new()), "nobody has one");
    assert_eq!(of(json!(null)), None);
    let gateway = "expected an IP address";
    let cases = [
        (json!("10.1.0.1"), "expected a list"),
        (json!({}), "expected a list"),
        (json!([""]), gateway),
        (json!(["10.1.0.1/24"]), gateway),
        (json!([7]), gateway),
        (json!([null]), gateway),
        (
            json!(["10.1.0.1", "10.1.0.2"]),
            "expected one gateway of each address family",
        ),
        (
            json!(["fd00::1", "fd00::1"]),
            "expected one gateway of each address family",
        ),
    ];
    assert_refused("default-route", PodFails, &cases);
}

#[test]
fn a_default_route_is_asked_for_by_one_attachment_of_each_family() {
    let text = |second: &str| {
        format!(
            r#"[{{"name": "a", "default-route": ["10.1.0.1"]}},
                {{"name": "b", "default-route": ["{second}"]}}]"#
        )
    };
    selected(&text("fd00::1"));
    let refused = refused(&text("10.2.0.1"));
    assert_eq!(refused.consequence, PodFails);
    assert!(
        refused.error.msg.ends_with(
            "element 2 (my-namespace/b): default-route: 10.2.0.1: element 1 (my-namespace/a) already \
             has the IPv4 default route"
        ),
        "{refused:?}"
    );
}

#[test]
fn infiniband_guid_is_eight_bytes() {
    let of = |value: Value| element(json!({ "infiniband-guid": value })).infiniband_guid;
    let expected = "c2:11:22:33:44:55:66:77";
    for text in [expected, "C2-11-22-33-44-55-66-77", "c211.2233.4455.6677"] {
        assert_eq!(of(json!(text)).as_deref(), Some(expected));
    }
    assert_eq!(of(json!(null)), None);
    assert_eq!(of(json!("")), None);
    let cases = [
        json!("c2:11:22:33:44:55"),
        json!("c2112233445566 77"),
        json!("c2:11:22:33:44:55:66:7x"),
        json!(["c2:11:22:33:44:55:66:77"]),
        json!(0),
    ];
    let cases = cases.map(|value| (value, "expected 8 bytes such as"));
    assert_refused("infiniband-guid", PodFails, &cases);
}

#[test]
fn ipam_claim_reference_is_the_name_of_an_object() {
    let of = |value: Value| element(json!({ "ipam-claim-reference": value })).ipam_claim_reference;
    assert_eq!(of(json!("vm1.randomnet")).as_deref(), Some("vm1.randomnet"));
    assert_eq!(of(json!("")), None);
    assert_eq!(of(json!(null)), None);
    let cases = [
        (json!("ns/claim"), "name `ns/claim`: expected"),
        (json!("Claim"), "name `Claim`: expected"),
        (json!(1), "expected a string, found 1"),
        (json!({}), "expected a string"),
    ];
    assert_refused("ipam-claim-reference", PodFails, &cases);
}
