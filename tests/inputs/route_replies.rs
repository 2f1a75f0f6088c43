//! What rtnetlink answers: links and their VLANs, addresses, routes, neighbours, disciplines, classes
//! and filters. Whatever comes, each question ends with an answer or an error.

use crate::replies::kernel_that_says;
use ipnet::IpNet;
use weir_grant::link::{LinkFacts, LinkReference};
use weir_grant::traffic::{self, Discipline, Handle, Qdisc};
use weir_grant::{Namespace, address, link, neighbour, route};
use weir_kernel::Facts as _;

/// One input.
pub fn check(input: &[u8]) {
    let Some((question, replies)) = input.split_first() else {
        return;
    };
    let (mut host, _peers) = kernel_that_says(replies);
    let host = &mut host;
    match question % 16 {
        0 => drop(
            host.linux
                .find_link(Namespace::Host, &LinkReference::Index(2)),
        ),
        1 => drop(
            host.linux
                .find_link(Namespace::Host, &LinkReference::Name("eth0".into())),
        ),
        2 => host.perform(link::List {
            namespace: Namespace::Host,
            kind: None,
            master: None,
        }),
        3 => host.perform(link::ListVlans { link: eth0() }),
        4 => host.perform(link::GetPeer { link: eth0() }),
        5 => host.perform(address::List {
            link: eth0(),
            family: None,
        }),
        // Whether the address was one with a peer is found out from the answer.
        6 => host.perform(address::Delete {
            link: eth0(),
            address: network(),
        }),
        7 => host.perform(route::List::all(Namespace::Host)),
        8 => host.perform(route::Get {
            namespace: Namespace::Host,
            to: network().addr(),
        }),
        9 => host.perform(neighbour::List {
            link: eth0(),
            family: None,
        }),
        10 => drop(host.linux.present_qdisc(&eth0(), Handle::ROOT)),
        11 => host.perform(traffic::ListQdiscs { link: eth0() }),
        12 => host.perform(traffic::ListClasses { link: eth0() }),
        13 => host.perform(traffic::ListFilters {
            link: eth0(),
            parent: Handle(0x10000),
        }),
        14 => {
            // The kernel tells which handle it chose.
            let qdisc = Qdisc {
                handle: Handle(0),
                parent: Handle::ROOT,
                discipline: Discipline::Htb { default: 1 },
            };
            host.perform(traffic::AddQdisc {
                link: eth0(),
                qdisc,
            });
        }
        _ => host.perform(link::Delete { link: eth0() }),
    }
}

fn eth0() -> LinkFacts {
    LinkFacts {
        namespace: Namespace::Host,
        index: 2,
        name: "eth0".to_owned(),
        kind: "veth".to_owned(),
        owner: String::new(),
        by_index: false,
    }
}

fn network() -> IpNet {
    "10.0.0.1/24".parse().expect("an address")
}
