//! Every function of the contract, outside the grant.

use std::collections::BTreeSet;
use std::fs;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::house;

use super::puppet::{Answer, Puppet};

/// What nobody can call: the functions that give such a socket out are never carried out.
const OF_SOCKETS: [&str; 4] = [
    "packet.raw-socket.receive",
    "packet.raw-socket.send",
    "packet.udp-socket.receive",
    "packet.udp-socket.send",
];

/// It needs no rule: every answer in these tests came through it.
const LOG: &str = "log.write";

/// All functions of `wit/` that a plugin can call, as `link.create` or `store.transaction.get`.
fn contract() -> Result<BTreeSet<String>> {
    let mut functions = BTreeSet::new();
    for entry in fs::read_dir(house().join("wit"))? {
        let text = fs::read_to_string(entry?.path())?;
        let (mut interface, mut resource) = (String::new(), String::new());
        for line in text.lines().map(str::trim) {
            let named = |word: &str| {
                let name = line.strip_prefix(word)?.strip_suffix('{')?;
                Some(name.trim().to_owned())
            };
            if let Some(name) = named("interface ") {
                interface = format!("{name}.");
            } else if let Some(name) = named("resource ") {
                resource = format!("{name}.");
            } else if line == "}" {
                resource.clear();
            } else if let Some((name, _)) = line.split_once(": func(")
                && !name.contains(' ')
            {
                let name = name.trim_start_matches('%');
                functions.insert(format!("{interface}{resource}{name}"));
            }
        }
    }
    // These are the plugin's own.
    functions.retain(|function| !function.starts_with("commands."));
    Ok(functions)
}

/// One call of each function that names an object of one of the two namespaces.
fn in_namespace(inside: bool, link: &str) -> Vec<Value> {
    let links = json!([
        { "do": "link.create", "kind": "bridge", "name": "made0" },
        { "do": "link.create", "kind": "dummy", "name": "made0" },
        { "do": "link.create", "kind": "tun", "name": "made0" },
        { "do": "link.create", "kind": "ifb", "name": "made0" },
        { "do": "link.create", "kind": "vrf", "name": "made0" },
        { "do": "link.create", "kind": "veth", "name": "made0", "other": "made1" },
        { "do": "link.create", "kind": "macvlan", "name": "made0", "other": link, "otherInside": inside },
        { "do": "link.create", "kind": "ipvlan", "name": "made0", "other": link, "otherInside": inside },
        { "do": "link.create", "kind": "vlan", "name": "made0", "other": link, "otherInside": inside },
        { "do": "link.get" },
        { "do": "link.delete" },
        { "do": "link.delete-all" },
        { "do": "link.update", "alias": "mine" },
        { "do": "link.update-port" },
        { "do": "link.update-bridge" },
        { "do": "link.add-vlans" },
        { "do": "link.delete-vlans" },
        { "do": "link.list-vlans" },
        { "do": "link.move", "otherInside": !inside },
        { "do": "link.get-peer" },
        { "do": "link.wait-up" },
    ]);
    let others = json!([
        { "do": "address.add", "address": "192.0.2.7/24" },
        { "do": "address.delete", "address": "192.0.2.1/24" },
        { "do": "address.list" },
        { "do": "address.settle" },
        { "do": "route.add", "address": "198.51.100.0/24" },
        { "do": "route.add", "address": "0.0.0.0/0", "kind": "blackhole", "link": "" },
        { "do": "route.replace", "address": "192.0.2.0/24" },
        { "do": "route.delete", "address": "192.0.2.0/24" },
        { "do": "route.list" },
        { "do": "route.get", "address": "192.0.2.9" },
        { "do": "policy-rule.add", "address": "192.0.2.9" },
        { "do": "policy-rule.delete", "address": "0.0.0.0/0", "table": 254 },
        { "do": "policy-rule.list" },
        { "do": "neighbour.add", "address": "192.0.2.9" },
        { "do": "neighbour.delete", "address": "192.0.2.9" },
        { "do": "neighbour.list" },
        { "do": "neighbour.announce", "address": "192.0.2.1" },
        { "do": "traffic.add-qdisc" },
        { "do": "traffic.delete-qdisc" },
        { "do": "traffic.list-qdiscs" },
        { "do": "traffic.add-class" },
        { "do": "traffic.list-classes" },
        { "do": "traffic.add-filter", "other": link },
        { "do": "traffic.list-filters" },
        { "do": "firewall.apply", "chain": "guard", "hook": "input", "drops": true },
        { "do": "firewall.list-chains" },
        { "do": "firewall.list-rules", "chain": "guard" },
        { "do": "firewall.list-sets" },
        { "do": "firewall.get-element", "name": "allowed" },
        { "do": "firewall.list-elements", "name": "allowed" },
        { "do": "conntrack.delete", "address": "192.0.2.9" },
        { "do": "sysctl.read", "key": "net.ipv4.ip_forward" },
        { "do": "sysctl.write", "key": "net.ipv4.ip_forward", "value": "1" },
    ]);
    let orders = [links, others].into_iter().flat_map(|list| {
        let list = list.as_array().expect("a list");
        list.clone()
    });
    orders
        .map(|mut order| {
            let members = order.as_object_mut().expect("an order");
            members.insert("inside".to_owned(), inside.into());
            members.entry("link").or_insert(link.into());
            order
        })
        .collect()
}

/// One call of each function that names no namespace.
fn elsewhere() -> Vec<Value> {
    let orders = json!([
        { "do": "firewall.remove-reference-rules" },
        { "do": "firewalld.is-running" },
        { "do": "firewalld.zone-of-source", "address": "192.0.2.9" },
        { "do": "firewalld.add-source", "address": "192.0.2.9", "zone": "trusted" },
        { "do": "firewalld.remove-source", "address": "192.0.2.9", "zone": "trusted" },
        { "do": "device.by-link", "link": "lo" },
        { "do": "device.by-pci-address", "name": "0000:00:1f.6" },
        { "do": "device.by-auxiliary-name", "name": "mlx5_core.sf.4" },
        { "do": "device.by-kernel-path", "path": "/sys/devices/pci0000:00/0000:00:1f.6" },
        { "do": "store.open" },
        { "do": "store.open", "write": true },
        { "do": "store.open", "path": "/etc/cron.d", "write": true },
        { "do": "store.open", "path": "/etc/cron.d", "shared": true, "write": true },
        { "do": "store.read-file", "path": "/etc/shadow" },
    ]);
    orders.as_array().expect("a list").clone()
}

/// What runs another plugin, which answers with CNI errors.
fn of_ipam() -> Vec<Value> {
    let commands = ["add", "del", "check", "status", "gc"];
    commands
        .map(|c| json!({ "do": format!("ipam.{c}") }))
        .into()
}

fn unsupported() -> Vec<Value> {
    let functions = ["packet.open-udp", "packet.open-raw"];
    functions.map(|f| json!({ "do": f, "link": "lo" })).into()
}

/// In an open store.
fn in_store(write: bool, functions: &[&str]) -> Vec<Value> {
    let mut orders = vec![json!({ "do": "store.open", "write": write })];
    let calls = functions.iter().map(|f| {
        let function = format!("store.transaction.{f}");
        json!({ "do": function, "key": "mine", "value": "x" })
    });
    orders.extend(calls);
    orders
}

/// With links on the host and in the container that it could reach for.
fn puppet(capabilities: &str) -> Result<Puppet> {
    let puppet = Puppet::under(capabilities)?;
    let (node, container) = (&puppet.fixture.node, &puppet.fixture.container);
    for words in [
        "link add victim0 type veth peer name victim1",
        "address add 192.0.2.1/24 dev victim0",
        "link set victim0 up",
    ] {
        node.ip(words)?;
        container.ip(words)?;
    }
    node.tool("nft", "add table inet victim")?;
    node.tool("nft", "add chain inet victim guard")?;
    Ok(puppet)
}

fn tried(answers: &[Answer]) -> impl Iterator<Item = String> {
    answers.iter().map(|answer| answer.function.clone())
}

/// Property: default deny. What no rule allows is refused, is recorded, and changes nothing; and no
/// function of the contract has been forgotten here.
#[test]
fn every_function_is_denied_without_a_rule() -> Result<()> {
    let puppet = puppet("{}")?;
    let mut done = BTreeSet::from([LOG.to_owned()]);
    for orders in [
        in_namespace(false, "victim0"),
        in_namespace(true, "victim0"),
        elsewhere(),
    ] {
        done.extend(tried(&puppet.assert_denied(orders)?));
    }
    done.extend(tried(&puppet.assert_denied(unsupported())?));
    let config = json!({ "orders": of_ipam(), "ipam": { "type": "host-local" } });
    let answers = puppet.act_with(config)?;
    assert!(answers.iter().all(|a| a.answer == "220"), "{answers:#?}");
    assert_eq!(puppet.fixture.records("ipam.run").len(), 5);
    done.extend(tried(&answers));

    // A list shows what may be read, and that is nothing.
    for inside in [false, true] {
        let list = json!({ "do": "link.list", "inside": inside });
        let answers = puppet.assert_each(vec![list], "ok")?;
        assert_eq!(answers[0].said, "", "{answers:#?}");
        done.extend(tried(&answers));
    }
    done.extend(every_function_of_a_store(&puppet)?);
    // With a rule, what this version does not carry out is recorded, and unsupported.
    puppet.grant("{ packet: [{}] }", "{ log: 1MiB }")?;
    puppet.assert_each(unsupported(), "unsupported")?;
    done.extend(OF_SOCKETS.map(str::to_owned));
    let missing: Vec<String> = contract()?.difference(&done).cloned().collect();
    assert!(missing.is_empty(), "not tried: {missing:?}");
    Ok(())
}

/// Those of an open store, each under a grant of the other verb.
fn every_function_of_a_store(puppet: &Puppet) -> Result<BTreeSet<String>> {
    let mut done = BTreeSet::new();
    for (verb, write, denied) in [
        ("read", false, &["put", "claim", "delete"][..]),
        ("write", true, &["get", "keys", "find"]),
    ] {
        let store = format!("{{ store: [ {{ verbs: [{verb}] }} ] }}");
        puppet.grant(&store, "{ log: 1MiB }")?;
        let answers = puppet.act(in_store(write, denied))?;
        assert_eq!(answers[0].answer, "ok", "{answers:#?}");
        for answer in &answers[1..] {
            assert_eq!(answer.answer, "denied", "{answer:#?}");
        }
        done.extend(tried(&answers));
    }
    // There is nothing to commit, so that `commit` is not an operation.
    puppet.grant("{ store: [ { verbs: [read] } ] }", "{ log: 1MiB }")?;
    let answers = puppet.assert_each(in_store(false, &["commit"]), "ok")?;
    done.extend(tried(&answers));
    Ok(done)
}

/// Property: a rule that misses in one field allows nothing.
#[test]
fn every_function_is_denied_by_rules_that_miss_in_one_field() -> Result<()> {
    const BY_NAME: &str = r#"{
        link: [ { names: [other0] } ],
        address: [ { links: [other0] } ],
        route: [ { links: [other0] } ],
        policy-rule: [ { sources: [203.0.113.0/24] } ],
        neighbour: [ { links: [other0] } ],
        traffic: [ { links: [other0] } ],
        firewall: [ { families: [bridge] } ],
        firewalld: [ { zones: [public], verbs: [create, delete] } ],
        conntrack: [ { ports: [1] } ],
        device: [ { links: [other0] } ],
        sysctl: [ { keys: [net.ipv4.ip_default_ttl] } ],
        store: [ { directories: [/srv/other] } ] }"#;
    const BY_KIND: &str = r#"{
        link: [ { kinds: [ip6gre] } ],
        address: [ { kinds: [ip6gre] } ],
        route: [ { destinations: [203.0.113.0/24] } ],
        policy-rule: [ { tables: [77] } ],
        neighbour: [ { addresses: [203.0.113.0/24], verbs: [create, delete, announce] } ],
        traffic: [ { kinds: [ip6gre] } ],
        firewall: [ { hooks: [output], statements: [counter], verbs: [write] } ],
        firewalld: [ { sources: [203.0.113.0/24], verbs: [create, delete] } ],
        conntrack: [ { protocols: [udp] } ],
        device: [ { pci: ["0000:04:*"] }, { auxiliary: ["ice.*"] } ],
        sysctl: [ { values: ["7"], verbs: [write] } ],
        store: [ { files: [/etc/other] } ] }"#;
    for capabilities in [BY_NAME, BY_KIND] {
        let puppet = puppet(capabilities)?;
        for orders in [
            in_namespace(false, "victim0"),
            in_namespace(true, "victim0"),
            elsewhere(),
        ] {
            puppet.assert_denied(orders)?;
        }
    }
    Ok(())
}

/// Property: a rule for one namespace says nothing of the other.
#[test]
fn a_rule_for_the_container_reaches_nothing_of_the_host() -> Result<()> {
    let rule = "[ { namespace: container } ]";
    let words = [
        "link",
        "address",
        "route",
        "policy-rule",
        "neighbour",
        "traffic",
        "firewall",
        "conntrack",
        "sysctl",
    ];
    let rules = words.map(|word| format!("{word}: {rule}")).join(", ");
    let puppet = puppet(&format!("{{ {rules} }}"))?;
    puppet
        .assert_denied(in_namespace(false, "victim0"))
        .map(drop)
}
