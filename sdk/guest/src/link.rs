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

use std::fmt;

use weir_cni::{Interface, Mac};

use crate::bindings::weir::cni::link as raw;
use crate::{AsLink, ErrorCode, LinkReference, Namespace, Outcome, Result};

pub use raw::{
    Bridge, BridgeChanges, BridgeVlan, Changes, Details, IpvlanMode, Link, MacvlanMode, NewBridge,
    NewIpvlan, NewKind, NewLink, NewMacvlan, NewMaster, NewPeer, NewTap, NewVlan, OperState, Peer,
    Port, PortChanges, VlanProtocol, list,
};

/// How many links the contract allows deleting in one step.
const DELETED_AT_ONCE: usize = 256;

impl Link {
    /// Returns the link-layer address; none for a link without one.
    pub fn mac(&self) -> Option<Mac> {
        Mac::from_bytes(&self.mac)
    }

    /// Returns the link-layer address as text, as in results.
    pub fn mac_text(&self) -> Option<String> {
        self.mac().map(|mac| mac.to_string())
    }

    /// Returns the link as a result's interface on the host.
    pub fn interface(&self) -> Interface {
        Interface {
            name: self.name.clone(),
            mac: self.mac_text(),
            mtu: Some(self.mtu),
            ..Interface::default()
        }
    }

    /// Returns the bridge's settings; none for a link of another kind.
    pub fn bridge(&self) -> Option<Bridge> {
        match self.details {
            Details::Bridge(bridge) => Some(bridge),
            _ => None,
        }
    }
}

/// A reference by index, which stays valid when the link is renamed.
impl From<&Link> for LinkReference {
    fn from(link: &Link) -> Self {
        LinkReference::Index(link.index)
    }
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

impl NewLink {
    /// Makes a link that is down, with the kernel's defaults.
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

/// As in configurations.
impl fmt::Display for MacvlanMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MacvlanMode::Private => "private",
            MacvlanMode::Vepa => "vepa",
            MacvlanMode::Bridge => "bridge",
            MacvlanMode::Passthru => "passthru",
            MacvlanMode::Source => "source",
        })
    }
}

/// As in configurations.
impl fmt::Display for IpvlanMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            IpvlanMode::L2 => "l2",
            IpvlanMode::L3 => "l3",
            IpvlanMode::L3s => "l3s",
        })
    }
}

impl Changes {
    fn up(up: bool) -> Self {
        Changes {
            up: Some(up),
            ..Changes::default()
        }
    }
}

/// Creates a link and returns it as it is then.
///
/// Errors: `exists` for a taken name, `not-found` for a missing lower or master, `unsupported`,
/// `invalid`.
pub fn create(link: NewLink) -> Result<Link> {
    raw::create(&link)
}

/// Returns one link. Errors: `not-found`.
pub fn get(namespace: Namespace, link: impl AsLink) -> Result<Link> {
    raw::get(namespace, &link.into())
}

/// Returns one link; none where it does not exist, or the grant does not show the plugin links of its kind.
pub fn find(namespace: Namespace, link: impl AsLink) -> Result<Option<Link>> {
    match get(namespace, link).found() {
        Err(error) if error.code == ErrorCode::Denied => Ok(None),
        found => found,
    }
}

/// Deletes a link, and with a veth its peer. Errors: `not-found`.
pub fn delete(namespace: Namespace, link: impl AsLink) -> Result<()> {
    raw::delete(namespace, &link.into())
}

/// Deletes several links of one namespace, and with each veth its peer, in steps of 256. A step takes the kernel as
/// long as one link. Links that do not exist are skipped.
pub fn delete_all<L: AsLink>(
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
pub fn update(namespace: Namespace, link: impl AsLink, changes: Changes) -> Result<()> {
    raw::update(namespace, &link.into(), &changes)
}

/// Sets a link up. Errors: `not-found`.
pub fn set_up(namespace: Namespace, link: impl AsLink) -> Result<()> {
    update(namespace, link, Changes::up(true))
}

/// Sets a link down. Errors: `not-found`.
pub fn set_down(namespace: Namespace, link: impl AsLink) -> Result<()> {
    update(namespace, link, Changes::up(false))
}

/// Changes a bridge port's flags. Errors: `not-found`, `invalid` for a link that is not a bridge port.
pub fn update_port(namespace: Namespace, link: impl AsLink, changes: PortChanges) -> Result<()> {
    raw::update_port(namespace, &link.into(), changes)
}

/// Changes a bridge's settings. Errors: `not-found`, `unsupported`.
pub fn update_bridge(
    namespace: Namespace,
    link: impl AsLink,
    changes: BridgeChanges,
) -> Result<()> {
    raw::update_bridge(namespace, &link.into(), changes)
}

/// Adds VLANs to a bridge port, or to the bridge itself. Errors: `not-found`, `unsupported`,
/// `invalid`.
pub fn add_vlans(namespace: Namespace, link: impl AsLink, vlans: &[BridgeVlan]) -> Result<()> {
    raw::add_vlans(namespace, &link.into(), vlans)
}

/// Removes VLANs from a bridge port or from the bridge itself.
pub fn delete_vlans(namespace: Namespace, link: impl AsLink, vlans: &[BridgeVlan]) -> Result<()> {
    raw::delete_vlans(namespace, &link.into(), vlans)
}

/// Lists the VLANs of a bridge port or of the bridge itself.
pub fn list_vlans(namespace: Namespace, link: impl AsLink) -> Result<Vec<BridgeVlan>> {
    raw::list_vlans(namespace, &link.into())
}

/// Moves a link to the other namespace, under a new name where given. Errors: `not-found`,
/// `exists`, `invalid`.
pub fn move_to(
    namespace: Namespace,
    link: impl AsLink,
    to: Namespace,
    new_name: Option<&str>,
) -> Result<Link> {
    raw::move_(namespace, &link.into(), to, new_name)
}

/// Returns the other end of a veth. Errors: `not-found`, `invalid` if it is not a veth.
pub fn get_peer(namespace: Namespace, link: impl AsLink) -> Result<Peer> {
    raw::get_peer(namespace, &link.into())
}

/// Waits until the operational state is `up`, at most `timeout` milliseconds. Errors: `timed-out`,
/// `not-found`.
pub fn wait_up(namespace: Namespace, link: impl AsLink, timeout: u32) -> Result<()> {
    raw::wait_up(namespace, &link.into(), timeout)
}
