//! Links between the contract and the kernel layer.

use weir_grant::link;

use super::bindings::weir::cni::link as contract;
use super::bindings::weir::cni::types::Namespace;

impl From<link::Link> for contract::Link {
    fn from(link: link::Link) -> Self {
        Self {
            index: link.index,
            name: link.name,
            alternative_names: link.alternative_names,
            kind: link.kind,
            mac: link.mac.0,
            mtu: link.mtu,
            txqlen: link.txqlen,
            up: link.up,
            oper_state: link.oper_state.into(),
            promiscuous: link.promiscuous,
            all_multicast: link.all_multicast,
            master: link.master,
            lower: link.lower,
            alias: link.alias,
            details: link.details.into(),
            port: link.port.map(Into::into),
        }
    }
}

impl From<link::OperState> for contract::OperState {
    fn from(state: link::OperState) -> Self {
        match state {
            link::OperState::Unknown => Self::Unknown,
            link::OperState::NotPresent => Self::NotPresent,
            link::OperState::Down => Self::Down,
            link::OperState::LowerLayerDown => Self::LowerLayerDown,
            link::OperState::Testing => Self::Testing,
            link::OperState::Dormant => Self::Dormant,
            link::OperState::Up => Self::Up,
        }
    }
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

impl From<link::Port> for contract::Port {
    fn from(port: link::Port) -> Self {
        Self {
            hairpin: port.hairpin,
            isolated: port.isolated,
        }
    }
}

impl From<contract::BridgeVlan> for link::BridgeVlan {
    fn from(vlan: contract::BridgeVlan) -> Self {
        Self {
            first: vlan.first,
            last: vlan.last,
            pvid: vlan.pvid,
            untagged: vlan.untagged,
        }
    }
}

impl From<link::BridgeVlan> for contract::BridgeVlan {
    fn from(vlan: link::BridgeVlan) -> Self {
        Self {
            first: vlan.first,
            last: vlan.last,
            pvid: vlan.pvid,
            untagged: vlan.untagged,
        }
    }
}

impl From<weir_grant::Namespace> for Namespace {
    fn from(namespace: weir_grant::Namespace) -> Self {
        match namespace {
            weir_grant::Namespace::Host => Self::Host,
            weir_grant::Namespace::Container => Self::Container,
        }
    }
}

impl From<contract::MacvlanMode> for link::MacvlanMode {
    fn from(mode: contract::MacvlanMode) -> Self {
        match mode {
            contract::MacvlanMode::Private => Self::Private,
            contract::MacvlanMode::Vepa => Self::Vepa,
            contract::MacvlanMode::Bridge => Self::Bridge,
            contract::MacvlanMode::Passthru => Self::Passthru,
            contract::MacvlanMode::Source => Self::Source,
        }
    }
}

impl From<link::MacvlanMode> for contract::MacvlanMode {
    fn from(mode: link::MacvlanMode) -> Self {
        match mode {
            link::MacvlanMode::Private => Self::Private,
            link::MacvlanMode::Vepa => Self::Vepa,
            link::MacvlanMode::Bridge => Self::Bridge,
            link::MacvlanMode::Passthru => Self::Passthru,
            link::MacvlanMode::Source => Self::Source,
        }
    }
}

impl From<contract::IpvlanMode> for link::IpvlanMode {
    fn from(mode: contract::IpvlanMode) -> Self {
        match mode {
            contract::IpvlanMode::L2 => Self::L2,
            contract::IpvlanMode::L3 => Self::L3,
            contract::IpvlanMode::L3s => Self::L3s,
        }
    }
}

impl From<link::IpvlanMode> for contract::IpvlanMode {
    fn from(mode: link::IpvlanMode) -> Self {
        match mode {
            link::IpvlanMode::L2 => Self::L2,
            link::IpvlanMode::L3 => Self::L3,
            link::IpvlanMode::L3s => Self::L3s,
        }
    }
}

impl From<contract::VlanProtocol> for link::VlanProtocol {
    fn from(protocol: contract::VlanProtocol) -> Self {
        match protocol {
            contract::VlanProtocol::Ieee8021q => Self::Ieee8021q,
            contract::VlanProtocol::Ieee8021ad => Self::Ieee8021ad,
        }
    }
}
