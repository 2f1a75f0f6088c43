//! The names and comments that identify the rules of an attachment of the reference plugins.

use std::fmt::Write;
use std::net::IpAddr;

use sha2::{Digest, Sha512};
use weir_grant::firewall::{Family, RemoveReference};

use crate::error::{Error, Result};

/// How long the names of iptables chains are.
const CHAIN_LENGTH: usize = 28;

/// How much of a digest a comment has.
const SHORT: usize = 16;

/// The chain in the table `filter` in which all containers' packets are accepted.
pub const ACCEPTING: &str = "CNI-FORWARD";

/// What there may be of an attachment.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Traces {
    /// In the tables `nat` of iptables.
    pub chains: Vec<Chain>,
    /// What is accepted in the tables `filter` of iptables, from and to each address.
    pub accepted: Vec<IpAddr>,
    /// In nftables tables of the plugin's own.
    pub commented: Vec<Commented>,
}

/// A chain of one attachment alone.
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    pub name: String,
    /// The chain that jumps there.
    pub entered_from: &'static str,
}

/// Rules with a comment.
#[derive(Debug, PartialEq, Eq)]
pub struct Commented {
    pub family: Family,
    pub table: &'static str,
    pub chains: &'static [&'static str],
    pub comment: Comment,
}

/// What a rule's comment is, or begins with.
#[derive(Debug, PartialEq, Eq)]
pub enum Comment {
    Whole(String),
    Beginning(String),
}

impl Comment {
    /// Whether a rule's comment is meant.
    pub fn is(&self, comment: &str) -> bool {
        match self {
            Self::Whole(whole) => comment == whole,
            Self::Beginning(beginning) => comment.starts_with(beginning),
        }
    }
}

impl Traces {
    /// Where a name is empty, nothing is known by it. Errors: `Unsupported` for a plugin that leaves nothing.
    pub fn of(operation: &RemoveReference) -> Result<Self> {
        let RemoveReference {
            plugin,
            network,
            container_id,
            ..
        } = operation;
        match plugin.as_str() {
            _ if network.is_empty() || container_id.is_empty() => Ok(Self::default()),
            "portmap" => Ok(mappings(network, container_id)),
            "bridge" | "ptp" => Ok(masquerade(operation)),
            "firewall" => Ok(Self {
                accepted: operation.addresses.clone(),
                ..Self::default()
            }),
            _ => Err(Error::unsupported(format!(
                "`{plugin}` is not a reference plugin that leaves rules"
            ))),
        }
    }
}

fn mappings(network: &str, container_id: &str) -> Traces {
    let chain = |prefix, entered_from| Chain {
        name: chain_name(prefix, network, container_id),
        entered_from,
    };
    let own = |family| Commented {
        family,
        table: "cni_hostport",
        chains: &["hostports", "hostip_hostports", "masquerading"],
        comment: Comment::Whole(container_id.to_owned()),
    };
    Traces {
        chains: vec![
            chain("CNI-DN-", "CNI-HOSTPORT-DNAT"),
            // Before 0.7.
            chain("CNI-SN-", "CNI-HOSTPORT-SNAT"),
        ],
        commented: vec![own(Family::Ip), own(Family::Ip6)],
        ..Traces::default()
    }
}

fn masquerade(operation: &RemoveReference) -> Traces {
    let RemoveReference {
        network,
        container_id,
        ifname,
        ..
    } = operation;
    let of_network = digest(network);
    let of_attachment = digest(&format!("{ifname}:{container_id}"));
    let comment = format!("{}-{}", &of_network[..SHORT], &of_attachment[..SHORT]);
    Traces {
        chains: vec![Chain {
            name: masquerade_chain(network, container_id),
            entered_from: "POSTROUTING",
        }],
        commented: vec![Commented {
            family: Family::Inet,
            table: "cni_plugins_masquerade",
            chains: &["masq_checks"],
            comment: Comment::Beginning(comment),
        }],
        ..Traces::default()
    }
}

/// Returns the chain in which the reference's `ipMasq` masquerades what a container sends.
pub fn masquerade_chain(network: &str, container_id: &str) -> String {
    chain_name("CNI-", network, container_id)
}

fn chain_name(prefix: &str, network: &str, container_id: &str) -> String {
    let mut name = format!("{prefix}{}", digest(&format!("{network}{container_id}")));
    name.truncate(CHAIN_LENGTH);
    name
}

/// SHA-512, in hexadecimal digits.
fn digest(text: &str) -> String {
    let mut digits = String::new();
    for byte in Sha512::digest(text) {
        let _ = write!(digits, "{byte:02x}");
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(plugin: &str, network: &str, container_id: &str) -> Traces {
        Traces::of(&RemoveReference {
            plugin: plugin.to_owned(),
            network: network.to_owned(),
            container_id: container_id.to_owned(),
            ifname: "eth0".to_owned(),
            addresses: vec![[10, 0, 0, 1].into()],
        })
        .expect("a plugin that leaves rules")
    }

    /// As the reference plugins' own tests have it.
    #[test]
    fn chains_have_the_references_names() {
        assert_eq!(
            chain_name("CNI-", "test", "1234"),
            "CNI-2bbe0c48b91a7d1b8a6753a8"
        );
        assert_eq!(
            chain_name("CNI-PREFIX-", "test", "1234"),
            "CNI-PREFIX-2bbe0c48b91a7d1b8"
        );
    }

    #[test]
    fn without_a_container_nothing_is_known() {
        for plugin in ["portmap", "bridge", "firewall"] {
            assert_eq!(traces(plugin, "", "c"), Traces::default());
            assert_eq!(traces(plugin, "n", ""), Traces::default());
            assert_ne!(traces(plugin, "n", "c"), Traces::default());
        }
    }

    #[test]
    fn each_plugin_has_traces_of_its_own() {
        let portmap = traces("portmap", "net", "c1");
        assert!(
            portmap
                .chains
                .iter()
                .all(|chain| chain.name.len() == CHAIN_LENGTH)
        );
        assert!(portmap.accepted.is_empty());
        let bridge = traces("bridge", "net", "c1");
        assert!(
            bridge
                .chains
                .iter()
                .all(|chain| !portmap.chains.contains(chain))
        );
        let comment = &bridge.commented[0].comment;
        let Comment::Beginning(beginning) = comment else {
            panic!("{comment:?}");
        };
        assert!(comment.is(&format!("{beginning}, net: net, if: eth0, id: c1")));
        assert!(!comment.is("another") && !portmap.commented[0].comment.is("c11"));
        assert_eq!(traces("firewall", "net", "c1").accepted.len(), 1);
    }
}
