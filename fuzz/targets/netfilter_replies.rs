//! What nfnetlink answers: chains, rules, sets and their elements of nftables, refusals of a
//! transaction, and entries of connection tracking. Whatever comes, each question ends.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_grant::{address, conntrack, Namespace};
use weir_grant::firewall::{
    Apply, Chain, Command, DataType, Family, GetElement, ListChains, ListElements, ListRules,
    ListSets, Rule, Set, Value,
};
use weir_fuzz::replies::kernel_that_says;

const NAMESPACE: Namespace = Namespace::Host;
const FAMILY: Family = Family::Inet;

fuzz_target!(|input: &[u8]| {
    let Some((question, replies)) = input.split_first() else {
        return;
    };
    let (mut host, _peers) = kernel_that_says(replies);
    let host = &mut host;
    let table = || "t".to_owned();
    match question % 8 {
        0 => {
            let list = ListChains {
                namespace: NAMESPACE,
                family: FAMILY,
                table: table(),
            };
            host.perform(list);
        }
        1 => {
            let list = ListSets {
                namespace: NAMESPACE,
                family: FAMILY,
                table: table(),
            };
            host.perform(list);
        }
        2 => {
            let (namespace, family, chain) = (NAMESPACE, FAMILY, "c".to_owned());
            let list = ListRules {
                namespace,
                family,
                table: table(),
                chain,
            };
            host.perform(list);
        }
        3 => {
            let (namespace, family, set) = (NAMESPACE, FAMILY, "s".to_owned());
            let key = vec![Value::Address([10, 0, 0, 1].into())];
            let get = GetElement {
                namespace,
                family,
                table: table(),
                set,
                key,
            };
            host.perform(get);
        }
        4 => {
            let (namespace, family, set) = (NAMESPACE, FAMILY, "s".to_owned());
            let list = ListElements {
                namespace,
                family,
                table: table(),
                set,
            };
            host.perform(list);
        }
        5 => {
            let delete = conntrack::Delete {
                namespace: NAMESPACE,
                filter: conntrack::Filter {
                    family: address::Family::Ipv4,
                    protocol: conntrack::Protocol::Udp,
                    destination: None,
                    port: Some(53),
                    reply_source: None,
                },
            };
            host.perform(delete);
        }
        _ => host.perform(transaction()),
    }
});

/// One of which the kernel tells what it made, and that it can refuse in many places.
fn transaction() -> Apply {
    let set = Set {
        name: "s".to_owned(),
        key: vec![DataType::Ipv4Address],
        data: Vec::new(),
        interval: false,
    };
    let rule = Rule {
        chain: "c".to_owned(),
        ..Rule::default()
    };
    let kept = Rule {
        comment: Some("kept".to_owned()),
        ..rule.clone()
    };
    Apply {
        namespace: NAMESPACE,
        family: FAMILY,
        table: "t".to_owned(),
        commands: vec![
            Command::CreateChain(Chain {
                name: "c".to_owned(),
                base: None,
            }),
            Command::CreateSet(set),
            Command::AppendRule(rule),
            Command::KeepRules(vec![kept]),
        ],
        only_empty: false,
        listening: Vec::new(),
        removed: Vec::new(),
    }
}
