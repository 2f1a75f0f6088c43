//! Queueing disciplines.

use super::*;

#[test]
fn a_place_is_taken_once() {
    on_host(|on| {
        on.list();
        for qdisc in [
            at_root(HTB),
            at_root(HTB),
            at_root(TBF),
            at(Handle::ROOT, SECOND, TBF),
            at(Handle::ROOT, Handle(0), TBF),
            ingress(),
            at(Handle::INGRESS, Handle(0), Discipline::Clsact),
            at(Handle(0x5), SECOND, TBF),
        ] {
            on.add(qdisc);
        }
        on.list();
        for parent in [
            Handle::ROOT,
            Handle::ROOT,
            HOOKS,
            Handle::INGRESS,
            CLASS_30,
            Handle(0),
        ] {
            on.remove(parent);
            on.list();
        }
    });
}

#[test]
fn a_link_is_shaped() {
    on_all(|on| {
        on.add_class(class(CLASS_30, FIRST));
        on.add_filter(into(CLASS_30, FIRST));
        on.add(at_root(HTB));
        on.add(at(Handle::ROOT, SECOND, TBF));
        on.add(ingress());
        on.add_class(class(CLASS_30, FIRST));
        on.add_class(class(CLASS_30, FIRST));
        on.add_class(class(CLASS_31, CLASS_30));
        on.add_class(class(Handle(0x2_0030), SECOND));
        let filter = |priority, source, destination| Filter {
            priority,
            source: network(source),
            destination: network(destination),
            ..into(CLASS_31, FIRST)
        };
        on.add_filter(filter(6, "10.0.0.0/8", "10.1.0.0/16"));
        on.add_filter(filter(5, "fd00::/8", "::/0"));
        on.add_filter(filter(5, "fd00::1/8", "::/0"));
        on.add_filter(filter(5, "fd00::/8", "10.0.0.0/8"));
        let itself = on.link.clone();
        on.add_filter(redirect(HOOKS, &itself));
        on.show();
        on.add(at(CLASS_31, SECOND, TBF));
        on.show();
        on.remove(Handle::ROOT);
        on.show();
        on.remove(Handle::ROOT);
        on.add(at_root(TBF));
        on.add_filter(redirect(FIRST, &itself));
        on.remove(Handle::INGRESS);
        on.show();
    });
}

#[test]
fn a_link_is_shaped_in_parts() {
    on_all(|on| {
        on.add_htb(&[CLASS_30]);
        on.add(at(CLASS_30, FIRST, TBF));
        on.add(at(CLASS_30, SECOND, HTB));
        on.add(at(CLASS_31, Handle(0x3_0000), HTB));
        on.add_class(class(Handle(0x2_0001), SECOND));
        on.add(at(Handle(0x2_0001), Handle(0), TBF));
        on.show();
        // A class with classes has no discipline.
        on.add_class(class(CLASS_31, CLASS_30));
        on.show();
        on.add(at(CLASS_31, SECOND, TBF));
        on.show();
        for source in ["10.0.0.0/8", "fd00::/8"] {
            for (priority, parent) in [(0, FIRST), (7, CLASS_30), (8, Handle(0x1_0032))] {
                on.add_filter(Filter {
                    priority,
                    source: network(source),
                    ..into(CLASS_31, parent)
                });
            }
        }
        on.add_class(Class {
            ceil: 0,
            ..class(Handle(0x1_0032), FIRST)
        });
        on.show();
        on.remove(CLASS_31);
        on.remove(CLASS_31);
        on.show();
        on.remove(Handle::ROOT);
        on.show();
    });
}

#[test]
fn a_link_that_is_down_has_only_what_it_was_given() {
    compare_kernels(|side| {
        let link = ifb(side);
        let mut on = On { side, link };
        on.list();
        on.add(at_root(TBF));
        on.list();
        on.side.perform(Update {
            up: Some(true),
            ..nothing_of(&on.link)
        });
        on.side.perform(Update {
            up: Some(false),
            ..nothing_of(&on.link)
        });
        on.list();
        on.remove(Handle::ROOT);
        on.list();
    });
}

#[test]
fn only_what_was_found_is_removed() {
    on_host(|on| {
        on.add(at_root(TBF));
        for (parent, handle, word) in [
            (Handle::ROOT, SECOND, "tbf"),
            (Handle::ROOT, FIRST, "htb"),
            (Handle::INGRESS, FIRST, "tbf"),
            (Handle(0), FIRST, "tbf"),
            (Handle::ROOT, FIRST, "tbf"),
        ] {
            let discipline = word.to_owned();
            on.delete(parent, Some(PresentQdisc { handle, discipline }));
            on.list();
        }
    });
}

#[test]
fn values_that_no_discipline_can_have_are_refused() {
    on_host(|on| {
        let tbf = |bucket| at_root(Discipline::Tbf(bucket));
        let word = "fq".to_owned();
        for qdisc in [
            tbf(TokenBucket { rate: 0, ..BUCKET }),
            tbf(TokenBucket { burst: 0, ..BUCKET }),
            tbf(TokenBucket {
                rate: 10_000,
                burst: u32::MAX,
                ..BUCKET
            }),
            tbf(TokenBucket {
                rate: 10_000_000_000,
                latency: 1_000_000,
                ..BUCKET
            }),
            at_root(Discipline::Htb { default: 0x1_0000 }),
            at_root(Discipline::Other { word }),
            at_root(Discipline::Ingress),
            at(Handle::INGRESS, FIRST, TBF),
            at(Handle::INGRESS, FIRST, Discipline::Ingress),
            at(Handle::ROOT, CLASS_30, HTB),
            at(Handle::ROOT, HOOKS, HTB),
            at(Handle(0), FIRST, HTB),
        ] {
            on.add(qdisc);
        }
        on.list();
    });
}

#[test]
fn bursts_are_rounded() {
    on_host(|on| {
        for (rate, burst, latency) in [
            (1, 200, 1_000_000),
            (999, 1500, 25_000),
            (6_999_999, 1_234_567, 0),
            (125_000_000, 1 << 28, 10_000),
            (5_000_000_000, 1 << 28, 10_000),
            (100_000_000_000, 1 << 20, 3),
        ] {
            on.add(at_root(Discipline::Tbf(TokenBucket {
                rate,
                burst,
                latency,
            })));
            on.list();
            on.remove(Handle::ROOT);
            on.add(at_root(HTB));
            on.add_class(Class {
                rate,
                ceil: 2 * rate,
                burst,
                cburst: 2 * burst,
                ..class(CLASS_30, FIRST)
            });
            on.show();
            on.remove(Handle::ROOT);
        }
    });
}

#[test]
fn the_kernel_chooses_handles_and_priorities() {
    on_host(|on| {
        on.add(at(Handle::ROOT, Handle(0), HTB));
        on.show();
        on.add(at(Handle::ROOT, Handle(0), TBF));
    });
    on_host(|on| {
        on.add_htb(&[CLASS_30]);
        let any = Filter {
            priority: 0,
            ..into(CLASS_30, FIRST)
        };
        for filter in [
            any.clone(),
            Filter {
                source: network("10.0.0.0/8"),
                ..any.clone()
            },
            Filter {
                priority: 0x8001,
                ..any.clone()
            },
            any.clone(),
            any,
        ] {
            on.add_filter(filter);
            on.show();
        }
    });
}
