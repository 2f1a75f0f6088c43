//! The host's routes that a new one would overlap, for the gate.

use ipnet::IpNet;
use weir_grant::address::Family;
use weir_grant::pattern::contains;
use weir_grant::route::{List, MAIN_TABLE};

use crate::error::{Result, WhileDoing as _};
use crate::namespace::NetworkNamespace;
use crate::route::dump;

/// The kernel's table of a namespace's own addresses.
const LOCAL_TABLE: u32 = 255;

/// The routes of the host that overlap a network, with their links. Leaves out the default route and those of every
/// link (`fe80::/10`, `ff00::/8`).
///
/// The time grows with the number of routes; it is needed only for what is put on the host for the first time.
pub fn overlapping_routes(
    host: &mut NetworkNamespace,
    network: IpNet,
) -> Result<Vec<(IpNet, u32)>> {
    let family = Family::of(&network.addr());
    let mut found = Vec::new();
    for table in [MAIN_TABLE, LOCAL_TABLE] {
        let all = List {
            namespace: host.which(),
            family: Some(family),
            destination: None,
            link: None,
            gateway: None,
            table: Some(table),
        };
        let routes = dump(host, &all, family)
            .while_doing(format_args!("look for routes that overlap {network}"))?;
        for route in routes.into_iter().filter(|route| route.table == table) {
            if overlaps(network, route.destination) {
                let hops = route.next_hops.iter().map(|hop| hop.link);
                let links = hops.chain([route.link]).flatten();
                found.extend(links.map(|link| (route.destination, link)));
            }
        }
    }
    Ok(found)
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
