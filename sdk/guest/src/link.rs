//! Capability `link`: network devices.
//!
//! ```no_run
//! # fn add(request: weir_sdk::Request<()>) -> Result<(), weir_sdk::Error> {
//! use weir_sdk::Namespace;
//! use weir_sdk::link::{self, NewLink, NewPeer};
//!
//! let peer = NewPeer {
//!     up: true,
//!     ..NewPeer::new(Namespace::Container, &request.ifname)
//! };
//! let host_end = link::create(NewLink {
//!     up: true,
//!     master: Some("cni0".into()),
//!     ..NewLink::veth(Namespace::Host, "", peer)
//! })?;
//! # Ok(())
//! # }
//! ```

use weir_cni::{Interface, Mac};

use crate::bindings::weir::cni::link as raw;
use crate::convert::same_fields;
use crate::{LinkReference, Namespace, Result};

pub use raw::{
    Bridge, BridgeChanges, BridgeVlan, Details, IpvlanMode, Link, MacvlanMode, NewBridge,
    NewIpvlan, NewMacvlan, NewMaster, NewTap, NewVlan, OperState, Peer, Port, PortChanges,
    VlanProtocol,
};

/// The most links that the contract lets be deleted in one step.
const DELETED_AT_ONCE: usize = 256;

impl Link {
    /// Returns the link-layer address; none for a link without one.
    pub fn mac(&self) -> Option<Mac> {
        Mac::from_bytes(&self.mac)
    }

    /// Returns the link-layer address as text, the way results have it.
    pub fn mac_text(&self) -> Option<String> {
        self.mac().map(|mac| mac.to_string())
    }

    /// Returns the link for a result, as one on the host.
    pub fn interface(&self) -> Interface {
        Interface {
            name: self.name.clone(),
            mac: self.mac_text(),
            mtu: Some(self.mtu),
            ..Interface::default()
        }
    }

    /// Returns the bridge's settings; none for another kind.
    pub fn bridge(&self) -> Option<Bridge> {
        match self.details {
            Details::Bridge(bridge) => Some(bridge),
            _ => None,
        }
    }
}

/// A reference by index, which stays right when the link is renamed.
impl From<&Link> for LinkReference {
    fn from(link: &Link) -> Self {
        LinkReference::Index(link.index)
    }
}

/// What kind of link to create.
#[derive(Clone, Debug)]
pub enum NewKind {
    /// A pair.
    Veth(NewPeer),
    /// A bridge.
    Bridge(NewBridge),
    /// A macvlan on a lower device.
    Macvlan(NewMacvlan),
    /// An ipvlan on a lower device.
    Ipvlan(NewIpvlan),
    /// A VLAN of a lower device.
    Vlan(NewVlan),
    /// A dummy.
    Dummy,
    /// A tap device.
    Tap(NewTap),
    /// A VRF with its routing table.
    Vrf(u32),
    /// An intermediate functional block.
    Ifb,
}

impl From<NewKind> for raw::NewKind {
    fn from(kind: NewKind) -> Self {
        match kind {
            NewKind::Veth(peer) => raw::NewKind::Veth(peer.into()),
            NewKind::Bridge(bridge) => raw::NewKind::Bridge(bridge),
            NewKind::Macvlan(macvlan) => raw::NewKind::Macvlan(macvlan),
            NewKind::Ipvlan(ipvlan) => raw::NewKind::Ipvlan(ipvlan),
            NewKind::Vlan(vlan) => raw::NewKind::Vlan(vlan),
            NewKind::Dummy => raw::NewKind::Dummy,
            NewKind::Tap(tap) => raw::NewKind::Tap(tap),
            NewKind::Vrf(table) => raw::NewKind::Vrf(table),
            NewKind::Ifb => raw::NewKind::Ifb,
        }
    }
}

/// The other end of a veth pair.
#[derive(Clone, Debug)]
pub struct NewPeer {
    /// Where it is created.
    pub namespace: Namespace,
    /// Empty: the kernel chooses `vethN`.
    pub name: String,
    /// Absent: the kernel chooses.
    pub mac: Option<Mac>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// Created up.
    pub up: bool,
}

impl NewPeer {
    /// Makes a peer that is down, with the kernel's MAC and MTU.
    pub fn new(namespace: Namespace, name: impl Into<String>) -> Self {
        NewPeer {
            namespace,
            name: name.into(),
            mac: None,
            mtu: None,
            up: false,
        }
    }
}

#[expect(clippy::derivable_impls, reason = "a generated type cannot derive")]
impl Default for NewBridge {
    fn default() -> Self {
        NewBridge {
            vlan_filtering: None,
            default_pvid: None,
        }
    }
}

#[expect(clippy::derivable_impls, reason = "a generated type cannot derive")]
impl Default for NewTap {
    fn default() -> Self {
        NewTap {
            owner: None,
            group: None,
            multi_queue: false,
            selinux_context: None,
        }
    }
}

/// A link to create, in one message.
#[derive(Clone, Debug)]
pub struct NewLink {
    /// Where it is created.
    pub namespace: Namespace,
    /// Empty for a veth: the kernel chooses `vethN`.
    pub name: String,
    /// What it is.
    pub kind: NewKind,
    /// Absent: the kernel chooses.
    pub mac: Option<Mac>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// Packets.
    pub txqlen: Option<u32>,
    /// Created up.
    pub up: bool,
    /// A bridge, VRF or bond in `namespace` that it becomes a port of.
    pub master: Option<LinkReference>,
    /// The alias.
    pub alias: Option<String>,
}

impl NewLink {
    /// Makes a link that is down and has the kernel's defaults.
    pub fn new(namespace: Namespace, name: impl Into<String>, kind: NewKind) -> Self {
        NewLink {
            namespace,
            name: name.into(),
            kind,
            mac: None,
            mtu: None,
            txqlen: None,
            up: false,
            master: None,
            alias: None,
        }
    }

    /// Makes a veth pair. With an empty name the kernel chooses `vethN`.
    pub fn veth(namespace: Namespace, name: impl Into<String>, peer: NewPeer) -> Self {
        NewLink::new(namespace, name, NewKind::Veth(peer))
    }

    /// Makes a bridge.
    pub fn bridge(namespace: Namespace, name: impl Into<String>, bridge: NewBridge) -> Self {
        NewLink::new(namespace, name, NewKind::Bridge(bridge))
    }
}

/// Attributes to change; absent ones stay as they are.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// The new name.
    pub name: Option<String>,
    /// Up or down.
    pub up: Option<bool>,
    /// The link-layer address.
    pub mac: Option<Mac>,
    /// Bytes.
    pub mtu: Option<u32>,
    /// Packets.
    pub txqlen: Option<u32>,
    /// Receive all packets.
    pub promiscuous: Option<bool>,
    /// Receive all multicast packets.
    pub all_multicast: Option<bool>,
    /// The alias.
    pub alias: Option<String>,
    /// The master, or none.
    pub master: Option<NewMaster>,
}

impl Changes {
    fn up(up: bool) -> Self {
        Changes {
            up: Some(up),
            ..Changes::default()
        }
    }
}

same_fields! {
    NewPeer => raw::NewPeer { namespace name mtu up ; map mac }
    NewLink => raw::NewLink { namespace name mtu txqlen up master alias ; into kind ; map mac }
    Changes => raw::Changes {
        name up mtu txqlen promiscuous all_multicast alias master ; map mac
    }
}

#[expect(clippy::derivable_impls, reason = "a generated type cannot derive")]
impl Default for PortChanges {
    fn default() -> Self {
        PortChanges {
            hairpin: None,
            isolated: None,
        }
    }
}

#[expect(clippy::derivable_impls, reason = "a generated type cannot derive")]
impl Default for BridgeChanges {
    fn default() -> Self {
        BridgeChanges {
            vlan_filtering: None,
            default_pvid: None,
        }
    }
}

/// Creates a link and returns it as it is then.
///
/// Errors: `exists` for a taken name, `not-found` for a missing lower or master, `unsupported`,
/// `invalid`.
pub fn create(link: NewLink) -> Result<Link> {
    Ok(raw::create(&link.into())?)
}

/// Returns one link. Errors: `not-found`.
pub fn get(namespace: Namespace, link: impl Into<LinkReference>) -> Result<Link> {
    Ok(raw::get(namespace, &link.into())?)
}

/// Lists all links that the grant lets the plugin read, restricted to a kind and to the ports of a master
/// where given.
pub fn list(namespace: Namespace, kind: Option<&str>, master: Option<u32>) -> Result<Vec<Link>> {
    Ok(raw::list(namespace, kind, master)?)
}

/// Deletes a link, and with a veth its peer. Errors: `not-found`.
pub fn delete(namespace: Namespace, link: impl Into<LinkReference>) -> Result<()> {
    Ok(raw::delete(namespace, &link.into())?)
}

/// Deletes several links of one namespace, 256 in each step, and with a veth its peer. A step takes the kernel as
/// long as one link. Those that are not there are left out.
pub fn delete_all<L: Into<LinkReference>>(
    namespace: Namespace,
    links: impl IntoIterator<Item = L>,
) -> Result<()> {
    let links: Vec<LinkReference> = links.into_iter().map(Into::into).collect();
    for step in links.chunks(DELETED_AT_ONCE) {
        raw::delete_all(namespace, step)?;
    }
    Ok(())
}

/// Changes attributes in one message. Errors: `not-found`, `exists`, `invalid`, `busy`.
pub fn update(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    changes: Changes,
) -> Result<()> {
    Ok(raw::update(namespace, &link.into(), &changes.into())?)
}

/// Sets a link up. Errors: `not-found`.
pub fn set_up(namespace: Namespace, link: impl Into<LinkReference>) -> Result<()> {
    update(namespace, link, Changes::up(true))
}

/// Sets a link down. Errors: `not-found`.
pub fn set_down(namespace: Namespace, link: impl Into<LinkReference>) -> Result<()> {
    update(namespace, link, Changes::up(false))
}

/// Changes a bridge port's flags. Errors: `not-found`, `invalid` when it is no port.
pub fn update_port(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    changes: PortChanges,
) -> Result<()> {
    Ok(raw::update_port(namespace, &link.into(), changes)?)
}

/// Changes a bridge's settings. Errors: `not-found`, `unsupported`.
pub fn update_bridge(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    changes: BridgeChanges,
) -> Result<()> {
    Ok(raw::update_bridge(namespace, &link.into(), changes)?)
}

/// Adds VLANs to a bridge port, or to the bridge itself. Errors: `not-found`, `unsupported`,
/// `invalid`.
pub fn add_vlans(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    vlans: &[BridgeVlan],
) -> Result<()> {
    Ok(raw::add_vlans(namespace, &link.into(), vlans)?)
}

/// Removes VLANs from a bridge port or from the bridge itself.
pub fn delete_vlans(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    vlans: &[BridgeVlan],
) -> Result<()> {
    Ok(raw::delete_vlans(namespace, &link.into(), vlans)?)
}

/// Lists the VLANs of a bridge port or of the bridge itself.
pub fn list_vlans(namespace: Namespace, link: impl Into<LinkReference>) -> Result<Vec<BridgeVlan>> {
    Ok(raw::list_vlans(namespace, &link.into())?)
}

/// Moves a link to the other namespace, under a new name where given. Errors: `not-found`,
/// `exists`, `invalid`.
pub fn move_to(
    namespace: Namespace,
    link: impl Into<LinkReference>,
    to: Namespace,
    new_name: Option<&str>,
) -> Result<Link> {
    Ok(raw::move_(namespace, &link.into(), to, new_name)?)
}

/// Returns the other end of a veth. Errors: `not-found`, `invalid` if it is not a veth.
pub fn get_peer(namespace: Namespace, link: impl Into<LinkReference>) -> Result<Peer> {
    Ok(raw::get_peer(namespace, &link.into())?)
}

/// Waits until the operational state is `up`, at most `timeout` milliseconds. Errors: `timed-out`,
/// `not-found`.
pub fn wait_up(namespace: Namespace, link: impl Into<LinkReference>, timeout: u32) -> Result<()> {
    Ok(raw::wait_up(namespace, &link.into(), timeout)?)
}
