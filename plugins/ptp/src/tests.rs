//! Whole commands on the fake host.

use weir_sdk::firewall::{self, Family};
use weir_sdk::route::{self, Filter};
use weir_sdk::testing::{FakeHost, Invocation, SANDBOX};
use weir_sdk::{Attachment, ErrorCode, IpNet, Namespace, codes, sysctl};

use super::Ptp;

const CONFIG: &str =
    r#"{"type": "ptp", "ipMasq": true, "mtu": 1400, "ipam": {"type": "host-local"}}"#;

fn net(text: &str) -> IpNet {
    text.parse().unwrap()
}

/// A host whose IPAM plugin assigns an address of each family, and a route.
fn host() -> FakeHost {
    let host = FakeHost::new();
    let ips = [("10.1.0.5/24", "10.1.0.1"), ("fd00::5/64", "fd00::1")];
    host.assign(&ips, &["0.0.0.0/0"]);
    host
}

fn destinations(namespace: Namespace) -> Vec<IpNet> {
    let filter = Filter {
        table: Some(254),
        ..Filter::default()
    };
    let routes = route::list(namespace, &filter).unwrap().into_iter();
    routes.map(|route| route.destination.into()).collect()
}

/// How many containers are masqueraded.
fn masqueraded() -> usize {
    let elements = |set| firewall::list_elements(Namespace::Host, Family::Inet, set);
    ["pods4", "pods6"]
        .map(|set| elements(set).map_or(0, |all| all.len()))
        .iter()
        .sum()
}

#[test]
fn what_add_makes_passes_check_and_goes_with_del() {
    let host = host();
    let (result, attached) = host.attach::<Ptp>(CONFIG);
    let [own, eth0] = &result.interfaces[..] else {
        panic!("{result:?}");
    };
    assert_eq!(
        (eth0.name.as_str(), eth0.sandbox.as_deref()),
        ("eth0", Some(SANDBOX))
    );
    assert_eq!((own.sandbox.as_deref(), eth0.mtu), (None, Some(1400)));
    assert!(result.ips.iter().all(|ip| ip.interface == Some(1)));
    assert_eq!(
        destinations(Namespace::Host),
        [net("10.1.0.5/32"), net("fd00::1/128"), net("fd00::5/128")]
    );
    assert!(destinations(Namespace::Container).contains(&net("0.0.0.0/0")));
    assert_eq!(
        sysctl::read(Namespace::Host, "net.ipv4.ip_forward").unwrap(),
        "1"
    );
    assert_eq!(masqueraded(), 2);

    host.assert_detaches::<Ptp>(&attached);
    assert_eq!(host.link_names(Namespace::Host), ["lo"]);
    assert!(destinations(Namespace::Host).is_empty());
    assert_eq!(masqueraded(), 0);
}

#[test]
fn an_add_that_fails_anywhere_leaves_nothing() {
    let before = ["ipam.add", "sysctl.write", "link.create"];
    let after = ["address.add", "route.add", "firewall.apply"];
    FakeHost::each_failing::<Ptp>(host, CONFIG, &[before, after].concat(), |host, function| {
        assert_eq!(host.link_names(Namespace::Host), ["lo"], "{function}");
        assert!(destinations(Namespace::Host).is_empty(), "{function}");
        assert_eq!(masqueraded(), 0, "{function}");
        let calls = host.calls();
        let is_released = calls.iter().any(|call| call.function == "ipam.del");
        assert_eq!(is_released, function != "ipam.add", "{function}");
    });
}

#[test]
fn an_address_without_a_gateway_is_refused_before_anything_is_made() {
    let host = host();
    host.assign(&[("10.1.0.5/24", "")], &[]);
    let error = host.add::<Ptp>(&Invocation::new(CONFIG)).unwrap_err();
    assert_eq!(error.code, codes::NO_GATEWAY);
    assert_eq!(host.changes(), ["ipam.add", "ipam.del"]);
}

#[test]
fn gc_keeps_valid_attachments() {
    let host = host();
    host.add::<Ptp>(&Invocation::new(CONFIG)).unwrap();
    let network = Invocation::new(CONFIG);
    host.gc::<Ptp>(&network, &[Attachment::new("5f3c", "eth0")])
        .unwrap();
    assert_eq!(masqueraded(), 2);
    host.gc::<Ptp>(&network, &[]).unwrap();
    assert_eq!(masqueraded(), 0);
}

#[test]
fn status_is_the_ipam_plugins() {
    let host = host();
    host.status::<Ptp>(&Invocation::new(CONFIG)).unwrap();
    host.fail_next("ipam.status", ErrorCode::Exhausted);
    host.status::<Ptp>(&Invocation::new(CONFIG)).unwrap_err();
}

#[test]
fn del_releases_the_address_last_and_by_dhcp_first() {
    host().assert_order_of_del::<Ptp>(CONFIG, "link.delete");
}

#[test]
fn the_interface_goes_as_well_if_the_address_is_not_released() {
    for ipam in ["host-local", "dhcp"] {
        let host = host();
        let invocation = Invocation::new(CONFIG.replace("host-local", ipam));
        let result = host.add::<Ptp>(&invocation).unwrap();
        host.fail_next("ipam.del", ErrorCode::Exhausted);
        let attached = invocation.with_previous(result);
        host.del::<Ptp>(&attached).expect_err(ipam);
        assert_eq!(host.link_names(Namespace::Container), ["lo"], "{ipam}");
    }
}
