//! Capability `traffic`.

use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use serde_json::Value;
use weir_grant::Namespace::{self, Container, Host};
use weir_grant::link::{Create, LinkFacts, NewKind};
use weir_grant::traffic::{
    Action, AddClass, AddFilter, AddQdisc, Class, DeleteClass, DeleteFilter, DeleteQdisc,
    Discipline, Filter, Handle, ListClasses, ListFilters, ListQdiscs, PresentQdisc, Qdisc,
    TokenBucket,
};
use weir_kit::traffic::{self, BUCKET, CLASS_30, FIRST, HOOKS, at_root, ingress};

use super::{Lab, assert_code, lab};
use crate::{Code, Facts as _, Result};

fn htb() -> Qdisc {
    at_root(Discipline::Htb { default: 0x30 })
}

fn class(handle: u32) -> Class {
    traffic::class(Handle(handle), FIRST)
}

fn every_packet(parent: Handle, action: Action) -> Filter {
    Filter {
        parent,
        priority: 0,
        source: None,
        destination: None,
        action,
    }
}

fn network(text: &str) -> Option<IpNet> {
    Some(text.parse().unwrap())
}

/// One test's link, and the requests about it.
struct On<'a> {
    lab: &'a mut Lab,
    link: LinkFacts,
}

impl On<'_> {
    fn add(&mut self, qdisc: Qdisc) -> Result<DeleteQdisc> {
        let link = self.link.clone();
        self.lab.perform(AddQdisc { link, qdisc })?;
        Ok(self.lab.inverse())
    }

    fn add_class(&mut self, class: Class) -> Result<DeleteClass> {
        let link = self.link.clone();
        self.lab.perform(AddClass { link, class })?;
        Ok(self.lab.inverse())
    }

    fn add_filter(&mut self, filter: Filter) -> Result<DeleteFilter> {
        let link = self.link.clone();
        self.lab.perform(AddFilter { link, filter })?;
        Ok(self.lab.inverse())
    }

    fn qdiscs(&mut self) -> Vec<Qdisc> {
        let link = self.link.clone();
        self.lab.perform(ListQdiscs { link }).unwrap()
    }

    fn classes(&mut self) -> Vec<Class> {
        let link = self.link.clone();
        let mut classes = self.lab.perform(ListClasses { link }).unwrap();
        classes.sort_by_key(|class| class.handle.0);
        classes
    }

    fn filters(&mut self, parent: Handle) -> Vec<Filter<u32>> {
        let link = self.link.clone();
        let list = ListFilters { link, parent };
        self.lab.perform(list).unwrap()
    }

    /// Removes what is at a place, as the host does.
    fn remove(&mut self, parent: Handle) -> Result<()> {
        let link = self.link.clone();
        let present = self.lab.linux.present_qdisc(&link, parent)?;
        let delete = DeleteQdisc {
            link,
            parent,
            present,
        };
        self.lab.perform(delete)
    }

    /// What `tc -j -d WORDS dev LINK` shows.
    fn tc(&mut self, words: &[&str]) -> Vec<Value> {
        let name = self.link.name.clone();
        let words = [&["-j", "-d"], words, &["dev", &name]].concat();
        let json = self.lab.run(self.link.namespace, "tc", &words);
        serde_json::from_str(json.trim()).unwrap_or_else(|e| panic!("{e}: {json}"))
    }

    /// Runs tc(8), which must succeed: what somebody else does.
    fn run_tc(&mut self, words: &str) {
        let words: Vec<&str> = words.split(' ').collect();
        self.lab.run(self.link.namespace, "tc", &words);
    }
}

fn on_host(test: impl FnOnce(On<'_>) + Send) {
    lab(|lab| {
        let (link, _) = lab.veth();
        test(On { lab, link });
    });
}

fn ifb(lab: &mut Lab, namespace: Namespace, name: &str) -> LinkFacts {
    let wanted = Create::new(namespace, name, NewKind::Ifb);
    lab.perform(wanted).unwrap();
    lab.ip(namespace, &["link", "set", name, "up"]);
    lab.facts(namespace, name)
}

#[track_caller]
#[test]
fn a_token_bucket_is_read_back_as_it_was_written() {
    on_host(|mut on| {
        for bucket in [
            BUCKET,
            TokenBucket {
                rate: 1,
                burst: 200,
                latency: 1_000_000,
            },
            TokenBucket {
                rate: 6_999_999,
                burst: 1_234_567,
                latency: 0,
            },
            TokenBucket {
                rate: 125_000,
                burst: 1500,
                latency: 400_000,
            },
        ] {
            on.add(at_root(Discipline::Tbf(bucket))).unwrap();
            let expected = at_root(Discipline::Tbf(bucket));
            assert_eq!(on.qdiscs(), [expected]);
            on.remove(Handle::ROOT).unwrap();
        }
        on.add(at_root(Discipline::Tbf(BUCKET))).unwrap();
        let shown = on.tc(&["qdisc", "show"]);
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert_eq!(shown[0]["kind"], "tbf");
        assert_eq!(shown[0]["handle"], "1:");
        assert_eq!(shown[0]["root"], true);
        let options = &shown[0]["options"];
        assert_eq!(options["rate"], 1_000_000);
        assert_eq!(options["burst"], "20000b/1");
        assert_eq!(options["lat"], 25_000);
        assert_eq!(options["linklayer"], "ethernet");
    });
}

/// Above 4 GiB/s the rate has an attribute of its own; a tick is some hundred bytes there.
#[test]
fn a_large_rate_is_read_back_to_the_bytes_of_a_tick() {
    on_host(|mut on| {
        for rate in [125_000_000, 5_000_000_000, 100_000_000_000] {
            let bucket = TokenBucket {
                rate,
                burst: 1 << 28,
                latency: 10_000,
            };
            on.add(at_root(Discipline::Tbf(bucket))).unwrap();
            let read = on.qdiscs().remove(0);
            let Discipline::Tbf(read) = read.discipline else {
                panic!("{read:?}");
            };
            let of_tick = u32::try_from(rate * 64 / 1_000_000_000 + 1).unwrap();
            assert_eq!(read.rate, rate);
            assert!(read.burst.abs_diff(bucket.burst) <= of_tick, "{read:?}");
            assert!(read.latency.abs_diff(bucket.latency) <= 1, "{read:?}");
            let shown = on.tc(&["qdisc", "show"]);
            assert_eq!(shown[0]["options"]["rate"], rate);
            on.remove(Handle::ROOT).unwrap();
        }
    });
}

#[test]
fn what_makes_no_sense_is_refused_in_words() {
    on_host(|mut on| {
        let tbf = |bucket| at_root(Discipline::Tbf(bucket));
        let cases = [
            (tbf(TokenBucket { rate: 0, ..BUCKET }), "neither may be 0"),
            (tbf(TokenBucket { burst: 0, ..BUCKET }), "neither may be 0"),
            (
                tbf(TokenBucket {
                    rate: 10_000,
                    burst: u32::MAX,
                    ..BUCKET
                }),
                "longer than 274 s",
            ),
            (
                tbf(TokenBucket {
                    rate: 10_000_000_000,
                    latency: 1_000_000,
                    ..BUCKET
                }),
                "4 GiB",
            ),
            (
                at_root(Discipline::Htb { default: 0x1_0000 }),
                "at most ffff",
            ),
            (at_root(Discipline::Ingress), "ffff:fff1 only"),
            (at_root(Discipline::Clsact), "ffff:fff1 only"),
            (
                Qdisc {
                    parent: Handle::INGRESS,
                    ..tbf(BUCKET)
                },
                "ffff:fff1 never",
            ),
            (
                Qdisc {
                    handle: FIRST,
                    ..ingress()
                },
                "always ffff:",
            ),
            (
                Qdisc {
                    handle: CLASS_30,
                    ..htb()
                },
                "no minor one",
            ),
            (
                Qdisc {
                    handle: HOOKS,
                    ..htb()
                },
                "below ffff",
            ),
            (
                Qdisc {
                    parent: Handle(0),
                    ..htb()
                },
                "at the root or in a class",
            ),
            (
                Qdisc {
                    parent: Handle(0xffff_fff2),
                    ..htb()
                },
                "at the root or in a class",
            ),
        ];
        for (qdisc, words) in cases {
            assert_code(on.add(qdisc), Code::Invalid, words);
        }
        let other = at_root(Discipline::Other {
            word: "fq".to_owned(),
        });
        assert_code(on.add(other), Code::Unsupported, "weir cannot make `fq`");
        let untouched = Qdisc {
            handle: Handle(0),
            ..at_root(Discipline::Other {
                word: "noqueue".to_owned(),
            })
        };
        assert_eq!(on.qdiscs(), [untouched]);
    });
}

#[test]
fn a_place_is_taken_once_and_removed_once() {
    on_host(|mut on| {
        assert_code(on.remove(Handle::ROOT), Code::NotFound, "root");
        assert_code(on.remove(Handle::INGRESS), Code::NotFound, "ffff:fff1");
        assert_code(on.remove(CLASS_30), Code::NotFound, "1:30");
        assert_code(on.remove(Handle(0)), Code::NotFound, "0:");

        on.add(htb()).unwrap();
        on.add(ingress()).unwrap();
        let again = on.add(at_root(Discipline::Tbf(BUCKET)));
        assert_code(again, Code::Exists, "Exclusivity flag on");
        let beside = Qdisc {
            handle: Handle(0x2_0000),
            ..htb()
        };
        assert_code(on.add(beside), Code::Exists, "EEXIST");
        assert_code(on.add(ingress()), Code::Exists, "EEXIST");
        let clsact = Qdisc {
            discipline: Discipline::Clsact,
            ..ingress()
        };
        assert_code(on.add(clsact.clone()), Code::Exists, "EEXIST");
        // Without a handle as well.
        for other in [clsact, at_root(Discipline::Tbf(BUCKET)), htb()] {
            let handle = Handle(0);
            assert_code(on.add(Qdisc { handle, ..other }), Code::Exists, "already");
        }
        assert_eq!(on.qdiscs(), [htb(), ingress()]);

        on.remove(Handle::ROOT).unwrap();
        on.remove(Handle::INGRESS).unwrap();
        assert_code(on.remove(Handle::ROOT), Code::NotFound, "root");
        assert_code(on.remove(Handle::INGRESS), Code::NotFound, "ffff:fff1");
    });
}

#[test]
fn clsact_has_its_own_kind_and_hooks() {
    on_host(|mut on| {
        let clsact = Qdisc {
            handle: Handle(0),
            parent: Handle::INGRESS,
            discipline: Discipline::Clsact,
        };
        on.add(clsact.clone()).unwrap();
        let expected = Qdisc {
            handle: HOOKS,
            ..clsact
        };
        assert_eq!(on.qdiscs()[1..], [expected]);
        let target = ifb(on.lab, Host, "ifb7");
        for (priority, hook) in [(1, Handle(0xffff_fff2)), (2, Handle(0xffff_fff3))] {
            let wanted = Filter {
                priority,
                ..every_packet(hook, Action::Redirect(target.clone()))
            };
            on.add_filter(wanted).unwrap();
            let expected = Filter {
                parent: hook,
                priority,
                source: None,
                destination: None,
                action: Action::Redirect(target.index),
            };
            assert_eq!(on.filters(hook), [expected]);
        }
        let nowhere = every_packet(Handle(0xffff_0005), Action::Redirect(target.clone()));
        assert_code(on.add_filter(nowhere), Code::NotFound, "ENOENT");
        on.remove(Handle::INGRESS).unwrap();
        let wanted = every_packet(Handle(0xffff_fff2), Action::Redirect(target));
        assert_code(on.add_filter(wanted), Code::NotFound, "EINVAL");
    });
}

#[test]
fn disciplines_stand_in_classes_too() {
    on_host(|mut on| {
        on.add(htb()).unwrap();
        let leaf = Qdisc {
            handle: Handle(0x7_0000),
            parent: CLASS_30,
            discipline: Discipline::Tbf(BUCKET),
        };
        assert_code(on.add(leaf.clone()), Code::NotFound, "1:30");
        on.add_class(class(CLASS_30.0)).unwrap();
        on.add_class(class(0x1_0031)).unwrap();
        on.add(leaf.clone()).unwrap();
        assert_eq!(on.qdiscs(), [htb(), leaf.clone()]);
        assert_code(on.add(leaf.clone()), Code::Exists, "EEXIST");
        let elsewhere = Qdisc {
            parent: Handle(0x1_0031),
            ..leaf.clone()
        };
        assert_code(on.add(elsewhere), Code::Exists, "add tbf 7: to");
        on.remove(CLASS_30).unwrap();
        assert_code(on.remove(CLASS_30), Code::NotFound, "1:30");
        assert_eq!(on.qdiscs(), [htb()]);
        on.add(leaf).unwrap();
        on.remove(Handle::ROOT).unwrap();
        assert!(on.classes().is_empty());
        assert_eq!(on.qdiscs().len(), 1);
    });
}

/// What is removed is what was found, and nothing that came in its place.
#[test]
fn another_discipline_is_not_removed() {
    on_host(|mut on| {
        let made = on.add(at_root(Discipline::Tbf(BUCKET))).unwrap();
        let expected = PresentQdisc {
            handle: FIRST,
            discipline: "tbf".to_owned(),
        };
        assert_eq!(made.present.as_ref(), Some(&expected));
        on.run_tc("qdisc replace dev host0 root handle 2: tbf rate 8mbit burst 20000 latency 25ms");
        let gone = on.lab.perform(made.clone());
        assert_code(gone, Code::NotFound, "Invalid handle");
        on.run_tc("qdisc del dev host0 root");
        on.run_tc("qdisc add dev host0 root handle 1: htb");
        let gone = on.lab.perform(made.clone());
        assert_code(gone, Code::NotFound, "Invalid qdisc name");
        on.run_tc("qdisc del dev host0 root");
        let gone = on.lab.perform(made);
        assert_code(gone, Code::NotFound, "remove tbf 1: from veth `host0`");
    });
}

#[test]
fn the_kernel_chooses_handles_and_priorities() {
    on_host(|mut on| {
        let any = Qdisc {
            handle: Handle(0),
            ..htb()
        };
        let made = on.add(any).unwrap();
        let handle = made.present.clone().unwrap().handle;
        assert_ne!(handle.major(), 0);
        assert_eq!(on.qdiscs()[0].handle, handle);
        on.lab.perform(made).unwrap();

        on.add(ingress()).unwrap();
        let target = ifb(on.lab, Host, "ifb7");
        let redirect = every_packet(HOOKS, Action::Redirect(target));
        let first = on.add_filter(redirect.clone()).unwrap();
        let second = on.add_filter(redirect).unwrap();
        assert_ne!(first.priority, 0);
        assert_ne!(first.priority, second.priority);
        assert_eq!(on.filters(HOOKS).len(), 2);
        on.lab.perform(first.clone()).unwrap();
        let left = on.filters(HOOKS);
        assert_eq!(left.len(), 1, "{left:?}");
        assert_eq!(left[0].priority, second.priority);
        let shown = on.tc(&["filter", "show", "ingress"]);
        let of_first = shown.iter().filter(|o| o["pref"] == first.priority);
        assert_eq!(of_first.count(), 0, "{shown:?}");
        let gone = on.lab.perform(first);
        assert_code(gone, Code::NotFound, "ENOENT");
        on.remove(Handle::INGRESS).unwrap();
        let gone = on.lab.perform(second);
        assert_code(gone, Code::NotFound, "remove a filter from ffff:");
    });
}

#[test]
fn classes_are_read_back_as_they_were_written() {
    on_host(|mut on| {
        let missing = on.add_class(class(CLASS_30.0));
        assert_code(missing, Code::NotFound, "no such htb discipline: 1:");
        on.add(htb()).unwrap();
        let inner = Class {
            parent: CLASS_30,
            rate: 5_000_000_000,
            ceil: 12_500_000_000,
            burst: 1 << 28,
            cburst: 1 << 27,
            ..class(0x1_0031)
        };
        let missing = on.add_class(inner);
        assert_code(missing, Code::NotFound, "look for class 1:30");
        assert!(on.classes().is_empty());

        on.add_class(class(CLASS_30.0)).unwrap();
        on.add_class(inner).unwrap();
        assert_code(on.add_class(class(CLASS_30.0)), Code::Exists, "EEXIST");
        let read = on.classes();
        assert_eq!(read.len(), 2, "{read:?}");
        assert_eq!(read[0], class(CLASS_30.0));
        let exactly = Class {
            burst: inner.burst,
            cburst: inner.cburst,
            ..read[1]
        };
        assert_eq!(exactly, inner);
        assert!(read[1].burst.abs_diff(inner.burst) <= 320, "{read:?}");
        assert!(read[1].cburst.abs_diff(inner.cburst) <= 800, "{read:?}");

        let shown = on
            .lab
            .run(Host, "tc", &["-d", "class", "show", "dev", "host0"]);
        let line = shown.lines().find(|line| line.contains("htb 1:30"));
        let line = line.expect("the class is shown");
        assert_contains(
            line,
            &[
                "rate 8Mbit ceil 16Mbit",
                "burst 15000b/1",
                "cburst 30000b/1",
            ],
        );
    });
}

#[test]
fn classes_that_make_no_sense_are_refused() {
    on_host(|mut on| {
        on.add(htb()).unwrap();
        let whole = class(CLASS_30.0);
        let other = Handle(0x2_0000);
        let cases = [
            (Class { rate: 0, ..whole }, "neither may be 0"),
            (Class { ceil: 0, ..whole }, "neither may be 0"),
            (Class { burst: 0, ..whole }, "neither may be 0"),
            (Class { cburst: 0, ..whole }, "neither may be 0"),
            (class(FIRST.0), "a minor one"),
            (class(0x30), "a major number"),
            (class(0xffff_0030), "below ffff"),
            (
                Class {
                    parent: other,
                    ..whole
                },
                "belongs to 1:",
            ),
            (
                Class {
                    parent: CLASS_30,
                    ..whole
                },
                "belongs to 1:",
            ),
            (
                Class {
                    parent: Handle::ROOT,
                    ..whole
                },
                "belongs to 1:",
            ),
        ];
        for (class, words) in cases {
            assert_code(on.add_class(class), Code::Invalid, words);
        }
        assert!(on.classes().is_empty());
        on.remove(Handle::ROOT).unwrap();
        // A discipline that has classes, but other ones.
        on.add(at_root(Discipline::Tbf(BUCKET))).unwrap();
        assert_code(
            on.add_class(whole),
            Code::NotFound,
            "no such htb discipline: 1:",
        );
        assert!(on.classes().is_empty());
    });
}

#[test]
fn classes_are_taken_back_alone() {
    on_host(|mut on| {
        on.run_tc("qdisc add dev host0 root handle 1: htb default 10");
        on.run_tc("class add dev host0 parent 1: classid 1:10 htb rate 8mbit burst 15000");
        let made = on.add_class(class(CLASS_30.0)).unwrap();
        let to_class = every_packet(FIRST, Action::Classify(CLASS_30));
        let filter = on.add_filter(to_class).unwrap();
        let in_use = on.lab.perform(made.clone());
        assert_code(in_use, Code::Busy, "1:30");
        on.lab.perform(filter).unwrap();
        on.lab.perform(made.clone()).unwrap();
        let gone = on.lab.perform(made);
        assert_code(gone, Code::NotFound, "1:30");
        let left: Vec<Handle> = on.classes().iter().map(|class| class.handle).collect();
        assert_eq!(left, [Handle(0x1_0010)]);
        assert!(on.filters(FIRST).is_empty());
        // Nothing is left of the priority either: it was the discipline's only filter.
        assert!(on.tc(&["filter", "show"]).is_empty());
    });
}

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

#[test]
fn a_link_that_is_gone_is_not_found() {
    on_host(|mut on| {
        let made = on.add(htb()).unwrap();
        let class_made = on.add_class(class(CLASS_30.0)).unwrap();
        let to_class = every_packet(FIRST, Action::Classify(CLASS_30));
        let filter_made = on.add_filter(to_class.clone()).unwrap();
        on.lab.ip(Host, &["link", "delete", "host0"]);

        assert_code(on.add(htb()), Code::NotFound, "ENODEV");
        assert_code(on.add_class(class(CLASS_30.0)), Code::NotFound, "ENODEV");
        assert_code(on.add_filter(to_class), Code::NotFound, "ENODEV");
        assert_code(on.remove(Handle::ROOT), Code::NotFound, "ENODEV");
        let link = on.link.clone();
        let listed = on.lab.perform(ListQdiscs { link });
        assert_code(listed, Code::NotFound, "ENODEV");
        let (link, parent) = (on.link.clone(), FIRST);
        let listed = on.lab.perform(ListFilters { link, parent });
        assert_code(listed, Code::NotFound, "ENODEV");
        let link = on.link.clone();
        let listed = on.lab.perform(ListClasses { link });
        assert_code(listed, Code::NotFound, "ENODEV");
        let undone = on.lab.perform(filter_made);
        assert_code(undone, Code::NotFound, "");
        let undone = on.lab.perform(class_made);
        assert_code(undone, Code::NotFound, "");
        let undone = on.lab.perform(made);
        assert_code(undone, Code::NotFound, "");
    });
}

/// In the container's namespace as on the host.
#[test]
fn each_namespace_has_its_own() {
    lab(|lab| {
        let (host, eth0) = lab.veth();
        let mut inside = On { lab, link: eth0 };
        inside.add(at_root(Discipline::Tbf(BUCKET))).unwrap();
        assert_eq!(inside.qdiscs(), [at_root(Discipline::Tbf(BUCKET))]);
        let mut outside = On { lab, link: host };
        let of_host = outside.qdiscs();
        assert_eq!(of_host.len(), 1);
        assert_eq!(
            of_host[0].discipline,
            Discipline::Other {
                word: "noqueue".to_owned()
            }
        );
    });
}

fn assert_contains(text: &str, expected: &[&str]) {
    for words in expected {
        assert!(text.contains(words), "`{words}` is not in {text}");
    }
}
