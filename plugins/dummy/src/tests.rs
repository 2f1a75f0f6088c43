//! Whole commands on the fake host.

use weir_sdk::link;
use weir_sdk::testing::{FakeHost, Invocation, only_interface};
use weir_sdk::{Code, ErrorCode, Namespace, address, codes, sysctl};

use super::Dummy;

const CONFIG: &str = r#"{"type": "dummy", "ipam": {"type": "static"}}"#;

/// A host whose IPAM plugin assigns an address of each family.
fn host() -> FakeHost {
    let host = FakeHost::new();
    host.assign(&[("10.1.0.5/24", ""), ("fd00::5/64", "")], &[]);
    host
}

#[test]
fn what_add_makes_passes_check_and_goes_with_del() {
    let host = host();
    let (result, attached) = host.attach::<Dummy>(CONFIG);
    let eth0 = only_interface(&result);
    assert!(result.ips.iter().all(|ip| ip.interface == Some(0)));
    let made = link::get(Namespace::Container, "eth0").unwrap();
    assert_eq!((made.kind.as_str(), made.up), ("dummy", true));
    assert_eq!(made.mac_text(), eth0.mac);
    assert_eq!(
        address::list(Namespace::Container, "eth0", None)
            .unwrap()
            .len(),
        2
    );
    let kept = "net.ipv6.conf.eth0.keep_addr_on_down";
    assert_eq!(sysctl::read(Namespace::Container, kept).unwrap(), "1");
    host.assert_detaches::<Dummy>(&attached);
}

#[test]
fn del_finds_the_interface_under_another_name_and_leaves_others_alone() {
    let host = host();
    let other = Invocation::new(CONFIG).with_ifname("net1");
    host.add::<Dummy>(&Invocation::new(CONFIG)).unwrap();
    host.add::<Dummy>(&other).unwrap();
    host.rename_link(Namespace::Container, "eth0", "mine")
        .unwrap();
    host.del::<Dummy>(&Invocation::new(CONFIG)).unwrap();
    assert_eq!(host.link_names(Namespace::Container), ["lo", "net1"]);
    host.assert_releases_alone::<Dummy>(&other);
}

#[test]
fn check_notices_what_is_not_as_add_left_it() {
    let damages: [(&str, fn()); 3] = [
        ("is down", || {
            link::set_down(Namespace::Container, "eth0").unwrap()
        }),
        ("address 10.1.0.5/24 is missing", || {
            let address = "10.1.0.5/24".parse().unwrap();
            address::delete(Namespace::Container, "eth0", address).unwrap();
        }),
        ("does not exist", || {
            link::delete(Namespace::Container, "eth0").unwrap()
        }),
    ];
    for (expected, damage) in damages {
        let host = host();
        let (_, attached) = host.attach::<Dummy>(CONFIG);
        damage();
        let error = host.check::<Dummy>(&attached).unwrap_err();
        assert_eq!(error.code, codes::NOT_AS_ATTACHED);
        assert!(error.msg.contains(expected), "{error}");
    }
}

#[test]
fn an_add_that_fails_anywhere_leaves_nothing() {
    let functions = ["link.create", "ipam.add", "sysctl.write", "address.add"];
    FakeHost::each_failing::<Dummy>(host, CONFIG, &functions, |host, function| {
        assert_eq!(host.link_names(Namespace::Container), ["lo"], "{function}");
    });
}

#[test]
fn a_taken_name_and_a_network_without_addresses_are_refused() {
    let host = host();
    host.create_pair("veth0", "eth0").unwrap();
    let error = host.add::<Dummy>(&Invocation::new(CONFIG)).unwrap_err();
    assert_eq!(error.code, codes::EXISTS);
    for config in [r#"{"type": "dummy"}"#, r#"{"type": "dummy", "ipam": {}}"#] {
        let error = host.add::<Dummy>(&Invocation::new(config)).unwrap_err();
        assert_eq!(error.code, Code::INVALID_CONFIG);
        assert!(error.msg.contains("ipam: key `type` is missing"), "{error}");
    }
}

#[test]
fn status_and_gc_are_the_ipam_plugins() {
    let host = host();
    for function in ["ipam.status", "ipam.gc"] {
        host.fail_next(function, ErrorCode::Exhausted);
    }
    host.status::<Dummy>(&Invocation::new(CONFIG)).unwrap_err();
    host.gc::<Dummy>(&Invocation::new(CONFIG), &[]).unwrap_err();
}

#[test]
fn del_releases_the_address_last_and_by_dhcp_first() {
    host().assert_order_of_del::<Dummy>(CONFIG, "link.delete");
}
