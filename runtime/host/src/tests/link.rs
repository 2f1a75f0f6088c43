//! Capability `link`.

use weir_grant::Namespace;
use weir_kernel::Code;
use weir_model::Node;

use super::super::bindings::weir::cni::link::{
    Changes, Host as _, NewBridge, NewKind, NewLink, NewMaster,
};
use super::super::bindings::weir::cni::types::{self, LinkReference};
use super::route::over;
use super::{CONTAINER, HOST, Lab, by_name, code, link_names, machine_with_a_pair, new_link, pair};

const NOTHING: Changes = Changes {
    name: None,
    up: None,
    mac: None,
    mtu: None,
    txqlen: None,
    promiscuous: None,
    all_multicast: None,
    alias: None,
    master: None,
};

/// What a plugin like `bridge` may do.
const BRIDGE: &str = r#"{"link": [
    {"namespace": "host", "kinds": ["bridge"], "verbs": ["create", "read", "update"]},
    {"namespace": "host", "kinds": ["veth"]},
    {"namespace": "container", "names": ["{ifname}"]}
]}"#;

fn bridge(name: &str) -> NewLink {
    let settings = NewBridge {
        vlan_filtering: None,
        default_pvid: None,
    };
    new_link(HOST, name, NewKind::Bridge(settings))
}

/// Updates the link of that name, as the plugin may.
#[track_caller]
fn update(lab: &mut Lab, namespace: types::Namespace, name: &str, changes: Changes) {
    let updated = lab.links().update(namespace, by_name(name), changes);
    updated.expect("an update");
}

#[test]
fn a_new_link_of_the_host_has_the_mark_of_its_owner() {
    let mut lab = Lab::granting(BRIDGE);
    let made = lab.links().create(pair("host0", "eth0")).expect("a pair");
    let shared = lab.links().create(bridge("br0")).expect("a bridge");
    let container = lab.node.network(Namespace::Container);
    assert_ne!(made.alias, "");
    assert_ne!(
        shared.alias, made.alias,
        "one is the attachment's, the other the network's"
    );
    assert_eq!(
        container.link("eth0").map(|link| link.alias.as_str()),
        Some("")
    );
}

#[test]
fn what_no_rule_allows_is_denied_and_not_done() {
    let mut lab = Lab::granting(BRIDGE);
    let before = lab.node.state();
    assert_eq!(
        code(lab.links().create(pair("host0", "eth9"))),
        Some(Code::Denied)
    );
    let dummy = new_link(HOST, "dummy0", NewKind::Dummy);
    assert_eq!(code(lab.links().create(dummy)), Some(Code::Denied));
    assert_eq!(lab.node.state(), before);
}

#[test]
fn a_name_does_not_make_a_link_another_kind() {
    let mut lab = Lab::granting(BRIDGE);
    let deleted = lab.links().delete(HOST, by_name("lo"));
    assert_eq!(code(deleted), Some(Code::Denied));
}

#[test]
fn a_hidden_link_is_to_a_plugin_as_if_it_were_not_there() {
    let rules = r#"{"link": [{"namespace": "host", "names": ["own*"]}]}"#;
    let mut lab = Lab::on(machine_with_a_pair(), rules);
    let (hidden, absent) = (
        lab.links().get(HOST, by_name("host0")),
        lab.links().get(HOST, by_name("host1")),
    );
    let hidden = hidden.expect_err("it is hidden").message;
    let absent = absent.expect_err("it is not there").message;
    assert_eq!(hidden.replace("host0", "host1"), absent);
    let listed = lab.links().list(HOST, None, None).expect("a list");
    assert!(listed.is_empty(), "{listed:?}");
}

#[test]
fn a_link_without_a_rule_that_hides_it_is_not_found() {
    let mut lab = Lab::granting(BRIDGE);
    let found = lab.links().get(CONTAINER, by_name("eth0"));
    assert_eq!(code(found), Some(Code::NotFound));
    let found = lab.links().get(CONTAINER, LinkReference::Index(77));
    assert!(found.is_err());
}

#[test]
fn what_was_created_goes_when_the_add_fails() {
    let mut lab = Lab::granting(BRIDGE);
    let before = lab.node.state();
    lab.links().create(bridge("br0")).expect("a bridge");
    lab.links().create(pair("host0", "eth0")).expect("a pair");
    let enslaved = Changes {
        master: Some(NewMaster::Link(by_name("br0"))),
        up: Some(true),
        ..NOTHING
    };
    update(&mut lab, HOST, "host0", enslaved);
    lab.undo_to(&before);
}

#[test]
fn a_bridge_that_others_may_be_about_to_use_stays() {
    let mut lab = Lab::granting(BRIDGE);
    lab.links().create(bridge("br0")).expect("a bridge");
    lab.links().create(pair("host0", "eth0")).expect("a pair");
    lab.node.begin_other_add();
    assert_eq!(lab.broker.undo(), Vec::<String>::new());
    assert_eq!(link_names(&lab.node, Namespace::Host), ["lo", "br0"]);
}

#[test]
fn what_was_changed_of_the_containers_link_comes_back() {
    let mut lab = Lab::on(
        machine_with_a_pair(),
        r#"{"link": [{"namespace": "container"}]}"#,
    );
    let before = lab.node.state();
    let changes = Changes {
        name: Some("net1".to_owned()),
        mtu: Some(1400),
        up: Some(false),
        ..NOTHING
    };
    update(&mut lab, CONTAINER, "eth0", changes);
    let back_to_default = Changes {
        mtu: Some(1300),
        ..NOTHING
    };
    update(&mut lab, CONTAINER, "net1", back_to_default);
    lab.undo_to(&before);
}

#[test]
fn a_link_that_was_moved_comes_back_up() {
    let mut lab = Lab::on(machine_with_a_pair(), r#"{"link": [{}]}"#);
    let before = lab.node.state();
    let moved = lab
        .links()
        .move_(HOST, by_name("host0"), CONTAINER, Some("net1".to_owned()));
    moved.expect("a move");
    assert_eq!(
        link_names(&lab.node, Namespace::Container),
        ["lo", "eth0", "net1"]
    );
    assert_eq!(lab.broker.undo(), Vec::<String>::new());
    let after = lab.node.network(Namespace::Host);
    assert_eq!(after.link("host0"), before.host.link("host0"));
}

/// A machine whose IPv4 default route goes through `uplink`, a bridge with the port `nic0`.
fn machine_with_a_default_route() -> Node {
    use super::super::bindings::weir::cni::route::Host as _;

    let mut lab = Lab::on(machine_with_a_pair(), r#"{"link": [{}], "route": [{}]}"#);
    let bridge = NewBridge {
        vlan_filtering: None,
        default_pvid: None,
    };
    let uplink = NewLink {
        up: true,
        ..new_link(HOST, "uplink", NewKind::Bridge(bridge))
    };
    lab.links().create(uplink).expect("a bridge");
    let port = NewLink {
        master: Some(by_name("uplink")),
        ..pair("nic0", "nic1")
    };
    lab.links().create(port).expect("a port");
    let default = over("uplink", "0.0.0.0/0");
    lab.view().add(HOST, default).expect("a default route");
    lab.node
}

#[test]
fn a_link_of_the_default_route_is_moved_only_if_its_owner_named_it() {
    let go = |name: &str, listed: &[&str]| {
        let mut lab = Lab::listing(machine_with_a_default_route(), r#"{"link": [{}]}"#, listed);
        let moved = lab
            .links()
            .move_(HOST, by_name(name), CONTAINER, Some("net1".to_owned()));
        moved.map(drop)
    };
    // A port of the bridge that the route goes through, by a list that does not have it, has another, or has it by accident.
    for listed in [&[][..], &["host0"], &["*"], &["nic?", "uplink"]] {
        let error = go("nic0", listed).expect_err("it is needed");
        assert_eq!(error.code, Code::Invalid);
        for word in [
            "default route",
            "`\"hostInterfaces\": [\"nic0\"]`",
            "/etc/weir/weir.json",
        ] {
            assert!(error.message.contains(word), "{error}");
        }
    }
    go("nic0", &["nic0"]).expect("it is named");
    go("host0", &[]).expect("the host does not need it");
}

#[test]
fn several_links_that_are_deleted_count_as_several_calls() {
    let mut lab = Lab::granting(BRIDGE);
    for name in ["host0", "host1"] {
        let peer = if name == "host0" { "eth0" } else { "" };
        let _ = lab.links().create(pair(name, peer));
    }
    let links = vec![by_name("host0"), by_name("host1")];
    lab.links().delete_all(HOST, links).expect("a deletion");
    assert_eq!(lab.calls, 1, "beside the call itself");
    assert_eq!(link_names(&lab.node, Namespace::Host), ["lo"]);
    let too_many = vec![by_name("host0"); 257];
    assert_eq!(
        code(lab.links().delete_all(HOST, too_many)),
        Some(Code::Invalid)
    );
}

#[test]
fn there_is_no_container_when_its_namespace_is_gone() {
    let mut lab = Lab::on(machine_with_a_pair(), BRIDGE);
    lab.node.remove_container();
    let found = lab.links().get(CONTAINER, by_name("eth0"));
    assert_eq!(code(found), Some(Code::NoNamespace));
    assert_eq!(link_names(&lab.node, Namespace::Host), ["lo"]);
}
