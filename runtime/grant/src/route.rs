//! Capability `route`: routes.

mod act;

use std::fmt;
use std::net::IpAddr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::address::Family;
use super::facts::LinkFacts;
use super::field::types::{InNamespace, LinkNames, Numbers, Owners, every_address};
use super::field::{
    Has::{self, One},
    Networks,
};
use super::namespace::Namespace;
use super::operation::{Operation, operations};
use super::overlap::{Overlap, overlapping};
use super::rule::declare::rule;
use super::verb::Verb;

/// The kernel's main routing table.
pub const MAIN_TABLE: u32 = 254;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouteKind {
    #[default]
    Unicast,
    Local,
    Blackhole,
    Unreachable,
    Prohibit,
    Throw,
}

/// A route of one namespace. A plugin names its links; the kernel reports their indexes (`Route<u32>`).
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(bound(deserialize = "L: Deserialize<'de>"))]
pub struct Route<L = LinkFacts> {
    pub destination: IpNet,
    pub gateway: Option<IpAddr>,
    pub link: Option<L>,
    pub source: Option<IpAddr>,
    pub table: u32,
    pub scope: Option<u8>,
    pub priority: Option<u32>,
    pub mtu: Option<u32>,
    pub advmss: Option<u32>,
    pub protocol: Option<u8>,
    pub kind: RouteKind,
    pub on_link: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_hops: Vec<NextHop<L>>,
}

impl<L> Route<L> {
    /// Makes a unicast route of the main table, with nothing else.
    pub fn unicast(destination: IpNet) -> Self {
        Self {
            destination,
            gateway: None,
            link: None,
            source: None,
            table: MAIN_TABLE,
            scope: None,
            priority: None,
            mtu: None,
            advmss: None,
            protocol: None,
            kind: RouteKind::Unicast,
            on_link: false,
            next_hops: Vec::new(),
        }
    }

    /// Converts how its links are named. Errors: the first of `name`.
    pub fn with_links<M, E>(self, mut name: impl FnMut(L) -> Result<M, E>) -> Result<Route<M>, E> {
        let mut next_hops = Vec::with_capacity(self.next_hops.len());
        for hop in self.next_hops {
            next_hops.push(NextHop {
                gateway: hop.gateway,
                link: hop.link.map(&mut name).transpose()?,
                weight: hop.weight,
                on_link: hop.on_link,
            });
        }
        Ok(Route {
            destination: self.destination,
            gateway: self.gateway,
            link: self.link.map(&mut name).transpose()?,
            source: self.source,
            table: self.table,
            scope: self.scope,
            priority: self.priority,
            mtu: self.mtu,
            advmss: self.advmss,
            protocol: self.protocol,
            kind: self.kind,
            on_link: self.on_link,
            next_hops,
        })
    }
}

/// One of several equal-cost next hops.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NextHop<L = LinkFacts> {
    pub gateway: Option<IpAddr>,
    pub link: Option<L>,
    /// 1 to 256.
    pub weight: u16,
    pub on_link: bool,
}

/// Adds a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Add {
    pub namespace: Namespace,
    pub route: Route,
    /// The host route that the destination overlaps, if a rule of the grant bounds `overlaps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

/// Adds a route, or replaces the one with the same destination, table and metric.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replace {
    pub namespace: Namespace,
    pub route: Route,
    /// The host route that the destination overlaps, if a rule of the grant bounds `overlaps`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap: Option<Overlap>,
}

/// Removes a route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delete {
    pub namespace: Namespace,
    pub route: Route,
}

/// Lists routes that match a filter; absent fields match everything.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct List {
    pub namespace: Namespace,
    pub family: Option<Family>,
    pub destination: Option<IpNet>,
    pub link: Option<LinkFacts>,
    pub gateway: Option<IpAddr>,
    pub table: Option<u32>,
}

impl List {
    /// Lists all routes of a namespace.
    pub fn all(namespace: Namespace) -> Self {
        Self {
            namespace,
            family: None,
            destination: None,
            link: None,
            gateway: None,
            table: None,
        }
    }
}

/// Asks the kernel which route it would take.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Get {
    pub namespace: Namespace,
    pub to: IpAddr,
}

/// Implements `Operation` for operations that write one route.
macro_rules! operation_on_route {
    ($($operation:ident, $name:literal, $verb:expr, $overlap:expr;)*) => {$(
        impl Operation for $operation {
            type Rule = RouteRule;
            const NAME: &'static str = $name;
            const VERB: Verb = $verb;

            fn requirements(&self) -> Vec<Requirement> {
                let overlap: fn(&Self) -> Option<&Overlap> = $overlap;
                Requirement::of_route(self.namespace, &self.route, overlap(self), Self::VERB)
            }

            fn links(&self) -> Vec<&LinkFacts> {
                let hops = self.route.next_hops.iter().filter_map(|hop| hop.link.as_ref());
                self.route.link.iter().chain(hops).collect()
            }

            fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
                let hops = self.route.next_hops.iter_mut();
                let hops = hops.filter_map(|hop| hop.link.as_mut());
                self.route.link.iter_mut().chain(hops).collect()
            }
        }
    )*};
}

operation_on_route! {
    Add, "route.add", Verb::Create, |add| add.overlap.as_ref();
    Replace, "route.replace", Verb::Update, |replace| replace.overlap.as_ref();
    Delete, "route.delete", Verb::Delete, |_| None;
}

impl Operation for List {
    type Rule = RouteRule;
    const NAME: &'static str = "route.list";
    const VERB: Verb = Verb::Read;

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement {
            namespace: self.namespace,
            link: self.link.as_ref().map(|l| l.name.clone()),
            owner: self.link.as_ref().map(|l| l.owner.clone()),
            destination: self.destination,
            table: self.table,
            overlap: None,
            verb: Self::VERB,
        }]
    }

    fn links(&self) -> Vec<&LinkFacts> {
        self.link.iter().collect()
    }

    fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
        self.link.iter_mut().collect()
    }
}

operations! {
    RouteRule;
    Get: "route.get", Read, |o| Requirement {
        namespace: o.namespace,
        link: None,
        owner: None,
        destination: Some(o.to.into()),
        table: None,
        overlap: None,
        verb: Self::VERB,
    };
}

rule! {
    // An operation that does not specify a field, such as a list of all routes, is allowed only by a rule without the
    // field.
    /// `route:` in a grant. Absent fields match everything.
    pub struct RouteRule: Route for r: Requirement,
    which may "add" Create, "look at" Read, "replace" Update, "remove" Delete {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.namespace);
        /// Names of output links. A route without a link, and a list of those of all links, matches only if
        /// this is absent.
        links: LinkNames = Has::or_anything(r.link.as_deref().map(|link| (r.namespace, link))),
            left_out("every-name", "it is about every link of the host");
        => verbs = r.verb;
        /// Owners of the links, in `host`: this network, this attachment. A route without a link matches only if this
        /// is absent.
        owners: Owners = Has::or_anything(r.owner.as_deref()), never_suggested();
        /// Networks that contain the destination. A list of all routes matches only if this is absent.
        #[serde(with = "Networks")]
        destinations: Networks = Has::or_anything(r.destination), including(every_destination),
            left_out("any-destination", "it may lead any traffic of the host elsewhere, the default route included");
        /// Routing tables, by number. A list of all tables, and a lookup of the kernel's choice, matches
        /// only where this is absent.
        tables: Numbers = Has::or_anything(r.table);
        /// The routes of `host` that an address or a route may overlap: those over links of this network or of this
        /// attachment, and the default route. Any, when left out.
        overlaps: Owners = Has::if_any(r.overlap.as_ref().map(Overlap::mark)), only_for(&[Verb::Create, Verb::Update]), never_suggested(), absent_from_queries();
    } says |rule| {
        let destinations = rule.with("destinations", " within ");
        let links = rule.over_interface("links");
        let tables = rule.with("tables", " in routing table ");
        format!("{} routes{destinations}{links}{tables}", rule.verbs())
    }
}

/// Says that a network includes the default route.
fn every_destination(network: &str) -> Option<String> {
    every_address(network).map(|family| format!("every {family} address, and the default route"))
}

/// One route over one link, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    pub link: Option<String>,
    /// None where there is no link.
    pub owner: Option<String>,
    /// None to read all destinations.
    pub destination: Option<IpNet>,
    /// None for a look at all tables.
    pub table: Option<u32>,
    pub overlap: Option<Overlap>,
    pub verb: Verb,
}

impl Requirement {
    fn of_route(
        namespace: Namespace,
        route: &Route,
        overlap: Option<&Overlap>,
        verb: Verb,
    ) -> Vec<Self> {
        let over = |link: Option<&LinkFacts>| Self {
            namespace,
            link: link.map(|l| l.name.clone()),
            owner: link.map(|l| l.owner.clone()),
            destination: Some(route.destination),
            table: Some(route.table),
            overlap: overlap.cloned(),
            verb,
        };
        if route.next_hops.is_empty() {
            return vec![over(route.link.as_ref())];
        }
        route
            .next_hops
            .iter()
            .map(|hop| over(hop.link.as_ref()))
            .collect()
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.verb)?;
        match self.destination {
            Some(destination) => write!(f, "route {destination}")?,
            None => write!(f, "routes")?,
        }
        if let Some(link) = &self.link {
            write!(f, " over `{link}`")?;
        }
        if let Some(table) = self.table {
            write!(f, ", table {table}")?;
        }
        let overlap = overlapping(self.overlap.as_ref());
        write!(f, " in {}{overlap}", self.namespace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::decisions::{link, missed};

    /// A list without a filter shows every route, also those that the rule does not match.
    #[test]
    fn a_look_at_all_is_more_than_a_look_at_some() {
        let all = List::all(Namespace::Host);
        let filtered = List {
            destination: Some("10.1.0.0/16".parse().expect("a network")),
            link: Some(link("veth1", "veth")),
            table: Some(100),
            ..all.clone()
        };
        for (rule, field) in [
            (r#"{"route": [{"links": ["veth*"]}]}"#, "route[0]: links"),
            (
                r#"{"route": [{"destinations": ["10.0.0.0/8"]}]}"#,
                "route[0]: destinations",
            ),
            (r#"{"route": [{"tables": [100]}]}"#, "route[0]: tables"),
        ] {
            assert_eq!(missed(rule, &all).as_deref(), Some(field), "{rule}");
            assert_eq!(missed(rule, &filtered), None, "{rule}");
        }
        assert_eq!(missed(r#"{"route": [{}]}"#, &all), None);
        let get = Get {
            namespace: Namespace::Host,
            to: [10, 1, 0, 2].into(),
        };
        assert_eq!(
            missed(r#"{"route": [{"destinations": ["10.0.0.0/8"]}]}"#, &get),
            None
        );
        let other = r#"{"route": [{"destinations": ["10.2.0.0/16"]}]}"#;
        assert_eq!(
            missed(other, &get).as_deref(),
            Some("route[0]: destinations")
        );
    }

    const GRANT: &str = r#"{"route": [{"namespace": "host", "links": ["br*"], "owners": ["network"], "tables": [254],
        "destinations": ["10.0.0.0/8"], "overlaps": ["network"], "verbs": ["create"]}]}"#;

    /// A route over a bridge of the network `net`.
    fn add() -> Add {
        let bridge = LinkFacts {
            owner: "net".to_owned(),
            ..link("br0", "bridge")
        };
        Add {
            namespace: Namespace::Host,
            route: Route {
                link: Some(bridge),
                ..Route::unicast("10.1.0.0/16".parse().expect("a network"))
            },
            overlap: None,
        }
    }

    #[test]
    fn each_field_counts() {
        let missed_by = |change: fn(&mut Add)| {
            let mut add = add();
            change(&mut add);
            missed(GRANT, &add)
        };
        let closest = |field: &str| Some(format!("route[0]: {field}"));
        assert_eq!(missed_by(|_| ()), None);
        let namespace = missed_by(|add| add.namespace = Namespace::Container);
        assert_eq!(namespace, closest("namespace"));
        let over = |change: fn(&mut LinkFacts)| {
            let mut add = add();
            add.route.link.as_mut().into_iter().for_each(change);
            missed(GRANT, &add)
        };
        assert_eq!(over(|link| link.name = "eth0".to_owned()), closest("links"));
        assert_eq!(
            over(|link| link.owner = "other".to_owned()),
            closest("owners")
        );
        assert_eq!(missed_by(|add| add.route.link = None), closest("links"));
        assert_eq!(missed_by(|add| add.route.table = 255), closest("tables"));
        for destination in ["10.0.0.0/7", "0.0.0.0/0", "192.0.2.0/24", "fd00::/64"] {
            let mut add = add();
            add.route.destination = destination.parse().expect("a network");
            assert_eq!(
                missed(GRANT, &add),
                closest("destinations"),
                "{destination}"
            );
        }
        let overlapping = missed_by(|add| {
            add.overlap = Some(Overlap {
                destination: "10.1.2.0/24".parse().expect("a network"),
                link: "eth0".to_owned(),
                owner: String::new(),
            });
        });
        assert_eq!(overlapping, closest("overlaps"));
        let Add {
            namespace, route, ..
        } = add();
        assert_eq!(
            missed(GRANT, &Delete { namespace, route }),
            closest("verbs")
        );
        assert_eq!(missed("{}", &add()), Some(String::new()));
    }

    /// Each next hop needs a rule for its link.
    #[test]
    fn a_next_hop_counts_as_the_link_does() {
        let mut several = add();
        let hop = |link: LinkFacts| NextHop {
            gateway: None,
            link: Some(link),
            weight: 1,
            on_link: false,
        };
        let own = several.route.link.take().expect("a link");
        several.route.next_hops = vec![hop(own.clone()), hop(own)];
        assert_eq!(missed(GRANT, &several), None);
        several.route.next_hops[1].link = Some(link("eth0", "veth"));
        assert_eq!(missed(GRANT, &several).as_deref(), Some("route[0]: links"));
    }
}
