//! The capabilities, and where each has its rules: this is the one list of them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::field::Seen;
use super::operation::{Invocation, Rule};
use super::rule_fields::{Description, Draft};
use super::{
    address, conntrack, device, firewall, firewalld, ipam, link, native, neighbour, packet, route,
    rule, store, sysctl, traffic,
};

/// Declares the capabilities of the contract, in its order: those that have rules, and the one that needs none.
macro_rules! capabilities {
    (
        $($(#[$doc:meta])* $variant:ident, $word:literal, $module:ident: $rule:ty;)*
        => without rules $free:ident, $free_word:literal;
    ) => {
        /// One family of host functions, and the key of its rules in a grant.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum Capability {
            $(#[serde(rename = $word)] $variant,)*
            #[serde(rename = $free_word)] $free,
            /// Not one of a plugin's: weir's own, by its own configuration. No grant has it.
            #[serde(rename = "native")]
            Native,
        }

        impl Capability {
            /// All of the contract's, in its order: what a plugin can ask for, and a grant can have.
            pub const ALL: [Self; Self::Native as usize] = [$(Self::$variant,)* Self::$free];

            /// All that stand in the audit log: also weir's own.
            pub const RECORDED: [Self; Self::Native as usize + 1] =
                [$(Self::$variant,)* Self::$free, Self::Native];

            /// The word: interface of the contract, key of a grant, field of the audit log.
            pub fn word(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                    Self::$free => $free_word,
                    Self::Native => "native",
                }
            }

            /// What its rules are made of; none for the one that needs none.
            pub fn description(self) -> Option<&'static Description> {
                match self {
                    $(Self::$variant => Some(&<$rule as Rule>::DESCRIPTION),)*
                    Self::$free => None,
                    Self::Native => Some(&<native::NativePlugin as Rule>::DESCRIPTION),
                }
            }
        }

        /// The rules, capability by capability. An absent capability allows nothing.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub struct Capabilities {
            $($(#[$doc])* #[serde(skip_serializing_if = "Vec::is_empty")] pub $module: Vec<$rule>,)*
            /// What weir's own configuration lists. A document cannot have it.
            #[serde(skip)]
            pub native: Vec<native::NativePlugin>,
        }

        impl Capabilities {
            /// Whether the grant has a rule for this capability. `log` needs none.
            pub fn has(&self, capability: Capability) -> bool {
                match capability {
                    $(Capability::$variant => !self.$module.is_empty(),)*
                    Capability::$free => true,
                    Capability::Native => !self.native.is_empty(),
                }
            }
        }

        $(impl Listed for $rule {
            fn of(capabilities: &Capabilities) -> &[Self] {
                &capabilities.$module
            }
        })*

        /// One object that an operation touches, and how.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Need {
            $($variant($module::Requirement),)*
            Native(native::Requirement),
        }

        $(impl From<$module::Requirement> for Need {
            fn from(requirement: $module::Requirement) -> Self {
                Self::$variant(requirement)
            }
        })*

        impl Need {
            /// Whether rules of the grant meet it, by the rules' own matching.
            pub fn is_met(&self, capabilities: &Capabilities, invocation: &Invocation) -> bool {
                match self {
                    $(Self::$variant(r) => is_met::<$rule>(capabilities, r, invocation),)*
                    Self::Native(r) => is_met::<native::NativePlugin>(capabilities, r, invocation),
                }
            }

            /// Drafts the rule that allows it.
            pub fn draft(&self, seen: &Seen<'_>) -> Draft {
                match self {
                    $(Self::$variant(r) => <$rule>::draft(r, seen),)*
                    Self::Native(r) => native::NativePlugin::draft(r, seen),
                }
            }
        }

        impl fmt::Display for Need {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(requirement) => requirement.fmt(f),)*
                    Self::Native(requirement) => requirement.fmt(f),
                }
            }
        }
    };
}

capabilities! {
    /// Network devices.
    Link, "link", link: link::LinkRule;
    /// IP addresses of links.
    Address, "address", address: address::AddressRule;
    /// Routes.
    Route, "route", route: route::RouteRule;
    /// Policy routing rules. In the contract, and not carried out by this version: what a rule allows is answered
    /// `unsupported`.
    Rule, "rule", rule: rule::RuleRule;
    /// ARP and ND entries, and announcements on the wire.
    Neighbour, "neighbour", neighbour: neighbour::NeighbourRule;
    /// Queueing disciplines, classes and filters of links.
    Traffic, "traffic", traffic: traffic::TrafficRule;
    /// Chains, rules and sets of the plugin's own nftables tables.
    Firewall, "firewall", firewall: firewall::FirewallRule;
    /// The zones of firewalld, where it runs.
    Firewalld, "firewalld", firewalld: firewalld::FirewalldRule;
    /// Entries of the connection tracking table.
    Conntrack, "conntrack", conntrack: conntrack::ConntrackRule;
    /// Kernel parameters below `net.`.
    Sysctl, "sysctl", sysctl: sysctl::SysctlRule;
    /// The plugin's state on disk.
    Store, "store", store: store::StoreRule;
    /// The hardware behind a link of `host`. In the contract, and not carried out by this version.
    Device, "device", device: device::DeviceRule;
    /// Sockets bound to one link of `container`. In the contract, and not carried out by this version.
    Packet, "packet", packet: packet::PacketRule;
    /// Names of IPAM plugins that it may run.
    Ipam, "ipam", ipam: String;
    => without rules Log, "log";
}

impl Capability {
    /// The contract's capability of that word.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.word() == word)
    }

    /// Whether this version of weir carries the capability's operations out. The others are part
    /// of the contract and answer `unsupported`.
    pub fn is_implemented(self) -> bool {
        !matches!(self, Self::Rule | Self::Device | Self::Packet)
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// A rule that has its list in a grant.
pub trait Listed: Sized {
    /// This capability's rules of a grant.
    fn of(capabilities: &Capabilities) -> &[Self];
}

impl Listed for native::NativePlugin {
    fn of(capabilities: &Capabilities) -> &[Self] {
        &capabilities.native
    }
}

impl From<native::Requirement> for Need {
    fn from(requirement: native::Requirement) -> Self {
        Self::Native(requirement)
    }
}

fn is_met<R: Rule>(
    capabilities: &Capabilities,
    requirement: &R::Requirement,
    invocation: &Invocation,
) -> bool {
    let rules = R::of(capabilities);
    let is_met = |r: &R::Requirement| rules.iter().any(|rule| rule.miss(r, invocation).is_none());
    R::spread(rules, requirement.clone()).iter().all(is_met)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capability whose rules were not found would be denied whatever a grant says.
    #[test]
    fn every_capability_finds_its_rules() {
        for capability in Capability::ALL {
            let rule = match capability {
                Capability::Log => continue,
                Capability::Ipam => serde_json::json!("host-local"),
                _ => serde_json::json!({}),
            };
            let grant = serde_json::json!({ capability.to_string(): [rule] });
            let grant: Capabilities = serde_json::from_value(grant).expect("a grant");
            for other in Capability::ALL {
                let expected = other == capability || other == Capability::Log;
                assert_eq!(
                    grant.has(other),
                    expected,
                    "{other} of a grant for {capability}"
                );
            }
        }
    }
}
