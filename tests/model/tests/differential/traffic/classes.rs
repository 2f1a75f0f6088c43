//! Classes of `htb`, and disciplines in them.

use super::*;

#[test]
fn classes_are_in_one_another() {
    on_host(|on| {
        on.add_class(class(CLASS_30, FIRST));
        on.add(at_root(HTB));
        on.add_class(class(CLASS_31, CLASS_30));
        on.add_class(class(CLASS_30, FIRST));
        on.add_class(class(CLASS_30, FIRST));
        on.add(at(CLASS_30, Handle(0x7_0000), TBF));
        on.show();
        // A class with classes has no discipline.
        on.add_class(class(CLASS_31, CLASS_30));
        on.show();
        on.add(at(CLASS_30, Handle(0x7_0000), TBF));
        on.delete_class(CLASS_30);
        on.delete_class(CLASS_31);
        on.delete_class(CLASS_30);
        on.delete_class(CLASS_30);
        on.show();
        let mut parent = FIRST;
        for minor in 1..=9 {
            let next = Handle(FIRST.0 | minor);
            on.add_class(class(next, parent));
            parent = next;
        }
    });
}

#[test]
fn classes_that_make_no_sense_are_refused() {
    on_host(|on| {
        on.add(at_root(HTB));
        let whole = class(CLASS_30, FIRST);
        for class in [
            Class { rate: 0, ..whole },
            Class { cburst: 0, ..whole },
            class(FIRST, FIRST),
            class(Handle(0x30), FIRST),
            class(Handle(0xffff_0030), FIRST),
            class(CLASS_30, SECOND),
            class(CLASS_30, CLASS_30),
            class(CLASS_30, Handle::ROOT),
        ] {
            on.add_class(class);
        }
        on.remove(Handle::ROOT);
        on.add(at_root(TBF));
        on.add_class(whole);
        on.delete_class(CLASS_30);
    });
}

#[test]
fn disciplines_in_classes_go_with_them() {
    on_host(|on| {
        on.add(at_root(HTB));
        on.add(at(CLASS_30, SECOND, HTB));
        on.add(at(Handle(0x9_0001), SECOND, HTB));
        on.add_class(class(CLASS_30, FIRST));
        on.add_class(class(CLASS_31, FIRST));
        on.add(at(CLASS_30, FIRST, HTB));
        on.add(at(CLASS_30, SECOND, HTB));
        on.add(at(CLASS_30, Handle(0x3_0000), HTB));
        on.add(at(CLASS_31, SECOND, HTB));
        on.add_class(class(Handle(0x2_0001), SECOND));
        on.add(at(Handle(0x2_0001), Handle(0x3_0000), TBF));
        on.show();
        on.remove(CLASS_30);
        on.show();
        on.remove(CLASS_30);
        on.add(at(CLASS_30, SECOND, HTB));
        on.add_class(class(Handle(0x2_0001), SECOND));
        on.delete_class(CLASS_30);
        on.show();
        on.remove(Handle::ROOT);
        on.show();
    });
}

/// To the kernel, a token bucket has one class of every number.
#[test]
fn a_token_bucket_is_in_another() {
    on_host(|on| {
        on.add(at_root(TBF));
        on.add(at(CLASS_30, SECOND, TBF));
        on.add(at(CLASS_31, Handle(0x3_0000), TBF));
        on.list();
        on.remove(CLASS_31);
        on.list();
        on.add(at(CLASS_30, SECOND, HTB));
        on.remove(Handle::ROOT);
        on.list();
    });
}
