//! Capability `traffic`.

mod classes;
mod filters;
mod qdiscs;
mod sequences;

use std::fmt::Debug;

use weir_grant::Namespace::{Container, Host};
use weir_grant::Operation;
use weir_grant::link::{Create, Delete, Link, LinkFacts, Move, NewKind, Update};
use weir_grant::traffic::{
    Action, AddClass, AddFilter, AddQdisc, Class, DeleteClass, DeleteFilter, DeleteQdisc,
    Discipline, Filter, Handle, ListClasses, ListFilters, ListQdiscs, PresentQdisc, Qdisc,
    TokenBucket,
};
use weir_kernel::{DynKernel, Perform};
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
    fn perform<O, A>(&mut self, operation: impl FnOnce(LinkFacts) -> O) -> Option<A>
    where
        O: Operation + Debug,
        DynKernel: Perform<O, A>,
    {
        self.side.perform(operation(self.link.clone()))
    }

    fn add(&mut self, qdisc: Qdisc) {
        self.perform(|link| AddQdisc { link, qdisc });
    }

    fn add_class(&mut self, class: Class) {
        self.perform(|link| AddClass { link, class });
    }

    /// Puts `htb` at the root, with these classes in it.
    fn add_htb(&mut self, classes: &[Handle]) {
        self.add(at_root(HTB));
        for handle in classes {
            self.add_class(class(*handle, FIRST));
        }
    }

    fn delete_class(&mut self, handle: Handle) {
        self.perform(|link| DeleteClass { link, handle });
    }

    fn add_filter(&mut self, filter: Filter) {
        self.perform(|link| AddFilter { link, filter });
    }

    /// Redirects what enters to an `ifb`, which it returns.
    fn redirect_to_ifb(&mut self) -> LinkFacts {
        let target = ifb(self.side);
        self.add(ingress());
        self.add_filter(redirect(HOOKS, &target));
        target
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
        self.perform(|link| DeleteQdisc {
            link,
            parent,
            present,
        });
    }

    /// Notes the disciplines, also the kernel's own.
    fn list(&mut self) {
        let listed = self.perform(|link| ListQdiscs { link }).map(shown);
        self.side.say(format!("{listed:?}"));
    }

    /// Notes the filters at a place.
    fn list_filters(&mut self, parent: Handle) {
        let listed = self.perform(|link| ListFilters { link, parent });
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
fn a_link_that_moves_leaves_its_disciplines_behind() {
    on_all(|on| {
        on.add_htb(&[CLASS_30]);
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
        on.add_htb(&[CLASS_30]);
        on.add_filter(into(CLASS_30, FIRST));
        on.delete_class(CLASS_30);
        on.delete_filter(&into(CLASS_30, FIRST), None);
        on.remove(Handle::ROOT);
    });
}
