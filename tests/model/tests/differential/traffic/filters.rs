//! Filters.

use super::*;

#[test]
fn filters_are_listed_in_their_order() {
    on_host(|on| {
        on.add_htb(&[CLASS_30]);
        let filter = |priority, source| Filter {
            priority,
            source: network(source),
            ..into(CLASS_30, FIRST)
        };
        for (priority, source) in [
            (7, "10.0.0.0/8"),
            (5, "fd00::/8"),
            (7, "10.1.0.0/16"),
            (6, "0.0.0.0/0"),
            (7, "10.2.0.0/16"),
            (5, "10.3.0.0/16"),
        ] {
            on.add_filter(filter(priority, source));
        }
        on.show();
        // The place of one that is gone is taken by the next.
        on.delete_filter(&filter(7, "10.0.0.0/8"), Some(0x8000_0801));
        on.delete_filter(&filter(7, "10.0.0.0/8"), Some(0x8000_0801));
        on.delete_filter(&filter(7, "10.0.0.0/8"), Some(0x8000_0807));
        on.show();
        on.add_filter(filter(7, "10.4.0.0/16"));
        on.show();
        on.delete_filter(&filter(7, "fd00::/8"), None);
        on.delete_filter(&filter(9, "fd00::/8"), None);
        on.delete_filter(&filter(7, "10.0.0.0/8"), None);
        on.show();
    });
}

#[test]
fn a_priority_goes_with_the_last_filter_of_its_discipline() {
    on_host(|on| {
        on.add(at_root(HTB));
        let filter = |priority, source| Filter {
            priority,
            source: network(source),
            ..into(CLASS_30, FIRST)
        };
        on.add_filter(filter(7, "10.0.0.0/8"));
        on.delete_filter(&filter(7, "10.0.0.0/8"), Some(0x8000_0800));
        on.add_filter(filter(7, "fd00::/8"));
        on.add_filter(filter(8, "fd00::/8"));
        on.delete_filter(&filter(7, "fd00::/8"), Some(0x8000_0800));
        on.add_filter(filter(7, "10.0.0.0/8"));
        on.show();
    });
}

#[test]
fn a_filter_keeps_the_class_that_it_found() {
    on_host(|on| {
        on.add_htb(&[CLASS_30]);
        for (parent, priority) in [(FIRST, 5), (CLASS_30, 6)] {
            let wanted = Filter {
                priority,
                ..into(CLASS_31, parent)
            };
            on.add_filter(wanted.clone());
            on.add_class(class(CLASS_31, FIRST));
            on.delete_class(CLASS_31);
            on.delete_filter(&wanted, None);
            on.delete_class(CLASS_31);
        }
        on.add_filter(into(CLASS_30, FIRST));
        on.delete_class(CLASS_30);
        on.delete_filter(&into(CLASS_30, FIRST), None);
        on.add_filter(into(CLASS_30, CLASS_30));
        // The kernel lets go of it when it refuses.
        on.delete_class(CLASS_30);
        on.delete_class(CLASS_30);
        on.show();
    });
}

/// The kernel does not tell those of one priority apart.
#[test]
fn filters_of_one_priority_are_at_all_places_of_a_discipline() {
    on_host(|on| {
        on.add_htb(&[CLASS_30, CLASS_31]);
        for parent in [FIRST, CLASS_30, FIRST] {
            on.add_filter(into(CLASS_31, parent));
            on.show();
        }
        on.list_filters(Handle(0));
        on.list_filters(CLASS_31);
        on.list_filters(SECOND);
        on.delete_filter(&into(CLASS_31, CLASS_30), None);
        on.show();
    });
}

#[test]
fn filters_that_make_no_sense_are_refused() {
    on_host(|on| {
        on.add_htb(&[CLASS_30]);
        let target = ifb(on.side);
        let gone = LinkFacts {
            index: 9999,
            ..target.clone()
        };
        let never = LinkFacts {
            index: 0,
            ..target.clone()
        };
        let eth0 = on.side.link(Container, "eth0");
        let whole = Filter {
            source: network("10.0.0.0/8"),
            ..into(CLASS_30, FIRST)
        };
        on.add_filter(whole.clone());
        for filter in [
            Filter {
                destination: network("fd00::/8"),
                ..whole.clone()
            },
            Filter {
                source: network("10.0.0.1/8"),
                ..whole.clone()
            },
            Filter {
                source: network("fd00::/8"),
                ..whole.clone()
            },
            into(CLASS_30, Handle::ROOT),
            into(CLASS_30, Handle::INGRESS),
            into(CLASS_30, Handle(0)),
            into(Handle(0x2_0030), FIRST),
            into(Handle(0x2_0030), SECOND),
            into(FIRST, FIRST),
            into(CLASS_30, CLASS_31),
            redirect(FIRST, &eth0),
            redirect(FIRST, &gone),
            redirect(FIRST, &never),
            redirect(SECOND, &target),
            redirect(HOOKS, &target),
        ] {
            on.add_filter(filter);
        }
        on.remove(Handle::ROOT);
        on.add(at_root(TBF));
        on.add_filter(whole.clone());
        on.add_filter(redirect(FIRST, &target));
        on.delete_filter(&whole, None);
        on.add(ingress());
        on.add_filter(into(Handle(0xffff_0030), HOOKS));
        on.show();
    });
}

#[test]
fn hooks_have_filters() {
    on_host(|on| {
        let target = on.redirect_to_ifb();
        on.show();
        on.delete_filter(&redirect(HOOKS, &target), None);
        on.delete_filter(&redirect(HOOKS, &target), None);
        on.remove(Handle::INGRESS);
        on.delete_filter(&redirect(HOOKS, &target), None);
        on.add(at(Handle::INGRESS, Handle(0), Discipline::Clsact));
        for parent in [IN, OUT, HOOKS, Handle(0xffff_0005)] {
            on.add_filter(redirect(parent, &target));
        }
        on.show();
    });
}

#[test]
fn a_target_that_goes_is_no_longer_listed() {
    on_all(|on| {
        let target = on.redirect_to_ifb();
        on.side.perform(Delete { link: target });
        on.list_filters(HOOKS);
        let target = ifb(on.side);
        on.add_filter(redirect(HOOKS, &target));
        on.side.perform(Move {
            link: target,
            to: Container,
            name: "ifb7".to_owned(),
            alias: None,
            strands_host: false,
        });
        on.list_filters(HOOKS);
    });
}
