//! Queueing disciplines.

use super::*;

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
