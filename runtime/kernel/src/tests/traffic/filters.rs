//! Filters, and where they send packets.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use super::*;

#[test]
fn filters_are_taken_back_alone() {
    on_host(|mut on| {
        on.add(htb()).unwrap();
        on.add_class(class(CLASS_30.0)).unwrap();
        let from = |source| Filter {
            priority: 5,
            source: network(source),
            ..every_packet(FIRST, Action::Classify(CLASS_30))
        };
        let made = on.add_filter(from("10.0.0.0/8")).unwrap();
        on.add_filter(from("172.16.0.0/12")).unwrap();
        on.lab.perform(made.clone()).unwrap();
        let left = on.filters(FIRST);
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].source, network("172.16.0.0/12"));
        let gone = on.lab.perform(made);
        assert_code(gone, Code::NotFound, "ENOENT");
        assert_eq!(on.filters(FIRST).len(), 1);
    });
}

#[test]
fn filters_are_read_back_as_they_were_written() {
    on_host(|mut on| {
        on.add(htb()).unwrap();
        on.add_class(class(CLASS_30.0)).unwrap();
        let filter = |priority, source, destination| Filter {
            parent: FIRST,
            priority,
            source,
            destination,
            action: Action::Classify(CLASS_30),
        };
        let wanted = [
            filter(1, network("10.1.0.0/16"), None),
            filter(2, None, network("192.168.7.9/32")),
            filter(3, network("10.0.0.0/9"), network("172.16.0.0/12")),
            filter(4, None, network("fd00:1:2:3::/64")),
            filter(5, network("2001:db8::1/128"), network("2001:db8::/33")),
            filter(6, network("0.0.0.0/0"), None),
            filter(7, None, network("::/0")),
            filter(8, None, None),
        ];
        for filter in wanted.clone() {
            on.add_filter(filter).unwrap();
        }
        let expected = wanted.map(|filter| Filter {
            parent: filter.parent,
            priority: filter.priority,
            source: filter.source,
            destination: filter.destination,
            action: Action::Classify(CLASS_30),
        });
        assert_eq!(on.filters(FIRST), expected);

        let shown = on.lab.run(Host, "tc", &["filter", "show", "dev", "host0"]);
        let expected = [
            "protocol ip pref 1 u32",
            "match 0a010000/ffff0000 at 12",
            "match c0a80709/ffffffff at 16",
            "protocol ipv6 pref 4 u32",
            "match fd000001/ffffffff at 24",
            "match 00020003/ffffffff at 28",
            "protocol all pref 8 u32",
            "match 00000000/00000000 at 0",
            "flowid 1:30",
        ];
        assert_contains(&shown, &expected);
    });
}

#[test]
fn filters_that_make_no_sense_are_refused() {
    on_host(|mut on| {
        on.add(htb()).unwrap();
        on.add_class(class(CLASS_30.0)).unwrap();
        let whole = Filter {
            priority: 5,
            source: network("10.0.0.0/8"),
            ..every_packet(FIRST, Action::Classify(CLASS_30))
        };
        on.add_filter(whole.clone()).unwrap();
        let eth0 = on.lab.facts(Container, "eth0");
        let target = ifb(on.lab, Host, "ifb7");
        let gone = LinkFacts {
            index: 9999,
            ..target.clone()
        };
        let refused = [
            (
                Code::Invalid,
                Filter {
                    destination: network("fd00::/8"),
                    ..whole.clone()
                },
                "both from 10.0.0.0/8 and to fd00::/8",
            ),
            (
                Code::Invalid,
                Filter {
                    source: network("10.0.0.1/8"),
                    ..whole.clone()
                },
                "expected 10.0.0.0/8",
            ),
            (
                Code::Invalid,
                Filter {
                    source: network("fd00::/8"),
                    ..whole.clone()
                },
                "add a filter to 1: of veth `host0`",
            ),
            (
                Code::Invalid,
                Filter {
                    parent: Handle::ROOT,
                    ..whole.clone()
                },
                "not to root",
            ),
            (
                Code::Invalid,
                Filter {
                    parent: Handle(0),
                    ..whole.clone()
                },
                "by its handle",
            ),
            (
                Code::Invalid,
                Filter {
                    action: Action::Classify(Handle(0x2_0030)),
                    ..whole.clone()
                },
                "2:30 is not a class of 1:",
            ),
            (
                Code::Invalid,
                Filter {
                    action: Action::Classify(FIRST),
                    ..whole.clone()
                },
                "1: is not a class of 1:",
            ),
            (
                Code::Invalid,
                Filter {
                    action: Action::Redirect(eth0),
                    ..whole.clone()
                },
                "cannot be sent",
            ),
            (
                Code::NotFound,
                Filter {
                    parent: Handle(0x2_0000),
                    action: Action::Classify(Handle(0x2_0030)),
                    ..whole.clone()
                },
                "no such htb discipline: 2:",
            ),
            (
                Code::NotFound,
                Filter {
                    parent: Handle(0x2_0000),
                    action: Action::Redirect(target.clone()),
                    ..whole.clone()
                },
                "EINVAL",
            ),
            (
                Code::NotFound,
                Filter {
                    parent: Handle(0x1_0077),
                    ..whole.clone()
                },
                "ENOENT",
            ),
            (
                Code::NotFound,
                Filter {
                    action: Action::Redirect(gone),
                    ..whole.clone()
                },
                "ENODEV",
            ),
        ];
        for (code, filter, words) in refused {
            assert_code(on.add_filter(filter), code, words);
        }
        assert_eq!(on.filters(FIRST).len(), 1);
        assert!(on.filters(Handle(0x2_0000)).is_empty());
        // Classes are of no use to other disciplines.
        on.add(ingress()).unwrap();
        let classify = every_packet(HOOKS, Action::Classify(Handle(0xffff_0030)));
        assert_code(
            on.add_filter(classify),
            Code::NotFound,
            "no such htb discipline",
        );
    });
}

/// Filters of other people are not told of as something that they are not.
#[test]
fn what_cannot_be_expressed_is_left_out() {
    on_host(|mut on| {
        ifb(on.lab, Host, "ifb7");
        on.add(htb()).unwrap();
        on.add_class(class(CLASS_30.0)).unwrap();
        let before = "filter add dev host0 parent 1: protocol ip prio";
        let others = [
            "1 u32 match ip protocol 6 0xff flowid 1:30",
            "2 u32 match ip dport 80 0xffff flowid 1:30",
            "3 u32 match ip dst 10.0.0.0/8 indev ifb7 flowid 1:30",
            "4 u32 match ip dst 10.0.0.0/8 action mirred egress mirror dev ifb7",
        ];
        for other in others {
            on.run_tc(&format!("{before} {other}"));
        }
        let mut of_another_kind: Vec<&str> = before.split(' ').collect();
        of_another_kind.extend([
            "5",
            "bpf",
            "bytecode",
            "1,6 0 0 4294967295",
            "flowid",
            "1:30",
        ]);
        on.lab.run(Host, "tc", &of_another_kind);
        on.run_tc(&format!(
            "{before} 7 u32 match ip src 10.0.0.0/8 flowid 1:30"
        ));
        let expected = Filter {
            parent: FIRST,
            priority: 7,
            source: network("10.0.0.0/8"),
            destination: None,
            action: Action::Classify(CLASS_30),
        };
        assert_eq!(on.filters(FIRST), [expected]);
    });
}

#[test]
fn packets_are_redirected() {
    on_host(|mut on| {
        let target = ifb(on.lab, Host, "ifb7");
        on.add(ingress()).unwrap();
        let wanted = Filter {
            priority: 1,
            ..every_packet(HOOKS, Action::Redirect(target.clone()))
        };
        on.add_filter(wanted).unwrap();
        let expected = Filter {
            parent: HOOKS,
            priority: 1,
            source: None,
            destination: None,
            action: Action::Redirect(target.index),
        };
        assert_eq!(on.filters(HOOKS), std::slice::from_ref(&expected));

        for add in [
            ["address", "add", "10.0.0.2/24", "dev", "eth0"].as_slice(),
            &[
                "neigh",
                "add",
                "10.0.0.1",
                "lladdr",
                "02:00:00:00:00:01",
                "dev",
                "eth0",
            ],
        ] {
            on.lab.ip(Container, add);
        }
        let sent = on
            .lab
            .linux
            .namespaces()
            .of(Container)
            .unwrap()
            .enter(|| UdpSocket::bind("10.0.0.2:0")?.send_to(b"here", "10.0.0.1:9"));
        assert_eq!(sent.unwrap().unwrap(), 4);
        let deadline = Instant::now() + Duration::from_secs(10);
        let passed = |lab: &mut Lab| {
            let shown = lab.show(Host, &["-s", "link", "show", "ifb7"]);
            shown["stats64"]["tx"]["packets"].as_u64().unwrap()
        };
        while passed(on.lab) == 0 {
            assert!(Instant::now() < deadline, "no packet came to the target");
            thread::yield_now();
        }

        // The filter stays, and tells that there is nothing any more that it sends packets to.
        on.lab.ip(Host, &["link", "delete", "ifb7"]);
        let nowhere = Filter {
            action: Action::Redirect(0),
            ..expected
        };
        assert_eq!(on.filters(HOOKS), [nowhere]);
    });
}
