//! Classes of `htb`.

use super::*;

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
