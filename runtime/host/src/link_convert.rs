//! Conversions of links between the contract and the operations.

use weir_grant::link;

use super::bindings::weir::cni::link as contract;
use super::convert::{same_fields, same_names};

same_names! {
    contract::OperState, link::OperState {
        Unknown NotPresent Down LowerLayerDown Testing Dormant Up
    }
    contract::MacvlanMode, link::MacvlanMode { Private Vepa Bridge Passthru Source }
    contract::IpvlanMode, link::IpvlanMode { L2 L3 L3s }
    contract::VlanProtocol, link::VlanProtocol { Ieee8021q Ieee8021ad }
}

same_fields! {
    link::Link => contract::Link {
        index name alternative_names kind mac mtu txqlen up oper_state promiscuous all_multicast
        master lower alias details; map port
    }
    link::Port => contract::Port { hairpin isolated }
    contract::NewBridge => link::BridgeChanges { vlan_filtering default_pvid }
    contract::BridgeChanges => link::BridgeChanges { vlan_filtering default_pvid }
    contract::BridgeVlan => link::BridgeVlan { first last pvid untagged }
    link::BridgeVlan => contract::BridgeVlan { first last pvid untagged }
    contract::NewTap => link::NewTap { owner group multi_queue selinux_context }
    link::Peer => contract::Peer { index; map namespace }
}

impl From<link::Details> for contract::Details {
    fn from(details: link::Details) -> Self {
        match details {
            link::Details::None => Self::None,
            link::Details::Bridge {
                vlan_filtering,
                default_pvid,
            } => Self::Bridge(contract::Bridge {
                vlan_filtering,
                default_pvid,
            }),
            link::Details::Macvlan(mode) => Self::Macvlan(mode.into()),
            link::Details::Ipvlan(mode) => Self::Ipvlan(mode.into()),
            link::Details::Vlan(id) => Self::Vlan(id),
            link::Details::Vrf(table) => Self::Vrf(table),
        }
    }
}
