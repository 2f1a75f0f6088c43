//! Capability `policy-rule`.

use serde_json::{Value, json};
use weir_grant::Namespace::{self, Container, Host};
use weir_grant::address::Family;
use weir_grant::policy_rule::{Add, Delete, List, PolicyRule};

use super::{Lab, lab};
use crate::{Code, Error};

fn from(source: &str, table: u32) -> PolicyRule {
    let source: ipnet::IpNet = source.parse().unwrap();
    PolicyRule {
        source: Some(source),
        ..PolicyRule::new(Family::of(&source.addr()), table)
    }
}

fn add(lab: &mut Lab, namespace: Namespace, rule: PolicyRule) -> Result<(), Error> {
    lab.perform(Add { namespace, rule })
}

fn delete(lab: &mut Lab, rule: PolicyRule) -> Result<(), Error> {
    let namespace = Container;
    lab.perform(Delete { namespace, rule })
}

fn list(lab: &mut Lab, family: Family) -> Vec<PolicyRule> {
    let family = Some(family);
    let namespace = Container;
    lab.perform(List { namespace, family }).unwrap()
}

/// The rules that iproute2 shows, without the kernel's own.
fn shown(lab: &mut Lab, namespace: Namespace) -> Vec<Value> {
    let mut rules = Vec::new();
    for family in ["-4", "-6"] {
        let json = lab.ip(namespace, &["-j", family, "rule", "show"]);
        let all: Vec<Value> = serde_json::from_str(&json).unwrap();
        let is_own = |rule: &&Value| {
            let table = rule["table"].as_str().unwrap_or_default();
            !["local", "main", "default"].contains(&table)
        };
        rules.extend(all.iter().filter(is_own).cloned());
    }
    rules
}

#[test]
fn a_rule_has_all_it_was_asked_for() {
    lab(|lab| {
        let wanted = PolicyRule {
            priority: Some(77),
            destination: "10.9.0.0/24".parse().ok(),
            input_link: Some("eth0".to_owned()),
            output_link: Some("eth1".to_owned()),
            mark: Some(5),
            mark_mask: Some(0xff),
            ..from("10.1.0.0/16", 1000)
        };
        add(lab, Container, wanted.clone()).unwrap();
        let error = add(lab, Container, wanted.clone()).unwrap_err();
        assert_eq!(error.code, Code::Exists, "{error}");
        let expected = json!({
            "priority": 77, "src": "10.1.0.0", "srclen": 16, "dst": "10.9.0.0", "dstlen": 24,
            "fwmark": "0x5", "fwmask": "0xff", "iif": "eth0", "iif_detached": null,
            "oif": "eth1", "oif_detached": null, "table": "1000",
        });
        assert_eq!(shown(lab, Container), [expected]);
        assert!(list(lab, Family::Ipv4).contains(&wanted));
        assert!(shown(lab, Host).is_empty());
    });
}

#[test]
fn a_failed_add_leaves_no_rule_and_takes_none_of_others() {
    lab(|lab| {
        for (family, source) in [("-4", "10.1.0.2"), ("-6", "fd00::2")] {
            let arguments = [family, "rule", "add", "from", source, "table", "100"];
            lab.ip(Container, &arguments);
        }
        let before = shown(lab, Container);
        for source in ["10.1.0.2/32", "fd00::2/128", "10.1.0.2/32"] {
            add(lab, Container, from(source, 100)).unwrap();
        }
        add(lab, Host, from("10.1.0.2/32", 100)).unwrap();
        assert_eq!(shown(lab, Container).len(), 5);
        assert!(lab.undo().is_empty());
        assert_eq!(shown(lab, Container), before);
        assert!(shown(lab, Host).is_empty());
    });
}

#[test]
fn a_rule_that_is_gone_is_not_found() {
    lab(|lab| {
        add(lab, Container, from("10.1.0.2/32", 100)).unwrap();
        for other in [from("10.1.0.3/32", 100), from("10.1.0.2/32", 101)] {
            let error = delete(lab, other).unwrap_err();
            assert_eq!(error.code, Code::NotFound, "{error}");
        }
        delete(lab, from("10.1.0.2/32", 100)).unwrap();
        let error = delete(lab, from("10.1.0.2/32", 100)).unwrap_err();
        assert_eq!(
            error.message,
            "cannot remove the routing rule in container: ipv4 packets from 10.1.0.2/32 by routing \
             table 100: No such file or directory (ENOENT)"
        );
        assert!(lab.undo().is_empty(), "it is gone already");
    });
}

/// A plugin must not take a rule for ports, for instance, for one about all packets.
#[test]
fn rules_that_do_more_are_left_out() {
    lab(|lab| {
        let own = list(lab, Family::Ipv4);
        let tables: Vec<u32> = own.iter().map(|rule| rule.table).collect();
        assert_eq!(tables, [255, 254, 253]);
        for words in [
            "rule add not from 10.1.0.2 table 100",
            "rule add from 10.1.0.2 ipproto 6 table 100",
            "rule add from 10.1.0.2 dport 80 table 100",
            "rule add from 10.1.0.2 tos 0x10 table 100",
            "rule add from 10.1.0.2 uidrange 1-2 table 100",
            "rule add from 10.1.0.2 table 100 suppress_prefixlength 0",
            "rule add from 10.1.0.2 blackhole",
            "rule add from 10.1.0.2 goto 32766",
        ] {
            let words: Vec<&str> = words.split(' ').collect();
            lab.ip(Container, &words);
            assert_eq!(list(lab, Family::Ipv4), own, "{words:?}");
        }
    });
}

#[test]
fn what_the_kernel_would_misunderstand_is_not_sent() {
    lab(|lab| {
        for (rule, why) in [
            (from("10.1.0.2/32", 0), "table 0"),
            (from("10.1.0.2/16", 100), "bits behind its prefix"),
            (
                PolicyRule {
                    family: Family::Ipv6,
                    ..from("10.1.0.2/32", 100)
                },
                "family",
            ),
            (
                PolicyRule {
                    mark_mask: Some(1),
                    ..from("10.1.0.2/32", 100)
                },
                "mask",
            ),
            (
                PolicyRule {
                    input_link: Some("a b".to_owned()),
                    ..from("10.1.0.2/32", 100)
                },
                "a b",
            ),
        ] {
            let error = add(lab, Container, rule).unwrap_err();
            assert_eq!(error.code, Code::Invalid, "{error}");
            assert!(error.message.contains(why), "{error}");
        }
        assert!(shown(lab, Container).is_empty());
    });
}
