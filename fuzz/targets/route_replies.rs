//! What rtnetlink answers: links and their VLANs, addresses, routes, neighbours, disciplines, classes
//! and filters. Whatever comes, each question ends with an answer or an error.

#![no_main]

use ipnet::IpNet;
use libfuzzer_sys::fuzz_target;
use weir_grant::link::LinkFacts;
use weir_grant::traffic::{self, Discipline, Handle, Qdisc};
use weir_grant::{address, link, neighbour, route, Namespace};
use weir_kernel as kernel;
use weir_kernel::link::LinkReference;
use weir_fuzz::permission::permitted;
use weir_fuzz::replies::kernel_that_says;

fuzz_target!(|input: &[u8]| {
    let Some((question, replies)) = input.split_first() else {
        return;
    };
    let (mut host, _peers) = kernel_that_says(replies);
    let host = &mut host;
    match question % 16 {
        0 => drop(kernel::without_permit::find_link(host.host(), &LinkReference::Index(2),
        )),
        1 => drop(kernel::without_permit::find_link(host.host(), &LinkReference::Name("eth0".into()),
        )),
        2 => {
            let list = link::List {
                namespace: Namespace::Host,
                kind: None,
                master: None,
            };
            drop(permitted(list, |permit| kernel::link::list(host, permit)));
        }
        3 => {
            let list = link::ListVlans { link: eth0() };
            drop(permitted(list, |permit| {
                kernel::link::list_vlans(host, permit)
            }));
        }
        4 => {
            let peer = link::GetPeer { link: eth0() };
            drop(permitted(peer, |permit| kernel::link::peer(host, permit)));
        }
        5 => {
            let list = address::List {
                link: eth0(),
                family: None,
            };
            drop(permitted(list, |permit| {
                kernel::address::list(host, permit)
            }));
        }
        6 => {
            // Whether the address was one with a peer is found out from the answer.
            let delete = address::Delete {
                link: eth0(),
                address: network(),
            };
            drop(permitted(delete, |permit| {
                kernel::address::delete(host, permit)
            }));
        }
        7 => {
            let list = route::List {
                namespace: Namespace::Host,
                family: None,
                destination: None,
                link: None,
                gateway: None,
                table: None,
            };
            drop(permitted(list, |permit| kernel::route::list(host, permit)));
        }
        8 => {
            let get = route::Get {
                namespace: Namespace::Host,
                to: network().addr(),
            };
            drop(permitted(get, |permit| kernel::route::get(host, permit)));
        }
        9 => {
            let list = neighbour::List {
                link: eth0(),
                family: None,
            };
            drop(permitted(list, |permit| {
                kernel::neighbour::list(host, permit)
            }));
        }
        10 => drop(kernel::without_permit::standing_discipline(host.host(), &eth0(), Handle::ROOT)),
        11 => {
            let list = traffic::ListQdiscs { link: eth0() };
            drop(permitted(list, |permit| {
                kernel::traffic::list_qdiscs(host, permit)
            }));
        }
        12 => {
            let list = traffic::ListClasses { link: eth0() };
            drop(permitted(list, |permit| {
                kernel::traffic::list_classes(host, permit)
            }));
        }
        13 => {
            let list = traffic::ListFilters {
                link: eth0(),
                parent: Handle(0x10000),
            };
            drop(permitted(list, |permit| {
                kernel::traffic::list_filters(host, permit)
            }));
        }
        14 => {
            // The kernel tells which handle it chose.
            let qdisc = Qdisc {
                handle: Handle(0),
                parent: Handle::ROOT,
                discipline: Discipline::Htb { default: 1 },
            };
            let add = traffic::AddQdisc {
                link: eth0(),
                qdisc,
            };
            drop(permitted(add, |permit| {
                kernel::traffic::add_qdisc(host, permit)
            }));
        }
        _ => {
            let delete = link::Delete { link: eth0() };
            drop(permitted(delete, |permit| {
                kernel::link::delete(host, permit)
            }));
        }
    }
});

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
