//! Capability `traffic`.

use weir_grant::Namespace::{Container, Host};
use weir_grant::link::{Create, Delete, Link, LinkFacts, Move, NewKind, Update};
use weir_grant::traffic::{
    Action, AddClass, AddFilter, AddQdisc, Class, DeleteClass, DeleteFilter, DeleteQdisc,
    Discipline, Filter, Handle, ListClasses, ListFilters, ListQdiscs, PresentQdisc, Qdisc,
    TokenBucket,
};
use weir_kit::traffic::{BUCKET, CLASS_30, FIRST, HOOKS, at_root, class, ingress};

use crate::link::{nothing_of, pair};
use crate::random::Random;
use crate::side::{Side, compare, compare_kernels, name_of};

const SECOND: Handle = Handle(0x2_0000);
const CLASS_31: Handle = Handle(0x1_0031);
const IN: Handle = Handle(0xffff_fff2);
const OUT: Handle = Handle(0xffff_fff3);

const TBF: Discipline = Discipline::Tbf(BUCKET);
const HTB: Discipline = Discipline::Htb { default: 0x30 };

impl Side {
    /// What shapes the traffic of a link. Left out are disciplines of the kernel's own.
    pub(crate) fn look_at_traffic(&mut self, link: &LinkFacts, links: &[Link]) -> Vec<String> {
        let of = || link.clone();
        let mut qdiscs = self.ask(ListQdiscs { link: of() });
        qdiscs.retain(|qdisc| qdisc.handle.0 != 0);
        let mut classes = self.ask(ListClasses { link: of() });
        classes.sort_by_key(|class| class.handle.0);
        let of_qdisc = |qdisc: &Qdisc| match qdisc.discipline {
            Discipline::Clsact => vec![IN, OUT],
            _ => vec![qdisc.handle],
        };
        let parents = qdiscs.iter().flat_map(of_qdisc);
        let parents = parents.chain(classes.iter().map(|class| class.handle));
        let parents: Vec<Handle> = parents.collect();
        let mut lines = shown(qdiscs);
        lines.extend(classes.iter().map(|class| format!("{class:?}")));
        for parent in parents {
            let link = of();
            let filters = self.ask(ListFilters { link, parent });
            lines.extend(filters.iter().map(|filter| named(filter, links)));
        }
        lines
    }
}

/// Disciplines in an order of their own, the kernel's being that of a hash table. A handle that the kernel has chosen
/// is left out.
fn shown(mut qdiscs: Vec<Qdisc>) -> Vec<String> {
    qdiscs.sort_by_key(|qdisc| qdisc.parent.0);
    let shown = qdiscs.into_iter().map(|qdisc| {
        let is_chosen = (0x8000..0xffff).contains(&qdisc.handle.major());
        let handle = if is_chosen {
            Handle(0x8000_0000)
        } else {
            qdisc.handle
        };
        format!("{:?}", Qdisc { handle, ..qdisc })
    });
    shown.collect()
}

/// A filter with the name of the link that it leads to.
fn named(filter: &Filter<u32>, links: &[Link]) -> String {
    let to = match filter.action {
        Action::Redirect(index) => name_of(index, links),
        Action::Classify(class) => class.to_string(),
    };
    let (source, destination) = (filter.source, filter.destination);
    let (parent, priority) = (filter.parent, filter.priority);
    format!("{priority} at {parent}: from {source:?} to {destination:?} into {to}")
}

fn at(parent: Handle, handle: Handle, discipline: Discipline) -> Qdisc {
    Qdisc {
        handle,
        parent,
        discipline,
    }
}

fn into(class: Handle, parent: Handle) -> Filter {
    Filter {
        parent,
        priority: 5,
        source: None,
        destination: None,
        action: Action::Classify(class),
    }
}

fn redirect(parent: Handle, target: &LinkFacts) -> Filter {
    Filter {
        action: Action::Redirect(target.clone()),
        ..into(FIRST, parent)
    }
}

fn network(text: &str) -> Option<ipnet::IpNet> {
    Some(text.parse().expect("a network"))
}

/// One link, and the operations on it.
struct On<'a> {
    side: &'a mut Side,
    link: LinkFacts,
}

impl On<'_> {
    fn add(&mut self, qdisc: Qdisc) {
        let link = self.link.clone();
        self.side.perform(AddQdisc { link, qdisc });
    }

    fn add_class(&mut self, class: Class) {
        let link = self.link.clone();
        self.side.perform(AddClass { link, class });
    }

    fn delete_class(&mut self, handle: Handle) {
        let link = self.link.clone();
        self.side.perform(DeleteClass { link, handle });
    }

    fn add_filter(&mut self, filter: Filter) {
        let link = self.link.clone();
        self.side.perform(AddFilter { link, filter });
    }

    /// Removes the filters of a priority, or one of them.
    fn delete_filter(&mut self, filter: &Filter, handle: Option<u32>) {
        let protocol = match filter.source {
            Some(source) if source.addr().is_ipv4() => 0x0800,
            Some(_) => 0x86dd,
            None => 0x0003,
        };
        self.side.perform(DeleteFilter {
            link: self.link.clone(),
            parent: filter.parent,
            priority: filter.priority,
            handle,
            protocol,
            action: filter.action.clone(),
        });
    }

    /// Removes what is at a place, as the host does.
    fn remove(&mut self, parent: Handle) {
        let present = self.side.present_qdisc(&self.link, parent);
        self.delete(parent, present);
    }

    fn delete(&mut self, parent: Handle, present: Option<PresentQdisc>) {
        let link = self.link.clone();
        self.side.perform(DeleteQdisc {
            link,
            parent,
            present,
        });
    }

    /// Notes the disciplines, also the kernel's own.
    fn list(&mut self) {
        let link = self.link.clone();
        let listed = self.side.perform(ListQdiscs { link });
        let listed = listed.map(shown);
        self.side.say(format!("{listed:?}"));
    }

    /// Notes the filters at a place.
    fn list_filters(&mut self, parent: Handle) {
        let link = self.link.clone();
        let listed = self.side.perform(ListFilters { link, parent });
        let listed =
            listed.map(|filters| filters.iter().map(|f| named(f, &[])).collect::<Vec<_>>());
        self.side.say(format!("{listed:?}"));
    }

    fn show(&mut self) {
        self.side.show("then");
    }
}

/// Does the same to a veth of the host on both kernels.
fn on_host(act: impl Fn(&mut On<'_>) + Send + Sync) {
    compare_kernels(|side| {
        let (link, _) = pair(side);
        act(&mut On { side, link });
    });
}

/// The same, and on the SDK's fake host.
fn on_all(act: impl Fn(&mut On<'_>) + Send + Sync) {
    compare(|side| {
        let (link, _) = pair(side);
        act(&mut On { side, link });
    });
}

fn ifb(side: &mut Side) -> LinkFacts {
    side.perform(Create::new(Host, "ifb7", NewKind::Ifb));
    side.link(Host, "ifb7")
}

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
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
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
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
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

#[test]
fn filters_are_listed_in_their_order() {
    on_host(|on| {
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
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
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
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
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
        on.add_class(class(CLASS_31, FIRST));
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
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
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
        let target = ifb(on.side);
        on.add(ingress());
        on.add_filter(redirect(HOOKS, &target));
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
        let target = ifb(on.side);
        on.add(ingress());
        on.add_filter(redirect(HOOKS, &target));
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

#[test]
fn a_link_that_moves_leaves_its_disciplines_behind() {
    on_all(|on| {
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
        on.add_filter(into(CLASS_30, FIRST));
        on.add(ingress());
        on.side.perform(Move {
            link: on.link.clone(),
            to: Container,
            name: "net1".to_owned(),
            alias: None,
            strands_host: false,
        });
        on.show();
        on.list();
        on.list_filters(FIRST);
        on.link = on.side.link(Container, "net1");
        on.list();
    });
}

#[test]
fn nothing_is_found_on_a_link_that_is_gone() {
    on_host(|on| {
        on.side.perform(Delete {
            link: on.link.clone(),
        });
        on.list();
        on.list_filters(FIRST);
        on.add(at_root(HTB));
        on.add_class(class(CLASS_30, FIRST));
        on.add_filter(into(CLASS_30, FIRST));
        on.delete_class(CLASS_30);
        on.delete_filter(&into(CLASS_30, FIRST), None);
        on.remove(Handle::ROOT);
    });
}

const HANDLES: [Handle; 3] = [FIRST, SECOND, Handle(0x3_0000)];
const CLASSES: [Handle; 4] = [CLASS_30, CLASS_31, Handle(0x2_0030), Handle(0x2_0031)];
const SOURCES: [Option<&str>; 3] = [None, Some("10.0.0.0/8"), Some("fd00::/8")];

fn step(on: &mut On<'_>, random: &mut Random) {
    let class_handle = random.of(&CLASSES);
    match random.below(10) {
        0 => on.add(at_root(HTB)),
        1 => {
            let discipline = if random.below(3) == 0 { TBF } else { HTB };
            on.add(at(class_handle, random.of(&HANDLES), discipline));
        }
        2 => {
            let parents = [Handle::ROOT, class_handle, class_handle, class_handle];
            let parent = random.of(&parents);
            on.remove(parent);
        }
        3..=5 => {
            let discipline = class_handle.discipline();
            let any = random.of(&CLASSES);
            let parents = [discipline, discipline, any];
            let parent = random.of(&parents);
            on.add_class(class(class_handle, parent));
        }
        6 => on.delete_class(class_handle),
        7 => on.delete_filter(&filter(class_handle, 5, random), None),
        _ => {
            let priority = random.of(&[0, 5, 6]);
            on.add_filter(filter(class_handle, priority, random));
        }
    }
    on.show();
}

fn filter(class: Handle, priority: u16, random: &mut Random) -> Filter {
    let any = random.of(&CLASSES);
    let parent = random.of(&[class.discipline(), class, any]);
    Filter {
        priority,
        source: random.of(&SOURCES).and_then(network),
        ..into(class, parent)
    }
}

#[test]
fn any_sequence_of_operations_on_disciplines() {
    for seed in 1..=8_u64 {
        on_host(|on| {
            let mut random = Random::new(seed);
            on.add(at_root(HTB));
            for _ in 0..30 {
                step(on, &mut random);
            }
        });
    }
}
