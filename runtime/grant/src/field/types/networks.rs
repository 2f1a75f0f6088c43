//! IP networks.

use ipnet::IpNet;

use super::one;
use crate::field::{FieldType, Networks, Seen, Texts, points};
use crate::invocation::Invocation;
use crate::pattern::contains;

impl FieldType for Networks {
    type Values = Vec<IpNet>;
    type Fact<'r> = IpNet;
    const EXAMPLES: &'static [&'static str] = &[
        "10.0.0.0/8",
        "10.1.0.0/16",
        "10.1.2.3/32",
        "0.0.0.0/0",
        "::/0",
        "fd00::/8",
    ];

    fn matches(networks: &Vec<IpNet>, fact: IpNet, _: &Invocation) -> bool {
        networks.iter().any(|network| contains(network, &fact))
    }

    fn text(address: IpNet) -> Texts {
        one(address)
    }

    /// The next container gets another address of the same network.
    fn write(address: IpNet, seen: &Seen<'_>) -> Texts {
        if address.prefix_len() < address.max_prefix_len() {
            return one(address.trunc());
        }
        let around = seen.networks.iter().filter(|n| contains(n, &address));
        let smallest = around.max_by_key(|network| network.prefix_len());
        one(smallest.copied().unwrap_or(address))
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        let networks = (wide.parse::<IpNet>(), narrow.parse::<IpNet>());
        matches!(networks, (Ok(wide), Ok(narrow)) if contains(&wide, &narrow))
    }

    fn meets(value: &str, query: &str) -> bool {
        Self::covers(value, query)
    }

    fn points(value: &str, others: &Texts) -> Texts {
        points::of_network(value, others)
    }

    fn aggregate(networks: &Texts) -> Texts {
        let networks: Vec<IpNet> = networks.iter().filter_map(|n| n.parse().ok()).collect();
        let together = IpNet::aggregate(&networks);
        together.iter().map(IpNet::to_string).collect()
    }

    fn included(value: &str) -> Option<String> {
        every_address(value).map(|family| format!("every {family} address"))
    }
}

/// The family of which a network has every address.
pub(crate) fn every_address(network: &str) -> Option<&'static str> {
    match network.parse().ok()? {
        IpNet::V4(network) if network.prefix_len() == 0 => Some("IPv4"),
        IpNet::V6(network) if network.prefix_len() == 0 => Some("IPv6"),
        _ => None,
    }
}
