//! What rtnetlink answers: links and their VLANs, addresses, routes, neighbours, disciplines, classes
//! and filters. Whatever comes, each question ends with an answer or an error.

#![no_main]

use ipnet::IpNet;
use libfuzzer_sys::fuzz_target;
use weir_grant::link::{LinkFacts, LinkReference};
use weir_grant::traffic::{self, Discipline, Handle, Qdisc};
use weir_grant::{address, link, neighbour, route, Namespace};
use weir_fuzz::replies::kernel_that_says;
use weir_kernel::Facts as _;

fuzz_target!(|input: &[u8]| {
    let Some((question, replies)) = input.split_first() else {
        return;
    };
    let (mut host, _peers) = kernel_that_says(replies);
    let host = &mut host;
    match question % 16 {
        0 => drop(host.linux.find_link(Namespace::Host, &LinkReference::Index(2))),
        1 => drop(host.linux.find_link(Namespace::Host, &LinkReference::Name("eth0".into()))),
        2 => {
            let list = link::List {
                namespace: Namespace::Host,
                kind: None,
                master: None,
            };
            host.perform(list);
        }
        3 => {
            let list = link::ListVlans { link: eth0() };
            host.perform(list);
        }
        4 => {
            let peer = link::GetPeer { link: eth0() };
            host.perform(peer);
        }
        5 => {
            let list = address::List {
                link: eth0(),
                family: None,
            };
            host.perform(list);
        }
        6 => {
            // Whether the address was one with a peer is found out from the answer.
            let delete = address::Delete {
                link: eth0(),
                address: network(),
            };
            host.perform(delete);
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
            host.perform(list);
        }
        8 => {
            let get = route::Get {
                namespace: Namespace::Host,
                to: network().addr(),
            };
            host.perform(get);
        }
        9 => {
            let list = neighbour::List {
                link: eth0(),
                family: None,
            };
            host.perform(list);
        }
        10 => drop(host.linux.standing_discipline(&eth0(), Handle::ROOT)),
        11 => {
            let list = traffic::ListQdiscs { link: eth0() };
            host.perform(list);
        }
        12 => {
            let list = traffic::ListClasses { link: eth0() };
            host.perform(list);
        }
        13 => {
            let list = traffic::ListFilters {
                link: eth0(),
                parent: Handle(0x10000),
            };
            host.perform(list);
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
            host.perform(add);
        }
        _ => {
            let delete = link::Delete { link: eth0() };
            host.perform(delete);
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
