//! Whole commands on the fake host.

use weir_sdk::link::{self, Changes, Link};
use weir_sdk::testing::{FakeHost, Invocation};
use weir_sdk::{AddResult, Namespace, address, codes, device::Device};

use super::HostDevice;

const CONFIG: &str = r#"{"type": "host-device", "device": "nic0", "ipam": {"type": "static"}}"#;

/// A host with the devices `nic0` and `nic1`, and an IPAM plugin.
fn host() -> FakeHost {
    let host = FakeHost::new();
    host.arrange(|| {
        let peer = weir_sdk::link::NewPeer::new(Namespace::Host, "nic1");
        let new = weir_sdk::link::NewLink::veth(Namespace::Host, "nic0", peer);
        link::create(weir_sdk::link::NewLink {
            mtu: Some(9000),
            up: true,
            ..new
        })
        .unwrap();
    });
    host.assign(&[("10.1.0.5/24", "")], &[]);
    host
}

fn nic(namespace: Namespace, name: &str) -> Link {
    link::get(namespace, name).unwrap()
}

fn is_released(host: &FakeHost) -> bool {
    host.calls().iter().any(|call| call.function == "ipam.del")
}

#[test]
fn the_device_goes_in_and_comes_back() {
    let host = host();
    let before = nic(Namespace::Host, "nic0");
    let (result, attached) = host.attach::<HostDevice>(CONFIG);
    let inside = nic(Namespace::Container, "eth0");
    assert_eq!(
        (inside.mac, inside.up, &*inside.alias),
        (before.mac.clone(), true, "nic0")
    );
    assert!(link::find(Namespace::Host, "nic0").unwrap().is_none());
    assert_eq!(result.interfaces[0].name, "eth0");
    assert_eq!(result.ips[0].interface, Some(0));
    host.check::<HostDevice>(&attached).unwrap();
    host.arrange(|| {
        let changes = Changes {
            mtu: Some(1400),
            ..Changes::default()
        };
        link::update(Namespace::Container, "eth0", changes).unwrap();
    });
    host.del::<HostDevice>(&attached).unwrap();
    let back = nic(Namespace::Host, "nic0");
    assert_eq!(
        (back.mac, back.mtu, back.up, back.alias),
        (before.mac, 9000, false, before.alias)
    );
    assert!(
        address::list(Namespace::Host, "nic0", None)
            .unwrap()
            .is_empty()
    );
    assert!(is_released(&host));
    host.del::<HostDevice>(&attached).unwrap();
    host.check::<HostDevice>(&attached).unwrap_err();
}

#[test]
fn a_device_that_was_renamed_in_the_container_comes_back() {
    let host = host();
    host.add::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    host.rename_link(Namespace::Container, "eth0", "data7")
        .unwrap();
    host.del::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    assert_eq!(nic(Namespace::Host, "nic0").mtu, 9000);
}

#[test]
fn a_name_that_is_taken_is_an_error_and_the_device_stays() {
    let host = host();
    host.arrange(|| host.create_pair("veth0", "eth0").unwrap());
    let error = host
        .add::<HostDevice>(&Invocation::new(CONFIG))
        .unwrap_err();
    assert_eq!(error.code, codes::EXISTS);
    assert!(nic(Namespace::Host, "nic0").up, "as before");
    host.del::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    assert!(
        link::find(Namespace::Container, "eth0").unwrap().is_some(),
        "it is another's"
    );
    host.arrange(|| link::delete(Namespace::Container, "eth0").unwrap());

    host.add::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    host.rename_link(Namespace::Host, "nic1", "nic0").unwrap();
    let error = host
        .del::<HostDevice>(&Invocation::new(CONFIG))
        .unwrap_err();
    assert_eq!(error.code, codes::EXISTS);
    assert!(is_released(&host), "the address is free all the same");
    host.rename_link(Namespace::Host, "nic0", "nic1").unwrap();
    host.del::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    assert_eq!(nic(Namespace::Host, "nic0").mtu, 9000);
}

#[test]
fn the_address_is_free_when_the_device_is_gone() {
    let host = host();
    host.add::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    host.arrange(|| link::delete(Namespace::Container, "eth0").unwrap());
    host.del::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    assert!(is_released(&host));
    let host = {
        drop(host);
        self::host()
    };
    host.add::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    host.remove_container();
    host.del::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    assert!(is_released(&host));
}

#[test]
fn an_add_that_fails_anywhere_leaves_the_device_on_the_host() {
    let functions = [
        "store.put",
        "link.move",
        "link.update",
        "ipam.add",
        "address.add",
    ];
    FakeHost::each_failing::<HostDevice>(host, CONFIG, &functions, |_, function| {
        let back = nic(Namespace::Host, "nic0");
        assert_eq!((back.up, &*back.alias), (true, ""), "{function}");
    });
}

/// A PCI device.
fn card(link: &str, driver: &str) -> Device {
    Device {
        link: link.to_owned(),
        pci_address: "0000:03:00.0".to_owned(),
        auxiliary_name: String::new(),
        driver: driver.to_owned(),
        virtio: false,
        siblings: Vec::new(),
    }
}

#[test]
fn a_scalable_function_is_found_by_its_name() {
    let host = host();
    for (name, link) in [("mlx5_core.sf.4", "nic0"), ("mlx5_core.sf.5", "")] {
        let function = Device {
            pci_address: String::new(),
            auxiliary_name: name.to_owned(),
            ..card(link, "mlx5_core.sf")
        };
        let path = format!("/sys/devices/pci0000:00/0000:03:00.0/{name}");
        host.put_device(&path, function);
    }
    let assigned = |id: &str| {
        let keys = format!(r#""pciBusID": "x", "runtimeConfig": {{"deviceID": "{id}"}}"#);
        Invocation::new(format!(r#"{{"type": "host-device", {keys}}}"#))
    };
    host.add::<HostDevice>(&assigned("mlx5_core.sf.4")).unwrap();
    assert_eq!(nic(Namespace::Container, "eth0").alias, "nic0");
    host.del::<HostDevice>(&assigned("mlx5_core.sf.4")).unwrap();
    assert_eq!(nic(Namespace::Host, "nic0").mtu, 9000);
    for (id, code, why) in [
        (
            "mlx5_core.sf.5",
            codes::NOT_FOUND,
            "its driver is `mlx5_core.sf`",
        ),
        ("mlx5_core.sf.6", codes::NOT_FOUND, "deviceID"),
        ("GPU-1", codes::INVALID, "deviceID"),
    ] {
        let error = host.add::<HostDevice>(&assigned(id)).unwrap_err();
        assert_eq!(error.code, code, "{error}");
        assert!(error.msg.contains(why), "{error}");
    }
}

#[test]
fn a_device_is_found_by_its_hardware() {
    let path = "/sys/devices/pci0000:00/0000:03:00.0";
    let mac = {
        let host = host();
        let mac = nic(Namespace::Host, "nic0").mac_text().unwrap();
        drop(host);
        mac
    };
    for key in [
        r#""pciBusID": "0000:03:00.0""#.to_owned(),
        r#""pciBusID": "x", "runtimeConfig": {"deviceID": "0000:03:00.0"}"#.to_owned(),
        format!(r#""kernelpath": "{path}""#),
        format!(r#""hwaddr": "{}""#, mac.to_uppercase()),
    ] {
        let host = host();
        host.put_device(path, card("nic0", "igb"));
        let config = format!(r#"{{"type": "host-device", {key}}}"#);
        let result = host.add::<HostDevice>(&Invocation::new(&config)).unwrap();
        assert_eq!(
            result.interfaces[0].mac.as_ref().map(String::len),
            Some(17),
            "{key}"
        );
        host.del::<HostDevice>(&Invocation::new(&config)).unwrap();
        assert_eq!(nic(Namespace::Host, "nic0").mtu, 9000, "{key}");
    }
}

#[test]
fn a_program_s_device_gets_addresses_and_is_not_moved() {
    let host = host();
    host.put_device("/sys/devices/pci0000:00/0000:03:00.0", card("", "vfio-pci"));
    let config =
        r#"{"type": "host-device", "pciBusID": "0000:03:00.0", "ipam": {"type": "static"}}"#;
    let result = host.add::<HostDevice>(&Invocation::new(config)).unwrap();
    assert_eq!(
        (&*result.interfaces[0].name, &result.interfaces[0].mac),
        ("eth0", &None)
    );
    assert_eq!(result.ips.len(), 1);
    let attached = Invocation::new(config).with_previous(result);
    host.check::<HostDevice>(&attached).unwrap();
    host.del::<HostDevice>(&attached).unwrap();
    assert!(is_released(&host));
    let config = r#"{"type": "host-device", "pciBusID": "0000:04:00.0"}"#;
    let error = host
        .add::<HostDevice>(&Invocation::new(config))
        .unwrap_err();
    assert_eq!(error.code, codes::NOT_FOUND);
}

#[test]
fn what_is_not_the_plugins_stays_in_the_container() {
    let host = host();
    host.arrange(|| host.create_pair("veth0", "eth0").unwrap());
    host.del::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    let attached = Invocation::new(CONFIG).with_previous(AddResult::default());
    host.del::<HostDevice>(&attached).unwrap();
    assert!(link::find(Namespace::Container, "eth0").unwrap().is_some());
}

#[test]
fn a_device_that_came_back_with_the_namespace_gets_its_name_back() {
    let host = host();
    host.add::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    host.arrange(|| {
        link::move_to(Namespace::Container, "eth0", Namespace::Host, Some("dev7")).unwrap();
    });
    host.remove_container();
    host.del::<HostDevice>(&Invocation::new(CONFIG)).unwrap();
    assert_eq!(nic(Namespace::Host, "nic0").mtu, 9000);
}

#[test]
fn del_releases_the_address_last_and_by_dhcp_first() {
    host().assert_order_of_del::<HostDevice>(CONFIG, "link.move");
}
