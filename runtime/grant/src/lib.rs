//! What a plugin may do: the grant, the operations that it covers, and whether it allows one.
//!
//! Everything here is pure: an [`Operation`] comes in with the facts that it is about, and a [`Decision`] goes out.
//! There is one file for each capability, and in it that capability's operations, its rule in a grant and how the two
//! are matched. Documents are read by [`reading`], with the place of every mistake, and [`operation_names`] finds an
//! operation by the name that a person types.
//!
//! This crate must not open a file or a socket, read a clock, or know of the kernel, of processes or of WebAssembly.
//! What it decides depends on its arguments alone, so that a decision can be tried, explained and fuzzed anywhere.
//!
//! # Example
//!
//! ```
//! use weir_grant::sysctl::Write;
//! use weir_grant::{Decision, Document, Invocation, Namespace, decide};
//!
//! let grant = Document::read(
//!     br#"
//! apiVersion: weir.dev/v1alpha1
//! kind: PluginGrant
//! metadata:
//!   name: router
//! spec:
//!   plugin:
//!     name: router
//!   networks: ["*"]
//!   capabilities:
//!     sysctl:
//!       - namespace: host
//!         keys: ["net.ipv4.ip_forward"]
//!         values: ["1"]
//!         verbs: [write]
//! "#,
//! )
//! .expect("a valid grant");
//!
//! let invocation = Invocation {
//!     container_id: "c1".into(),
//!     ifname: "eth0".into(),
//!     network: "pods".into(),
//!     ..Invocation::default()
//! };
//! let write = |value: &str| Write {
//!     namespace: Namespace::Host,
//!     key: "net.ipv4.ip_forward".into(),
//!     value: value.into(),
//!     owner: String::new(),
//! };
//!
//! let decision = decide(&grant.spec.capabilities, &invocation, &write("1"));
//! assert!(matches!(decision, Decision::Allowed { rules } if rules == ["sysctl[0]"]));
//!
//! // The rule that came closest is named, with the field in which it missed.
//! let decision = decide(&grant.spec.capabilities, &invocation, &write("0"));
//! let Decision::Denied { closest: Some(closest), .. } = decision else {
//!     panic!("the grant allows no other value");
//! };
//! assert_eq!((closest.rule.as_str(), closest.field.as_str()), ("sysctl[0]", "values"));
//! ```

mod act;
pub mod address;
mod capability;
pub mod conntrack;
mod contract;
pub mod device;
pub mod diagnostic;
pub mod document;
mod facts;
pub mod field;
pub mod firewall;
pub mod firewalld;
pub mod flow;
mod host_interfaces;
pub mod internal_grant;
mod invocation;
pub mod ipam;
pub mod link;
mod namespace;
pub mod native;
mod needed;
pub mod neighbour;
pub mod operation;
pub mod operation_names;
mod overlap;
pub mod owner;
pub mod packet;
pub mod pattern;
pub mod phrase;
pub mod plugin;
pub mod policy_rule;
mod quantity;
pub mod query;
pub mod reading;
pub mod route;
pub mod rule;
pub mod section;
pub mod size;
mod spell;
pub mod store;
pub mod sysctl;
mod sysctl_key;
#[cfg(test)]
mod tests;
pub mod text;
pub mod traffic;
mod verb;
mod word;

pub use act::{Act, Severity};
pub use contract::ContractInterface;
pub use document::{Document, Limits};
pub use host_interfaces::{HOST_INTERFACES, HostInterfaces};
pub use invocation::Invocation;
pub use namespace::Namespace;
pub use operation::{Closest, Decision, Operation, Unmet, allowing_rules, decide, rule_name};
pub use overlap::Overlap;
pub use rule::Rule;
pub use section::Section;
pub use spell::generated_prefix;
pub use verb::{Verb, VerbSet};

use capability::capabilities;

// This is the one list of the capabilities.
capabilities! {
    /// Network devices.
    Link, "link", link: link::LinkRule;
    /// IP addresses of links.
    Address, "address", address: address::AddressRule;
    /// Routes.
    Route, "route", route: route::RouteRule;
    /// Policy routing rules.
    PolicyRule, "policy-rule" once "rule", policy_rule: policy_rule::PolicyRuleRule;
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
    /// The hardware behind a link of `host`.
    Device, "device", device: device::DeviceRule;
    /// Sockets bound to one link of `container`. This version does not implement them: calls return `unsupported`.
    Packet, "packet", packet: packet::PacketRule;
    /// Names of IPAM plugins that it may run.
    Ipam, "ipam", ipam: String;
    => without rules Log, "log";
    => configured native::NativePlugin;
}
