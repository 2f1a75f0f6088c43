//! Capability `link`: network devices.

mod state;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use self::state::{Details, Link, LinkReference, OperState, Peer, Port};
pub use super::facts::LinkFacts;
use super::facts::names_links;
use super::fields::Verbs;
use super::namespace::Namespace;
use super::operation::{Capability, Fields, Invocation, Miss, Operation, Rule, Verb, any};
use super::owner::Owner;
use super::pattern::Pattern;

/// A link-layer address, printed as `aa:bb:cc:dd:ee:ff`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mac(pub Vec<u8>);

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, byte) in self.0.iter().enumerate() {
            let colon = if i == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02x}")?;
        }
        Ok(())
    }
}

impl Serialize for Mac {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let bytes = text.split(':').map(|byte| match byte.len() {
            2 => u8::from_str_radix(byte, 16).ok(),
            _ => None,
        });
        let bytes: Option<Vec<u8>> = bytes.collect();
        bytes
            .map(Self)
            .ok_or_else(|| serde::de::Error::custom(format!("`{text}` is no link-layer address")))
    }
}

/// The kind of a link to create, with what only that kind has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum NewKind {
    Veth {
        peer: NewPeer,
    },
    Bridge(BridgeChanges),
    Macvlan {
        lower: LinkFacts,
        mode: MacvlanMode,
        bc_queue_len: Option<u32>,
    },
    Ipvlan {
        lower: LinkFacts,
        mode: IpvlanMode,
    },
    Vlan {
        lower: LinkFacts,
        id: u16,
        protocol: VlanProtocol,
    },
    Dummy,
    Tap(NewTap),
    Vrf {
        table: u32,
    },
    Ifb,
}

impl NewKind {
    /// The kernel's word for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Veth { .. } => "veth",
            Self::Bridge(_) => "bridge",
            Self::Macvlan { .. } => "macvlan",
            Self::Ipvlan { .. } => "ipvlan",
            Self::Vlan { .. } => "vlan",
            Self::Dummy => "dummy",
            Self::Tap(_) => "tun",
            Self::Vrf { .. } => "vrf",
            Self::Ifb => "ifb",
        }
    }

    /// The device that the new one stands on.
    pub fn lower(&self) -> Option<&LinkFacts> {
        match self {
            Self::Macvlan { lower, .. } | Self::Ipvlan { lower, .. } | Self::Vlan { lower, .. } => {
                Some(lower)
            }
            _ => None,
        }
    }

    fn lower_mut(&mut self) -> Option<&mut LinkFacts> {
        match self {
            Self::Macvlan { lower, .. } | Self::Ipvlan { lower, .. } | Self::Vlan { lower, .. } => {
                Some(lower)
            }
            _ => None,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MacvlanMode {
    Private,
    Vepa,
    Bridge,
    Passthru,
    Source,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum IpvlanMode {
    L2,
    L3,
    L3s,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum VlanProtocol {
    #[serde(rename = "802.1Q")]
    Ieee8021q,
    #[serde(rename = "802.1ad")]
    Ieee8021ad,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTap {
    pub owner: Option<u32>,
    pub group: Option<u32>,
    pub multi_queue: bool,
    pub selinux_context: Option<String>,
}

/// The other end of a veth pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewPeer {
    pub namespace: Namespace,
    /// Empty: the kernel chooses `vethN`.
    pub name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    pub up: bool,
    /// The mark of whose it is, of a link of `host`, which is its alias there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

/// Creates a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Create {
    pub namespace: Namespace,
    /// Empty for a veth whose name the kernel chooses.
    pub name: String,
    #[serde(flatten)]
    pub kind: NewKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txqlen: Option<u32>,
    pub up: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master: Option<LinkFacts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// The mark of whose it is, of a link of `host`, which is its alias there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Create {
    /// A link with nothing but its name and kind.
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

/// Lists links; each is shown only where the grant allows to read it.
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

impl NewMaster {
    fn link(&self) -> Option<&LinkFacts> {
        match self {
            Self::None => None,
            Self::Link(link) => Some(link),
        }
    }
}

/// Changes attributes of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Update {
    pub link: LinkFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<Mac>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub txqlen: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promiscuous: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all_multicast: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub master: Option<NewMaster>,
    /// The mark of whose it is from then on, of a link of `host`; empty for nobody's. No plugin's to ask for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Update {
    /// An update that changes nothing.
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
}

impl Update {
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

/// Something of a link that can be changed, and that a rule may list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(inline))]
pub enum Attribute {
    Name,
    Up,
    Mac,
    Mtu,
    Txqlen,
    Promiscuous,
    AllMulticast,
    Alias,
    /// The bridge, VRF or bond that it is a port of.
    Master,
    /// That others are its ports, or stand on it.
    Ports,
    /// Flags as a bridge's port: hairpin, isolation.
    Port,
    /// Settings as a bridge.
    Bridge,
    /// Bridge VLANs.
    Vlans,
    /// The namespace that it is in.
    Namespace,
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Name => "name",
            Self::Up => "up",
            Self::Mac => "mac",
            Self::Mtu => "mtu",
            Self::Txqlen => "txqlen",
            Self::Promiscuous => "promiscuous",
            Self::AllMulticast => "all-multicast",
            Self::Alias => "alias",
            Self::Master => "master",
            Self::Ports => "ports",
            Self::Port => "port",
            Self::Bridge => "bridge",
            Self::Vlans => "vlans",
            Self::Namespace => "namespace",
        })
    }
}

/// Changes a bridge port's flags.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UpdatePort {
    pub link: LinkFacts,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hairpin: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated: Option<bool>,
}

/// A bridge's settings; absent ones stay as they are, or as the kernel's defaults.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BridgeChanges {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan_filtering: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
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
    /// The alias there, where it changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
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

/// Implements `Operation` for operations on one link.
macro_rules! operation_on_link {
    ($($operation:ident, $name:literal, $verb:expr;)*) => {$(
        impl Operation for $operation {
            type Rule = LinkRule;
            const NAME: &'static str = $name;
            const VERB: Verb = $verb;

            fn requirements(&self) -> Vec<Requirement> {
                vec![Requirement::on(&self.link, Self::VERB)]
            }

            names_links!(link);
        }
    )*};
}

operation_on_link! {
    Read, "link.get", Verb::Read;
    Delete, "link.delete", Verb::Delete;
    ListVlans, "link.list-vlans", Verb::Read;
    GetPeer, "link.get-peer", Verb::Read;
    WaitUp, "link.wait-up", Verb::Read;
}

/// The same for operations that change one.
macro_rules! operation_that_changes {
    ($($operation:ident, $name:literal, $attributes:expr;)*) => {$(
        impl Operation for $operation {
            type Rule = LinkRule;
            const NAME: &'static str = $name;
            const VERB: Verb = Verb::Update;

            fn requirements(&self) -> Vec<Requirement> {
                vec![Requirement::changing(&self.link, $attributes)]
            }

            names_links!(link);
        }
    )*};
}

operation_that_changes! {
    UpdatePort, "link.update-port", [Attribute::Port];
    UpdateBridge, "link.update-bridge", [Attribute::Bridge];
    AddVlans, "link.add-vlans", [Attribute::Vlans];
    DeleteVlans, "link.delete-vlans", [Attribute::Vlans];
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
        let touched = self.master.iter().chain(self.kind.lower());
        needed.extend(touched.map(|link| Requirement::changing(link, [Attribute::Ports])));
        needed
    }

    fn flaw(&self) -> Option<String> {
        let peer = match &self.kind {
            NewKind::Veth { peer } => Some(&peer.name),
            _ => None,
        };
        // The kernel chooses where there is none.
        let mut names = [Some(&self.name), peer].into_iter().flatten();
        let of_name = names.find_map(|name| match name.is_empty() {
            true => None,
            false => flaw_of_name(name),
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
        let master = self.master.as_ref().and_then(NewMaster::link);
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
            kind: self.link.known_kind(),
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
    }

    names_links!(link);
}

/// `IFNAMSIZ` without the NUL at its end.
const LONGEST_NAME: usize = 15;

/// Why this is not a link's name. The kernel refuses most of these itself. It must not see a `%`, which it would replace
/// by a number, nor a NUL, at which it would stop reading: a grant allows the name as it is written.
pub fn flaw_of_name(name: &str) -> Option<String> {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || "/:%".contains(c);
    let is_dots = matches!(name, "." | "..");
    let is_wrong =
        name.is_empty() || name.len() > LONGEST_NAME || name.contains(forbidden) || is_dots;
    is_wrong.then(|| {
        format!(
            "`{}` is not a link's name: 1 to {LONGEST_NAME} bytes without spaces, `/`, `:` and `%`, \
             and neither `.` nor `..`",
            name.escape_debug()
        )
    })
}

/// The longest alias in bytes: `IFALIASZ` without the NUL at its end.
const LONGEST_ALIAS: usize = 255;

/// Why a link cannot have this alias. That of a link of `host` names its owner, which weir writes there itself.
fn flaw_of_alias(namespace: Namespace, alias: Option<&str>) -> Option<String> {
    let alias = alias?;
    if namespace == Namespace::Host {
        return Some(
            "the alias of a link of host names its owner, and is weir's to set".to_owned(),
        );
    }
    let is_wrong = alias.len() > LONGEST_ALIAS || alias.contains('\0');
    is_wrong.then(|| {
        format!(
            "an alias of {} bytes: expected at most {LONGEST_ALIAS} bytes without NUL",
            alias.len()
        )
    })
}

/// `link:` in a grant. Absent fields match everything.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LinkRule {
    /// Where; in both, when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<Namespace>,
    /// Kinds, as the kernel reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kinds: Option<Vec<String>>,
    /// Names of links, as globs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<Pattern>>,
    /// What of a link may be changed, by the verb `update`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attributes: Option<Vec<Attribute>>,
    /// Whose they are, of links of `host`: made for this network, for this attachment. One that is made is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owners: Option<Vec<Owner>>,
    /// What may be done; everything, when left out.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        with = "Verbs::<LinkRule>"
    )]
    pub verbs: Option<Vec<Verb>>,
}

impl LinkRule {
    /// Whether it lets a link of some kind and name be created in a namespace.
    pub fn may_create_in(&self, namespace: Namespace) -> bool {
        self.namespace.is_none_or(|own| own == namespace)
            && any(self.verbs.as_deref(), |verb| *verb == Verb::Create)
    }

    /// Whether it lets a link of this name, of whatever kind, be created where this one is.
    pub fn may_create_named(&self, link: &LinkFacts, invocation: &Invocation) -> bool {
        let mut requirement = Requirement::on(link, Verb::Create);
        (requirement.owner, requirement.kind) = (None, None);
        self.miss(&requirement, invocation).is_none()
    }

    /// Whether it lets a link of this kind and name be created where this one is.
    pub fn may_create(&self, link: &LinkFacts, invocation: &Invocation) -> bool {
        let mut requirement = Requirement::on(link, Verb::Create);
        requirement.owner = None;
        self.miss(&requirement, invocation).is_none()
    }
}

/// One link, existing or to be, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub namespace: Namespace,
    /// None for a link that does not exist.
    pub kind: Option<String>,
    pub name: String,
    /// None for a link that does not exist.
    pub owner: Option<String>,
    /// What is changed of it.
    pub attributes: Vec<Attribute>,
    pub verb: Verb,
}

impl Requirement {
    fn on(link: &LinkFacts, verb: Verb) -> Self {
        Self {
            namespace: link.namespace,
            kind: link.known_kind(),
            name: link.name.clone(),
            owner: link.known_owner(),
            attributes: Vec::new(),
            verb,
        }
    }

    fn changing(link: &LinkFacts, attributes: impl Into<Vec<Attribute>>) -> Self {
        Self {
            attributes: attributes.into(),
            ..Self::on(link, Verb::Update)
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.as_deref().unwrap_or("link");
        write!(
            f,
            "{} {kind} `{}` in {}",
            self.verb, self.name, self.namespace
        )
    }
}

impl Rule for LinkRule {
    type Requirement = Requirement;
    const CAPABILITY: Capability = Capability::Link;
    const VERBS: &'static [Verb] = &[Verb::Create, Verb::Read, Verb::Update, Verb::Delete];

    fn miss(&self, r: &Requirement, invocation: &Invocation) -> Option<Miss> {
        let is_kind = |kind: &String| any(self.kinds.as_deref(), |k| k == kind);
        let may_change = |a: &Attribute| any(self.attributes.as_deref(), |own| own == a);
        Fields::default()
            .field("namespace", self.namespace.is_none_or(|n| n == r.namespace))
            .field("kinds", r.kind.as_ref().is_none_or(is_kind))
            .field(
                "names",
                any(self.names.as_deref(), |p| p.matches(&r.name, invocation)),
            )
            .field("verbs", any(self.verbs.as_deref(), |v| *v == r.verb))
            .field("attributes", r.attributes.iter().all(may_change))
            .field("owners", {
                let is_own =
                    |mark: &String| any(self.owners.as_deref(), |o| o.has(mark, invocation));
                r.owner.as_ref().is_none_or(is_own)
            })
            .miss()
    }
}
