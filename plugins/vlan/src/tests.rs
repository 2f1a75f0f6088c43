//! Whole commands on the fake host.

use weir_sdk::link::{self, NewKind, NewLink, NewVlan, VlanProtocol};
use weir_sdk::testing::{FakeHost, Invocation, only_interface};
use weir_sdk::{Code, Namespace, codes};

use super::Vlan;

const CONFIG: &str =
    r#"{"type": "vlan", "master": "eth1", "vlanId": 7, "ipam": {"type": "host-local"}}"#;

/// A host with the interface `eth1`, whose IPAM plugin assigns an address.
fn host() -> FakeHost {
    let host = FakeHost::new();
    host.create_interface(Namespace::Host, "eth1").unwrap();
    host.assign(&[("10.1.0.5/24", "")], &[]);
    host
}

/// Makes VLAN 7 of `eth1` on the host.
fn take() {
    let vlan = NewVlan {
        lower: "eth1".into(),
        lower_namespace: Namespace::Host,
        id: 7,
        protocol: VlanProtocol::Ieee8021q,
    };
    link::create(NewLink::new(Namespace::Host, "eth1.7", NewKind::Vlan(vlan))).unwrap();
}

#[test]
fn what_add_makes_passes_check_and_goes_with_del() {
    let host = host();
    let (result, attached) = host.attach::<Vlan>(CONFIG);
    only_interface(&result);
    assert_eq!(result.ips[0].interface, Some(0));
    for (from, to, expected) in [
        ("7", "8", "expected VLAN 8, found 7"),
        ("7", r#"7, "mtu": 1400"#, "expected MTU 1400, found 1500"),
    ] {
        let other = Invocation::new(CONFIG.replace(from, to)).with_previous(result.clone());
        let error = host.check::<Vlan>(&other).unwrap_err();
        assert!(error.msg.contains(expected), "{error}");
    }
    host.assert_detaches::<Vlan>(&attached);
}

#[test]
fn a_vlan_that_is_taken_and_an_interface_that_exists_are_told_apart() {
    let host = host();
    host.arrange(take);
    let expected = "vlanId: VLAN 7 is taken on master `eth1`";
    host.assert_refuses::<Vlan>(CONFIG, codes::EXISTS, expected);
    host.create_interface(Namespace::Container, "eth0").unwrap();
    let error = host.add::<Vlan>(&Invocation::new(CONFIG)).unwrap_err();
    assert_eq!(error.code, codes::EXISTS);
    assert!(
        error.msg.contains("exists already in the container"),
        "{error}"
    );
}

#[test]
fn its_addresses_are_announced_once() {
    let host = host();
    host.add::<Vlan>(&Invocation::new(CONFIG)).unwrap();
    let changes = host.changes();
    let of_parameters = changes
        .iter()
        .filter(|change| change.starts_with("sysctl.write") || change.starts_with("link.update"));
    let parameter = "sysctl.write container net.ipv4.conf.eth0.arp_notify";
    let expected = [
        &format!("{parameter}=1"),
        "link.update container eth0 up=true",
        &format!("{parameter}=0"),
    ];
    assert!(of_parameters.eq(expected), "{changes:?}");
}

#[test]
fn a_master_that_is_down_is_said() {
    let host = host();
    host.arrange(|| link::set_down(Namespace::Host, "eth1").unwrap());
    let expected = "master: interface `eth1` is down: set it up first";
    host.assert_refuses::<Vlan>(CONFIG, Code::TRY_AGAIN_LATER, expected);
}

#[test]
fn del_releases_the_address_last_and_by_dhcp_first() {
    host().assert_order_of_del::<Vlan>(CONFIG, "link.delete");
}
