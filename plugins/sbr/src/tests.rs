//! Whole commands on the fake host.

use weir_sdk::address::{self, NewAddress};
use weir_sdk::policy_rule;
use weir_sdk::route::{self, Filter, Route};
use weir_sdk::store::{self, Access, Location};
use weir_sdk::testing::{FakeHost, Invocation};
use weir_sdk::{AddResult, Attachment, ErrorCode, IpConfig, IpNet, Namespace, codes};

use super::Sbr;

const CONFIG: &str = r#"{"type": "sbr"}"#;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// A container with an address of each family on `eth0`, and its result.
fn attached() -> (FakeHost, AddResult) {
    let host = FakeHost::new();
    host.create_pair("veth0", "eth0").unwrap();
    let ip = |address: &str, gateway: &str| IpConfig {
        interface: None,
        address: net(address),
        gateway: gateway.parse().ok(),
    };
    let ips = vec![ip("10.1.0.5/24", "10.1.0.1"), ip("fd00::5/64", "fd00::1")];
    host.arrange(|| {
        for ip in &ips {
            let new = NewAddress::new(ip.address);
            address::add(Namespace::Container, "eth0", new).unwrap();
        }
        let default = Route::new(net("0.0.0.0/0"))
            .via([10, 1, 0, 1].into())
            .over("eth0");
        route::add(Namespace::Container, &default).unwrap();
    });
    let result = AddResult {
        ips,
        ..AddResult::default()
    };
    (host, result)
}

fn after(config: &str, result: &AddResult) -> Invocation {
    Invocation::new(config).with_previous(result.clone())
}

/// The container's rules, without the kernel's own.
fn rules() -> Vec<String> {
    let rules = policy_rule::list(Namespace::Container, None).unwrap();
    let made = rules.iter().filter(|rule| rule.source.is_some());
    made.map(ToString::to_string).collect()
}

fn routes(table: u32) -> Vec<String> {
    let filter = Filter {
        table: Some(table),
        ..Filter::default()
    };
    let routes = route::list(Namespace::Container, &filter).unwrap();
    let mut routes: Vec<String> = routes.iter().map(ToString::to_string).collect();
    routes.sort();
    routes
}

fn records() -> Vec<String> {
    let location = Location::SharedDirectory("/run/cni/sbr".to_owned());
    let store = store::open(&location, Access::Read).unwrap();
    store.keys().unwrap()
}

#[test]
fn each_address_has_a_table_until_del() {
    let (host, result) = attached();
    let invocation = after(CONFIG, &result);
    assert_eq!(host.add::<Sbr>(&invocation).unwrap(), result);
    assert_eq!(
        rules(),
        [
            "rule 32765 from 10.1.0.5/32 table 100",
            "rule 32765 from fd00::5/128 table 101"
        ]
    );
    assert_eq!(
        routes(100),
        [
            "route 0.0.0.0/0 via 10.1.0.1",
            "route 10.1.0.0/24",
            "route fd00::/64"
        ]
    );
    assert_eq!(routes(101), ["route ::/0 via fd00::1", "route fd00::/64"]);
    assert!(routes(254).is_empty(), "{:?}", routes(254));
    host.check::<Sbr>(&invocation).unwrap();
    host.del::<Sbr>(&invocation).unwrap();
    assert!(rules().is_empty() && records().is_empty());
    host.check::<Sbr>(&invocation).unwrap_err();
    host.del::<Sbr>(&invocation).unwrap();
}

#[test]
fn with_a_table_only_rules_are_added() {
    let (host, result) = attached();
    let before = routes(254);
    let invocation = after(r#"{"type": "sbr", "table": 7}"#, &result);
    host.add::<Sbr>(&invocation).unwrap();
    assert_eq!(rules().len(), 2);
    assert!(rules().iter().all(|rule| rule.ends_with("table 7")));
    assert_eq!((routes(254), routes(7)), (before, Vec::new()));
    host.check::<Sbr>(&invocation).unwrap();
    // Also without the result, as after an ADD that was killed.
    host.del::<Sbr>(&Invocation::new(r#"{"type": "sbr", "table": 7}"#))
        .unwrap();
    assert!(rules().is_empty());
}

/// The main table's default route becomes that of the address's table, which then needs none of its own.
#[test]
fn a_default_route_is_made_where_the_interface_has_none() {
    let (host, result) = attached();
    host.add::<Sbr>(&after(CONFIG, &result)).unwrap();
    let changes = host.changes();
    let made = changes
        .iter()
        .filter(|change| change.starts_with("route.add"));
    let expected = "route.add container eth0 ::/0 via fd00::1 table 101";
    assert!(made.eq([expected]), "{changes:?}");
}

#[test]
fn gateways_of_the_configuration_go_before_the_results() {
    let (host, result) = attached();
    let config = r#"{"type": "sbr", "gateways": ["10.1.0.9"]}"#;
    host.add::<Sbr>(&after(config, &result)).unwrap();
    assert!(routes(101).contains(&"route ::/0 via fd00::1".to_owned()));
    // The route by the result's gateway is moved to the table, and takes the other's place.
    assert!(routes(100).contains(&"route 0.0.0.0/0 via 10.1.0.1".to_owned()));
    let (host, mut result) = {
        drop(host);
        attached()
    };
    for ip in &mut result.ips {
        ip.gateway = None;
    }
    let config = r#"{"type": "sbr", "gateways": ["fd00::9"]}"#;
    host.add::<Sbr>(&after(config, &result)).unwrap();
    assert!(routes(101).contains(&"route ::/0 via fd00::9".to_owned()));
}

#[test]
fn hints_keep_the_subnets_in_the_main_table() {
    let (host, result) = attached();
    let config = r#"{"type": "sbr", "addSourceHints": true}"#;
    let invocation = after(config, &result);
    host.add::<Sbr>(&invocation).unwrap();
    let main = route::list(Namespace::Container, &Filter::over("eth0")).unwrap();
    let sources: Vec<_> = main
        .iter()
        .map(|route| (route.destination(), route.source))
        .collect();
    assert_eq!(
        sources,
        [
            (
                net("10.1.0.0/24"),
                Some([10, 1, 0, 5].into()).map(|a: std::net::IpAddr| a.into())
            ),
            (net("fd00::/64"), Some(net("fd00::5/128").addr().into())),
        ]
    );
    host.check::<Sbr>(&invocation).unwrap();
    host.arrange(|| route::delete(Namespace::Container, &main[0]).unwrap());
    let error = host.check::<Sbr>(&invocation).unwrap_err();
    assert_eq!(error.code, codes::NOT_AS_ATTACHED);
}

#[test]
fn tables_that_others_use_or_are_about_to_use_are_left_to_them() {
    let (host, result) = attached();
    host.arrange(|| {
        let rule = policy_rule::Rule::from_source([10, 9, 0, 1].into(), 100);
        policy_rule::add(Namespace::Container, &rule).unwrap();
        let route = Route {
            table: Some(101),
            ..Route::new(net("10.9.0.0/16")).over("eth0")
        };
        route::add(Namespace::Container, &route).unwrap();
    });
    // One that has been killed before its first rule, or is just behind its record.
    host.fail_next("policy-rule.add", ErrorCode::Busy);
    let key = "5f3c::eth1";
    host.arrange(|| {
        let location = Location::SharedDirectory("/run/cni/sbr".to_owned());
        let store = store::open(&location, Access::Write).unwrap();
        store.put(key, b"test\n10.3.0.3 102\ngarbled").unwrap();
        store.put("other::eth0", b"test\n10.3.0.3 103").unwrap();
        store.commit().unwrap();
    });
    host.add::<Sbr>(&after(CONFIG, &result)).unwrap_err();
    assert_eq!(records().len(), 2, "{:?}", records());
    host.add::<Sbr>(&after(CONFIG, &result)).unwrap();
    let tables: Vec<String> = rules()
        .iter()
        .map(|rule| rule[rule.len() - 3..].to_owned())
        .collect();
    assert_eq!(tables, ["103", "100", "104"]);
}

#[test]
fn an_add_that_fails_anywhere_leaves_no_rule_and_no_record() {
    for function in [
        "route.list",
        "store.put",
        "policy-rule.add",
        "route.add",
        "route.replace",
    ] {
        let (host, result) = attached();
        host.fail_next(function, ErrorCode::Exhausted);
        host.add::<Sbr>(&after(CONFIG, &result))
            .expect_err(function);
        assert!(rules().is_empty() && records().is_empty(), "{function}");
    }
}

#[test]
fn a_second_add_leaves_nothing_of_the_first() {
    let (host, result) = attached();
    let invocation = after(r#"{"type": "sbr", "table": 7}"#, &result);
    host.add::<Sbr>(&invocation).unwrap();
    host.add::<Sbr>(&invocation).unwrap();
    assert_eq!(rules().len(), 2);
}

#[test]
fn what_the_reference_plugin_made_is_found_by_the_result() {
    let (host, result) = attached();
    host.arrange(|| {
        for (source, table) in [([10, 1, 0, 5], 100), ([10, 9, 0, 5], 101)] {
            let rule = policy_rule::Rule::from_source(source.into(), table);
            policy_rule::add(Namespace::Container, &rule).unwrap();
        }
    });
    host.del::<Sbr>(&Invocation::new(CONFIG)).unwrap();
    assert_eq!(rules().len(), 2, "without a result nothing is known");
    host.del::<Sbr>(&after(CONFIG, &result)).unwrap();
    assert_eq!(rules(), ["rule 32764 from 10.9.0.5/32 table 101"]);
}

#[test]
fn del_succeeds_without_the_namespace() {
    let (host, result) = attached();
    let invocation = after(CONFIG, &result);
    host.add::<Sbr>(&invocation).unwrap();
    host.remove_container();
    host.del::<Sbr>(&invocation).unwrap();
    assert!(records().is_empty());
    host.del::<Sbr>(&invocation).unwrap();
}

#[test]
fn gc_keeps_the_records_of_valid_attachments_and_other_networks() {
    let (host, result) = attached();
    host.add::<Sbr>(&after(CONFIG, &result)).unwrap();
    host.arrange(|| {
        let location = Location::SharedDirectory("/run/cni/sbr".to_owned());
        let store = store::open(&location, Access::Write).unwrap();
        store.put("gone::eth0", b"other\n10.3.0.3 102").unwrap();
        store.commit().unwrap();
    });
    let network = Invocation::new(CONFIG);
    host.gc::<Sbr>(&network, &[Attachment::new("5f3c", "eth0")])
        .unwrap();
    assert_eq!(records().len(), 2);
    host.gc::<Sbr>(&network, &[]).unwrap();
    assert_eq!(records(), ["gone::eth0"]);
}

#[test]
fn an_interface_without_addresses_is_refused_before_anything_is_made() {
    let (host, mut result) = attached();
    result.ips.clear();
    let error = host.add::<Sbr>(&after(CONFIG, &result)).unwrap_err();
    assert_eq!(error.code, codes::NO_ADDRESS);
    let error = host.add::<Sbr>(&Invocation::new(CONFIG)).unwrap_err();
    assert_eq!(error.code.0, 7);
    assert!(host.changes().is_empty());
}
