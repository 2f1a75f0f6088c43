//! What nfnetlink answers: chains, rules, sets and their elements of nftables, refusals of a
//! transaction, and entries of connection tracking. Whatever comes, each question ends.

use crate::replies::kernel_that_says;
use weir_grant::firewall::{
    Apply, Chain, Command, DataType, Family, GetElement, ListChains, ListElements, ListRules,
    ListSets, Rule, Set, Value,
};
use weir_grant::{Namespace, address, conntrack};

const NAMESPACE: Namespace = Namespace::Host;
const FAMILY: Family = Family::Inet;

/// One input.
pub fn check(input: &[u8]) {
    let Some((question, replies)) = input.split_first() else {
        return;
    };
    let (mut host, _peers) = kernel_that_says(replies);
    let host = &mut host;
    let (namespace, family, table) = (NAMESPACE, FAMILY, "t".to_owned());
    let (chain, set) = ("c".to_owned(), "s".to_owned());
    match question % 8 {
        0 => host.perform(ListChains {
            namespace,
            family,
            table,
        }),
        1 => host.perform(ListSets {
            namespace,
            family,
            table,
        }),
        2 => host.perform(ListRules {
            namespace,
            family,
            table,
            chain,
        }),
        3 => {
            let key = vec![Value::Address([10, 0, 0, 1].into())];
            host.perform(GetElement {
                namespace,
                family,
                table,
                set,
                key,
            });
        }
        4 => host.perform(ListElements {
            namespace,
            family,
            table,
            set,
        }),
        5 => host.perform(conntrack::Delete {
            namespace,
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
}

/// A transaction for which the kernel reports what it made, and that it can refuse in many places.
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
    let chain = Chain {
        name: "c".to_owned(),
        base: None,
    };
    let commands = vec![
        Command::CreateChain(chain),
        Command::CreateSet(set),
        Command::AppendRule(rule),
        Command::KeepRules(vec![kept]),
    ];
    Apply::new(NAMESPACE, FAMILY, "t", commands)
}
