//! Capability `link`.

use weir_grant::Namespace::{Container, Host};
use weir_grant::link::{
    BridgeChanges, Create, Delete, GetPeer, LinkFacts, List, Mac, MacvlanMode, Move, NewKind,
    NewMaster, NewPeer, NewTap, Update, UpdateBridge, UpdatePort, WaitUp,
};

use super::{Lab, assert_code, lab};
use crate::link::find::find_link;
use crate::perform::perform;
use crate::{Code, Namespaces, UndoLog};
use weir_grant::link::{Details, LinkReference, OperState, Peer, Port};

fn peer(name: &str) -> NewPeer {
    NewPeer {
        owner: None,
        namespace: Container,
        name: name.to_owned(),
        mac: None,
        mtu: None,
        up: false,
    }
}

fn mac(text: &str) -> Mac {
    Mac(text
        .split(':')
        .map(|b| u8::from_str_radix(b, 16).unwrap())
        .collect())
}

fn exists(lab: &mut Lab, namespace: weir_grant::Namespace, name: &str) -> bool {
    let reference = LinkReference::Name(name.to_owned());
    find_link(lab.linux.namespaces().of(namespace).unwrap(), &reference).is_ok()
}

#[test]
fn a_veth_has_all_it_was_asked_for_on_both_ends() {
    lab(|lab| {
        let bridge = lab.bridge("br0");
        let wanted = Create {
            mac: Some(mac("02:00:00:00:00:01")),
            mtu: Some(1400),
            txqlen: Some(77),
            up: true,
            master: Some(bridge.clone()),
            owner: Some("the host's end".to_owned()),
            ..Create::new(
                Host,
                "host0",
                NewKind::Veth {
                    peer: NewPeer {
                        mac: Some(mac("02:00:00:00:00:02")),
                        mtu: Some(1300),
                        up: true,
                        ..peer("eth0")
                    },
                },
            )
        };
        let made = lab.perform(wanted).unwrap();
        assert_eq!((made.name.as_str(), made.kind.as_str()), ("host0", "veth"));
        assert_eq!(made.mac, mac("02:00:00:00:00:01"));
        assert_eq!((made.mtu, made.txqlen, made.up), (1400, 77, true));
        assert_eq!(made.master, Some(bridge.index));
        assert_eq!(made.alias, "the host's end");
        assert_eq!(made.port, Some(Port::default()));

        let shown = lab.show(Host, &["link", "show", "host0"]);
        assert_eq!(shown["ifindex"], made.index);
        assert_eq!(shown["address"], "02:00:00:00:00:01");
        assert_eq!(shown["mtu"], 1400);
        assert_eq!(shown["txqlen"], 77);
        assert_eq!(shown["master"], "br0");
        assert_eq!(shown["ifalias"], "the host's end");

        let shown = lab.show(Container, &["link", "show", "eth0"]);
        assert_eq!(shown["address"], "02:00:00:00:00:02");
        assert_eq!(shown["mtu"], 1300);
        assert!(shown["flags"].as_array().unwrap().contains(&"UP".into()));
        assert_eq!(shown["ifindex"], made.lower.unwrap());
    });
}

#[test]
fn a_veth_without_a_name_gets_a_free_one() {
    lab(|lab| {
        let wanted = Create::new(Host, "", NewKind::Veth { peer: peer("eth0") });
        let made = lab.perform(wanted).unwrap();
        assert!(
            made.name.starts_with("veth") && made.name.len() == 12,
            "{}",
            made.name
        );
        let wanted = Create::new(Host, "", NewKind::Veth { peer: peer("") });
        let other = lab.perform(wanted).unwrap();
        assert_ne!(other.name, made.name);
    });
}

#[test]
fn a_taken_name_is_reported_with_its_namespace() {
    lab(|lab| {
        lab.veth();
        let wanted = Create::new(Host, "host0", NewKind::Veth { peer: peer("eth1") });
        let taken = "`host0` exists already in host";
        assert_code(lab.perform(wanted), Code::Exists, taken);

        for name in ["", "host1"] {
            let wanted = Create::new(Host, name, NewKind::Veth { peer: peer("eth0") });
            let taken = "`eth0` exists already in container";
            assert_code(lab.perform(wanted), Code::Exists, taken);
        }
        assert!(!exists(lab, Host, "host1"));

        let wanted = Create::new(Host, "host0", NewKind::Bridge(BridgeChanges::default()));
        let error = lab.perform(wanted).unwrap_err();
        assert_eq!(error.code, Code::Exists);
    });
}

#[test]
fn names_that_the_kernel_would_read_otherwise_are_refused() {
    lab(|lab| {
        for name in [
            "br%d",
            "a\0b",
            "a b",
            "a/b",
            "a:b",
            "..",
            "sixteen-bytes-12",
            "",
        ] {
            let wanted = Create::new(Host, name, NewKind::Bridge(BridgeChanges::default()));
            let error = lab.perform(wanted).unwrap_err();
            assert_eq!(error.code, Code::Invalid, "{name:?}: {error}");
        }
        let wanted = Create::new(
            Host,
            "host0",
            NewKind::Veth {
                peer: peer("eth%d"),
            },
        );
        assert_eq!(lab.perform(wanted).unwrap_err().code, Code::Invalid);
        assert_eq!(lab.show_all(Host, &["link"]).len(), 1);
    });
}

#[test]
fn a_refusal_carries_the_kernels_reason() {
    lab(|lab| {
        let wanted = Create {
            mtu: Some(1_000_000),
            ..Create::new(Host, "br0", NewKind::Bridge(BridgeChanges::default()))
        };
        let error = lab.perform(wanted).unwrap_err();
        assert_eq!(error.code, Code::Invalid);
        assert!(
            error.message.contains("mtu greater than device maximum"),
            "{error}"
        );
        assert!(!exists(lab, Host, "br0"));
    });
}

#[test]
fn identify_tells_kinds_and_refuses_alternative_names() {
    lab(|lab| {
        lab.veth();
        assert_eq!(lab.facts(Host, "host0").kind, "veth");
        assert_eq!(lab.facts(Host, "lo").kind, "loopback");
        lab.ip(
            Host,
            &[
                "link",
                "property",
                "add",
                "dev",
                "host0",
                "altname",
                "another-name",
            ],
        );
        let reference = LinkReference::Name("another-name".to_owned());
        let error = find_link(lab.linux.namespaces().of(Host).unwrap(), &reference).unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert!(
            error.message.contains("alternative name of `host0`"),
            "{error}"
        );
        let link = lab.facts(Host, "host0");
        let shown = lab.link(&link).unwrap();
        assert_eq!(shown.alternative_names, ["another-name"]);

        let index = lab.facts(Host, "host0").index;
        let by_index = find_link(
            lab.linux.namespaces().of(Host).unwrap(),
            &LinkReference::Index(index),
        )
        .unwrap();
        assert_eq!(by_index.name, "host0");
        for index in [0, 4_000, u32::MAX] {
            let reference = LinkReference::Index(index);
            let error =
                find_link(lab.linux.namespaces().of(Host).unwrap(), &reference).unwrap_err();
            assert_eq!(error.code, Code::NotFound, "{error}");
        }
    });
}

#[test]
fn list_is_restricted_to_kind_and_master() {
    lab(|lab| {
        let bridge = lab.bridge("br0");
        lab.bridge("br1");
        let (host, _) = lab.veth();
        let mut list = |kind: Option<&str>, master| {
            let kind = kind.map(str::to_owned);
            let wanted = List {
                namespace: Host,
                kind,
                master,
            };
            let mut links = lab.perform(wanted).unwrap();
            links.sort_by(|a, b| a.name.cmp(&b.name));
            links.into_iter().map(|l| l.name).collect::<Vec<_>>()
        };
        assert_eq!(list(None, None), ["br0", "br1", "host0", "lo"]);
        assert_eq!(list(Some("bridge"), None), ["br0", "br1"]);
        assert_eq!(list(Some("loopback"), None), ["lo"]);
        assert!(list(Some("no-such-kind"), None).is_empty());
        assert!(list(None, Some(bridge.index)).is_empty());
        let update = Update {
            master: Some(NewMaster::Link(bridge.clone())),
            ..Update::nothing_of(host)
        };
        lab.perform(update).unwrap();
        let wanted = List {
            namespace: Host,
            kind: None,
            master: Some(bridge.index),
        };
        let ports = lab.perform(wanted).unwrap();
        assert_eq!(ports.len(), 1);
        assert_eq!(ports[0].name, "host0");
    });
}

#[test]
fn update_changes_what_it_is_told_to() {
    lab(|lab| {
        let bridge = lab.bridge("br0");
        let (host, _) = lab.veth();
        // Before 6.2 the kernel refuses another name to a link that is up.
        let down = Update {
            up: Some(false),
            ..Update::nothing_of(host.clone())
        };
        lab.perform(down).unwrap();
        let update = Update {
            name: Some("renamed".to_owned()),
            up: None,
            mac: Some(mac("02:00:00:00:00:07")),
            mtu: Some(1280),
            txqlen: Some(5),
            promiscuous: Some(true),
            all_multicast: Some(true),
            alias: None,
            master: Some(NewMaster::Link(bridge)),
            ..Update::nothing_of(host)
        };
        lab.perform(update).unwrap();
        let link = lab.facts(Host, "renamed");
        let now = lab.link(&link).unwrap();
        assert_eq!(
            (now.up, now.promiscuous, now.all_multicast),
            (false, true, true)
        );
        let shown = lab.show(Host, &["link", "show", "renamed"]);
        assert_eq!(shown["address"], "02:00:00:00:00:07");
        assert_eq!((&shown["mtu"], &shown["txqlen"]), (&1280.into(), &5.into()));
        assert_eq!(shown["master"], "br0");
        assert!(
            shown["flags"]
                .as_array()
                .unwrap()
                .contains(&"PROMISC".into())
        );

        let update = Update {
            promiscuous: Some(false),
            master: Some(NewMaster::None),
            ..Update::nothing_of(link.clone())
        };
        lab.perform(update).unwrap();
        let now = lab.link(&link).unwrap();
        assert_eq!((now.master, now.port), (None, None));
        assert_eq!((now.promiscuous, now.all_multicast), (false, true));

        let update = Update {
            name: Some("br0".to_owned()),
            ..Update::nothing_of(link)
        };
        assert_eq!(lab.perform(update).unwrap_err().code, Code::Exists);
    });
}

#[test]
fn port_flags_are_changed_one_by_one() {
    lab(|lab| {
        let bridge = lab.bridge("br0");
        let (host, _) = lab.veth();
        let change = |hairpin, isolated| UpdatePort {
            link: host.clone(),
            hairpin,
            isolated,
        };
        let error = lab.perform(change(Some(true), None)).unwrap_err();
        assert_eq!(error.code, Code::Invalid);
        assert!(error.message.contains("is not a bridge's port"), "{error}");

        let enslave = Update {
            master: Some(NewMaster::Link(bridge)),
            ..Update::nothing_of(host.clone())
        };
        lab.perform(enslave).unwrap();
        let mut flags_after = |hairpin, isolated| {
            lab.perform(change(hairpin, isolated)).unwrap();
            lab.link(&host).unwrap().port.unwrap()
        };
        let port = |hairpin, isolated| Port { hairpin, isolated };
        assert_eq!(flags_after(Some(true), None), port(true, false));
        assert_eq!(flags_after(None, Some(true)), port(true, true));
        assert_eq!(flags_after(Some(false), None), port(false, true));
        let shown = lab.show(Host, &["link", "show", "host0"]);
        assert_eq!(shown["linkinfo"]["info_slave_data"]["isolated"], true);
        assert_eq!(shown["linkinfo"]["info_slave_data"]["hairpin"], false);
    });
}

#[test]
fn deleting_one_end_of_a_veth_deletes_both() {
    lab(|lab| {
        let (host, container) = lab.veth();
        lab.perform(Delete { link: host.clone() }).unwrap();
        assert!(!exists(lab, Host, "host0") && !exists(lab, Container, "eth0"));
        let deleted = lab.perform(Delete { link: container });
        let what = "cannot delete veth `eth0` in container";
        assert_code(deleted, Code::NotFound, what);
    });
}

#[test]
fn a_link_that_cannot_be_deleted_with_others_stays_as_it_was() {
    lab(|lab| {
        let links = [lab.bridge("br0"), lab.bridge("br1"), lab.facts(Host, "lo")];
        lab.ip(Host, &["link", "set", "lo", "group", "7"]);
        let deletes = links.map(|link| Delete { link }).to_vec();
        let error = lab.delete_links(deletes).unwrap_err();
        assert_eq!(error.code, Code::Unsupported);
        assert!(error.message.contains("`lo`"), "{error}");
        assert!(!exists(lab, Host, "br0") && !exists(lab, Host, "br1"));
        assert_eq!(lab.show(Host, &["link", "show", "lo"])["group"], "7");
    });
}

#[test]
fn a_link_moves_under_a_new_name_or_not_at_all() {
    lab(|lab| {
        lab.bridge("br0");
        lab.veth();
        let wanted = Create::new(Host, "moving", NewKind::Veth { peer: peer("left") });
        lab.perform(wanted).unwrap();
        let go = |link, name: &str| Move {
            alias: None,
            strands_host: false,
            link,
            to: Container,
            name: name.to_owned(),
        };
        let moving = lab.facts(Host, "moving");
        let error = lab.perform(go(moving.clone(), "eth0")).unwrap_err();
        assert_eq!(error.code, Code::Exists);
        assert!(exists(lab, Host, "moving"));

        let there = lab.perform(go(moving, "eth1")).unwrap();
        assert_eq!(there.name, "eth1");
        assert!(!exists(lab, Host, "moving") && exists(lab, Container, "eth1"));

        let bridge = lab.facts(Host, "br0");
        let error = lab.perform(go(bridge, "br0")).unwrap_err();
        assert_eq!(error.code, Code::Invalid, "{error}");
    });
}

fn other_end(link: &LinkFacts) -> Peer {
    Peer {
        index: link.index,
        namespace: Some(link.namespace),
    }
}

#[test]
fn a_veth_tells_where_its_peer_is() {
    lab(|lab| {
        let (host, container) = lab.veth();
        let of = |link: &LinkFacts| GetPeer { link: link.clone() };
        let found = lab.perform(of(&host)).unwrap();
        assert_eq!(found, other_end(&container));
        let found = lab.perform(of(&container)).unwrap();
        assert_eq!(found, other_end(&host));

        let near = NewPeer {
            namespace: Host,
            ..peer("near")
        };
        lab.perform(Create::new(Host, "here", NewKind::Veth { peer: near }))
            .unwrap();
        let (here, near) = (lab.facts(Host, "here"), lab.facts(Host, "near"));
        assert_eq!(lab.perform(of(&here)).unwrap(), other_end(&near));

        let bridge = lab.bridge("br0");
        assert_eq!(lab.perform(of(&bridge)).unwrap_err().code, Code::Invalid);
    });
}

#[test]
fn a_peer_in_a_third_namespace_has_no_namespace() {
    lab(|lab| {
        let (host, container) = lab.veth();
        let third = weir_kit::Namespace::create().unwrap();
        let mut elsewhere = Namespaces::new(Some(third.into()));
        std::mem::swap(lab.linux.namespaces(), &mut elsewhere);
        let found = lab.perform(GetPeer { link: host }).unwrap();
        let wanted = Peer {
            index: container.index,
            namespace: None,
        };
        assert_eq!(found, wanted);
    });
}

#[test]
fn wait_up_ends_when_the_other_end_is_set_up() {
    lab(|lab| {
        let wanted = Create {
            up: true,
            ..Create::new(Host, "host0", NewKind::Veth { peer: peer("eth0") })
        };
        lab.perform(wanted).unwrap();
        let (host, container) = (lab.facts(Host, "host0"), lab.facts(Container, "eth0"));
        let wait = |timeout_ms| WaitUp {
            link: host.clone(),
            timeout_ms,
        };
        let error = lab.perform(wait(20)).unwrap_err();
        assert_eq!(error.code, Code::TimedOut);
        assert!(error.message.contains("after 20 ms"), "{error}");

        let inside = lab
            .linux
            .namespaces()
            .of(Container)
            .unwrap()
            .descriptor()
            .unwrap()
            .try_clone_to_owned()
            .unwrap();
        let setter = std::thread::spawn(move || {
            let mut linux = super::linux(Namespaces::new(Some(inside)));
            let mut gate = weir_kit::gate::everything();
            let up = Update {
                up: Some(true),
                ..Update::nothing_of(container)
            };
            perform(&mut gate, &mut linux, &mut UndoLog::default(), up).unwrap();
        });
        lab.perform(wait(10_000)).unwrap();
        setter.join().unwrap();
        let now = lab.link(&host).unwrap();
        assert_eq!(now.oper_state, OperState::Up);
    });
}

#[test]
fn a_macvlan_gets_its_name_even_where_the_lowers_namespace_has_one_like_it() {
    lab(|lab| {
        let (lower, _) = lab.veth();
        let kind = || NewKind::Macvlan {
            lower: lower.clone(),
            mode: MacvlanMode::Bridge,
            bc_queue_len: Some(500),
        };
        let wanted = Create {
            up: true,
            alias: Some("over".to_owned()),
            ..Create::new(Container, "host0", kind())
        };
        let made = lab.perform(wanted).unwrap();
        assert_eq!(
            (made.name.as_str(), made.kind.as_str(), made.up),
            ("host0", "macvlan", true)
        );
        assert_eq!(made.details, Details::Macvlan(MacvlanMode::Bridge));
        assert_eq!(made.lower, Some(lower.index));
        let shown = lab.show(Container, &["link", "show", "host0"]);
        assert_eq!(shown["linkinfo"]["info_data"]["bcqueuelen"], 500);
        assert_eq!(shown["ifalias"], "over");

        let error = lab
            .perform(Create::new(Container, "host0", kind()))
            .unwrap_err();
        assert_eq!(error.code, Code::Exists);
        let made = lab.perform(Create::new(Host, "mac0", kind())).unwrap();
        assert_eq!(made.lower, Some(lower.index));
        assert_eq!(
            lab.show_all(Host, &["link", "show", "type", "macvlan"])
                .len(),
            1
        );
        assert_eq!(
            lab.show_all(Container, &["link", "show", "type", "macvlan"])
                .len(),
            1
        );
    });
}

/// Who may open `/dev/net/tun` is the machine's to say.
mod needs_root {
    use super::*;

    #[test]
    fn a_tap_stays_with_its_owner() {
        lab(|lab| {
            let tap = NewTap {
                owner: Some(0),
                group: Some(0),
                multi_queue: true,
                selinux_context: None,
            };
            let wanted = || Create {
                mac: Some(mac("02:00:00:00:00:09")),
                mtu: Some(1400),
                up: true,
                ..Create::new(Container, "tap0", NewKind::Tap(tap.clone()))
            };
            let made = lab.perform(wanted()).unwrap();
            assert_eq!((made.kind.as_str(), made.mtu, made.up), ("tun", 1400, true));
            assert_eq!(made.mac, mac("02:00:00:00:00:09"));
            let shown = lab.show(Container, &["link", "show", "tap0"]);
            let info = &shown["linkinfo"]["info_data"];
            assert_eq!(
                (&info["type"], &info["persist"]),
                (&"tap".into(), &true.into())
            );
            assert_eq!(info["multi_queue"], true, "{info}");
            let error = lab.perform(wanted()).unwrap_err();
            assert_eq!(error.code, Code::Exists, "{error}");
            assert!(
                error
                    .message
                    .ends_with("`tap0` exists already in container"),
                "{error}"
            );
        });
    }
}

#[test]
fn a_tap_has_its_label_or_is_not_there() {
    lab(|lab| {
        let tap = NewTap {
            selinux_context: Some("system_u:system_r:container_t:s0".to_owned()),
            ..NewTap::default()
        };
        let made = lab.perform(Create::new(Host, "tap0", NewKind::Tap(tap)));
        assert_eq!(made.is_ok(), exists(lab, Host, "tap0"), "{made:?}");
        if !std::path::Path::new("/sys/fs/selinux/enforce").exists() {
            assert_eq!(made.unwrap_err().code, Code::Unsupported);
        }
    });
}

#[test]
fn a_bridge_has_its_settings_or_is_not_there() {
    lab(|lab| {
        let settings = BridgeChanges {
            vlan_filtering: Some(true),
            default_pvid: Some(7),
        };
        let made = lab.perform(Create::new(Host, "br0", NewKind::Bridge(settings)));
        match made {
            Ok(made) => {
                let expected = Details::Bridge {
                    vlan_filtering: true,
                    default_pvid: 7,
                };
                assert_eq!(made.details, expected);
            }
            // A kernel without CONFIG_BRIDGE_VLAN_FILTERING.
            Err(error) => {
                assert_eq!(error.code, Code::Unsupported, "{error}");
                assert!(!exists(lab, Host, "br0"));
                let only_pvid = BridgeChanges {
                    vlan_filtering: None,
                    default_pvid: Some(7),
                };
                let wanted = Create::new(Host, "br0", NewKind::Bridge(only_pvid.clone()));
                let error = lab.perform(wanted).unwrap_err();
                assert_eq!(error.code, Code::Unsupported, "{error}");
                assert!(!exists(lab, Host, "br0"));
                let update = UpdateBridge {
                    link: lab.bridge("br1"),
                    changes: only_pvid,
                };
                let error = lab.perform(update).unwrap_err();
                assert_eq!(error.code, Code::Unsupported, "{error}");
            }
        }
    });
}
