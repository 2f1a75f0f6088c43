//! What an operation on routes does, in words, and how far it reaches.

use std::net::IpAddr;

use super::{Add, Delete, Get, LinkFacts, List, MAIN_TABLE, NextHop, Replace, Route, RouteKind};
use crate::act::{Act, Severity};
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::operation::reads;
use crate::overlap::{Overlap, overlapping};
use crate::phrase::joined;

reads!(List, Get);

/// The next hops that are named one by one.
const MOST_HOPS: usize = 4;

/// Implements [`Act`] for operations that make a route, with their verbs.
macro_rules! makes {
    ($($operation:ty: $verb:literal;)+) => {$(
        impl Act for $operation {
            fn act(&self) -> String {
                let text = written($verb, &self.route, self.namespace);
                format!("{text}{}", overlapping(self.overlap.as_ref()))
            }

            fn severity(&self, invocation: &Invocation) -> Severity {
                let overlap = self.overlap.as_ref();
                severity(self.namespace, &self.route, overlap, invocation)
            }
        }
    )+};
}

makes! {
    Add: "add";
    Replace: "set";
}

impl Act for Delete {
    fn act(&self) -> String {
        written("delete", &self.route, self.namespace)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        severity(self.namespace, &self.route, None, invocation)
    }
}

/// A route that is written: "add the default route (0.0.0.0/0) via 10.1.0.1 over `eth0` in container".
fn written(verb: &str, route: &Route, namespace: Namespace) -> String {
    let destination = route.destination;
    let what = if destination.prefix_len() == 0 {
        format!("default route ({destination})")
    } else {
        format!("route to {destination}")
    };
    let effect = match route.kind {
        RouteKind::Unicast => "",
        RouteKind::Local => " that takes its packets as this namespace's own (local)",
        RouteKind::Blackhole => " that drops its packets (blackhole)",
        RouteKind::Unreachable => " that rejects its packets (unreachable)",
        RouteKind::Prohibit => " that rejects its packets (prohibit)",
        RouteKind::Throw => " that ends the look-up in its table (throw)",
    };
    let mut text = format!("{verb} the {what}{effect}{}", hops(route));
    if route.table != MAIN_TABLE {
        text += &format!(" in routing table {}", route.table);
    }
    format!("{text} in {namespace}")
}

/// " via 10.1.0.1 over `eth0`", of one next hop or of several.
fn hops(route: &Route) -> String {
    if route.next_hops.is_empty() {
        return hop(route.gateway, route.link.as_ref());
    }
    let of = |next: &NextHop| {
        hop(next.gateway, next.link.as_ref())
            .trim_start()
            .to_owned()
    };
    let mut all: Vec<String> = route.next_hops.iter().take(MOST_HOPS).map(of).collect();
    if route.next_hops.len() > MOST_HOPS {
        all.push(format!(
            "{} more next hops",
            route.next_hops.len() - MOST_HOPS
        ));
    }
    format!(" {}", joined(all, "and"))
}

fn hop(gateway: Option<IpAddr>, link: Option<&LinkFacts>) -> String {
    let via = gateway.map(|gateway| format!(" via {gateway}"));
    let over = link.map(|link| format!(" over {}", link.title()));
    format!("{}{}", via.unwrap_or_default(), over.unwrap_or_default())
}

/// A route to one address over the attachment's own link, or its network's, leads nothing else elsewhere; any other
/// route of the host can.
fn severity(
    namespace: Namespace,
    route: &Route,
    overlap: Option<&Overlap>,
    invocation: &Invocation,
) -> Severity {
    let destination = route.destination;
    let is_of_one = destination.prefix_len() == destination.max_prefix_len();
    let leads_home = route.kind == RouteKind::Unicast && is_of_one;
    let overlaps = overlap.is_some_and(|overlap| !overlap.is_of_network(invocation));
    let mut links = route.next_hops.iter().map(|hop| hop.link.as_ref());
    let own = |link: Option<&LinkFacts>| {
        let of_link = |link| Severity::of_using(link, invocation);
        link.map_or(Severity::of_traffic_in(namespace), of_link)
    };
    if !leads_home || overlaps {
        return Severity::of_traffic_in(namespace);
    }
    let first = links.next().unwrap_or(route.link.as_ref());
    links.map(own).fold(own(first), Severity::max)
}
