//! The example `route-override` in Rust and in Go, key by key, on a container that `ptp` attached with IPv4 and IPv6.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::assert_contains;

use crate::examples::ExampleNode;

/// The destinations of the interface's routes, sorted, without the kernel's own.
fn routes(fixture: &ExampleNode) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for family in ["-4", "-6"] {
        let listed = fixture
            .container
            .ip_json(&format!("{family} route show dev eth0"))?;
        let listed = listed.as_array().context("a list")?.iter();
        let others = listed.filter(|route| route["protocol"] != "kernel");
        found.extend(others.map(|route| title(family, route)));
    }
    found.sort();
    Ok(found)
}

/// `192.0.2.0/24 via 10.97.0.1`; the default routes by their family.
fn title(family: &str, route: &Value) -> String {
    let to = match route["dst"].as_str() {
        Some("default") => family,
        to => to.unwrap_or_default(),
    };
    match route["gateway"].as_str() {
        Some(gateway) => format!("{to} via {gateway}"),
        None => to.to_owned(),
    }
}

/// What `ptp` needs itself: the gateways on the link, and the subnets behind them.
const OWN: [&str; 4] = [
    "10.97.0.0/24 via 10.97.0.1",
    "10.97.0.1",
    "fd97::/64 via fd97::1",
    "fd97::1",
];

fn with_own(others: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = OWN
        .iter()
        .chain(others)
        .map(|to| (*to).to_owned())
        .collect();
    all.sort();
    all
}

/// The routes of a result, sorted.
fn of_result(result: &Value) -> Vec<&str> {
    let routes = result["routes"].as_array().into_iter().flatten();
    let mut destinations: Vec<&str> = routes.filter_map(|route| route["dst"].as_str()).collect();
    destinations.sort_unstable();
    destinations
}

fn gateways(result: &Value) -> Vec<&Value> {
    let ips = result["ips"].as_array().into_iter().flatten();
    ips.map(|ip| &ip["gateway"]).collect()
}

fn routes_are_deleted_and_added_and_checked(example: &str) -> Result<()> {
    let fixture = ExampleNode::with(
        example,
        json!({
            "delroutes": [{ "dst": "198.51.100.0/24" }, { "dst": "2001:db8:1::/48" }],
            "addroutes": [
                { "dst": "192.0.2.0/24", "gw": "10.97.0.1" },
                // The gateway of the IPv6 address is taken.
                { "dst": "2001:db8:2::/48" },
            ],
        }),
    )?;
    let look = || {
        let expected = [
            "-4 via 10.97.0.1",
            "-6 via fd97::1",
            "169.254.169.254 via 10.97.0.1",
            "192.0.2.0/24 via 10.97.0.1",
            "2001:db8:2::/48 via fd97::1",
        ];
        assert_eq!(routes(&fixture)?, with_own(&expected));
        Ok(())
    };
    fixture.come_and_go(look, "-6 route delete 2001:db8:2::/48")
}

fn the_gateway_is_flushed_and_the_result_says_so(example: &str) -> Result<()> {
    let fixture = ExampleNode::with(example, json!({ "flushgateway": true }))?;
    fixture.grant()?;
    assert_eq!(gateways(&fixture.attached), ["10.97.0.1", "fd97::1"]);
    let result = fixture.run("ADD", &fixture.attached)?.result();
    let expected = [
        "169.254.169.254 via 10.97.0.1",
        "198.51.100.0/24 via 10.97.0.1",
        "2001:db8:1::/48 via fd97::1",
    ];
    assert_eq!(routes(&fixture)?, with_own(&expected));
    assert_eq!(gateways(&result), [&Value::Null, &Value::Null]);
    assert_eq!(
        of_result(&result),
        ["169.254.169.254/32", "198.51.100.0/24", "2001:db8:1::/48"]
    );
    fixture.run("CHECK", &result)?.result();
    Ok(())
}

fn all_routes_are_flushed_but_the_interfaces_own_and_link_local_ones(example: &str) -> Result<()> {
    let keys = json!({
        "flushroutes": true,
        "addroutes": [{ "dst": "0.0.0.0/0", "gw": "10.97.0.9" }, { "dst": "::/0", "gw": "fd97::1" }],
    });
    let fixture = ExampleNode::with(example, keys)?;
    fixture.grant()?;
    // The new next hop is a neighbour.
    fixture
        .container
        .ip("route add 10.97.0.9 dev eth0 scope link")?;
    let result = fixture.run("ADD", &fixture.attached)?.result();
    let expected = [
        "-4 via 10.97.0.9",
        "-6 via fd97::1",
        "10.97.0.9",
        "169.254.169.254 via 10.97.0.1",
    ];
    assert_eq!(routes(&fixture)?, with_own(&expected));
    assert_eq!(of_result(&result), ["0.0.0.0/0", "::/0"]);
    assert_eq!(gateways(&result), ["10.97.0.1", "fd97::1"]);
    fixture.run("CHECK", &result)?.result();

    // By another gateway it is not the route that was added.
    fixture
        .container
        .ip("route replace default via 10.97.0.1 dev eth0")?;
    let error = fixture.run("CHECK", &result)?.refused(106, &["10.97.0.9"]);
    assert_contains(&error.to_string(), &["is missing"]);
    Ok(())
}

fn a_route_that_is_there_again_fails_check_unless_that_is_skipped(example: &str) -> Result<()> {
    for skip in [false, true] {
        let fixture =
            ExampleNode::with(example, json!({ "flushgateway": true, "skipcheck": skip }))?;
        fixture.grant()?;
        let result = fixture.run("ADD", &fixture.attached)?.result();
        fixture.run("CHECK", &result)?.result();
        fixture
            .container
            .ip("-6 route add default via fd97::1 dev eth0")?;
        let checked = fixture.run("CHECK", &result)?;
        if skip {
            checked.result();
        } else {
            checked.refused(106, &["::/0", "there again"]);
        }
    }
    Ok(())
}

/// IPv6 routes of several interfaces to one destination are one route with several next hops.
fn other_interfaces_keep_their_routes(example: &str) -> Result<()> {
    let fixture = ExampleNode::with(example, json!({ "flushgateway": true }))?;
    fixture.grant()?;
    fixture.container.ips(&[
        "link add other0 type veth peer name other1",
        "link set other1 up",
        "link set other0 up",
        "address add 10.98.0.2/24 dev other0",
        "address add fd98::2/64 dev other0 nodad",
        "route append default via 10.98.0.1 dev other0",
        "route append default via fd98::1 dev other0",
    ])?;
    fixture.run("ADD", &fixture.attached)?.result();
    for (family, gateway) in [("-4", "10.98.0.1"), ("-6", "fd98::1")] {
        let left = fixture
            .container
            .ip_json(&format!("{family} route show default"))?;
        let left = left.as_array().context("a list")?;
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0]["gateway"], gateway, "{left:?}");
        assert_eq!(left[0]["dev"], "other0", "{left:?}");
    }
    Ok(())
}

fn what_cannot_be_done_is_an_error(example: &str) -> Result<()> {
    let keys = json!({
        "delroutes": [{ "dst": "198.51.100.0/24" }],
        "addroutes": [{ "dst": "192.0.2.0/24", "gw": "203.0.113.1" }],
    });
    let fixture = ExampleNode::with(example, keys)?;
    fixture.grant()?;
    let refused = fixture.run("ADD", &fixture.attached)?.error().to_string();
    assert_contains(&refused, &["192.0.2.0/24 via 203.0.113.1 over `eth0`"]);

    let fixture = ExampleNode::with(example, json!({ "flushgateway": true }))?;
    fixture.grant()?;
    let result = fixture.run("ADD", &fixture.attached)?.result();
    fixture.container.ip("link delete eth0")?;
    let checked = fixture.run("CHECK", &result)?;
    checked.refused(106, &["eth0"]);
    let refused = fixture.run("ADD", &fixture.attached)?;
    refused.refused(101, &["no interface `eth0`", "earlier in the list"]);
    Ok(())
}

fn it_is_denied_without_its_grant(example: &str) -> Result<()> {
    ExampleNode::with(example, json!({ "flushroutes": true }))?.is_denied()
}

/// The tests of each example.
macro_rules! tests {
    ($($language:ident: $example:literal;)* => $tests:tt) => {
        $(mod $language {
            tests!($example $tests);
        })*
    };
    ($example:literal { $($test:ident)* }) => {
        $(#[test]
        fn $test() -> anyhow::Result<()> {
            super::$test($example)
        })*
    };
}

tests! {
    in_rust: "route-override";
    in_go: "route-override-go";
    => {
        routes_are_deleted_and_added_and_checked
        the_gateway_is_flushed_and_the_result_says_so
        all_routes_are_flushed_but_the_interfaces_own_and_link_local_ones
        a_route_that_is_there_again_fails_check_unless_that_is_skipped
        other_interfaces_keep_their_routes
        what_cannot_be_done_is_an_error
        it_is_denied_without_its_grant
    }
}
