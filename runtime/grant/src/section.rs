//! The two sections of a grant: what a plugin may do on the node's own networks, and what it may do for
//! tenants, who write objects of the cluster and annotations of pods.

use super::word::words;

/// One section of a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// `spec.capabilities`: networks whose configuration is a file of the node's owner.
    Node,
    /// `spec.tenants`: networks whose configuration is the text of a NetworkAttachmentDefinition.
    Tenants,
}

impl Section {
    /// Both, in the document's order.
    pub const ALL: [Self; 2] = [Self::Node, Self::Tenants];

    /// Returns the section for a network. A definition's network is `namespace/name`, and no name in
    /// a configuration has a slash.
    pub fn of(network: &str) -> Self {
        if network.contains('/') {
            Self::Tenants
        } else {
            Self::Node
        }
    }

    /// Returns the key of a document's `spec` that has the section's rules.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Node => "capabilities",
            Self::Tenants => "tenants.capabilities",
        }
    }

    /// Names a rule of the section: `tenants.link[0]`, `link[0]`.
    pub fn rule(self, rule: &str) -> String {
        match self {
            Self::Node => rule.to_owned(),
            Self::Tenants => format!("{TENANTS}{rule}"),
        }
    }

    /// Splits such a name into the section and the rule's name in it.
    pub fn of_rule(rule: &str) -> (Self, &str) {
        match rule.strip_prefix(TENANTS) {
            Some(rule) => (Self::Tenants, rule),
            None => (Self::Node, rule),
        }
    }
}

/// Returns the network's name without a slash: `namespace@name` for `namespace/name`. No name in a
/// configuration has an `@`.
pub fn in_one_part(network: &str) -> String {
    network.replacen('/', "@", 1)
}

const TENANTS: &str = "tenants.";

words! {
    /// A request of a pod to its network: a key of its selection annotation, as the plugins get it in
    /// `runtimeConfig` or `args.cni`.
    #[derive(PartialOrd, Ord)]
    pub enum Request {
        /// Addresses.
        Ips = "ips",
        /// A link-layer address.
        Mac = "mac",
        /// Ports of the host.
        PortMappings = "portMappings",
        /// Rates and bursts.
        Bandwidth = "bandwidth",
        InfinibandGuid = "infinibandGUID",
        IpamClaimReference = "ipam-claim-reference",
        /// Any other member of `args.cni`.
        CniArgs = "cni-args",
    }
}

impl Request {
    /// Returns the requests that the keys of `args.cni` and of `runtimeConfig` make. An unknown key of the latter is
    /// not a pod's, such as a device's id.
    pub fn of_keys<'a>(
        args: impl Iterator<Item = &'a String>,
        runtime_config: impl Iterator<Item = &'a String>,
    ) -> Vec<Self> {
        let of_key = |key: &String| {
            Self::ALL
                .iter()
                .copied()
                .find(|request| request.word() == key)
        };
        let args = args.map(|key| of_key(key).unwrap_or(Self::CniArgs));
        let mut requests: Vec<Self> = args.chain(runtime_config.filter_map(of_key)).collect();
        requests.sort_unstable();
        requests.dedup();
        requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_of_a_definition_is_the_tenants() {
        assert_eq!(Section::of("cbr0"), Section::Node);
        assert_eq!(Section::of("default/cbr0"), Section::Tenants);
    }

    #[test]
    fn a_rule_is_called_by_its_section() {
        for section in Section::ALL {
            let name = section.rule("link[0]");
            assert_eq!(Section::of_rule(&name), (section, "link[0]"), "{name}");
        }
    }
}
