//! What nfnetlink answers: chains, rules, sets and their elements of nftables, refusals of a
//! transaction, and entries of connection tracking. Whatever comes, each question ends.

#![no_main]

use libfuzzer_sys::fuzz_target;
use weir_fuzz::replies::kernel_that_says;
use weir_grant::firewall::{
    Apply, Chain, Command, DataType, Family, GetElement, ListChains, ListElements, ListRules,
    ListSets, Rule, Set, Value,
};
use weir_grant::{Namespace, address, conntrack};

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
        0 => host.perform(ListChains {
            namespace: NAMESPACE,
            family: FAMILY,
            table: table(),
        }),
        1 => host.perform(ListSets {
            namespace: NAMESPACE,
            family: FAMILY,
            table: table(),
        }),
        2 => host.perform(ListRules {
            namespace: NAMESPACE,
            family: FAMILY,
            table: table(),
            chain: "c".to_owned(),
        }),
        3 => host.perform(GetElement {
            namespace: NAMESPACE,
            family: FAMILY,
            table: table(),
            set: "s".to_owned(),
            key: vec![Value::Address([10, 0, 0, 1].into())],
        }),
        4 => host.perform(ListElements {
            namespace: NAMESPACE,
            family: FAMILY,
            table: table(),
            set: "s".to_owned(),
        }),
        5 => host.perform(conntrack::Delete {
            namespace: NAMESPACE,
            filter: conntrack::Filter {
                family: address::Family::Ipv4,
                protocol: conntrack::Protocol::Udp,
                destination: None,
                port: Some(53),
                reply_source: None,
            },
        }),
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
