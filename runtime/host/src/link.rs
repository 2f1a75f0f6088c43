//! Capability `link`: from the contract to the gate and the kernel.

use weir_cni::owner::{is_mark, mark_of_attachment, mark_of_network};
use weir_grant::link::LinkFacts;
use weir_grant::{self as grant, Invocation, link};
use weir_kernel::{Error, Result};

use super::bindings::weir::cni::link::{self as contract, Host as Contract};
use super::bindings::weir::cni::types::{LinkReference, Namespace};
use super::convert::{each, mac};
use super::view::View;

/// The most links that are deleted in one step: their records are written together before it.
const MOST_DELETED: usize = 256;

/// The part of an invocation that the capability needs.
pub(crate) struct LinkView<'a> {
    pub view: View<'a, link::LinkRule>,
    /// The calls that the invocation has made. Deleting several links counts as that many.
    pub calls: &'a mut u64,
}

impl Contract for LinkView<'_> {
    fn create(&mut self, new: contract::NewLink) -> Result<contract::Link> {
        let mut operation = self.new_link(new)?;
        self.mark(&mut operation);
        self.view.perform(operation).map(Into::into)
    }

    fn get(&mut self, namespace: Namespace, link: LinkReference) -> Result<contract::Link> {
        let kernel = self.view.kernel();
        let link = kernel.look_up(namespace.into(), &link.into())?;
        self.view.perform(link::Read { link }).map(Into::into)
    }

    fn list(
        &mut self,
        namespace: Namespace,
        kind: Option<String>,
        master: Option<u32>,
    ) -> Result<Vec<contract::Link>> {
        let operation = link::List {
            namespace: namespace.into(),
            kind,
            master,
        };
        let mut links = self.view.perform(operation)?;
        let gate = self.view.gate();
        links.retain(|link| gate.shows(link.facts(namespace.into())));
        Ok(each(links))
    }

    fn delete(&mut self, namespace: Namespace, link: LinkReference) -> Result<()> {
        let link = self.view.identify(namespace, &link)?;
        self.view.perform(link::Delete { link })
    }

    fn delete_all(&mut self, namespace: Namespace, links: Vec<LinkReference>) -> Result<()> {
        if links.len() > MOST_DELETED {
            let why = format!("{} links at once, more than {MOST_DELETED}", links.len());
            return Err(Error::invalid(why));
        }
        // The call itself is already counted.
        *self.calls += (links.len() as u64).saturating_sub(1);
        let identified = links.iter().map(|link| {
            let link = self.view.identify(namespace, link)?;
            Ok(link::Delete { link })
        });
        let deletes = identified.collect::<Result<_>>()?;
        self.view.delete_links(deletes)
    }

    fn update(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        changes: contract::Changes,
    ) -> Result<()> {
        let operation = link::Update {
            link: self.view.identify(namespace, &link)?,
            name: changes.name,
            up: changes.up,
            mac: changes.mac.map(mac).transpose()?,
            mtu: changes.mtu,
            txqlen: changes.txqlen,
            promiscuous: changes.promiscuous,
            all_multicast: changes.all_multicast,
            alias: changes.alias,
            master: self.new_master(namespace, changes.master)?,
            owner: None,
        };
        self.view.perform(operation)
    }

    fn update_port(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        changes: contract::PortChanges,
    ) -> Result<()> {
        let operation = link::UpdatePort {
            link: self.view.identify(namespace, &link)?,
            hairpin: changes.hairpin,
            isolated: changes.isolated,
        };
        self.view.perform(operation)
    }

    fn update_bridge(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        changes: contract::BridgeChanges,
    ) -> Result<()> {
        let operation = link::UpdateBridge {
            link: self.view.identify(namespace, &link)?,
            changes: changes.into(),
        };
        self.view.perform(operation)
    }

    fn add_vlans(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        vlans: Vec<contract::BridgeVlan>,
    ) -> Result<()> {
        let operation = link::AddVlans {
            link: self.view.identify(namespace, &link)?,
            vlans: each(vlans),
        };
        self.view.perform(operation)
    }

    fn delete_vlans(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        vlans: Vec<contract::BridgeVlan>,
    ) -> Result<()> {
        let operation = link::DeleteVlans {
            link: self.view.identify(namespace, &link)?,
            vlans: each(vlans),
        };
        self.view.perform(operation)
    }

    fn list_vlans(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
    ) -> Result<Vec<contract::BridgeVlan>> {
        let operation = link::ListVlans {
            link: self.view.identify(namespace, &link)?,
        };
        self.view.perform(operation).map(each)
    }

    fn move_(
        &mut self,
        namespace: Namespace,
        link: LinkReference,
        to: Namespace,
        new_name: Option<String>,
    ) -> Result<contract::Link> {
        let link = self.view.identify(namespace, &link)?;
        // Anyone in a container can write a mark, so it proves nothing on the host.
        let known = self.view.kernel().known_link(&link);
        let has_mark = known.is_some_and(|link| is_mark(&link.alias));
        let is_cleared = to == Namespace::Host && has_mark;
        let operation = link::Move {
            name: new_name.unwrap_or_else(|| link.name.clone()),
            strands_host: self.strands_host(&link)?,
            link,
            to: to.into(),
            alias: is_cleared.then(String::new),
        };
        self.view.perform(operation).map(Into::into)
    }

    fn get_peer(&mut self, namespace: Namespace, link: LinkReference) -> Result<contract::Peer> {
        let operation = link::GetPeer {
            link: self.view.identify(namespace, &link)?,
        };
        self.view.perform(operation).map(Into::into)
    }

    fn wait_up(&mut self, namespace: Namespace, link: LinkReference, timeout: u32) -> Result<()> {
        let operation = link::WaitUp {
            link: self.view.identify(namespace, &link)?,
            timeout_ms: timeout,
        };
        self.view.perform(operation)
    }
}

impl LinkView<'_> {
    /// Whether the host loses its default route with the link, and the node's owner has not named it.
    fn strands_host(&mut self, link: &LinkFacts) -> Result<bool> {
        let named = &self.view.gate().invocation().host_interfaces;
        if link.namespace != grant::Namespace::Host || named.has_literally(&link.name) {
            return Ok(false);
        }
        self.view.kernel().carries_default_route(link)
    }

    /// Puts the mark of the owner on a new link of the host.
    ///
    /// A bridge, and a veth pair with both ends on the host, is shared by all attachments to the network.
    fn mark(&self, new: &mut link::Create) {
        let Invocation {
            container_id,
            ifname,
            network,
            ..
        } = self.view.gate().invocation();
        let host = grant::Namespace::Host;
        let mut ends = vec![(new.namespace, &mut new.owner)];
        let mut is_shared = matches!(new.kind, link::NewKind::Bridge(_)) || container_id.is_empty();
        if let link::NewKind::Veth { peer } = &mut new.kind {
            is_shared |= (new.namespace, peer.namespace) == (host, host);
            ends.push((peer.namespace, &mut peer.owner));
        }
        let mark = if is_shared {
            mark_of_network(network)
        } else {
            mark_of_attachment(network, container_id, ifname)
        };
        let on_host = ends.into_iter().filter(|(namespace, _)| *namespace == host);
        on_host.for_each(|(_, owner)| *owner = Some(mark.clone()));
    }

    fn new_link(&mut self, new: contract::NewLink) -> Result<link::Create> {
        Ok(link::Create {
            namespace: new.namespace.into(),
            name: new.name,
            kind: self.new_kind(new.kind)?,
            mac: new.mac.map(mac).transpose()?,
            mtu: new.mtu,
            txqlen: new.txqlen,
            up: new.up,
            master: new
                .master
                .map(|master| self.view.identify(new.namespace, &master))
                .transpose()?,
            alias: new.alias,
            owner: None,
        })
    }

    fn new_kind(&mut self, kind: contract::NewKind) -> Result<link::NewKind> {
        Ok(match kind {
            contract::NewKind::Veth(peer) => link::NewKind::Veth {
                peer: link::NewPeer {
                    namespace: peer.namespace.into(),
                    name: peer.name,
                    mac: peer.mac.map(mac).transpose()?,
                    mtu: peer.mtu,
                    up: peer.up,
                    owner: None,
                },
            },
            contract::NewKind::Bridge(settings) => link::NewKind::Bridge(settings.into()),
            contract::NewKind::Macvlan(new) => link::NewKind::Macvlan {
                lower: self.view.identify(new.lower_namespace, &new.lower)?,
                mode: new.mode.into(),
                bc_queue_len: new.bc_queue_len,
            },
            contract::NewKind::Ipvlan(new) => link::NewKind::Ipvlan {
                lower: self.view.identify(new.lower_namespace, &new.lower)?,
                mode: new.mode.into(),
            },
            contract::NewKind::Vlan(new) => link::NewKind::Vlan {
                lower: self.view.identify(new.lower_namespace, &new.lower)?,
                id: new.id,
                protocol: new.protocol.into(),
            },
            contract::NewKind::Dummy => link::NewKind::Dummy,
            contract::NewKind::Tap(tap) => link::NewKind::Tap(tap.into()),
            contract::NewKind::Vrf(table) => link::NewKind::Vrf { table },
            contract::NewKind::Ifb => link::NewKind::Ifb,
        })
    }

    fn new_master(
        &mut self,
        namespace: Namespace,
        master: Option<contract::NewMaster>,
    ) -> Result<Option<link::NewMaster>> {
        Ok(match master {
            None => None,
            Some(contract::NewMaster::None) => Some(link::NewMaster::None),
            Some(contract::NewMaster::Link(link)) => {
                Some(link::NewMaster::Link(self.view.identify(namespace, &link)?))
            }
        })
    }
}
