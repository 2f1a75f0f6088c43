//! Whole commands on the fake host.

use weir_sdk::link::{self, Changes, NewBridge, NewLink, NewMaster};
use weir_sdk::testing::{FakeHost, Invocation, only_interface};
use weir_sdk::{Code, ErrorCode, Namespace, codes, sysctl};

use super::Tap;

const LAYER_2: &str = r#"{"type": "tap", "mtu": 1400, "mac": "02:00:00:00:00:07"}"#;
const LAYER_3: &str = r#"{"type": "tap", "ipam": {"type": "static"}}"#;
const OF_BRIDGE: &str = r#"{"type": "tap", "bridge": "br0"}"#;

/// A host whose IPAM plugin assigns an address.
fn host() -> FakeHost {
    let host = FakeHost::new();
    host.assign(&[("fd00::5/64", "")], &[]);
    host
}

fn make_bridge() {
    let new = NewBridge {
        vlan_filtering: None,
        default_pvid: None,
    };
    link::create(NewLink::bridge(Namespace::Container, "br0", new)).unwrap();
}

#[test]
fn a_device_of_layer_2_has_no_address_and_asks_no_ipam_plugin() {
    let host = host();
    let (result, attached) = host.attach::<Tap>(LAYER_2);
    let eth0 = only_interface(&result);
    assert_eq!(eth0.mtu, Some(1400));
    assert_eq!(eth0.mac.as_deref(), Some("02:00:00:00:00:07"));
    let made = link::get(Namespace::Container, "eth0").unwrap();
    assert_eq!((made.kind.as_str(), made.up), ("tun", true));
    host.assert_detaches::<Tap>(&attached);
    let calls = host.calls();
    assert!(
        !calls.iter().any(|call| call.function.starts_with("ipam.")),
        "{calls:?}"
    );
}

#[test]
fn a_device_of_layer_3_has_the_addresses_and_announces_them() {
    let host = host();
    let result = host.add::<Tap>(&Invocation::new(LAYER_3)).unwrap();
    assert_eq!(result.ips[0].interface, Some(0));
    for key in [
        "net.ipv4.conf.eth0.arp_notify",
        "net.ipv6.conf.eth0.keep_addr_on_down",
    ] {
        assert_eq!(sysctl::read(Namespace::Container, key).unwrap(), "1");
    }
    let attached = Invocation::new(LAYER_3).with_previous(result);
    host.check::<Tap>(&attached).unwrap();
    host.assert_releases_alone::<Tap>(&attached);
}

#[test]
fn the_bridge_is_one_in_the_container() {
    let host = host();
    let error = host.add::<Tap>(&Invocation::new(OF_BRIDGE)).unwrap_err();
    assert_eq!(error.code, Code::INVALID_CONFIG);
    assert!(
        error
            .msg
            .contains("bridge: the container has no bridge `br0`")
    );
    host.arrange(make_bridge);
    let result = host.add::<Tap>(&Invocation::new(OF_BRIDGE)).unwrap();
    let attached = Invocation::new(OF_BRIDGE).with_previous(result);
    host.check::<Tap>(&attached).unwrap();

    host.arrange(|| {
        let freed = Changes {
            master: Some(NewMaster::None),
            ..Changes::default()
        };
        link::update(Namespace::Container, "eth0", freed).unwrap();
    });
    let error = host.check::<Tap>(&attached).unwrap_err();
    assert_eq!(error.code, codes::NOT_AS_ATTACHED);
    assert!(error.msg.contains("not a port of bridge `br0`"), "{error}");
}

#[test]
fn a_link_that_is_not_a_bridge_takes_no_ports() {
    let host = host();
    host.create_pair("veth0", "br0").unwrap();
    let error = host.add::<Tap>(&Invocation::new(OF_BRIDGE)).unwrap_err();
    assert!(error.msg.contains("has no bridge `br0`"), "{error}");
    assert_eq!(host.link_names(Namespace::Container), ["lo", "br0"]);
}

#[test]
fn the_mac_is_the_runtimes_before_the_networks() {
    let made = |config: &str, args: &str| {
        let host = host();
        let mut invocation = Invocation::new(config);
        if !args.is_empty() {
            invocation = invocation.with_arg("MAC", args);
        }
        let added = host.add::<Tap>(&invocation);
        added.map(|result| result.interfaces[0].mac.clone().unwrap())
    };
    let of_all = r#"{"type": "tap", "mac": "02:00:00:00:00:01",
        "runtimeConfig": {"mac": "02:00:00:00:00:03"}}"#;
    assert_eq!(made(LAYER_2, "").unwrap(), "02:00:00:00:00:07");
    assert_eq!(
        made(LAYER_2, "02:00:00:00:00:02").unwrap(),
        "02:00:00:00:00:02"
    );
    assert_eq!(
        made(of_all, "02:00:00:00:00:02").unwrap(),
        "02:00:00:00:00:03"
    );
    let multicast = r#"{"type": "tap", "mac": "01:00:00:00:00:01"}"#;
    let error = made(multicast, "").unwrap_err();
    assert_eq!(error.code, Code::INVALID_CONFIG);
    assert!(error.msg.contains("mac: 01:00:00:00:00:01"), "{error}");
}

#[test]
fn who_may_open_the_device_is_by_number() {
    for (config, expected) in [
        (r#"{"owner": "qemu"}"#, "owner: expected an integer"),
        (r#"{"group": -1}"#, "group: expected an integer"),
        (r#"{"mtu": "big"}"#, "mtu: expected an integer"),
        (r#"{"bridge": "a/b"}"#, "bridge: "),
    ] {
        let host = host();
        let error = host.add::<Tap>(&Invocation::new(config)).unwrap_err();
        assert_eq!(error.code, Code::INVALID_CONFIG);
        assert!(error.msg.contains(expected), "{error}");
    }
}

#[test]
fn an_add_that_fails_anywhere_leaves_nothing() {
    for function in ["link.create", "ipam.add", "sysctl.write", "address.add"] {
        let host = host();
        host.fail_next(function, ErrorCode::Busy);
        let added = host.add::<Tap>(&Invocation::new(LAYER_3));
        // Only `arp_notify` can be done without.
        assert_eq!(added.is_ok(), function == "sysctl.write", "{function}");
        let left = if added.is_ok() { 2 } else { 1 };
        assert_eq!(
            host.link_names(Namespace::Container).len(),
            left,
            "{function}"
        );
    }
}

#[test]
fn del_releases_the_address_last_and_by_dhcp_first() {
    host().assert_order_of_del::<Tap>(LAYER_3, "link.delete");
}
