//! Whole commands on the fake host.

use weir_sdk::address;
use weir_sdk::link;
use weir_sdk::route::{self, Route};
use weir_sdk::testing::{FakeHost, Invocation, only_interface};
use weir_sdk::{Code, IpNet, Namespace, codes, sysctl};

use super::Macvlan;

const CONFIG: &str =
    r#"{"type": "macvlan", "master": "eth1", "mode": "private", "ipam": {"type": "host-local"}}"#;
const LAYER_2: &str = r#"{"type": "macvlan", "master": "eth1"}"#;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// A host with the interface `eth1`, whose IPAM plugin assigns an address of each family, and a route.
fn host() -> FakeHost {
    let host = FakeHost::new();
    host.create_interface(Namespace::Host, "eth1").unwrap();
    host.assign(
        &[("10.1.0.5/24", "10.1.0.1"), ("fd00::5/64", "fd00::1")],
        &["0.0.0.0/0"],
    );
    host
}

#[test]
fn what_add_makes_passes_check_and_goes_with_del() {
    let host = host();
    let (result, attached) = host.attach::<Macvlan>(CONFIG);
    assert_eq!(only_interface(&result).mtu, Some(1500));
    assert!(result.ips.iter().all(|ip| ip.interface == Some(0)));
    let link = link::get(Namespace::Container, "eth0").unwrap();
    assert!(link.kind == "macvlan" && link.up);
    let addresses = address::list(Namespace::Container, "eth0", None).unwrap();
    let addresses: Vec<IpNet> = addresses.into_iter().map(|a| a.address.into()).collect();
    assert!(addresses.contains(&net("10.1.0.5/24")) && addresses.contains(&net("fd00::5/64")));
    for key in [
        "net.ipv4.conf.eth0.arp_notify",
        "net.ipv6.conf.eth0.ndisc_notify",
    ] {
        assert_eq!(sysctl::read(Namespace::Container, key).unwrap(), "1");
    }
    host.assert_detaches::<Macvlan>(&attached);
}

#[test]
fn without_ipam_it_is_up_and_has_no_parameters() {
    let host = host();
    let result = host.add::<Macvlan>(&Invocation::new(LAYER_2)).unwrap();
    assert!(result.ips.is_empty() && result.routes.is_empty());
    assert!(link::get(Namespace::Container, "eth0").unwrap().up);
    let expected = [
        "link.create container macvlan eth0",
        "link.update container eth0 up=true",
    ];
    assert_eq!(host.changes(), expected);
}

/// The kernel announces the addresses that are there when the interface comes up.
#[test]
fn the_addresses_are_there_before_it_is_up_and_the_routes_after() {
    let host = host();
    host.add::<Macvlan>(&Invocation::new(CONFIG)).unwrap();
    let changes = host.changes();
    let place = |start: &str| {
        let starts = |change: &String| change.starts_with(start);
        changes.iter().position(starts).expect(start)
    };
    let notify = "sysctl.write container net.ipv4.conf.eth0.arp_notify";
    let (address, up) = ("address.add", "link.update container eth0 up=true");
    let order = [notify, address, up, "route.add"].map(place);
    assert!(order.is_sorted(), "{changes:?}");
}

#[test]
fn without_a_master_it_is_that_of_the_default_route() {
    let host = host();
    let config = r#"{"type": "macvlan"}"#;
    let error = host.add::<Macvlan>(&Invocation::new(config)).unwrap_err();
    assert_eq!(error.code, codes::NOT_FOUND);
    assert!(
        error.msg.contains("no default route on the host"),
        "{error}"
    );
    host.arrange(|| {
        let route = Route::new(net("0.0.0.0/0")).over("eth1");
        route::add(Namespace::Host, &route).unwrap();
    });
    host.add::<Macvlan>(&Invocation::new(config)).unwrap();
    let (eth0, eth1) = (
        link::get(Namespace::Container, "eth0").unwrap(),
        link::get(Namespace::Host, "eth1").unwrap(),
    );
    assert_eq!(eth0.lower, Some(eth1.index));
}

#[test]
fn a_master_in_the_other_namespace_is_named() {
    let host = host();
    host.create_interface(Namespace::Container, "net1").unwrap();
    let with = |keys: &str| Invocation::new(format!(r#"{{"type": "macvlan", {keys}}}"#));
    let error = host
        .add::<Macvlan>(&with(r#""master": "net1""#))
        .unwrap_err();
    assert_eq!(error.code, codes::NOT_FOUND);
    assert!(error.details.contains("`linkInContainer`"), "{error:?}");
    let inside = |master: &str| with(&format!(r#""master": "{master}", "linkInContainer": true"#));
    let error = host.add::<Macvlan>(&inside("eth1")).unwrap_err();
    assert!(
        error.details.contains("remove `linkInContainer`"),
        "{error:?}"
    );
    host.add::<Macvlan>(&inside("net1")).unwrap();
}

#[test]
fn an_mtu_above_the_masters_is_refused() {
    let host = host();
    let config = LAYER_2.replace('}', r#", "mtu": 9000}"#);
    let expected = "mtu: expected 0 to 1500, the MTU of master `eth1`, found 9000";
    host.assert_refuses::<Macvlan>(config, Code::INVALID_CONFIG, expected);
}

#[test]
fn an_add_that_fails_anywhere_leaves_nothing() {
    let functions = [
        "link.get",
        "link.create",
        "ipam.add",
        "address.add",
        "link.update",
        "route.add",
    ];
    FakeHost::each_failing::<Macvlan>(host, CONFIG, &functions, |host, function| {
        assert_eq!(host.link_names(Namespace::Container), ["lo"], "{function}");
    });
}

#[test]
fn check_notices_another_mode_and_another_master() {
    let host = host();
    let result = host.add::<Macvlan>(&Invocation::new(LAYER_2)).unwrap();
    host.create_interface(Namespace::Host, "eth2").unwrap();
    for (config, expected) in [
        (CONFIG, "expected mode private, found bridge"),
        (
            &*LAYER_2.replace("eth1", "eth2"),
            "is not over master `eth2`",
        ),
    ] {
        let attached = Invocation::new(config).with_previous(result.clone());
        let error = host.check::<Macvlan>(&attached).unwrap_err();
        assert_eq!(error.code, codes::NOT_AS_ATTACHED);
        assert!(error.msg.contains(expected), "{error}");
    }
}

#[test]
fn del_works_after_a_rename_and_without_master_or_container() {
    let host = host();
    let (_, attached) = host.attach::<Macvlan>(CONFIG);
    host.rename_link(Namespace::Container, "eth0", "renamed")
        .unwrap();
    host.del::<Macvlan>(&attached).unwrap();
    assert_eq!(host.link_names(Namespace::Container), ["lo"]);
    host.arrange(|| link::delete(Namespace::Host, "eth1").unwrap());
    host.del::<Macvlan>(&attached).unwrap();
    host.remove_container();
    host.del::<Macvlan>(&attached).unwrap();
}

#[test]
fn del_releases_the_address_last_and_by_dhcp_first() {
    host().assert_order_of_del::<Macvlan>(CONFIG, "link.delete");
}
