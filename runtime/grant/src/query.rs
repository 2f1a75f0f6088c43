//! Operations of any capability behind one type: what the tools ask the matcher about.
//!
//! A record of the audit log and a person name an operation by words. Here the words become the
//! operation that the gate decides, so that a tool's answer is the gate's.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::document::Capabilities;
use super::operation::{Decision, Invocation, Operation, Rule, decide};
use super::{
    address, conntrack, device, firewall, firewalld, ipam, link, native, neighbour, packet, route,
    rule, store, sysctl, traffic,
};

/// An operation of some capability.
pub trait Query {
    /// `link.create`.
    fn name(&self) -> &'static str;

    /// Whether it leaves everything as it was.
    fn is_read(&self) -> bool;

    /// What the gate would decide.
    fn decide(&self, capabilities: &Capabilities, invocation: &Invocation) -> Decision;

    /// What must be allowed for the operation to be.
    fn needs(&self) -> Vec<Need>;

    /// Why weir refuses it whatever a grant allows.
    fn flaw(&self) -> Option<String>;

    /// Its arguments, as a record of the audit log has them.
    fn arguments(&self) -> Value;
}

impl<O> Query for O
where
    O: Operation,
    Need: From<<O::Rule as Rule>::Requirement>,
{
    fn name(&self) -> &'static str {
        O::NAME
    }

    fn is_read(&self) -> bool {
        O::VERB.is_read()
    }

    fn decide(&self, capabilities: &Capabilities, invocation: &Invocation) -> Decision {
        decide(capabilities, invocation, self)
    }

    fn needs(&self) -> Vec<Need> {
        self.requirements().into_iter().map(Need::from).collect()
    }

    fn flaw(&self) -> Option<String> {
        Operation::flaw(self)
    }

    fn arguments(&self) -> Value {
        to_value(self)
    }
}

fn to_value(operation: &impl Serialize) -> Value {
    serde_json::to_value(operation).expect("an operation is JSON")
}

/// Declares the requirement of every capability as one type.
macro_rules! needs {
    ($($(#[$doc:meta])* $variant:ident, $module:ident, $rule:ty;)*) => {
        /// One object that an operation touches, and how.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Need {
            $($(#[$doc])* $variant($module::Requirement),)*
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
                    $(Self::$variant(requirement) => {
                        is_met::<$rule>(capabilities, requirement.clone(), invocation)
                    })*
                }
            }
        }

        impl fmt::Display for Need {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(requirement) => requirement.fmt(f),)*
                }
            }
        }
    };
}

fn is_met<R: Rule>(
    capabilities: &Capabilities,
    requirement: R::Requirement,
    invocation: &Invocation,
) -> bool {
    let rules = R::of(capabilities);
    let is_met = |r: &R::Requirement| rules.iter().any(|rule| rule.miss(r, invocation).is_none());
    R::spread(rules, requirement).iter().all(is_met)
}

needs! {
    Link, link, link::LinkRule;
    Address, address, address::AddressRule;
    Route, route, route::RouteRule;
    Rule, rule, rule::RuleRule;
    Neighbour, neighbour, neighbour::NeighbourRule;
    Traffic, traffic, traffic::TrafficRule;
    Firewall, firewall, firewall::FirewallRule;
    Firewalld, firewalld, firewalld::FirewalldRule;
    Conntrack, conntrack, conntrack::ConntrackRule;
    Sysctl, sysctl, sysctl::SysctlRule;
    Store, store, store::StoreRule;
    Device, device, device::DeviceRule;
    Packet, packet, packet::PacketRule;
    Ipam, ipam, String;
    Native, native, native::NativePlugin;
}
