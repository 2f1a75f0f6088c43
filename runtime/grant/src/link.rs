//! Capability `link`: network devices.

mod act;
mod kind;
mod mac;
mod rule;
mod state;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

pub use self::kind::{IpvlanMode, MacvlanMode, NewKind, NewPeer, NewTap, VlanProtocol};
pub use self::mac::Mac;
pub use self::rule::{Attribute, LinkRule, Requirement};
pub use self::state::{Details, Link, LinkReference, OperState, Peer, Port};
pub use super::facts::{LinkFacts, flaw_of_name};
use super::host_interfaces::ToList;
use super::namespace::Namespace;
use super::operation::{Operation, names_links, operations};
use super::verb::Verb;

/// Creates a link.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Create {
    pub namespace: Namespace,
    /// Empty for a veth if the kernel is to choose the name.
    pub name: String,
    #[serde(flatten)]
    pub kind: NewKind,
    pub mac: Option<Mac>,
    pub mtu: Option<u32>,
    pub txqlen: Option<u32>,
    pub up: bool,
    pub master: Option<LinkFacts>,
    pub alias: Option<String>,
    /// The owner's mark of a link in `host`: its alias.
    pub owner: Option<String>,
}

impl Create {
    /// Makes a link with nothing but its name and kind.
    pub fn new(namespace: Namespace, name: &str, kind: NewKind) -> Self {
        Self {
            namespace,
            name: name.to_owned(),
            kind,
            mac: None,
            mtu: None,
            txqlen: None,
            up: false,
            master: None,
            alias: None,
            owner: None,
        }
    }
}

/// Reads one link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Read {
    pub link: LinkFacts,
}

/// Lists links. Each one is shown only if the grant allows reading it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct List {
    pub namespace: Namespace,
    pub kind: Option<String>,
    pub master: Option<u32>,
}

/// Deletes a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delete {
    pub link: LinkFacts,
}

/// A change of master.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NewMaster {
    None,
    Link(LinkFacts),
}

/// Changes attributes of a link.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    pub link: LinkFacts,
    pub name: Option<String>,
    pub up: Option<bool>,
    pub mac: Option<Mac>,
    pub mtu: Option<u32>,
    pub txqlen: Option<u32>,
    pub promiscuous: Option<bool>,
    pub all_multicast: Option<bool>,
    pub alias: Option<String>,
    pub master: Option<NewMaster>,
    /// The new owner's mark of a link in `host`; empty for none. No plugin can set it.
    pub owner: Option<String>,
}

impl Update {
    /// Makes an update that changes nothing.
    pub fn nothing_of(link: LinkFacts) -> Self {
        Self {
            link,
            name: None,
            up: None,
            mac: None,
            mtu: None,
            txqlen: None,
            promiscuous: None,
            all_multicast: None,
            alias: None,
            master: None,
            owner: None,
        }
    }

    fn attributes(&self) -> Vec<Attribute> {
        let changed = [
            (Attribute::Name, self.name.is_some()),
            (Attribute::Up, self.up.is_some()),
            (Attribute::Mac, self.mac.is_some()),
            (Attribute::Mtu, self.mtu.is_some()),
            (Attribute::Txqlen, self.txqlen.is_some()),
            (Attribute::Promiscuous, self.promiscuous.is_some()),
            (Attribute::AllMulticast, self.all_multicast.is_some()),
            (
                Attribute::Alias,
                self.alias.is_some() || self.owner.is_some(),
            ),
            (Attribute::Master, self.master.is_some()),
        ];
        let changed = changed.into_iter().filter(|(_, is_changed)| *is_changed);
        changed.map(|(attribute, _)| attribute).collect()
    }
}

/// Changes a bridge port's flags.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdatePort {
    pub link: LinkFacts,
    pub hairpin: Option<bool>,
    pub isolated: Option<bool>,
}

/// A bridge's settings; absent ones stay as they are, or at the kernel's defaults.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeChanges {
    pub vlan_filtering: Option<bool>,
    pub default_pvid: Option<u16>,
}

/// Changes a bridge's settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdateBridge {
    pub link: LinkFacts,
    #[serde(flatten)]
    pub changes: BridgeChanges,
}

/// VLANs of a bridge port, or of the bridge itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeVlan {
    pub first: u16,
    pub last: u16,
    pub pvid: bool,
    pub untagged: bool,
}

/// Adds VLANs to a bridge port, or to a bridge itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddVlans {
    pub link: LinkFacts,
    pub vlans: Vec<BridgeVlan>,
}

/// Removes VLANs from a bridge port, or from a bridge itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeleteVlans {
    pub link: LinkFacts,
    pub vlans: Vec<BridgeVlan>,
}

/// Reads the VLANs of a bridge port, or of a bridge itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListVlans {
    pub link: LinkFacts,
}

/// Moves a link to the other namespace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move {
    pub link: LinkFacts,
    pub to: Namespace,
    /// The name there.
    pub name: String,
    /// The alias there, if it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Whether the host's default route goes through it, and the node's owner has not named it among the interfaces that
    /// networks may use.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub strands_host: bool,
}

/// Finds the other end of a veth.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetPeer {
    pub link: LinkFacts,
}

/// Waits for the operational state `up`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WaitUp {
    pub link: LinkFacts,
    pub timeout_ms: u32,
}

operations! {
    LinkRule;
    Read: "link.get", Read, about(link), |o| Requirement::on(&o.link, Self::VERB);
    Delete: "link.delete", Delete, about(link), |o| Requirement::on(&o.link, Self::VERB);
    UpdatePort: "link.update-port", Update, about(link), |o| Requirement::changing(&o.link, [Attribute::Port]);
    UpdateBridge: "link.update-bridge", Update, about(link), |o| Requirement::changing(&o.link, [Attribute::Bridge]);
    AddVlans: "link.add-vlans", Update, about(link), |o| Requirement::changing(&o.link, [Attribute::Vlans]);
    DeleteVlans: "link.delete-vlans", Update, about(link), |o| Requirement::changing(&o.link, [Attribute::Vlans]);
    ListVlans: "link.list-vlans", Read, about(link), |o| Requirement::on(&o.link, Self::VERB);
    GetPeer: "link.get-peer", Read, about(link), |o| Requirement::on(&o.link, Self::VERB);
    WaitUp: "link.wait-up", Read, about(link), |o| Requirement::on(&o.link, Self::VERB);
}

impl Create {
    /// What the new link takes of its lower device: a place among those above it. A chosen MAC is one more that the device
    /// answers to, which may be another link's. In mode `passthru` the device is gone for everything else.
    fn taken_of_lower(&self) -> Vec<Attribute> {
        let mut taken = vec![Attribute::Ports];
        if let NewKind::Macvlan { mode, .. } = &self.kind {
            taken.extend(self.mac.is_some().then_some(Attribute::PortMacs));
            taken.extend((*mode == MacvlanMode::Passthru).then_some(Attribute::Passthru));
        }
        taken
    }
}

impl Operation for Create {
    type Rule = LinkRule;
    const NAME: &'static str = "link.create";
    const VERB: Verb = Verb::Create;

    fn requirements(&self) -> Vec<Requirement> {
        let new = |namespace, name: &str| Requirement {
            namespace,
            kind: Some(self.kind.word().to_owned()),
            name: name.to_owned(),
            owner: None,
            attributes: Vec::new(),
            verb: Verb::Create,
        };
        let mut needed = vec![new(self.namespace, &self.name)];
        if let NewKind::Veth { peer } = &self.kind {
            needed.push(new(peer.namespace, &peer.name));
        }
        let master = self.master.iter();
        needed.extend(master.map(|link| Requirement::changing(link, [Attribute::Ports])));
        let lower = self.kind.lower().into_iter();
        needed.extend(lower.map(|link| Requirement::changing(link, self.taken_of_lower())));
        needed
    }

    fn flaw(&self) -> Option<String> {
        let peer = match &self.kind {
            NewKind::Veth { peer } => Some(&peer.name),
            _ => None,
        };
        // The kernel chooses a name if there is none.
        let mut names = [Some(&self.name), peer].into_iter().flatten();
        let of_name = names.find_map(|name| {
            if name.is_empty() {
                None
            } else {
                flaw_of_name(name)
            }
        });
        of_name.or_else(|| flaw_of_alias(self.namespace, self.alias.as_deref()))
    }

    fn links(&self) -> Vec<&LinkFacts> {
        self.master.iter().chain(self.kind.lower()).collect()
    }

    fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
        self.master
            .iter_mut()
            .chain(self.kind.lower_mut())
            .collect()
    }
}

impl Operation for List {
    type Rule = LinkRule;
    const NAME: &'static str = "link.list";
    const VERB: Verb = Verb::Read;

    fn requirements(&self) -> Vec<Requirement> {
        Vec::new()
    }
}

impl Operation for Update {
    type Rule = LinkRule;
    const NAME: &'static str = "link.update";
    const VERB: Verb = Verb::Update;

    fn requirements(&self) -> Vec<Requirement> {
        let changed = Requirement::changing(&self.link, self.attributes());
        let mut needed = vec![changed.clone()];
        if let Some(name) = &self.name {
            needed.push(Requirement {
                name: name.clone(),
                ..changed
            });
        }
        if let Some(NewMaster::Link(master)) = &self.master {
            needed.push(Requirement::changing(master, [Attribute::Ports]));
        }
        needed
    }

    fn flaw(&self) -> Option<String> {
        let of_name = self.name.as_deref().and_then(flaw_of_name);
        of_name.or_else(|| flaw_of_alias(self.link.namespace, self.alias.as_deref()))
    }

    fn links(&self) -> Vec<&LinkFacts> {
        let master = match &self.master {
            Some(NewMaster::Link(master)) => Some(master),
            _ => None,
        };
        [&self.link].into_iter().chain(master).collect()
    }

    fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
        let master = match &mut self.master {
            Some(NewMaster::Link(master)) => Some(master),
            _ => None,
        };
        [&mut self.link].into_iter().chain(master).collect()
    }
}

impl Operation for Move {
    type Rule = LinkRule;
    const NAME: &'static str = "link.move";
    const VERB: Verb = Verb::Update;

    fn requirements(&self) -> Vec<Requirement> {
        let arrival = Requirement {
            namespace: self.to,
            kind: self.link.kind_if_there().map(str::to_owned),
            name: self.name.clone(),
            owner: None,
            attributes: Vec::new(),
            verb: Verb::Create,
        };
        vec![
            Requirement::changing(&self.link, [Attribute::Namespace]),
            arrival,
        ]
    }

    fn flaw(&self) -> Option<String> {
        flaw_of_name(&self.name)
            .or_else(|| self.strands_host.then(|| flaw_of_stranding(&self.link)))
    }

    names_links!(link);
}

/// Without the link the node would be off the network. A glob of the list may match it by accident, so it must be named.
fn flaw_of_stranding(link: &LinkFacts) -> String {
    let to_list = ToList(&link.name);
    format!(
        "the host's default route goes through {link}, and a glob is not enough to let it be moved: {to_list}"
    )
}

/// The longest alias in bytes: `IFALIASZ` without the NUL at its end.
const LONGEST_ALIAS: usize = 255;

/// Says why a link cannot have this alias. In `host` the alias names the owner, and only weir writes it.
fn flaw_of_alias(namespace: Namespace, alias: Option<&str>) -> Option<String> {
    let alias = alias?;
    if namespace == Namespace::Host {
        return Some(
            "the alias of a link in `host` names its owner, and only weir sets it".to_owned(),
        );
    }
    let is_wrong = alias.len() > LONGEST_ALIAS || alias.contains('\0');
    is_wrong.then(|| {
        format!(
            "an alias of {} bytes is too long; expected at most {LONGEST_ALIAS} bytes without NUL",
            alias.len()
        )
    })
}
