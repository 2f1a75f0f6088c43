//! What takes back what an invocation did.

use weir_grant::Namespace::{Container, Host};
use weir_grant::link::{Move, Update};
use weir_grant::route::{Delete, Replace, Route};

use super::{Lab, lab};

/// A route of the container to `192.0.2.0/24` by a gateway.
fn by(lab: &mut Lab, gateway: &str) -> Route {
    Route {
        gateway: Some(gateway.parse().unwrap()),
        link: Some(lab.facts(Container, "eth0")),
        ..Route::unicast("192.0.2.0/24".parse().unwrap())
    }
}

/// Replaces whatever route there is by one.
fn replace(lab: &mut Lab, gateway: &str) {
    let replace = Replace {
        namespace: Container,
        route: by(lab, gateway),
        overlap: None,
    };
    lab.perform(replace).unwrap();
}

fn routes(lab: &mut Lab) -> usize {
    lab.show_all(Container, &["route", "show", "192.0.2.0/24"])
        .len()
}

fn nothing() -> Vec<String> {
    Vec::new()
}

/// Takes everything back, without a failure, and returns how many routes are left.
fn left_by_undo(lab: &mut Lab) -> usize {
    assert_eq!(lab.undo(), nothing());
    routes(lab)
}

fn connected(lab: &mut Lab) {
    lab.veth();
    lab.ip(Container, &["address", "add", "10.0.0.2/24", "dev", "eth0"]);
    lab.log = Default::default();
}

#[test]
fn a_route_that_replaced_one_of_the_invocation_goes_in_its_place() {
    lab(|lab| {
        connected(lab);
        replace(lab, "10.0.0.1");
        replace(lab, "10.0.0.9");
        assert_eq!((lab.log.noted(), routes(lab)), (1, 1));
        assert_eq!(left_by_undo(lab), 0);
    });
}

#[test]
fn a_route_that_replaced_somebody_elses_stays() {
    lab(|lab| {
        connected(lab);
        lab.ip(
            Container,
            &["route", "add", "192.0.2.0/24", "via", "10.0.0.7"],
        );
        replace(lab, "10.0.0.9");
        assert_eq!(lab.log.noted(), 0);
        assert_eq!(left_by_undo(lab), 1);
    });
}

#[test]
fn what_is_gone_already_is_no_failure() {
    lab(|lab| {
        connected(lab);
        replace(lab, "10.0.0.1");
        let route = by(lab, "10.0.0.1");
        let namespace = Container;
        lab.perform(Delete { namespace, route }).unwrap();
        assert_eq!(lab.undo(), nothing());
    });
}

/// A link that comes back has another index than before, by which what was done earlier names it.
#[test]
fn what_was_changed_before_a_move_is_put_back_after_it() {
    lab(|lab| {
        for end in ["one", "other"] {
            let ends = ["link", "add", end, "type", "veth", "peer", "name"];
            lab.ip(Container, &[&ends[..], &[&format!("{end}-peer")]].concat());
        }
        let link = lab.facts(Container, "one");
        lab.ip(Container, &["link", "delete", "other"]);
        let mtu = Update {
            mtu: Some(1400),
            ..Update::nothing_of(link.clone())
        };
        lab.perform(mtu).unwrap();
        let away = Move {
            link,
            to: Host,
            name: "two".to_owned(),
            alias: None,
            strands_host: false,
        };
        let moved = lab.perform(away).unwrap();
        let again = Move {
            link: moved.facts(Host),
            to: Container,
            name: "three".to_owned(),
            alias: None,
            strands_host: false,
        };
        lab.perform(again).unwrap();
        assert_eq!(lab.undo(), nothing());
        assert_eq!(lab.show(Container, &["link", "show", "one"])["mtu"], 1500);
    });
}

#[test]
fn links_that_were_made_go_and_a_bridge_that_others_may_use_stays() {
    lab(|lab| {
        lab.bridge("br0");
        lab.veth();
        assert_eq!(lab.undo(), nothing());
        let left = lab.show_all(Host, &["link", "show"]);
        let mut names: Vec<_> = left.iter().map(|link| link["ifname"].clone()).collect();
        names.retain(|name| name != "lo");
        // No lock of an ADD is held here, so that another may be under way.
        assert_eq!(names, ["br0"]);
    });
}

#[test]
fn all_that_is_noted_counts_and_takes_room() {
    lab(|lab| {
        connected(lab);
        assert_eq!((lab.log.noted(), lab.log.size()), (0, 0));
        replace(lab, "10.0.0.1");
        let one = lab.log.size();
        assert!(one > 0);
        replace(lab, "10.0.0.9");
        assert_eq!((lab.log.noted(), lab.log.size()), (1, one));
    });
}
