//! Whole commands on the fake host.

use weir_sdk::link;
use weir_sdk::testing::{FakeHost, Invocation, only_interface};
use weir_sdk::{AddResult, Code, Error, Interface, IpConfig, Namespace, codes};

use super::Ipvlan;

const CONFIG: &str =
    r#"{"type": "ipvlan", "master": "eth1", "mode": "l3", "ipam": {"type": "host-local"}}"#;
const CHAINED: &str = r#"{"type": "ipvlan"}"#;

fn ip(address: &str) -> IpConfig {
    IpConfig {
        interface: None,
        address: address.parse().unwrap(),
        gateway: None,
    }
}

/// A host with the interface `eth1`, whose IPAM plugin assigns an address.
fn host() -> FakeHost {
    let host = FakeHost::new();
    host.create_interface(Namespace::Host, "eth1").unwrap();
    host.assign(&[("10.1.0.5/24", "")], &[]);
    host
}

/// The result of a plugin before, with interfaces of the host of these names.
fn before(interfaces: &[&str], ips: &[&str]) -> AddResult {
    let interface = |name: &&str| Interface {
        name: (*name).to_owned(),
        ..Interface::default()
    };
    AddResult {
        interfaces: interfaces.iter().map(interface).collect(),
        ips: ips.iter().map(|address| ip(address)).collect(),
        ..AddResult::default()
    }
}

fn add_after(host: &FakeHost, config: &str, previous: AddResult) -> Result<AddResult, Error> {
    host.add::<Ipvlan>(&Invocation::new(config).with_previous(previous))
}

#[test]
fn what_add_makes_passes_check_and_goes_with_del() {
    let host = host();
    let (result, attached) = host.attach::<Ipvlan>(CONFIG);
    let eth1 = link::get(Namespace::Host, "eth1").unwrap();
    assert_eq!(only_interface(&result).mac, eth1.mac_text());
    assert_eq!(result.ips[0].interface, Some(0));
    let l2 = Invocation::new(CONFIG.replace("l3", "l2")).with_previous(result);
    let error = host.check::<Ipvlan>(&l2).unwrap_err();
    assert!(error.msg.contains("expected mode l2, found l3"), "{error}");
    host.assert_detaches::<Ipvlan>(&attached);
}

#[test]
fn after_another_plugin_it_takes_over_the_interface_and_the_addresses() {
    let host = host();
    let result = add_after(&host, CHAINED, before(&["eth1"], &["10.9.0.1/24"])).unwrap();
    only_interface(&result);
    let [ip] = &result.ips[..] else {
        panic!("{result:?}");
    };
    assert_eq!(
        (ip.interface, ip.address.to_string().as_str()),
        (Some(0), "10.9.0.1/24")
    );
    assert!(host.changes().iter().all(|change| change != "ipam.add"));
}

#[test]
fn an_ipam_plugin_of_its_own_comes_before_the_addresses_of_another() {
    let host = host();
    let config = r#"{"type": "ipvlan", "ipam": {"type": "host-local"}}"#;
    let result = add_after(&host, config, before(&["eth1"], &["10.9.0.1/24"])).unwrap();
    assert_eq!(result.ips[0].address.to_string(), "10.1.0.5/24");
}

#[test]
fn what_cannot_be_taken_over_is_said_before_anything_is_made() {
    let host = host();
    for (previous, expected) in [
        (
            before(&["eth1", "eth2"], &["10.9.0.1/24"]),
            "prevResult has 2 interfaces",
        ),
        (before(&[], &["10.9.0.1/24"]), "prevResult has 0 interfaces"),
        (before(&["eth1"], &[]), "ipam: key `type` is missing"),
    ] {
        let error = add_after(&host, CHAINED, previous).unwrap_err();
        assert_eq!(error.code, Code::INVALID_CONFIG);
        assert!(error.msg.contains(expected), "{error}");
    }
    let gone = add_after(&host, CHAINED, before(&["eth9"], &["10.9.0.1/24"])).unwrap_err();
    assert_eq!(gone.code, codes::NOT_FOUND);
    assert!(host.changes().is_empty());
}

#[test]
fn a_mode_that_would_change_that_of_others_is_refused() {
    let host = host();
    host.add::<Ipvlan>(&Invocation::new(CONFIG)).unwrap();
    let l2 = CONFIG.replace("l3", "l2");
    let error = host.add::<Ipvlan>(&Invocation::new(l2)).unwrap_err();
    assert_eq!(error.code, Code::TRY_AGAIN_LATER);
    assert!(error.msg.contains("in another mode"), "{error}");
}

#[test]
fn del_releases_the_address_last_and_by_dhcp_first() {
    host().assert_order_of_del::<Ipvlan>(CONFIG, "link.delete");
}
