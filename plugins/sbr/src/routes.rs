//! The routes over the interface: from the main table to those of its addresses.

use std::net::IpAddr;

use weir_sdk::link::Link;
use weir_sdk::route::{self, Filter, MAIN_TABLE, Route};
use weir_sdk::{Context, Error, IpConfig, IpFamily, IpNet, Namespace, Outcome, check};

use crate::config::Config;
use crate::source::Source;

/// `RT_SCOPE_LINK`.
const ON_LINK: u8 = 253;

/// `IP6_RT_PRIO_USER`: what the kernel gives an IPv6 route without a priority. An IPv4 one has 0.
const PRIORITY_OF_IPV6: u32 = 1024;

/// An address with its table, and the gateway for what is sent from it.
pub struct SourceTable<'a> {
    pub ip: &'a IpConfig,
    pub source: Source,
    pub gateway: Option<IpAddr>,
}

impl<'a> SourceTable<'a> {
    /// The table of each address: by the configuration's gateway of its family, or the result's for it.
    pub fn all(config: &Config, ips: &[&'a IpConfig], sources: &[Source]) -> Vec<Self> {
        let pairs = ips.iter().zip(sources);
        let source_table = |(ip, source): (&&'a IpConfig, &Source)| SourceTable {
            ip,
            source: *source,
            gateway: config.gateway(IpFamily::of(source.address)).or(ip.gateway),
        };
        pairs.map(source_table).collect()
    }

    /// The default route of the table; none without a gateway.
    fn default_route(&self, link: &Link) -> Option<Route> {
        let any = IpNet::new(self.source.address, 0).expect("0 is a prefix length");
        let route = Route {
            table: Some(self.source.table),
            ..Route::new(any.trunc()).over(link)
        };
        self.gateway.map(|gateway| route.via(gateway))
    }

    /// Whether a route of the main table is the address's as well: it is to be sent from its subnet or by a gateway there,
    /// or says nothing of either.
    fn follows(&self, route: &Route) -> bool {
        let in_subnet = |address: &IpAddr| self.ip.address.contains(address);
        let source = route.source.map(IpAddr::from);
        let gateway = route.gateway.map(IpAddr::from);
        let is_general = source.is_none() && gateway.is_none();
        is_general
            || source.as_ref().is_some_and(in_subnet)
            || gateway.as_ref().is_some_and(in_subnet)
    }

    /// The route to the address's subnet, from the address, in the main table.
    fn hint(&self, link: &Link) -> Route {
        Route {
            source: Some(self.source.address.into()),
            scope: Some(ON_LINK),
            ..Route::new(self.ip.address.trunc()).over(link)
        }
    }
}

/// The routes of the container, of all tables.
pub fn all() -> Result<Vec<Route>, Error> {
    let routes = route::list(Namespace::Container, &Filter::default());
    routes.context("cannot list the container's routes")
}

/// Gives each address's table a default route and those of the container's routes that use the interface, and takes
/// them out of the main table. With source hints, routes to the subnets stay there.
pub fn move_all(
    config: &Config,
    link: &Link,
    routes: Vec<Route>,
    source_tables: &[SourceTable<'_>],
) -> Result<(), Error> {
    let of_main = routes.into_iter().filter(|r| r.table == Some(MAIN_TABLE));
    let former = of_main.filter_map(|route| route.part_over(link.index));
    let former: Vec<Route> = former.collect();
    for source_table in source_tables {
        source_table.source.add()?;
        let own = former.iter().filter(|route| source_table.follows(route));
        let is_default = |default: &Route| own.clone().any(|route| takes_place_of(route, default));
        let default = source_table
            .default_route(link)
            .filter(|route| !is_default(route));
        if let Some(route) = default {
            route::ensure(Namespace::Container, &route)?;
        }
        for route in own {
            let table = Some(source_table.source.table);
            replace(&Route {
                table,
                ..route.clone()
            })?;
        }
    }
    // Not before all addresses have theirs: those of one subnet find their gateway by the same routes.
    if config.add_source_hints {
        let mut hints = source_tables
            .iter()
            .map(|source_table| source_table.hint(link));
        hints.try_for_each(|hint| replace(&hint))?;
    }
    let stays = |route: &Route| config.add_source_hints && route.scope == Some(ON_LINK);
    let mut gone = former.iter().filter(|route| !stays(route));
    gone.try_for_each(delete)
}

/// Whether a route would replace another of its table.
fn takes_place_of(route: &Route, other: &Route) -> bool {
    let priority = |route: &Route| {
        let is_ipv6 = route.destination().addr().is_ipv6();
        let kernels = if is_ipv6 { PRIORITY_OF_IPV6 } else { 0 };
        route.priority.unwrap_or(kernels)
    };
    (route.destination, priority(route)) == (other.destination, priority(other))
}

fn of_main_table(link: &Link) -> Result<Vec<Route>, Error> {
    let routes = route::list(Namespace::Container, &Filter::over(link.index));
    routes.context(format!("cannot list the routes over `{}`", link.name))
}

fn replace(route: &Route) -> Result<(), Error> {
    let table = route.table.unwrap_or(MAIN_TABLE);
    let replaced = route::replace(Namespace::Container, route);
    replaced.context(format!("cannot put {route} into routing table {table}"))
}

fn delete(route: &Route) -> Result<(), Error> {
    let deleted = route::delete(Namespace::Container, route).found();
    let doing = format!("cannot remove {route} from the main routing table");
    deleted.context(doing).map(drop)
}

/// Fails unless each table has its default route, and with source hints the main table the routes to the subnets.
pub fn check(config: &Config, link: &Link, source_tables: &[SourceTable<'_>]) -> Result<(), Error> {
    for source_table in source_tables {
        if let Some(route) = source_table.default_route(link) {
            check::route(&route)?;
        }
    }
    if !config.add_source_hints {
        return Ok(());
    }
    let main = of_main_table(link)?;
    for hint in source_tables
        .iter()
        .map(|source_table| source_table.hint(link))
    {
        let is_hint =
            |route: &&Route| (route.destination, route.source) == (hint.destination, hint.source);
        if main.iter().find(is_hint).is_none() {
            let source = hint.source.map(IpAddr::from).expect("a hint has a source");
            return Err(check::wrong(format!("{hint} from {source} is missing")));
        }
    }
    Ok(())
}
