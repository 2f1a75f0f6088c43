//! The networks in which addresses are allowed, and how they become few.

use ipnet::IpNet;
use weir_grant::field::Networks;
use weir_grant::pattern::contains;
use weir_grant::query::{Need, Query};
use weir_grant::rule::RuleFields;

/// The most networks in one rule: more become larger ones.
pub(super) const MOST_NETWORKS: usize = 4;

/// The largest networks that are merged from others: `10.0.0.0/8`, and what a registry assigns to a provider.
const WIDEST_IPV4: u8 = 8;
const WIDEST_IPV6: u8 = 32;

/// Returns the networks of the addresses that an operation adds to links.
pub fn networks_given(operation: &dyn Query) -> Vec<IpNet> {
    let needs = operation.needs().into_iter();
    let given = needs.filter_map(|need| match need {
        Need::Address(r) => r.address,
        _ => None,
    });
    let networks = given.filter(|a| a.prefix_len() < a.max_prefix_len());
    networks.map(|a| a.trunc()).collect()
}

/// Merges the networks of a rule until they are few: adjacent ones first, then the closest.
pub(super) fn bound_networks(rule: &mut RuleFields) {
    for field in rule
        .described()
        .iter()
        .filter(|field| field.is_of::<Networks>())
    {
        if let Some(values) = rule.fields.get_mut(field.key) {
            let networks: Vec<IpNet> = values.iter().filter_map(|v| v.parse().ok()).collect();
            *values = few(&networks).iter().map(IpNet::to_string).collect();
        }
    }
}

/// At most [`MOST_NETWORKS`] that contain all of them, each as small as possible; more if one would be too large.
///
/// Of sorted networks that do not overlap, the closest two are neighbours. So the widest gaps remain, and the networks
/// between two of them become one.
pub(super) fn few(networks: &[IpNet]) -> Vec<IpNet> {
    let mut networks = IpNet::aggregate(&networks.to_vec());
    networks.sort();
    let mut gaps: Vec<(Option<u8>, usize)> = networks
        .windows(2)
        .enumerate()
        .map(|(at, pair)| (together(pair[0], pair[1]), at + 1))
        .collect();
    // The shortest common prefix is the widest gap. Networks that must not be merged have none.
    gaps.sort();
    let apart = gaps
        .iter()
        .take_while(|(prefix, _)| prefix.is_none())
        .count();
    gaps.truncate(apart.max(MOST_NETWORKS - 1));
    let mut starts: Vec<usize> = gaps.into_iter().map(|(_, at)| at).collect();
    starts.sort_unstable();
    let mut groups = Vec::new();
    let mut rest = networks.as_slice();
    for start in starts.into_iter().rev() {
        let (before, group) = rest.split_at(start);
        groups.push(group);
        rest = before;
    }
    groups.push(rest);
    let all = groups.into_iter().filter_map(|group| {
        let (first, last) = (group.first()?, group.last()?);
        around(*first, *last)
    });
    IpNet::aggregate(&all.collect())
}

/// The prefix of the smallest network around both; none for two families, and if that network would be too large.
fn together(one: IpNet, other: IpNet) -> Option<u8> {
    let around = around(one, other)?;
    let widest = match around {
        IpNet::V4(_) => WIDEST_IPV4,
        IpNet::V6(_) => WIDEST_IPV6,
    };
    Some(around.prefix_len()).filter(|prefix| *prefix >= widest)
}

/// The smallest network around both; none for two families.
fn around(one: IpNet, other: IpNet) -> Option<IpNet> {
    let mut network = one;
    while !contains(&network, &other) {
        network = network.supernet()?;
    }
    Some(network)
}
