//! What transactions of the packet filter and zones of firewalld do.

use serde_json::{Value, json};

use super::{does, invocation};
use crate::Severity::{ChangesHost, Contained, DisablesProtection, ReachesOthers, Reads};
use crate::operation_names::recorded;

fn apply(namespace: &str, commands: Value) -> Value {
    json!({ "namespace": namespace, "family": "inet", "table": "weir_x", "commands": commands })
}

fn chain(hook: &str, policy: &str) -> Value {
    let base = json!({ "chain-type": "filter", "hook": hook, "priority": 0, "policy": policy });
    json!({ "add-chain": { "name": "c", "base": base } })
}

fn rule(conditions: Value, statements: Value) -> Value {
    json!({ "append-rule": { "chain": "c", "conditions": conditions, "statements": statements } })
}

#[test]
fn a_packet_filter_says_what_it_does_where() {
    let table = "in nftables table `inet weir_x` in host";
    let source = json!({ "within": { "field": "ipv4-source", "network": "10.1.0.0/16" } });
    let port = json!({ "equals": { "field": "destination-port", "value": 8080 } });
    let tcp = json!({ "equals": { "field": "transport-protocol", "value": 6 } });
    let out = json!({ "equals": { "field": "output-link-name", "value": "cni0", "negate": true } });
    let dnat = json!({ "dnat": { "target": { "fixed": { "address": "10.1.0.2", "port": 80 } }, "options": {} } });
    for (commands, act, severity) in [
        (
            json!([chain("input", "accept"), rule(json!([]), json!(["drop"]))]),
            "drop every packet on hook input and add chain `c` on hook input",
            ReachesOthers,
        ),
        (
            json!([chain("input", "drop")]),
            "drop every packet on hook input that no rule of chain `c` accepts",
            ReachesOthers,
        ),
        (
            json!([rule(json!([source, out]), json!([{ "masquerade": {} }]))]),
            "masquerade packets from 10.1.0.0/16 not going out of `cni0` in chain `c`",
            ReachesOthers,
        ),
        (
            json!([
                chain("prerouting", "accept"),
                rule(json!([tcp, port]), json!(["counter", dnat]))
            ]),
            "count packets of tcp to port 8080 on hook prerouting and redirect them to 10.1.0.2 port 80 and add chain `c` \
             on hook prerouting",
            ReachesOthers,
        ),
        (
            json!([rule(json!([]), json!(["accept"]))]),
            "accept every packet in chain `c`",
            ChangesHost,
        ),
        (
            json!([rule(json!([]), json!([{ "jump": "d" }]))]),
            "send every packet in chain `c` through chain `d`",
            ChangesHost,
        ),
        (
            json!([rule(
                json!([]),
                json!(["notrack", { "set-mark": { "mask": 255, "value": 1 } }])
            )]),
            "exempt every packet in chain `c` from connection tracking and mark them with mark 0x1/0xff",
            ReachesOthers,
        ),
        (
            json!([{ "create-elements": { "set": "ports4", "elements": [
                { "key": [6, 8080], "data": { "values": ["10.1.0.2", 80] } }] } }]),
            "redirect packets of tcp to port 8080 to 10.1.0.2 port 80 by map `ports4`",
            ReachesOthers,
        ),
        (
            json!(["delete-table"]),
            "delete every chain and rule",
            ReachesOthers,
        ),
        (
            json!([{ "delete-elements": { "set": "s", "elements": [{ "key": ["10.1.0.2"] }] } }]),
            "take 10.1.0.2 out of set `s`",
            ChangesHost,
        ),
    ] {
        does(
            "firewall.apply",
            apply("host", commands),
            &format!("{act}, {table}"),
            severity,
        );
    }
    does(
        "firewall.apply",
        apply("container", json!([chain("input", "drop")])),
        "drop every packet on hook input that no rule of chain `c` accepts, in nftables table `inet weir_x` in container",
        Contained,
    );
}

/// An element of a map by which a rule of the transaction translates: by which hook, and whether the source or the
/// destination.
#[test]
fn a_port_mapping_says_where_packets_go() {
    let by_map = |statement: &str| {
        let lookup = json!({ "fields": ["transport-protocol", "destination-port"], "map": "m" });
        let target = json!({ "from-map": { "lookup": lookup, "with_port": true, "ipv6": false } });
        json!([{ statement: { "target": target, "options": {} } }])
    };
    let element = |key: Value, values: Value| {
        let element = json!({ "key": key, "data": { "values": values } });
        json!({ "add-elements": { "set": "m", "elements": [element] } })
    };
    let mapping = || element(json!([17, 53]), json!(["10.1.0.2", 5353]));
    for (commands, act) in [
        (
            json!([
                mapping(),
                chain("prerouting", "accept"),
                rule(json!([]), by_map("dnat"))
            ]),
            "redirect packets of udp to port 53 on hook prerouting to 10.1.0.2 port 5353 by map `m`",
        ),
        (
            json!([
                chain("postrouting", "accept"),
                rule(json!([]), by_map("snat")),
                mapping()
            ]),
            "give packets of udp to port 53 on hook postrouting the source 10.1.0.2 port 5353 by map `m`",
        ),
        (
            json!([element(json!(["192.0.2.1", 6, 80]), json!(["10.1.0.2"]))]),
            "redirect packets of tcp to port 80 of 192.0.2.1 to 10.1.0.2 by map `m`",
        ),
        // Neither number is a protocol with ports.
        (
            json!([element(json!([9, 80]), json!(["10.1.0.2", 80]))]),
            "put 9 . 80 to 10.1.0.2 . 80 into `m`",
        ),
        (
            json!([{ "add-elements": { "set": "m", "elements": [{ "key": [6, 80] }] } }]),
            "put 6 . 80 into `m`",
        ),
    ] {
        let operation = recorded("firewall.apply", &apply("host", commands)).expect("one");
        let told = operation.act();
        assert!(told.contains(act), "{told}");
    }
}

/// A plugin may hide one rule among a thousand.
#[test]
fn a_long_transaction_is_short_and_tells_the_gravest() {
    let harmless = (0..1000).map(|n| rule(json!([]), json!([{ "jump": format!("c{n}") }])));
    let mut commands: Vec<Value> = harmless.collect();
    commands.insert(700, rule(json!([]), json!(["reject"])));
    let operation = recorded("firewall.apply", &apply("host", commands.into())).expect("one");
    let act = operation.act();
    assert!(
        act.starts_with("reject every packet in chain `c`, send "),
        "{act}"
    );
    assert!(
        act.contains("do 997 more things") && act.len() < 400,
        "{act}"
    );
    assert_eq!(operation.severity(&invocation()), ReachesOthers);
    let elements: Vec<Value> = (0..1000)
        .map(|n| json!({ "key": [n], "data": { "verdict": if n == 500 { "drop" } else { "accept" } } }))
        .collect();
    let elements = json!([{ "add-elements": { "set": "m", "elements": elements } }]);
    let operation = recorded("firewall.apply", &apply("host", elements)).expect("one");
    let act = operation.act();
    assert!(act.starts_with("put 500 to drop, 0 to accept"), "{act}");
    assert_eq!(operation.severity(&invocation()), ReachesOthers);
}

#[test]
fn zones_of_firewalld() {
    let source = |zone: &str| json!({ "zone": zone, "source": "10.1.0.2" });
    does(
        "firewalld.add-source",
        source("trusted"),
        "bind 10.1.0.2 to firewalld's zone `trusted`, which accepts every connection",
        DisablesProtection,
    );
    does(
        "firewalld.add-source",
        source("pods"),
        "bind 10.1.0.2 to firewalld's zone `pods`",
        ReachesOthers,
    );
    does(
        "firewalld.remove-source",
        source("drop"),
        "take 10.1.0.2 out of firewalld's zone `drop`, which accepts no connection",
        DisablesProtection,
    );
    does(
        "firewalld.is-running",
        json!({}),
        "read whether firewalld runs",
        Reads,
    );
}
