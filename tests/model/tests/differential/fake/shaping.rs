//! Queueing disciplines, classes and filters.

use ipnet::IpNet;
use weir_gate::Permit;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{
    Action, AddClass, AddFilter, AddQdisc, Class, DeleteQdisc, Discipline, Filter, Handle,
    ListClasses, ListFilters, ListQdiscs, Qdisc, TokenBucket,
};
use weir_kernel::{Changes, Perform, Result};
use weir_sdk::{OperationError, traffic as sdk};

use super::Fake;
use super::convert::{self, index, of_facts};
use super::networks::{calls, each, in_of};

calls! {
    AddQdisc: |o| sdk::add_qdisc(in_of(&o.link), of_facts(&o.link), qdisc(&o.qdisc));
    DeleteQdisc: |o| sdk::delete_qdisc(in_of(&o.link), of_facts(&o.link), o.parent.0);
    ListQdiscs => Vec<Qdisc>: |o| list(&o.link);
    AddClass: |o| sdk::add_class(in_of(&o.link), of_facts(&o.link), class(&o.class));
    ListClasses => Vec<Class>: |o| sdk::list_classes(in_of(&o.link), of_facts(&o.link))
        .map(|all| each(all, class_of));
    AddFilter: |o| sdk::add_filter(in_of(&o.link), of_facts(&o.link), filter(&o.filter));
    ListFilters => Vec<Filter<u32>>: |o| sdk::list_filters(in_of(&o.link), of_facts(&o.link), o.parent.0)
        .map(|all| each(all, filter_of));
}

pub(super) fn list(link: &LinkFacts) -> Result<Vec<Qdisc>, OperationError> {
    sdk::list_qdiscs(in_of(link), of_facts(link)).map(|all| each(all, qdisc_of))
}

fn qdisc(qdisc: &Qdisc) -> sdk::Qdisc {
    sdk::Qdisc {
        handle: qdisc.handle.0,
        parent: qdisc.parent.0,
        discipline: match &qdisc.discipline {
            Discipline::Tbf(bucket) => sdk::Discipline::Tbf(sdk::TokenBucket {
                rate: bucket.rate,
                burst: bucket.burst,
                latency: bucket.latency,
            }),
            Discipline::Htb { default } => sdk::Discipline::Htb(*default),
            Discipline::Ingress => sdk::Discipline::Ingress,
            Discipline::Clsact => sdk::Discipline::Clsact,
            Discipline::Other { word } => sdk::Discipline::Other(word.clone()),
        },
    }
}

fn qdisc_of(told: sdk::Qdisc) -> Qdisc {
    Qdisc {
        handle: Handle(told.handle),
        parent: Handle(told.parent),
        discipline: match told.discipline {
            sdk::Discipline::Tbf(bucket) => Discipline::Tbf(TokenBucket {
                rate: bucket.rate,
                burst: bucket.burst,
                latency: bucket.latency,
            }),
            sdk::Discipline::Htb(default) => Discipline::Htb { default },
            sdk::Discipline::Ingress => Discipline::Ingress,
            sdk::Discipline::Clsact => Discipline::Clsact,
            sdk::Discipline::Other(word) => Discipline::Other { word },
        },
    }
}

fn class(class: &Class) -> sdk::Class {
    sdk::Class {
        handle: class.handle.0,
        parent: class.parent.0,
        rate: class.rate,
        ceil: class.ceil,
        burst: class.burst,
        cburst: class.cburst,
    }
}

fn class_of(told: sdk::Class) -> Class {
    Class {
        handle: Handle(told.handle),
        parent: Handle(told.parent),
        rate: told.rate,
        ceil: told.ceil,
        burst: told.burst,
        cburst: told.cburst,
    }
}

fn filter(filter: &Filter) -> sdk::Filter {
    sdk::Filter {
        parent: filter.parent.0,
        priority: filter.priority,
        source: filter.source.map(Into::into),
        destination: filter.destination.map(Into::into),
        action: match &filter.action {
            Action::Redirect(target) => sdk::Action::Redirect(of_facts(target)),
            Action::Classify(class) => sdk::Action::Classify(class.0),
        },
    }
}

fn filter_of(told: sdk::Filter) -> Filter<u32> {
    Filter {
        parent: Handle(told.parent),
        priority: told.priority,
        source: told.source.map(IpNet::from),
        destination: told.destination.map(IpNet::from),
        action: match told.action {
            sdk::Action::Redirect(target) => Action::Redirect(index(target)),
            sdk::Action::Classify(class) => Action::Classify(Handle(class)),
        },
    }
}
