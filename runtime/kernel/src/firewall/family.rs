//! The kernel's numbers and names of families, hooks and chain types.

use std::ffi::CStr;

use weir_grant::firewall::{ChainType, Family, Hook};

/// The kernel's names of chain types.
pub(super) const CHAIN_TYPES: [(ChainType, &CStr); 3] = [
    (ChainType::Filter, c"filter"),
    (ChainType::Nat, c"nat"),
    (ChainType::Route, c"route"),
];

/// The hooks of each family, each at its number.
const INET_HOOKS: [Hook; 6] = [
    Hook::Prerouting,
    Hook::Input,
    Hook::Forward,
    Hook::Output,
    Hook::Postrouting,
    Hook::Ingress,
];
const ARP_HOOKS: [Hook; 2] = [Hook::Input, Hook::Output];
const NETDEV_HOOKS: [Hook; 2] = [Hook::Ingress, Hook::Egress];

/// `NFPROTO_…`
pub(crate) fn protocol_family(family: Family) -> u8 {
    match family {
        Family::Inet => 1,
        Family::Ip => 2,
        Family::Arp => 3,
        Family::Netdev => 5,
        Family::Bridge => 7,
        Family::Ip6 => 10,
    }
}

/// The hooks of a family, each at its number.
pub(super) fn hooks(family: Family) -> &'static [Hook] {
    match family {
        Family::Inet => &INET_HOOKS,
        Family::Ip | Family::Ip6 | Family::Bridge => &INET_HOOKS[..5],
        Family::Arp => &ARP_HOOKS,
        Family::Netdev => &NETDEV_HOOKS,
    }
}

/// The hook of that number in a family.
pub(super) fn hook_at(family: Family, number: u32) -> Option<Hook> {
    hooks(family).get(number as usize).copied()
}
