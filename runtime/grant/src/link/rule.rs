//! The rule of a grant, and what it is matched with.

use std::fmt;

use super::LinkFacts;
use crate::field::Has::{self, One};
use crate::field::types::{AllOf, InNamespace, Kinds, LinkNames, Owners};
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::phrase::joined;
use crate::rule::Rule;
use crate::rule::declare::rule;
use crate::verb::Verb;
use crate::word::words;

words! {
    /// An attribute of a link that can be changed and that a rule may list.
    pub enum Attribute {
        Name = "name",
        Up = "up",
        Mac = "mac",
        Mtu = "mtu",
        Txqlen = "txqlen",
        Promiscuous = "promiscuous",
        AllMulticast = "all-multicast",
        Alias = "alias",
        /// The bridge, VRF or bond that it is a port of.
        Master = "master",
        /// Being the master or the lower device of other links.
        Ports = "ports",
        /// The MAC of a macvlan over it, where that is chosen: one more that it answers to.
        PortMacs = "port-macs",
        /// Being the lower device of a macvlan in mode `passthru`, which gets all that it receives.
        Passthru = "passthru",
        /// Flags of a bridge port: hairpin, isolation.
        Port = "port",
        /// Settings as a bridge.
        Bridge = "bridge",
        /// Bridge VLANs.
        Vlans = "vlans",
        /// The namespace that it is in.
        Namespace = "namespace",
    }
}

rule! {
    /// `link:` in a grant. Absent fields match everything.
    pub struct LinkRule: Link for r: Requirement, which may "create" Create, "look at" Read, "change" Update, "delete" Delete {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.namespace);
        /// Kinds, as the kernel reports them.
        kinds: Kinds = Has::if_any(r.kind.as_deref());
        /// Names of links, as globs.
        names: LinkNames = One((r.namespace, &r.name));
        => verbs = r.verb;
        /// The attributes that the verb `update` may change.
        attributes: AllOf<Attribute> = One(&r.attributes), only_for(&[Verb::Update]), never_suggested();
        /// Owners of links in `host`: this network, this attachment. A link that the plugin creates always qualifies.
        owners: Owners = Has::if_any(r.owner.as_deref()),
            only_for(&[Verb::Read, Verb::Update, Verb::Delete]), never_suggested();
    } says |rule| format!("{} {}", rule.verbs(), rule.interfaces("names"))
}

impl LinkRule {
    /// Whether it allows creating a link of some kind and name in a namespace.
    pub fn may_create_in(&self, namespace: Namespace) -> bool {
        let may_create = |verbs: &Vec<Verb>| verbs.contains(&Verb::Create);
        self.namespace.is_none_or(|own| own == namespace)
            && self.verbs.as_ref().is_none_or(may_create)
    }

    /// Whether it allows moving links of the host that weir did not make.
    pub fn may_move_from_host(&self) -> bool {
        let moves = |attributes: &Vec<Attribute>| attributes.contains(&Attribute::Namespace);
        let is_foreign = |kind: &String| kind != "veth" && kind != "bridge";
        let may_update = |verbs: &Vec<Verb>| verbs.contains(&Verb::Update);
        self.namespace.is_none_or(|own| own == Namespace::Host)
            && self.verbs.as_ref().is_none_or(may_update)
            && self.attributes.as_ref().is_none_or(moves)
            && self
                .kinds
                .as_ref()
                .is_none_or(|kinds| kinds.iter().any(is_foreign))
    }

    /// Whether it allows creating a link of this name, of any kind, in this link's namespace.
    pub fn may_create_named(&self, link: &LinkFacts, invocation: &Invocation) -> bool {
        let mut requirement = Requirement::on(link, Verb::Create);
        (requirement.owner, requirement.kind) = (None, None);
        self.miss(&requirement, invocation).is_none()
    }

    /// Whether it allows creating a link of this kind and name in this link's namespace.
    pub fn may_create(&self, link: &LinkFacts, invocation: &Invocation) -> bool {
        let mut requirement = Requirement::on(link, Verb::Create);
        requirement.owner = None;
        self.miss(&requirement, invocation).is_none()
    }
}

/// One link, existing or new, and what is done with it.
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
    pub(super) fn on(link: &LinkFacts, verb: Verb) -> Self {
        Self {
            namespace: link.namespace,
            kind: link.kind_if_there().map(str::to_owned),
            name: link.name.clone(),
            owner: link.owner_if_there().map(str::to_owned),
            attributes: Vec::new(),
            verb,
        }
    }

    pub(super) fn changing(link: &LinkFacts, attributes: impl Into<Vec<Attribute>>) -> Self {
        Self {
            attributes: attributes.into(),
            ..Self::on(link, Verb::Update)
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.verb)?;
        if !self.attributes.is_empty() {
            let attributes = self.attributes.iter().map(ToString::to_string).collect();
            write!(f, "{} of ", joined(attributes, "and"))?;
        }
        let kind = self.kind.as_deref().unwrap_or("link");
        write!(f, "{kind} `{}` in {}", self.name, self.namespace)
    }
}
