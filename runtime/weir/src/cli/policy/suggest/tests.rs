//! What is suggested: enough for what was recorded, and no more.

use serde_json::{Value, json};
use weir_grant::Decision;
use weir_grant::operation_names::{by_name, recorded};

use super::networks::{MOST_NETWORKS, few};
use super::*;

fn invocation(id: &str) -> Invocation {
    Invocation {
        container_id: id.to_owned(),
        ifname: "eth0".to_owned(),
        network: "blue".to_owned(),
        ..Invocation::default()
    }
}

fn of(id: &str, operations: &[&str]) -> Vec<Recorded> {
    let one = |text: &&str| {
        let (name, fields) = text.split_once(' ').unwrap_or((text, ""));
        let fields: Vec<(String, String)> = fields
            .split_whitespace()
            .filter_map(|f| f.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        Recorded {
            invocation: invocation(id),
            operation: by_name(name, &fields).unwrap_or_else(|why| panic!("{why}")),
        }
    };
    operations.iter().map(one).collect()
}

fn of_all(recorded: &[Recorded]) -> Result<Capabilities, String> {
    let given = recorded.iter().flat_map(|r| networks_given(&*r.operation));
    let suggested = suggest(recorded, &given.collect::<Vec<_>>(), &[])?;
    assert_eq!(suggested.without_rule, []);
    Ok(suggested.capabilities)
}

fn rules(recorded: &[Recorded]) -> Value {
    let suggested = of_all(recorded).unwrap_or_else(|why| panic!("{why}"));
    serde_json::to_value(suggested).expect("JSON")
}

/// What a bridge plugin does for two containers.
fn bridge() -> Vec<Recorded> {
    let of_container = |id: &str, veth: &str, address: &str| {
        let lines = [
            "link.look-up namespace=host name=cni0".to_owned(),
            "link.create namespace=host kind=bridge name=cni0".to_owned(),
            "link.get namespace=host kind=bridge name=cni0".to_owned(),
            format!(
                "link.create namespace=container kind=veth name=eth0 peer.namespace=host \
                 peer.name={veth} master.namespace=host master.kind=bridge master.name=cni0"
            ),
            format!("link.get namespace=host kind=veth name={veth}"),
            format!("address.add namespace=container kind=veth link=eth0 address={address}/24"),
            "address.list namespace=container kind=veth link=eth0".to_owned(),
            "address.add namespace=host kind=bridge link=cni0 address=10.1.0.1/24".to_owned(),
            format!("neighbour.announce namespace=container link=eth0 addresses={address}"),
            "route.add namespace=container destination=0.0.0.0/0 link=eth0".to_owned(),
            "route.list namespace=container link=eth0 destination=0.0.0.0/0 table=254".to_owned(),
            "sysctl.write namespace=container key=net.ipv4.conf.eth0.arp_notify value=1".to_owned(),
            format!("sysctl.write namespace=host key=net.ipv6.conf.{veth}.accept_ra value=0"),
            "sysctl.read namespace=host key=net.ipv4.ip_forward".to_owned(),
            "sysctl.write namespace=host key=net.ipv4.ip_forward value=1".to_owned(),
            "firewall.apply namespace=host family=inet hooks=postrouting \
             statements=masquerade,return"
                .to_owned(),
            "firewall.list-rules namespace=host family=inet".to_owned(),
            "store.open access=write directory=/var/lib/cni/networks".to_owned(),
            "ipam.run plugin=host-local".to_owned(),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        of(id, &lines)
    };
    let mut all = of_container("one", "veth0a1b2c3d", "10.1.0.2");
    all.extend(of_container("two", "vethdeadbeef", "10.1.0.3"));
    all
}

#[test]
fn it_is_what_a_person_would_write() {
    let expected = json!({
        "link": [
            { "namespace": "container", "kinds": ["veth"], "names": ["{ifname}"], "verbs": ["create"] },
            { "namespace": "host", "kinds": ["bridge"], "names": ["cni0"],
              "verbs": ["create", "read", "update"] },
            { "namespace": "host", "kinds": ["veth"], "names": ["veth*"], "verbs": ["create", "read"] },
        ],
        "address": [
            { "namespace": "container", "kinds": ["veth"], "links": ["{ifname}"],
              "addresses": ["10.1.0.0/24"], "verbs": ["create", "read"] },
            { "namespace": "host", "kinds": ["bridge"], "links": ["cni0"],
              "addresses": ["10.1.0.0/24"], "verbs": ["create"] },
        ],
        "route": [
            { "namespace": "container", "links": ["{ifname}"], "destinations": ["0.0.0.0/0"],
              "tables": [254], "verbs": ["create", "read"] },
        ],
        "neighbour": [
            { "namespace": "container", "links": ["{ifname}"], "addresses": ["10.1.0.0/24"],
              "verbs": ["announce"] },
        ],
        "firewall": [
            { "namespace": "host", "families": ["inet"], "hooks": ["postrouting"],
              "statements": ["return", "masquerade"], "verbs": ["read", "write"] },
        ],
        "sysctl": [
            { "namespace": "container", "keys": ["net.ipv4.conf.{ifname}.arp_notify"],
              "values": ["1"], "verbs": ["write"] },
            { "namespace": "host", "keys": ["net.ipv6.conf.veth*.accept_ra"], "values": ["0"],
              "verbs": ["write"] },
            { "namespace": "host", "keys": ["net.ipv4.ip_forward"], "values": ["1"],
              "verbs": ["read", "write"] },
        ],
        "store": [{ "directories": ["/var/lib/cni/networks"], "verbs": ["write"] }],
        "ipam": ["host-local"],
    });
    let sorted = |value: Value| -> Vec<String> {
        let mut all: Vec<String> = value
            .as_object()
            .expect("capabilities")
            .iter()
            .flat_map(|(key, rules)| {
                let rules = rules.as_array().expect("rules").iter();
                rules.map(move |rule| sorted_lists(key, rule))
            })
            .collect();
        all.sort();
        all
    };
    assert_eq!(sorted(rules(&bridge())), sorted(expected));
}

/// A rule in which the order of values does not count.
fn sorted_lists(key: &str, rule: &Value) -> String {
    let mut rule = rule.clone();
    for value in rule
        .as_object_mut()
        .into_iter()
        .flat_map(|r| r.values_mut())
    {
        if let Value::Array(list) = value {
            list.sort_by_key(|value| value.to_string());
        }
    }
    format!("{key} {rule}")
}

#[test]
fn what_was_recorded_is_allowed() {
    let all = bridge();
    let suggested = of_all(&all).expect("a grant");
    for one in &all {
        let decision = one.operation.decide(&suggested, &one.invocation);
        let allowed = matches!(decision, Decision::Allowed { .. });
        assert!(
            allowed,
            "{} {}",
            one.operation.name(),
            one.operation.arguments()
        );
    }
    let again = of(
        "three",
        &[
            "link.create namespace=container kind=veth name=eth0 peer.namespace=host \
         peer.name=veth99887766",
            "address.add namespace=container kind=veth link=eth0 address=10.1.0.77/24",
        ],
    );
    for one in &again {
        let decision = one.operation.decide(&suggested, &one.invocation);
        assert!(matches!(decision, Decision::Allowed { .. }), "{decision:?}");
    }
}

/// A name on the host that is like the container's interface is the host's.
#[test]
fn an_interface_of_the_host_is_no_placeholder() {
    let all = of("one", &["link.get namespace=host kind=physical name=eth0"]);
    assert_eq!(rules(&all)["link"][0]["names"], json!(["eth0"]));
}

/// A look-up of what is not there has no kind, and does not need one.
#[test]
fn what_is_open_stays_open() {
    let all = of("one", &["link.look-up namespace=host name=cni0"]);
    assert_eq!(
        rules(&all),
        json!({ "link": [{ "namespace": "host", "names": ["cni0"], "verbs": ["read"] }] })
    );
    // Nor does a look at all routes, or at all rules: what bounds them does not allow it.
    let all = of(
        "one",
        &[
            "route.list namespace=container",
            "route.add namespace=container destination=0.0.0.0/0 link=eth0",
            "policy-rule.list namespace=container family=ipv4",
        ],
    );
    assert_eq!(
        rules(&all),
        json!({
            "route": [
                { "namespace": "container", "links": ["{ifname}"], "destinations": ["0.0.0.0/0"],
                  "tables": [254], "verbs": ["create"] },
                { "namespace": "container", "verbs": ["read"] },
            ],
            "policy-rule": [{ "namespace": "container", "families": ["ipv4"], "verbs": ["read"] }],
        })
    );
    let all = of("one", &["firewall.list-chains namespace=host family=inet"]);
    assert_eq!(
        rules(&all),
        json!({ "firewall": [{ "namespace": "host", "families": ["inet"], "verbs": ["read"] }] })
    );
    let all = of("one", &["firewall.apply namespace=host family=inet"]);
    assert_eq!(
        rules(&all),
        json!({ "firewall": [{ "namespace": "host", "families": ["inet"], "hooks": [],
                "statements": [], "verbs": ["write"] }] })
    );
    let all = of(
        "one",
        &["store.get", "conntrack.delete namespace=host protocol=udp"],
    );
    assert_eq!(
        rules(&all),
        json!({
            "conntrack": [{ "namespace": "host", "protocols": ["udp"], "verbs": ["delete"] }],
            "store": [{ "verbs": ["read"] }],
        })
    );
}

#[test]
fn networks_are_few() {
    let hosts: Vec<String> = (1..=40)
        .map(|n| format!("firewalld.add-source zone=trusted source=10.{}.0.1", n * 3))
        .collect();
    let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
    let suggested = rules(&of("one", &hosts));
    let sources = suggested["firewalld"][0]["sources"]
        .as_array()
        .expect("networks");
    assert!(sources.len() <= MOST_NETWORKS, "{sources:?}");
    assert!(!sources.contains(&json!("0.0.0.0/0")), "{sources:?}");
    // Those that have nothing to do with each other stay as they are: a network around them is half the world.
    let far = [
        "10.1.2.3",
        "44.7.0.1",
        "100.64.0.9",
        "172.16.5.1",
        "192.168.3.1",
        "203.0.113.7",
    ];
    let lines = far.map(|host| format!("firewalld.add-source zone=trusted source={host}"));
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut alone = far.map(|host| format!("{host}/32"));
    alone.sort();
    assert_eq!(
        rules(&of("one", &lines))["firewalld"][0]["sources"],
        json!(alone)
    );
    let both = of(
        "one",
        &[
            "firewalld.add-source zone=trusted source=10.0.0.1",
            "firewalld.add-source zone=trusted source=fd00::1",
        ],
    );
    assert_eq!(
        rules(&both)["firewalld"][0]["sources"],
        json!(["10.0.0.1/32", "fd00::1/128"])
    );
}

#[test]
fn nothing_recorded_is_nothing_allowed() {
    assert_eq!(of_all(&[]), Ok(Capabilities::default()));
    let other = recorded("link.list", &json!({ "namespace": "host" })).expect("a record");
    let all = [Recorded {
        invocation: invocation("one"),
        operation: other,
    }];
    assert_eq!(of_all(&all), Ok(Capabilities::default()));
}

/// Nothing is left out, and no more than four are there, however many there were.
#[test]
fn many_networks_become_few_at_once() {
    let host = |n: u32| IpNet::from(std::net::IpAddr::from(((n << 8) | 1).to_be_bytes()));
    let many: Vec<IpNet> = (0..20_000).map(|n| host(n * 2 + 0x000a_0000)).collect();
    let few_of = few(&many);
    assert!(few_of.len() <= MOST_NETWORKS, "{few_of:?}");
    let is_held = |address: &IpNet| few_of.iter().any(|network| network.contains(address));
    assert!(many.iter().all(is_held), "{few_of:?}");
}

#[test]
fn the_closest_networks_become_one() {
    let networks = |texts: &[&str]| -> Vec<IpNet> {
        let parsed = texts.iter().map(|text| text.parse());
        let mut networks: Vec<IpNet> = parsed.collect::<Result<_, _>>().expect("networks");
        networks.sort();
        networks
    };
    for (many, expected) in [
        (&["10.0.0.1/32"][..], &["10.0.0.1/32"][..]),
        (&[], &[]),
        (
            &["10.0.0.0/24", "10.0.1.0/24", "10.9.0.0/24"],
            &["10.0.0.0/23", "10.9.0.0/24"],
        ),
        (
            &[
                "10.1.0.1/32",
                "10.1.0.9/32",
                "10.1.0.14/32",
                "10.200.0.1/32",
                "192.168.0.1/32",
                "fd00::1/128",
            ],
            &[
                "10.1.0.0/28",
                "10.200.0.1/32",
                "192.168.0.1/32",
                "fd00::1/128",
            ],
        ),
        // Two families have no network in common, however many there are of each, and neither has what is
        // further from each other than a provider's addresses are.
        (
            &[
                "10.0.0.1/32",
                "fd00::1/128",
                "fd00::4/128",
                "fd00:1::/64",
                "fd00:2::/64",
                "fd00:8::/64",
            ],
            &[
                "10.0.0.1/32",
                "fd00::/125",
                "fd00:1::/64",
                "fd00:2::/64",
                "fd00:8::/64",
            ],
        ),
    ] {
        let mut found = few(&networks(many));
        found.sort();
        assert_eq!(found, networks(expected), "{many:?}");
    }
}

/// A plugin may have asked for it to keep the rest from being looked at.
#[test]
fn what_no_rule_can_allow_is_reported_and_the_rest_suggested() {
    let all = of(
        "one",
        &[
            "store.open access=write directory=/etc/../etc/cron.d",
            "store.read-file path=relative",
            "store.open access=write directory=/var/lib/mine",
            "store.put directory=/etc/../etc/cron.d key=a",
        ],
    );
    let suggested = suggest(&all, &[], &[]).expect("a suggestion");
    let told: Vec<(&str, bool)> = suggested
        .without_rule
        .iter()
        .map(|one| (one.need.as_str(), one.because.contains("without `..`")))
        .collect();
    assert_eq!(
        told,
        [
            ("read the file `relative`", true),
            ("write the store in `/etc/../etc/cron.d`", true),
        ]
    );
    let rules = serde_json::to_value(suggested.capabilities).expect("JSON");
    assert_eq!(
        rules,
        json!({ "store": [{ "directories": ["/var/lib/mine"], "verbs": ["write"] }] })
    );
}

/// A list has only the links that may be read.
#[test]
fn what_was_listed_and_changed_can_be_listed_again() {
    let update = "link.update namespace=host kind=veth name=veth1 mtu=1400";
    let verbs = |operations: &[&str]| rules(&of("1", operations))["link"][0]["verbs"].clone();
    assert_eq!(verbs(&[update]), json!(["update"]));
    assert_eq!(
        verbs(&["link.list namespace=host", update]),
        json!(["read", "update"])
    );
}
