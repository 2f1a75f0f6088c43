//! The plugin's table of the family `inet`: maps from the host's ports to the containers', the rules
//! that look them up, and the rules that masquerade connections whose answers would not come back.
//!
//! A new connection costs a few look-ups, and an ADD one transaction, however many mappings there are:
//!
//! ```text
//! map hostip4 { type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service } # with hostIP
//! map ports4 { type inet_proto . inet_service : ipv4_addr . inet_service }
//! chain prerouting {                                                     # and the same in output
//!     type nat hook prerouting priority dstnat
//!     fib daddr type local dnat ip to ip daddr . meta l4proto . th dport map @hostip4
//!     fib daddr type local dnat ip to meta l4proto . th dport map @ports4
//! }
//! set local4 { type ipv4_addr . ipv4_addr; flags interval }              # the containers' networks
//! set hairpin4 { type inet_proto . inet_service . ipv4_addr }            # mappings with snat
//! set masqall4 { type inet_proto . inet_service . ipv4_addr }            # mappings with masqAll
//! chain postrouting {
//!     type nat hook postrouting priority srcnat
//!     ct status dnat meta l4proto . ct original proto-dst . ip daddr @masqall4 masquerade
//!     ip saddr 127.0.0.0/8 ct status dnat … @hairpin4 masquerade
//!     ip saddr . ip daddr @local4 ct status dnat … @hairpin4 masquerade
//! }
//! ```
//!
//! (And the same for IPv6, which has no loopback network.) A container that comes to its own port, or to
//! that of another container of its network, must not see the answer come from an address that it never
//! spoke to. Neither must a client on the host's loopback address. Both are masqueraded.

use ipnet::IpNet;
use weir_sdk::IpFamily;
use weir_sdk::firewall::shared::Shared;
use weir_sdk::firewall::{
    Chain, ChainType, Condition, DataType, Family, Field, Hook, Rule, Set, Statement, networks,
};

use crate::group::Group;

/// The family of the table.
pub const FAMILY: Family = Family::Inet;

const PREROUTING: &str = "prerouting";
const OUTPUT: &str = "output";
const POSTROUTING: &str = "postrouting";

/// The chains of the table.
pub const CHAINS: [&str; 3] = [PREROUTING, OUTPUT, POSTROUTING];

const DESTINATION_NAT: i32 = -100;
const SOURCE_NAT: i32 = 100;

/// `RTN_LOCAL`.
const LOCAL: u32 = 2;

/// `IPS_DST_NAT`.
const DESTINATION_TRANSLATED: u32 = 1 << 5;

/// The sets and fields of one address family.
pub struct FamilySets {
    pub family: IpFamily,
    /// Mappings with a `hostIP`.
    pub host_ip: &'static str,
    /// Mappings at every address of the node.
    pub ports: &'static str,
    /// Mappings with `snat`.
    pub hairpin: &'static str,
    /// Mappings with `snat` and `masqAll`.
    pub masq_all: &'static str,
    /// The containers' networks.
    pub local: &'static str,
    address: DataType,
    source: Field,
    destination: Field,
    /// `NFPROTO_…`
    protocol: u32,
    loopback: Option<&'static str>,
}

const IPV4: FamilySets = FamilySets {
    family: IpFamily::Ipv4,
    host_ip: "hostip4",
    ports: "ports4",
    hairpin: "hairpin4",
    masq_all: "masqall4",
    local: "local4",
    address: DataType::Ipv4Address,
    source: Field::Ipv4Source,
    destination: Field::Ipv4Destination,
    protocol: 2,
    loopback: Some("127.0.0.0/8"),
};

const IPV6: FamilySets = FamilySets {
    family: IpFamily::Ipv6,
    host_ip: "hostip6",
    ports: "ports6",
    hairpin: "hairpin6",
    masq_all: "masqall6",
    local: "local6",
    address: DataType::Ipv6Address,
    source: Field::Ipv6Source,
    destination: Field::Ipv6Destination,
    protocol: 10,
    loopback: None,
};

/// The sets of an address's family.
pub fn sets_of(family: IpFamily) -> &'static FamilySets {
    match family {
        IpFamily::Ipv4 => &IPV4,
        IpFamily::Ipv6 => &IPV6,
    }
}

/// What the mappings of a group share. The chains are those of all groups.
pub fn shared(group: &Group) -> Shared {
    let chain = |name, hook, priority| Chain::base(name, ChainType::Nat, hook, priority);
    let both = [&IPV4, &IPV6].into_iter();
    Shared {
        family: FAMILY,
        chains: vec![
            chain(PREROUTING, Hook::Prerouting, DESTINATION_NAT),
            chain(OUTPUT, Hook::Output, DESTINATION_NAT),
            chain(POSTROUTING, Hook::Postrouting, SOURCE_NAT),
        ],
        sets: both
            .clone()
            .flat_map(|family_sets| sets(group, family_sets))
            .collect(),
        rules: both
            .flat_map(|family_sets| rules(group, family_sets))
            .collect(),
    }
}

/// Whether a set of any group has elements that belong to attachments.
pub fn is_owned(set: &str) -> bool {
    let plain = Group::plain(set);
    [IPV4, IPV6]
        .iter()
        .any(|s| [s.host_ip, s.ports, s.hairpin, s.masq_all].contains(&plain))
}

fn sets(group: &Group, family_sets: &FamilySets) -> [Set; 5] {
    let target = [family_sets.address, DataType::Port];
    let port = [DataType::Protocol, DataType::Port];
    let at = [family_sets.address, DataType::Protocol, DataType::Port];
    let mapped = [DataType::Protocol, DataType::Port, family_sets.address];
    [
        Set::map(group.name(family_sets.ports), port, target),
        Set::map(group.name(family_sets.host_ip), at, target),
        Set::new(group.name(family_sets.hairpin), mapped),
        Set::new(group.name(family_sets.masq_all), mapped),
        networks::set(family_sets.local, family_sets.address),
    ]
}

fn rules<'r>(group: &'r Group, family_sets: &'r FamilySets) -> impl Iterator<Item = Rule> + 'r {
    let translating = [PREROUTING, OUTPUT].into_iter();
    let translating = translating.flat_map(move |chain| translations(group, family_sets, chain));
    translating.chain(masquerades(group, family_sets))
}

fn translations(group: &Group, family_sets: &FamilySets, chain: &str) -> [Rule; 2] {
    let at = vec![
        family_sets.destination,
        Field::TransportProtocol,
        Field::DestinationPort,
    ];
    let port = vec![Field::TransportProtocol, Field::DestinationPort];
    [(at, family_sets.host_ip), (port, family_sets.ports)].map(|(fields, map)| {
        let rule = rule(family_sets, chain).known_as(group.name(map));
        let rule = group
            .conditions(family_sets.family)
            .iter()
            .cloned()
            .fold(rule, Rule::when);
        rule.when(Condition::equals(Field::DestinationAddressType, LOCAL))
            .then(Statement::dnat_from_map(
                fields,
                group.name(map),
                family_sets.family,
            ))
    })
}

fn masquerades(group: &Group, family_sets: &FamilySets) -> Vec<Rule> {
    let mapped = |set: &str| {
        let fields = [
            Field::TransportProtocol,
            Field::ConnectionOriginalDestinationPort,
            family_sets.destination,
        ];
        [
            Condition::masked(
                Field::ConnectionStatus,
                DESTINATION_TRANSLATED,
                DESTINATION_TRANSLATED,
            ),
            Condition::in_set(fields, group.name(set)),
        ]
    };
    let loopback = family_sets.loopback.map(|network| {
        let network: IpNet = network.parse().expect("a network");
        let from = Condition::within(family_sets.source, network);
        (Some(from), family_sets.hairpin, "loopback4")
    });
    let local = Condition::in_set(
        [family_sets.source, family_sets.destination],
        family_sets.local,
    );
    let local = (Some(local), family_sets.hairpin, family_sets.hairpin);
    let all = (None, family_sets.masq_all, family_sets.masq_all);
    let wanted = [all].into_iter().chain(loopback).chain([local]);
    let rules = wanted.map(|(from, set, comment)| {
        let rule = rule(family_sets, POSTROUTING).known_as(group.name(comment));
        let conditions = from.into_iter().chain(mapped(set));
        masquerade(group, conditions.fold(rule, Rule::when))
    });
    rules.collect()
}

/// A rule that looks at packets of one family.
fn rule(family_sets: &FamilySets, chain: &str) -> Rule {
    Rule::new(chain).when(Condition::equals(
        Field::NetworkProtocol,
        family_sets.protocol,
    ))
}

fn masquerade(group: &Group, rule: Rule) -> Rule {
    let rule = match group.mark() {
        Some(mark) => rule.then(Statement::set_mark(mark, mark)),
        None => rule,
    };
    rule.then(Statement::masquerade())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn group(text: &str) -> Group {
        let config: Config = serde_json::from_str(text).unwrap();
        config.group().unwrap()
    }

    /// CHECK names a missing rule by its comment.
    #[test]
    fn rules_of_a_chain_have_comments_of_their_own() {
        let rules = ["{}", r#"{"markMasqBit": 3}"#].map(|text| shared(&group(text)).rules);
        let mut known: Vec<_> = rules
            .iter()
            .flatten()
            .map(|r| (&r.chain, &r.comment))
            .collect();
        let count = known.len();
        assert!(count == 26 && known.iter().all(|(_, comment)| comment.is_some()));
        known.sort();
        known.dedup();
        assert_eq!(known.len(), count);
    }

    fn rules_of(group: &Group, family_sets: &FamilySets) -> Vec<Rule> {
        rules(group, family_sets).collect()
    }

    #[test]
    fn what_is_masqueraded_is_marked_where_that_is_asked_for() {
        let count = |text: &str| {
            let group = group(text);
            let rules = rules_of(&group, &IPV4);
            let marks = rules.iter().flat_map(|rule| &rule.statements);
            marks.filter(|s| matches!(s, Statement::SetMark(_))).count()
        };
        assert_eq!(count("{}"), 0);
        assert_eq!(count(r#"{"markMasqBit": 3}"#), 3);
    }

    #[test]
    fn conditions_stand_where_destinations_are_translated() {
        let group = group(r#"{"conditionsV4": ["-s", "10.0.0.0/8"]}"#);
        let conditions = |family_sets| -> Vec<usize> {
            rules_of(&group, family_sets)
                .iter()
                .map(|rule| rule.conditions.len())
                .collect()
        };
        assert_eq!(conditions(&IPV4)[..4], [3, 3, 3, 3]);
        assert_eq!(conditions(&IPV6)[..4], [2, 2, 2, 2]);
    }

    #[test]
    fn sets_of_every_group_are_told_from_networks() {
        for set in [
            "ports4",
            "hostip6_01234567",
            "hairpin4",
            "masqall6_01234567",
        ] {
            assert!(is_owned(set), "{set}");
        }
        assert!(!is_owned("local4"));
    }
}
