//! Kinds of links that not every kernel has, and bridge VLANs. Ignored by default: the tests in the
//! virtual machine run them, on a kernel that has all of them.

use serde_json::Value;
use weir_grant::Namespace::{self, Container, Host};
use weir_grant::link::{
    AddVlans, BridgeChanges, BridgeVlan, Create, DeleteVlans, IpvlanMode, LinkFacts, ListVlans,
    NewKind, NewMaster, Update, UpdateBridge, VlanProtocol,
};

use super::{Lab, lab};
use crate::Code;
use weir_grant::link::{Details, Link};

/// Creates a link and returns what iproute2 shows of it as well.
fn made(lab: &mut Lab, wanted: Create) -> (Link, Value) {
    let (namespace, name) = (wanted.namespace, wanted.name.clone());
    let made = lab.perform(wanted).unwrap();
    assert_eq!(made.name, name);
    let shown = lab.show(namespace, &["link", "show", &name]);
    assert_eq!(shown["ifindex"], made.index);
    assert_eq!(shown["linkinfo"]["info_kind"], made.kind.as_str());
    (made, shown)
}

#[test]
#[ignore = "needs a kernel with dummy, ifb and vrf"]
fn links_without_a_lower_device() {
    lab(|lab| {
        for namespace in [Host, Container] {
            let (made_link, _) = made(lab, Create::new(namespace, "dummy7", NewKind::Dummy));
            assert_eq!(made_link.kind, "dummy");
            let (made_link, _) = made(lab, Create::new(namespace, "ifb7", NewKind::Ifb));
            assert_eq!(made_link.kind, "ifb");
            let vrf = NewKind::Vrf { table: 70_000 };
            let (made_link, shown) = made(lab, Create::new(namespace, "vrf7", vrf));
            assert_eq!(made_link.details, Details::Vrf(70_000));
            assert_eq!(shown["linkinfo"]["info_data"]["table"], 70_000);
        }
    });
}

#[test]
#[ignore = "needs a kernel with vrf"]
fn a_port_of_a_vrf_is_no_port_of_a_bridge() {
    lab(|lab| {
        let (host, _) = lab.veth();
        lab.perform(Create::new(Host, "vrf7", NewKind::Vrf { table: 7 }))
            .unwrap();
        let vrf = lab.facts(Host, "vrf7");
        enslave(lab, &host, &vrf);
        let update = weir_grant::link::UpdatePort {
            link: host,
            hairpin: Some(true),
            isolated: None,
        };
        let error = lab.perform(update).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{error}");
    });
}

fn over_lower(lab: &mut Lab, kind: impl Fn(LinkFacts) -> NewKind, check: impl Fn(&Link, &Value)) {
    let (lower, _) = lab.veth();
    // Once where the lower device is, and once in the other namespace under the lower's own name.
    for (namespace, name) in [(Host, "upper"), (Container, "host0")] {
        let wanted = Create {
            up: true,
            ..Create::new(namespace, name, kind(lower.clone()))
        };
        let (link, shown) = made(lab, wanted.clone());
        assert_eq!((link.lower, link.up), (Some(lower.index), true));
        check(&link, &shown["linkinfo"]["info_data"]);
        let error = lab.perform(wanted).unwrap_err();
        assert_eq!(error.code, Code::Exists, "{error}");
        let place = format!("`{name}` exists already in {namespace}");
        assert!(error.message.ends_with(&place), "{error}");
        let delete = weir_grant::link::Delete {
            link: lab.facts(namespace, name),
        };
        lab.perform(delete).unwrap();
    }
}

#[test]
#[ignore = "needs a kernel with vlan"]
fn vlans_over_a_lower_device_in_either_namespace() {
    for (protocol, word) in [
        (VlanProtocol::Ieee8021q, "802.1Q"),
        (VlanProtocol::Ieee8021ad, "802.1ad"),
    ] {
        lab(|lab| {
            let kind = |lower| NewKind::Vlan {
                lower,
                id: 77,
                protocol,
            };
            over_lower(lab, kind, |link, data| {
                assert_eq!(link.kind, "vlan");
                assert_eq!(link.details, Details::Vlan(77));
                assert_eq!(data["id"], 77);
                assert_eq!(data["protocol"], word);
            });
        });
    }
}

#[test]
#[ignore = "needs a kernel with ipvlan: `machine` runs it"]
fn ipvlans_over_a_lower_device_in_either_namespace() {
    for (mode, word) in [
        (IpvlanMode::L2, "l2"),
        (IpvlanMode::L3, "l3"),
        (IpvlanMode::L3s, "l3s"),
    ] {
        lab(|lab| {
            over_lower(
                lab,
                |lower| NewKind::Ipvlan { lower, mode },
                |link, data| {
                    assert_eq!(link.kind, "ipvlan");
                    assert_eq!(link.details, Details::Ipvlan(mode));
                    assert_eq!(data["mode"], word);
                },
            );
        });
    }
}

/// The kernel would change the mode of all ipvlans over a device, wherever they are.
#[test]
#[ignore = "needs a kernel with ipvlan: `machine` runs it"]
fn an_ipvlan_does_not_change_the_mode_of_others() {
    lab(|lab| {
        let (lower, _) = lab.veth();
        let over = |lower: &LinkFacts, namespace, name, mode| {
            let lower = lower.clone();
            Create::new(namespace, name, NewKind::Ipvlan { lower, mode })
        };
        let first = over(&lower, Container, "first", IpvlanMode::L2);
        lab.perform(first).unwrap();
        let is_refused = |lab: &mut Lab, wanted: Create| {
            let error = lab.perform(wanted).unwrap_err();
            assert_eq!(error.code, Code::Busy, "{error}");
            assert!(error.message.contains("ipvlan links in mode l2"), "{error}");
        };
        is_refused(lab, over(&lower, Host, "other", IpvlanMode::L3));
        // Over one of them, the kernel makes it over the device below.
        let first = lab.facts(Container, "first");
        is_refused(lab, over(&first, Container, "other", IpvlanMode::L3s));
        let same = over(&lower, Host, "same", IpvlanMode::L2);
        lab.perform(same).unwrap();
        for link in [first, lab.facts(Host, "same")] {
            lab.perform(weir_grant::link::Delete { link }).unwrap();
        }
        let other = over(&lower, Host, "other", IpvlanMode::L3);
        let made: Link = lab.perform(other).unwrap();
        assert_eq!(made.details, Details::Ipvlan(IpvlanMode::L3));
    });
}

fn enslave(lab: &mut Lab, port: &LinkFacts, master: &LinkFacts) {
    let update = Update {
        master: Some(NewMaster::Link(master.clone())),
        ..Update::nothing_of(port.clone())
    };
    lab.perform(update).unwrap();
}

fn vlan(first: u16, last: u16, pvid: bool, untagged: bool) -> BridgeVlan {
    BridgeVlan {
        first,
        last,
        pvid,
        untagged,
    }
}

/// What `bridge vlan` shows of a link.
fn shown(lab: &mut Lab, namespace: Namespace, name: &str) -> Vec<BridgeVlan> {
    let json = lab.run(
        namespace,
        "bridge",
        &["-compressvlans", "-j", "vlan", "show", "dev", name],
    );
    let links: Vec<Value> = serde_json::from_str(&json).unwrap();
    let number = |value: &Value| u16::try_from(value.as_u64().unwrap()).unwrap();
    let read = |entry: &Value| {
        let flags = entry["flags"].as_array().cloned().unwrap_or_default();
        let first = number(&entry["vlan"]);
        BridgeVlan {
            first,
            last: entry.get("vlanEnd").map_or(first, number),
            pvid: flags.contains(&"PVID".into()),
            untagged: flags.contains(&"Egress Untagged".into()),
        }
    };
    links[0]["vlans"]
        .as_array()
        .unwrap()
        .iter()
        .map(read)
        .collect()
}

#[test]
#[ignore = "needs a kernel with bridge VLAN filtering"]
fn vlans_of_ports_and_of_the_bridge_itself() {
    lab(|lab| {
        let settings = BridgeChanges {
            vlan_filtering: Some(true),
            default_pvid: None,
        };
        let wanted = Create::new(Host, "br0", NewKind::Bridge(settings));
        lab.perform(wanted).unwrap();
        let bridge = lab.facts(Host, "br0");
        let (port, _) = lab.veth();
        enslave(lab, &port, &bridge);
        for link in [port, bridge] {
            let list = |lab: &mut Lab| {
                let found = lab.perform(ListVlans { link: link.clone() });
                let found = found.unwrap();
                assert_eq!(found, shown(lab, Host, &link.name));
                found
            };
            assert_eq!(list(lab), [vlan(1, 1, true, true)]);
            let add = |vlans| AddVlans {
                link: link.clone(),
                vlans,
            };
            lab.perform(add(vec![
                vlan(10, 10, true, true),
                vlan(20, 30, false, false),
            ]))
            .unwrap();
            let expected = [
                vlan(1, 1, false, true),
                vlan(10, 10, true, true),
                vlan(20, 30, false, false),
            ];
            assert_eq!(list(lab), expected);
            let deleted = DeleteVlans {
                link: link.clone(),
                vlans: vec![vlan(1, 1, false, false), vlan(22, 23, false, false)],
            };
            lab.perform(deleted).unwrap();
            let expected = [
                vlan(10, 10, true, true),
                vlan(20, 21, false, false),
                vlan(24, 30, false, false),
            ];
            assert_eq!(list(lab), expected);
            for wrong in [
                vlan(0, 0, false, false),
                vlan(4095, 4095, false, false),
                vlan(7, 6, false, false),
                vlan(7, 8, true, false),
            ] {
                let error = lab.perform(add(vec![wrong])).unwrap_err();
                assert_eq!(error.code, Code::Invalid, "{error}");
            }
        }
        let link = lab.facts(Host, "lo");
        let error = lab.perform(ListVlans { link }).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{error}");
    });
}

#[test]
#[ignore = "needs a kernel with bridge VLAN filtering"]
fn a_bridges_settings_change_one_by_one() {
    lab(|lab| {
        let link = lab.bridge("br0");
        let mut after = |vlan_filtering, default_pvid| {
            let changes = BridgeChanges {
                vlan_filtering,
                default_pvid,
            };
            let update = UpdateBridge {
                link: link.clone(),
                changes,
            };
            lab.perform(update).unwrap();
            lab.link(&link).unwrap().details
        };
        let details = |vlan_filtering, default_pvid| Details::Bridge {
            vlan_filtering,
            default_pvid,
        };
        assert_eq!(after(Some(true), None), details(true, 1));
        assert_eq!(after(None, Some(0)), details(true, 0));
        assert_eq!(after(Some(false), Some(7)), details(false, 7));
    });
}
