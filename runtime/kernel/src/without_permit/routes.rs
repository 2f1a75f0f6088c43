//! The host's routes that a new one would overlap, and those that the host needs, for the gate.

use ipnet::IpNet;
use weir_grant::address::Family;
use weir_grant::pattern::contains;
use weir_grant::route::{List, MAIN_TABLE, Route};

use crate::error::{Result, WhileDoing as _};
use crate::namespace::NetworkNamespace;
use crate::route::dump;

/// The kernel's table of a namespace's own addresses.
const LOCAL_TABLE: u32 = 255;

/// Returns the routes of the host that overlap a network, with their links. Leaves out the default route and those of
/// every link (`fe80::/10`, `ff00::/8`).
///
/// The time grows with the number of routes; it is needed only for what is put on the host for the first time.
pub fn overlapping_routes(
    host: &mut NetworkNamespace,
    network: IpNet,
) -> Result<Vec<(IpNet, u32)>> {
    let family = Family::of(&network.addr());
    let mut found = Vec::new();
    for table in [MAIN_TABLE, LOCAL_TABLE] {
        let routes = of_table(host, family, table)
            .while_doing(format_args!("look for routes that overlap {network}"))?;
        for route in routes {
            if overlaps(network, route.destination) {
                found.extend(links(&route).map(|link| (route.destination, link)));
            }
        }
    }
    Ok(found)
}

/// Returns the links that default routes of the host's main table go through.
///
/// The time grows with the number of routes; it is needed only where an interface of the host is moved away.
pub fn default_route_links(host: &mut NetworkNamespace) -> Result<Vec<u32>> {
    let mut found = Vec::new();
    for family in [Family::Ipv4, Family::Ipv6] {
        let routes = of_table(host, family, MAIN_TABLE).while_doing("look for default routes")?;
        let default = routes
            .iter()
            .filter(|route| route.destination.prefix_len() == 0);
        found.extend(default.flat_map(links));
    }
    Ok(found)
}

fn of_table(host: &mut NetworkNamespace, family: Family, table: u32) -> Result<Vec<Route<u32>>> {
    let all = List {
        family: Some(family),
        table: Some(table),
        ..List::all(host.which())
    };
    let mut routes = dump(host, &all, family)?;
    routes.retain(|route| route.table == table);
    Ok(routes)
}

/// The links that a route goes through: its own, and those of its next hops.
fn links(route: &Route<u32>) -> impl Iterator<Item = u32> {
    let hops = route.next_hops.iter().map(|hop| hop.link);
    hops.chain([route.link]).flatten()
}

fn overlaps(network: IpNet, destination: IpNet) -> bool {
    let of_every_link = |all: &str| {
        let all: IpNet = all.parse().expect("a network");
        contains(&all, &destination)
    };
    destination.prefix_len() > 0
        && (contains(&network.trunc(), &destination) || contains(&destination, &network))
        && !of_every_link("fe80::/10")
        && !of_every_link("ff00::/8")
}
