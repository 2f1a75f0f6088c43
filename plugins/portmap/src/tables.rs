//! The plugin's table of the family `inet`: maps from the host's ports to the containers', the rules
//! that look them up, and the rules that masquerade what could not find its way back.
//!
//! A new connection costs a few look-ups, and an ADD one transaction, however many mappings there are:
//!
//! ```text
//! map at4 { type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service }    # with hostIP
//! map ports4 { type inet_proto . inet_service : ipv4_addr . inet_service }
//! chain prerouting {                                                     # and the same in output
//!     type nat hook prerouting priority dstnat
//!     fib daddr type local dnat ip to ip daddr . meta l4proto . th dport map @at4
//!     fib daddr type local dnat ip to meta l4proto . th dport map @ports4
//! }
//! set local4 { type ipv4_addr . ipv4_addr; flags interval }              # the containers' networks
//! set back4 { type inet_proto . inet_service . ipv4_addr }               # mappings with snat
//! set all4 { type inet_proto . inet_service . ipv4_addr }                # mappings with masqAll
//! chain postrouting {
//!     type nat hook postrouting priority srcnat
//!     ct status dnat meta l4proto . ct original proto-dst . ip daddr @all4 masquerade
//!     ip saddr 127.0.0.0/8 ct status dnat … @back4 masquerade
//!     ip saddr . ip daddr @local4 ct status dnat … @back4 masquerade
//! }
//! ```
//!
//! (And the same for IPv6, which has no loopback network.) A container that comes to its own port, or to
//! that of another container of its network, must not see the answer come from an address that it never
//! spoke to, nor must the host's loopback address: these are masqueraded.

use ipnet::IpNet;
use weir_sdk::IpFamily;
use weir_sdk::firewall::{
    Chain, ChainType, Command, Condition, DataType, Family, Field, Hook, Rule, Set, Statement,
    networks,
};

use crate::group::Group;

/// The family of the table.
pub const FAMILY: Family = Family::Inet;

/// The base chains, and how many rules of a group are in each.
pub const CHAINS: [(&str, usize); 3] = [(PREROUTING, 4), (OUTPUT, 4), (POSTROUTING, 5)];

const PREROUTING: &str = "prerouting";
const OUTPUT: &str = "output";
const POSTROUTING: &str = "postrouting";

const DESTINATION_NAT: i32 = -100;
const SOURCE_NAT: i32 = 100;

/// `RTN_LOCAL`.
const LOCAL: u32 = 2;

/// `IPS_DST_NAT`.
const DESTINATION_TRANSLATED: u32 = 1 << 5;

/// What one family of addresses has in the table.
pub struct Side {
    pub family: IpFamily,
    pub at: &'static str,
    pub ports: &'static str,
    pub back: &'static str,
    pub all: &'static str,
    pub local: &'static str,
    address: DataType,
    source: Field,
    destination: Field,
    /// `NFPROTO_…`
    protocol: u32,
    loopback: Option<&'static str>,
}

const IPV4: Side = Side {
    family: IpFamily::Ipv4,
    at: "at4",
    ports: "ports4",
    back: "back4",
    all: "all4",
    local: "local4",
    address: DataType::Ipv4Address,
    source: Field::Ipv4Source,
    destination: Field::Ipv4Destination,
    protocol: 2,
    loopback: Some("127.0.0.0/8"),
};

const IPV6: Side = Side {
    family: IpFamily::Ipv6,
    at: "at6",
    ports: "ports6",
    back: "back6",
    all: "all6",
    local: "local6",
    address: DataType::Ipv6Address,
    source: Field::Ipv6Source,
    destination: Field::Ipv6Destination,
    protocol: 10,
    loopback: None,
};

/// The side of an address's family.
pub fn side(family: IpFamily) -> &'static Side {
    match family {
        IpFamily::Ipv4 => &IPV4,
        IpFamily::Ipv6 => &IPV6,
    }
}

/// What a group needs before its first mapping. It fails with `exists` where the group is there.
pub fn base(group: &Group) -> Vec<Command> {
    let chain =
        |name, hook, priority| Command::AddChain(Chain::base(name, ChainType::Nat, hook, priority));
    let mut commands = vec![
        chain(PREROUTING, Hook::Prerouting, DESTINATION_NAT),
        chain(OUTPUT, Hook::Output, DESTINATION_NAT),
        chain(POSTROUTING, Hook::Postrouting, SOURCE_NAT),
    ];
    for side in [IPV4, IPV6] {
        commands.extend(sets(group, &side));
        commands.extend(rules(group, &side).map(Command::AppendRule));
    }
    commands
}

/// Whether a set has elements that belong to attachments.
pub fn is_owned(set: &str) -> bool {
    let plain = set.split('_').next().unwrap_or(set);
    [IPV4, IPV6]
        .iter()
        .any(|s| [s.at, s.ports, s.back, s.all].contains(&plain))
}

fn sets(group: &Group, side: &Side) -> [Command; 5] {
    let target = [side.address, DataType::Port];
    let port = [DataType::Protocol, DataType::Port];
    let at = [side.address, DataType::Protocol, DataType::Port];
    let mapped = [DataType::Protocol, DataType::Port, side.address];
    [
        // The first makes it fail where the group is there already.
        Command::CreateSet(Set::map(group.name(side.ports), port, target)),
        Command::AddSet(Set::map(group.name(side.at), at, target)),
        Command::AddSet(Set::new(group.name(side.back), mapped)),
        Command::AddSet(Set::new(group.name(side.all), mapped)),
        Command::AddSet(networks::set(side.local, side.address)),
    ]
}

fn rules<'r>(group: &'r Group, side: &'r Side) -> impl Iterator<Item = Rule> + 'r {
    let translating = [PREROUTING, OUTPUT].into_iter();
    let translating = translating.flat_map(move |chain| translations(group, side, chain));
    translating.chain(masquerades(group, side))
}

fn translations(group: &Group, side: &Side, chain: &str) -> [Rule; 2] {
    let at = vec![
        side.destination,
        Field::TransportProtocol,
        Field::DestinationPort,
    ];
    let port = vec![Field::TransportProtocol, Field::DestinationPort];
    [(at, side.at), (port, side.ports)].map(|(fields, map)| {
        let rule = rule(group, side, chain);
        let rule = group
            .conditions(side.family)
            .iter()
            .cloned()
            .fold(rule, Rule::when);
        rule.when(Condition::equals(Field::DestinationAddressType, LOCAL))
            .then(Statement::dnat_from_map(
                fields,
                group.name(map),
                side.family,
            ))
    })
}

fn masquerades(group: &Group, side: &Side) -> Vec<Rule> {
    let mapped = |set: &str| {
        let fields = [
            Field::TransportProtocol,
            Field::ConnectionOriginalDestinationPort,
            side.destination,
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
    let loopback = side.loopback.map(|network| {
        let network: IpNet = network.parse().expect("a network");
        Condition::within(side.source, network)
    });
    let local = Condition::in_set([side.source, side.destination], side.local);
    let back = loopback
        .into_iter()
        .chain([local])
        .map(|from| (Some(from), side.back));
    let wanted = [(None, side.all)].into_iter().chain(back);
    let rules = wanted.map(|(from, set)| {
        let conditions = from.into_iter().chain(mapped(set));
        masquerade(
            group,
            conditions.fold(rule(group, side, POSTROUTING), Rule::when),
        )
    });
    rules.collect()
}

/// A rule that looks at packets of one family.
fn rule(group: &Group, side: &Side, chain: &str) -> Rule {
    let rule = Rule {
        comment: Some(group.comment()),
        ..Rule::new(chain)
    };
    rule.when(Condition::equals(Field::NetworkProtocol, side.protocol))
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

    fn group(text: &str) -> Group {
        Group::of(&serde_json::from_str(text).unwrap()).unwrap()
    }

    #[test]
    fn check_knows_how_many_rules_a_group_has() {
        let group = group("{}");
        for (chain, expected) in CHAINS {
            let rules = [IPV4, IPV6];
            let rules = rules.iter().flat_map(|side| rules_of(&group, side));
            assert_eq!(rules.filter(|rule| rule.chain == chain).count(), expected);
        }
    }

    fn rules_of(group: &Group, side: &Side) -> Vec<Rule> {
        rules(group, side).collect()
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
        let conditions = |side| -> Vec<usize> {
            rules_of(&group, side)
                .iter()
                .map(|rule| rule.conditions.len())
                .collect()
        };
        assert_eq!(conditions(&IPV4)[..4], [3, 3, 3, 3]);
        assert_eq!(conditions(&IPV6)[..4], [2, 2, 2, 2]);
    }

    #[test]
    fn sets_of_every_group_are_told_from_networks() {
        for set in ["ports4", "at6_01234567", "back4", "all6_01234567"] {
            assert!(is_owned(set), "{set}");
        }
        assert!(!is_owned("local4"));
    }
}
