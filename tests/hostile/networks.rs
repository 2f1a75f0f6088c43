//! Addresses and routes at the edges of the networks of a grant, and beyond.

use anyhow::Result;
use serde_json::{Value, json};

use super::puppet::Puppet;

const WITHIN: &str = r#"{
    address: [ { namespace: host, links: [own0], addresses: [10.7.0.0/16, "fd07::/32"] } ],
    route: [ { namespace: host, destinations: [10.7.0.0/16, "fd07::/32"], tables: [254] } ] }"#;

fn puppet(capabilities: &str) -> Result<Puppet> {
    Puppet::among(
        capabilities,
        &[
            "link add own0 up type veth peer name own1",
            "link set own1 up",
            "address add 192.0.2.1/24 dev own0",
            "route add default via 192.0.2.254",
        ],
    )
}

fn address(address: &str) -> Value {
    json!({ "do": "address.add", "link": "own0", "address": address })
}

fn route(destination: &str) -> Value {
    json!({ "do": "route.add", "link": "own0", "address": destination })
}

/// The order with one more key.
fn with(mut order: Value, key: &str, value: Value) -> Value {
    order[key] = value;
    order
}

/// What orders about networks answer: of those beyond a grant that they are denied, and of those within `ok`.
fn assert_edges(
    puppet: &Puppet,
    order: fn(&str) -> Value,
    beyond: &[&str],
    within: &[&str],
) -> Result<()> {
    let orders = |networks: &[&str]| networks.iter().map(|network| order(network)).collect();
    puppet.assert_denied(orders(beyond))?;
    puppet.assert_each(orders(within), "ok").map(drop)
}

/// Property: a network of a grant contains the whole of what it allows, to the last address, and of one
/// family.
#[test]
fn addresses_beyond_the_edge_are_denied() -> Result<()> {
    let puppet = puppet(WITHIN)?;
    let beyond = [
        "10.6.255.255/32",
        "10.8.0.0/32",
        "10.7.0.1/15",
        "10.7.0.1/0",
        "0.0.0.0/0",
        "::ffff:10.7.0.1/128",
        "::ffff:10.7.0.1/112",
        "::10.7.0.1/128",
        "fd06:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128",
        "fd07:1::/128",
        "fd07::1/31",
    ];
    let within = [
        "10.7.0.0/32",
        "10.7.255.255/32",
        "10.7.0.1/16",
        "fd07::1/32",
        "fd07:0:ffff:ffff:ffff:ffff:ffff:ffff/128",
    ];
    assert_edges(&puppet, address, &beyond, &within)?;
    let none = ["10.7.0.1/33", "10.7.0.1/200", "fd07::1/129"];
    puppet
        .assert_each(none.map(address).into(), "invalid")
        .map(drop)
}

/// Property: an address reaches no further than its own network: not by its peer, whose network the
/// kernel routes over the link, and not by its broadcast address, which the kernel takes for its own.
#[test]
fn the_peer_and_the_broadcast_address_are_within_the_grant() -> Result<()> {
    let puppet = puppet(WITHIN)?;
    let with = |key: &str, other: &str, own: &str| with(address(own), key, other.into());
    puppet.assert_denied(vec![
        with("peer", "198.51.100.1", "10.7.1.1/24"),
        with("peer", "198.51.100.1", "10.7.1.1/32"),
        with("peer", "10.8.0.1", "10.7.1.1/32"),
        with("peer", "fd08::1", "fd07::1/128"),
        with("broadcast", "198.51.100.1", "10.7.1.1/24"),
        with("broadcast", "10.8.255.255", "10.7.1.1/24"),
    ])?;
    puppet
        .assert_each(
            vec![
                with("peer", "10.7.2.1", "10.7.1.1/32"),
                with("broadcast", "10.7.3.255", "10.7.3.1/24"),
            ],
            "ok",
        )
        .map(drop)
}

/// Property: a route leads nowhere else than into the networks and tables of the grant, whatever it is
/// called.
#[test]
fn routes_beyond_the_edge_are_denied() -> Result<()> {
    let puppet = puppet(WITHIN)?;
    let of_other_tables = [255, 0].map(|table| with(route("10.7.9.0/24"), "table", table.into()));
    puppet.assert_denied(of_other_tables.into())?;
    let beyond = [
        "10.6.0.0/15",
        "10.8.0.0/16",
        "10.0.0.0/8",
        "::ffff:10.7.0.0/112",
        "::ffff:0:0/96",
        "fd06::/31",
    ];
    let within = ["10.7.9.0/24", "10.7.255.255/32", "fd07:0:1::/48"];
    assert_edges(&puppet, route, &beyond, &within)
}

/// Property: the host's traffic is not led away: a default route is one to every network.
#[test]
fn the_default_route_of_the_host_stays() -> Result<()> {
    let puppet = puppet(WITHIN)?;
    let mut orders = Vec::new();
    for function in ["route.add", "route.replace", "route.delete"] {
        for to in ["0.0.0.0/0", "0.0.0.0/1", "128.0.0.0/1", "::/0"] {
            orders.push(json!({ "do": function, "link": "own0", "address": to }));
            orders.push(json!({ "do": function, "kind": "blackhole", "address": to }));
            orders.push(json!({ "do": function, "many": 2, "link": "own0", "address": to }));
        }
        let via = json!({ "do": function, "gateway": "192.0.2.9", "address": "0.0.0.0/0" });
        orders.push(via);
    }
    puppet.assert_denied(orders).map(drop)
}

/// Property: a request says to the kernel what was authorised. The length of a netlink attribute has 16
/// bits: in a longer one, what is behind the wrap would be read as attributes of its own.
#[test]
fn more_than_an_attribute_holds_is_refused() -> Result<()> {
    let puppet = puppet("{ route: [ {} ], link: [ {} ] }")?;
    let before = puppet.whole()?;
    let bridge = json!({ "do": "link.create", "kind": "bridge", "name": "own9" });
    puppet.assert_each(vec![bridge], "ok")?;
    // So many that a multiple of 64 KiB is just passed.
    for many in [4097, 8192, 8193, 12_289] {
        let orders = vec![
            json!({ "do": "route.add", "link": "own0", "address": "10.9.0.0/16", "many": many,
                "gateway": "192.0.2.9" }),
            json!({ "do": "link.add-vlans", "link": "own9", "many": many * 4 }),
        ];
        for answer in puppet.assert_each(orders, "invalid")? {
            assert!(
                answer.said.contains("the kernel takes 65535"),
                "{answer:#?}"
            );
        }
    }
    let gone = json!({ "do": "link.delete", "link": "own9" });
    puppet.assert_each(vec![gone], "ok")?;
    assert_eq!(puppet.whole()?, before);
    Ok(())
}

/// Property: what a failed ADD set on the host for itself is gone, and what was there before is not.
#[test]
fn addresses_routes_and_neighbours_go_with_a_failed_add() -> Result<()> {
    let puppet = puppet("{ address: [ {} ], route: [ {} ], neighbour: [ {} ] }")?;
    let node = &puppet.fixture.node;
    let known = "neighbour add 192.0.2.8 lladdr 02:00:00:00:00:08 dev own0 nud permanent";
    node.ip(known)?;
    node.ip("neighbour add proxy 192.0.2.7 dev own0")?;
    let neighbours = || -> Result<(String, String)> {
        Ok((
            node.ip("neighbour show dev own0 nud permanent")?,
            node.ip("neighbour show proxy")?,
        ))
    };
    let before = neighbours()?;
    let neighbour = |address: &str, proxy: bool| {
        let mut order = json!({ "do": "neighbour.add", "link": "own0", "address": address });
        order["proxy"] = proxy.into();
        order
    };
    let orders = vec![
        address("10.9.0.1/24"),
        route("10.10.0.0/16"),
        json!({ "do": "route.replace", "link": "own0", "address": "10.11.0.0/16" }),
        neighbour("192.0.2.9", false),
        neighbour("192.0.2.6", true),
        // Of each of these there is one of the other kind, which somebody else has set.
        neighbour("192.0.2.8", true),
        neighbour("192.0.2.7", false),
    ];
    puppet.assert_goes(&orders)?;
    assert_eq!(neighbours()?, before);
    // Of one that was there another has been made, which is not the ADD's to remove.
    let again = vec![neighbour("192.0.2.8", false), neighbour("192.0.2.7", true)];
    assert_eq!(puppet.run(again, "trap")?.code(), 210);
    let (ordinary, proxy) = neighbours()?;
    assert!(ordinary.contains("192.0.2.8"), "{ordinary}");
    assert!(proxy.contains("192.0.2.7"), "{proxy}");
    Ok(())
}

/// Property: what a failed ADD has put in the place of a route of its own is gone like that one.
#[test]
fn a_route_that_replaced_ones_own_goes_with_a_failed_add() -> Result<()> {
    let puppet = puppet("{ route: [ {} ] }")?;
    let node = &puppet.fixture.node;
    node.ip("address add fd07::1/64 dev own0 nodad")?;
    node.ip("route add 10.12.0.0/16 via 192.0.2.2")?;
    let via = |function: &str, to: &str, gateway: &str| {
        let function = format!("route.{function}");
        json!({ "do": function, "address": to, "gateway": gateway })
    };
    let orders = vec![
        via("add", "10.10.0.0/16", "192.0.2.2"),
        via("replace", "10.10.0.0/16", "192.0.2.3"),
        via("replace", "10.10.0.0/16", "192.0.2.4"),
        via("replace", "10.11.0.0/16", "192.0.2.2"),
        via("replace", "10.11.0.0/16", "192.0.2.3"),
        via("add", "fd10::/64", "fd07::2"),
        via("replace", "fd10::/64", "fd07::3"),
    ];
    puppet.assert_goes(&orders)?;
    // One that was not its own stays as it has made it: others may rely on it.
    let others = via("replace", "10.12.0.0/16", "192.0.2.9");
    assert_eq!(puppet.run(vec![others], "trap")?.code(), 210);
    assert!(
        node.ip("route show 10.12.0.0/16")?
            .contains("via 192.0.2.9")
    );
    Ok(())
}

fn rule(source: &str) -> Value {
    json!({ "do": "policy-rule.add", "inside": true, "address": source, "table": 100 })
}

const RULES: &str = r#"{ policy-rule: [
    { namespace: container, sources: [10.7.0.0/16, "fd07::/32"], tables: [100] },
    { namespace: container, families: [ipv4], sources: [10.8.0.0/16], tables: [101], priorities: ["1000-1999"] } ] }"#;

/// Property: a policy rule takes no other packets than those from the grant's sources, to no other table, and nothing of
/// the host's.
#[test]
fn policy_rules_beyond_the_edge_are_denied() -> Result<()> {
    let puppet = puppet(RULES)?;
    let beyond = [
        "",
        "0.0.0.0/0",
        "10.7.0.0/15",
        "10.6.255.255/32",
        "::/0",
        "fd06::/31",
        "::ffff:10.7.0.1/128",
    ];
    let within = ["10.7.0.0/16", "10.7.255.255/32", "fd07::1/128"];
    assert_edges(&puppet, rule, &beyond, &within)?;
    let changed = |key: &str, value: Value| with(rule("10.7.0.1/32"), key, value);
    let mut orders = vec![changed("inside", false.into())];
    orders.extend([0, 101, 253, 254, 255].map(|table| changed("table", table.into())));
    // Priorities; the kernel's choice is not one that the grant has.
    let prior = with(rule("10.8.0.1/32"), "table", 101.into());
    let at = |priority: u32| with(prior.clone(), "index", priority.into());
    orders.extend([prior.clone(), at(0), at(999), at(2000)]);
    let mut deletes = orders.clone();
    deletes.extend(beyond.map(rule));
    for order in &mut deletes {
        order["do"] = "policy-rule.delete".into();
    }
    orders.extend(deletes);
    // A list shows what comes from everywhere.
    orders.push(json!({ "do": "policy-rule.list", "inside": true }));
    puppet.assert_denied(orders)?;
    puppet.assert_each(vec![at(1000), at(1999)], "ok")?;
    let none = ["10.7.0.1/33", "fd07::1/129"];
    puppet.assert_each(none.map(rule).into(), "invalid")?;
    Ok(())
}

/// Property: what the kernel would take for something else is not sent: the table 0, for which it would use another, and a
/// network with bits behind its prefix.
#[test]
fn policy_rules_that_the_kernel_would_misunderstand_are_refused() -> Result<()> {
    let puppet = puppet("{ policy-rule: [ {} ] }")?;
    let before = puppet.whole()?;
    let orders = vec![
        with(rule("10.7.0.0/16"), "table", 0.into()),
        rule("10.7.0.1/16"),
        rule("fd07::1/32"),
    ];
    puppet.assert_each(orders, "invalid")?;
    assert_eq!(puppet.whole()?, before);
    Ok(())
}

/// Property: the policy rules of a failed ADD are gone in both namespaces, and the same rules of others are not.
#[test]
fn policy_rules_go_with_a_failed_add() -> Result<()> {
    let puppet = puppet("{ policy-rule: [ {} ] }")?;
    let container = &puppet.fixture.container;
    container.ip("rule add from 10.7.0.1 table 100")?;
    container.ip("rule add from 10.7.0.1 table 100 priority 7")?;
    let orders = vec![
        rule("10.7.0.1/32"),
        rule("10.7.0.1/32"),
        with(rule("10.7.0.1/32"), "index", 8.into()),
        rule("fd07::1/128"),
        with(rule("10.7.0.1/32"), "inside", false.into()),
    ];
    puppet.assert_goes(&orders)
}
