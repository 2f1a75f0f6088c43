//! `sbr` in a list after `bridge` and `ptp`: rules, tables and routes; and the keys that the packaged reference does not
//! know, as the reference has them at commit 025aca14.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use weir_kit::Container;

use crate::case::{Case, cases};
use crate::side::{Side, Whose, with_previous};
use crate::subnets::{self, dual_stack, ipv4};

fn sbr() -> Value {
    json!({"type": "sbr"})
}

/// `bridge` with host-local, and `sbr` after it.
fn bridge(keys: Value, ipam: Value) -> Case {
    Case::bridge(keys, ipam).then(sbr())
}

/// `bridge` with these addresses of `static`, and `sbr` after it.
fn fixed(addresses: Value) -> Case {
    let ipam = json!({"type": "static", "addresses": addresses});
    Case::layer_2(json!({})).with("ipam", ipam).then(sbr())
}

fn ptp(ipam: Value) -> Case {
    let case = Case::new(json!({"type": "ptp"})).with("ipam", ipam);
    case.with_ipam("type", json!("host-local")).then(sbr())
}

cases! {
    ipv4_alone: bridge(json!({}), ipv4());
    the_bridge_is_the_gateway: bridge(json!({"isGateway": true}), ipv4());
    a_default_route: bridge(json!({"isDefaultGateway": true}), ipv4());
    routes_of_the_result: bridge(json!({}), json!({
        "subnet": "10.1.0.0/24",
        "routes": [{"dst": "192.0.2.0/24"}, {"dst": "198.51.100.0/24", "gw": "10.1.0.9"}],
    }));
    dual_stack_on_a_bridge: bridge(json!({}), dual_stack());
    dual_stack_with_default_routes: bridge(json!({"isDefaultGateway": true}), dual_stack());
    ipv6_alone: bridge(json!({}), subnets::ipv6());
    two_subnets_of_one_family: bridge(
        json!({}),
        json!({"ranges": [[{"subnet": "10.1.0.0/24"}], [{"subnet": "10.2.0.0/16"}]]}),
    );
    two_addresses_of_one_subnet: fixed(json!([
        {"address": "10.1.0.5/24", "gateway": "10.1.0.1"},
        {"address": "10.1.0.6/24", "gateway": "10.1.0.1"},
    ]));
    an_address_without_a_gateway: fixed(json!([{"address": "10.1.0.5/24"}]));
    a_gateway_that_cannot_be_reached:
        fixed(json!([{"address": "10.1.0.5/24", "gateway": "10.9.0.1"}]))
            .host("link add name br type bridge").fails();
    a_pair: ptp(ipv4());
    a_pair_of_both_families: ptp(dual_stack());
    a_pair_with_a_default_route:
        ptp(json!({"subnet": "10.1.0.0/24", "routes": [{"dst": "0.0.0.0/0"}]}));
    tables_in_use: bridge(json!({}), dual_stack())
        .in_containers("rule add from 10.9.0.1 table 100")
        .in_containers("-6 rule add from fd09::1 table 102");
    rules_with_other_priorities: bridge(json!({}), ipv4())
        .in_containers("rule add priority 5 from 10.9.0.1 table 50");
    version_0_4_0: bridge(json!({"cniVersion": "0.4.0"}), dual_stack());
    version_0_3_1: bridge(json!({"cniVersion": "0.3.1"}), ipv4());
    version_0_2_0: bridge(json!({"cniVersion": "0.2.0"}), ipv4());
    without_a_previous_result: Case::new(sbr()).fails();
    without_addresses: Case::layer_2(json!({})).then(sbr()).host("link add name br type bridge").fails();
}

/// A container on a bridge of each family, routed by `sbr` with these keys.
struct Routed {
    side: Side,
    config: Value,
    result: Value,
}

impl Routed {
    fn create(keys: Value) -> Result<Self> {
        let side = Side::create(Whose::Weir, 1)?;
        let ipam = json!({"type": "static", "addresses": [
            {"address": "10.1.0.5/24", "gateway": "10.1.0.1"},
            {"address": "fd00:1::5/64", "gateway": "fd00:1::1"},
        ], "routes": [{"dst": "192.0.2.0/24", "gw": "10.1.0.9"}]});
        let mut last = keys;
        last["type"] = json!("sbr");
        let config = json!({"cniVersion": "1.0.0", "name": "net", "plugins": [
            {"type": "bridge", "bridge": "br", "ipam": ipam}, last,
        ]});
        let result = side.call("ADD", 0, &config, None)?.result();
        let routed = Self {
            side,
            config,
            result,
        };
        routed.call("CHECK")?;
        Ok(routed)
    }

    fn call(&self, command: &str) -> Result<()> {
        let config = with_previous(&self.config, Some(&self.result));
        let called = self.side.call(command, 0, &config, None)?;
        ensure!(called.succeeded(), "{command}: {called:?}");
        Ok(())
    }

    fn container(&self) -> &Container {
        &self.side.containers[0]
    }

    /// Each line that `ip` prints, without the routes of link-local addresses and what only the screen needs.
    fn shown(&self, words: &str) -> Result<Vec<String>> {
        let text = self.container().ip(words)?;
        let lines = text.lines().map(|line| {
            let line = line.trim_end().trim_end_matches(" pref medium");
            line.replace('\t', " ").replace(" linkdown", "")
        });
        Ok(lines.filter(|line| !line.starts_with("fe80")).collect())
    }

    /// DEL leaves none of its rules.
    fn delete(&self) -> Result<()> {
        self.call("DEL")?;
        assert_eq!(self.shown("rule show")?.len(), 3);
        assert_eq!(self.shown("-6 rule show")?.len(), 2);
        self.call("DEL")
    }
}

#[test]
fn with_a_table_only_rules_are_added() -> Result<()> {
    let routed =
        Routed::create(json!({"table": 200, "gateways": ["10.1.0.7"], "addSourceHints": true}))?;
    assert_eq!(
        routed.shown("rule show")?[1],
        "32765: from 10.1.0.5 lookup 200"
    );
    assert_eq!(
        routed.shown("-6 rule show")?[1],
        "32765: from fd00:1::5 lookup 200"
    );
    assert_eq!(
        routed.shown("route show")?,
        [
            "10.1.0.0/24 dev eth0 proto kernel scope link src 10.1.0.5",
            "192.0.2.0/24 via 10.1.0.9 dev eth0",
        ]
    );
    assert!(
        routed.container().ip("route show table 200").is_err(),
        "no such table"
    );
    routed.delete()
}

#[test]
fn gateways_of_the_configuration_go_before_the_results() -> Result<()> {
    let routed = Routed::create(json!({"gateways": ["10.1.0.7", "fd00:1::7"]}))?;
    assert_eq!(
        routed.shown("route show table 100")?,
        [
            "default via 10.1.0.7 dev eth0",
            "10.1.0.0/24 dev eth0 proto kernel scope link src 10.1.0.5",
            "192.0.2.0/24 via 10.1.0.9 dev eth0",
        ]
    );
    assert_eq!(
        routed.shown("-6 route show table 101")?,
        [
            "fd00:1::/64 dev eth0 proto kernel metric 256",
            "default via fd00:1::7 dev eth0 metric 1024",
        ]
    );
    assert!(routed.shown("route show")?.is_empty());
    routed.delete()
}

#[test]
fn hints_keep_the_subnets_in_the_main_table() -> Result<()> {
    let routed = Routed::create(json!({"addSourceHints": true}))?;
    assert_eq!(
        routed.shown("route show")?,
        ["10.1.0.0/24 dev eth0 scope link src 10.1.0.5"]
    );
    assert_eq!(
        routed.shown("-6 route show")?,
        ["fd00:1::/64 dev eth0 src fd00:1::5 metric 1024"]
    );
    assert_eq!(
        routed.shown("route show table 100")?,
        [
            "default via 10.1.0.1 dev eth0",
            "10.1.0.0/24 dev eth0 proto kernel scope link src 10.1.0.5",
            "192.0.2.0/24 via 10.1.0.9 dev eth0",
        ]
    );
    routed.delete()
}

/// CHECK of the reference looks at nothing.
#[test]
fn check_finds_what_is_gone() -> Result<()> {
    let rules = [
        "rule del from 10.1.0.5 table 100",
        "-6 rule del from fd00:1::5 table 101",
    ];
    let routes = [
        "route del default table 100",
        "-6 route del default table 101",
        "route del 10.1.0.0/24",
    ];
    for words in rules.into_iter().chain(routes) {
        let routed = Routed::create(json!({"addSourceHints": true}))?;
        routed.container().ip(words)?;
        let config = with_previous(&routed.config, Some(&routed.result));
        let checked = routed.side.call("CHECK", 0, &config, None)?;
        assert_eq!(checked.code(), 106, "{words}: {checked:?}");
    }
    Ok(())
}

/// What one side has attached, the other one deletes.
#[test]
fn del_of_what_the_other_side_made() -> Result<()> {
    for (from, to) in Whose::EACH_WAY {
        let side = Side::create(from, 1)?;
        let mut config = json!({"cniVersion": "1.0.0", "name": "net", "plugins": [
            {"type": "bridge", "bridge": "br", "ipam": {"type": "host-local", "subnet": "10.1.0.0/24"}}, sbr(),
        ]});
        config["prevResult"] = side.call("ADD", 0, &config, None)?.result();
        let rules = || side.containers[0].ip("rule show");
        ensure!(rules()?.contains("lookup 100"), "{}", rules()?);
        let deleted = side.call_of(
            to,
            "DEL",
            0,
            &crate::side::execution(&config, &sbr(), Some(&config["prevResult"])),
            None,
        )?;
        ensure!(deleted.succeeded(), "{from:?} to {to:?}: {deleted:?}");
        ensure!(
            !rules()?.contains("lookup 100"),
            "{from:?} to {to:?}: {}",
            rules()?
        );
    }
    Ok(())
}
