//! Capability `policy-rule`.

use weir_grant::Namespace::{self, Container, Host};
use weir_grant::address::Family;
use weir_grant::policy_rule::{Add, Delete, List, PolicyRule};

use crate::side::{BOTH, Side, compare};

/// A rule for every packet of IPv4.
fn to(table: u32) -> PolicyRule {
    PolicyRule::new(Family::Ipv4, table)
}

fn from(source: &str, table: u32) -> PolicyRule {
    let source: ipnet::IpNet = source.parse().expect("a network");
    PolicyRule {
        family: Family::of(&source.addr()),
        source: Some(source),
        ..to(table)
    }
}

fn at(priority: u32, rule: PolicyRule) -> PolicyRule {
    PolicyRule {
        priority: Some(priority),
        ..rule
    }
}

fn marked(mark: u32, mark_mask: Option<u32>) -> PolicyRule {
    PolicyRule {
        mark: Some(mark),
        mark_mask,
        ..to(100)
    }
}

fn add(side: &mut Side, namespace: Namespace, rule: PolicyRule) {
    side.perform(Add { namespace, rule });
}

fn delete(side: &mut Side, namespace: Namespace, rule: PolicyRule) {
    side.perform(Delete { namespace, rule });
}

/// Notes the rules in their order.
fn list(side: &mut Side) {
    for namespace in BOTH {
        for family in [None, Some(Family::Ipv4), Some(Family::Ipv6)] {
            side.answer(List { namespace, family });
        }
    }
}

#[test]
fn the_kernel_chooses_priorities_and_keeps_the_order() {
    compare(|side| {
        list(side);
        for source in ["10.1.0.0/16", "10.2.0.2/32", "fd00::2/128", "fd01::/64"] {
            add(side, Container, from(source, 100));
            add(side, Container, from(source, 101));
            add(side, Container, from(source, 101));
        }
        add(side, Container, at(5, from("10.1.0.0/16", 100)));
        add(side, Container, at(5, from("10.3.0.0/16", 100)));
        add(side, Container, from("10.4.0.0/16", 100));
        add(side, Host, at(1, from("10.1.0.0/16", 100)));
        add(side, Host, from("10.1.0.0/16", 100));
        add(side, Host, from("10.1.0.0/16", 100));
        list(side);
    });
}

#[test]
fn the_same_rule_with_the_same_priority_exists() {
    compare(|side| {
        for rule in [
            from("10.1.0.0/16", 100),
            from("10.1.0.0/16", 101),
            from("10.1.0.0/24", 100),
            to(100),
            from("0.0.0.0/0", 100),
            marked(1, None),
            marked(1, Some(0xff)),
            from("fd00::/64", 100),
            from("::/0", 100),
        ] {
            add(side, Container, at(7, rule.clone()));
            add(side, Container, at(7, rule));
        }
        list(side);
    });
}

#[test]
fn each_selector_is_kept() {
    compare(|side| {
        let whole = PolicyRule {
            destination: "10.9.0.0/16".parse().ok(),
            input_link: Some("eth7".to_owned()),
            output_link: Some("eth8".to_owned()),
            mark: Some(7),
            mark_mask: Some(0xf),
            ..from("10.1.0.0/16", 4_000_000_000)
        };
        add(side, Container, whole.clone());
        for rule in [
            marked(0, None),
            marked(0, Some(3)),
            marked(5, Some(3)),
            marked(5, Some(0)),
            marked(0, Some(0)),
        ] {
            add(side, Container, rule);
        }
        list(side);
        for other in [
            PolicyRule {
                destination: "10.8.0.0/16".parse().ok(),
                ..whole.clone()
            },
            PolicyRule {
                input_link: Some("eth9".to_owned()),
                ..whole.clone()
            },
            at(9, whole.clone()),
            whole,
        ] {
            delete(side, Container, other);
        }
        list(side);
    });
}

#[test]
fn the_first_that_is_meant_is_removed() {
    compare(|side| {
        for priority in [10, 20, 30] {
            add(side, Container, at(priority, from("10.1.0.0/16", 100)));
        }
        add(side, Container, at(15, marked(1, None)));
        delete(side, Container, at(20, from("10.1.0.0/16", 100)));
        delete(side, Container, from("10.1.0.0/16", 100));
        delete(side, Container, from("10.1.0.0/24", 100));
        delete(side, Container, from("10.1.0.0/16", 101));
        delete(side, Container, marked(0, None));
        list(side);
        delete(side, Container, to(100));
        delete(side, Container, to(100));
        delete(side, Container, to(100));
        list(side);
    });
}

#[test]
fn what_the_kernel_would_misunderstand_is_refused() {
    compare(|side| {
        for rule in [
            to(0),
            from("10.1.0.7/16", 100),
            PolicyRule {
                family: Family::Ipv6,
                ..from("10.1.0.0/16", 100)
            },
            PolicyRule {
                destination: "fd00::/64".parse().ok(),
                ..to(100)
            },
            PolicyRule {
                mark_mask: Some(1),
                ..to(100)
            },
            PolicyRule {
                input_link: Some("no/name".to_owned()),
                ..to(100)
            },
            PolicyRule {
                output_link: Some(String::new()),
                ..to(100)
            },
        ] {
            add(side, Container, rule.clone());
            delete(side, Container, rule);
        }
        list(side);
    });
}
