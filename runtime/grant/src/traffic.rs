//! Capability `traffic`: queueing disciplines, classes and filters of links.

mod act;

use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::facts::LinkFacts;
use super::field::Has::{self, One};
use super::field::types::{InNamespace, KernelWords, Kinds, LinkNames, Owners};
use super::operation::{Operation, operations};
use super::rule::declare::rule;
use super::verb::Verb;
use super::word::words;

/// The handle of a discipline or a class: the major number in the upper 16 bits, the minor one below.
/// Written as tc(8) writes it: `1:`, `1:a`, `root`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Handle(pub u32);

impl Handle {
    /// `TC_H_ROOT`: the parent of a link's root discipline.
    pub const ROOT: Self = Self(0xffff_ffff);
    /// `TC_H_INGRESS`: the parent of `ingress` and `clsact`.
    pub const INGRESS: Self = Self(0xffff_fff1);

    pub fn major(self) -> u16 {
        (self.0 >> 16) as u16
    }

    pub fn minor(self) -> u16 {
        self.0 as u16
    }

    /// Returns the handle of the discipline that a class belongs to.
    pub fn discipline(self) -> Self {
        Self(self.0 & 0xffff_0000)
    }
}

impl From<u32> for Handle {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<Handle> for u32 {
    fn from(handle: Handle) -> Self {
        handle.0
    }
}

impl fmt::Display for Handle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.major(), self.minor()) {
            _ if *self == Self::ROOT => f.write_str("root"),
            (major, 0) => write!(f, "{major:x}:"),
            (major, minor) => write!(f, "{major:x}:{minor:x}"),
        }
    }
}

impl Serialize for Handle {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl FromStr for Handle {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| match digits {
            "" => Some(0),
            digits => u16::from_str_radix(digits, 16).ok(),
        };
        let parts = text.split_once(':');
        let numbers = parts.and_then(|(major, minor)| Some((number(major)?, number(minor)?)));
        match (text, numbers) {
            ("root", _) => Ok(Self::ROOT),
            (_, Some((major, minor))) => Ok(Self(u32::from(major) << 16 | u32::from(minor))),
            _ => Err(format!(
                "`{text}` is not a handle; expected one such as `1:a` or `root`"
            )),
        }
    }
}

impl<'de> Deserialize<'de> for Handle {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// A queueing discipline and its parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "discipline", rename_all = "lowercase")]
pub enum Discipline {
    Tbf(TokenBucket),
    Htb {
        /// The minor number of the class for traffic that no filter classifies.
        default: u32,
    },
    Ingress,
    Clsact,
    /// Any other, by name; only the kernel creates it.
    Other {
        word: String,
    },
}

impl Discipline {
    /// Returns the kernel's word for it.
    pub fn word(&self) -> &str {
        match self {
            Self::Tbf(_) => "tbf",
            Self::Htb { .. } => HTB,
            Self::Ingress => "ingress",
            Self::Clsact => "clsact",
            Self::Other { word } => word,
        }
    }
}

/// The discipline that has classes.
pub const HTB: &str = "htb";
/// The action that sends packets out of another link.
pub const MIRRED: &str = "mirred";

/// The parameters of `tbf`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TokenBucket {
    /// Bytes per second.
    pub rate: u64,
    /// Bytes.
    pub burst: u32,
    /// Microseconds that a packet may wait.
    pub latency: u32,
}

/// A queueing discipline and its parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Qdisc {
    /// 0: the kernel chooses.
    pub handle: Handle,
    pub parent: Handle,
    #[serde(flatten)]
    pub discipline: Discipline,
}

/// A class of an `htb` discipline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Class {
    pub handle: Handle,
    /// The discipline, or another class.
    pub parent: Handle,
    /// Bytes per second.
    pub rate: u64,
    /// Bytes per second, with bandwidth that other classes leave.
    pub ceil: u64,
    /// Bytes.
    pub burst: u32,
    /// Bytes.
    pub cburst: u32,
}

/// What happens to a packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Action<L = LinkFacts> {
    /// Sends it out of another link. The kernel reports its index, or 0 if the link is gone.
    Redirect(L),
    /// Puts it into a class.
    Classify(Handle),
}

impl<L> Action<L> {
    /// Returns the word of a grant for it.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Redirect(_) => MIRRED,
            Self::Classify(_) => HTB,
        }
    }
}

/// A filter of a discipline.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Filter<L = LinkFacts> {
    pub parent: Handle,
    /// Lower is earlier; 0 lets the kernel choose.
    pub priority: u16,
    pub source: Option<IpNet>,
    pub destination: Option<IpNet>,
    pub action: Action<L>,
}

/// Adds a discipline to a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddQdisc {
    pub link: LinkFacts,
    #[serde(flatten)]
    pub qdisc: Qdisc,
}

impl AddQdisc {
    /// What takes it back, where the discipline has got this handle.
    pub fn inverse(&self, handle: Handle) -> DeleteQdisc {
        DeleteQdisc {
            link: self.link.clone(),
            parent: self.qdisc.parent,
            present: Some(PresentQdisc {
                handle,
                discipline: self.qdisc.discipline.word().to_owned(),
            }),
        }
    }
}

/// The discipline that the kernel reports at a parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PresentQdisc {
    pub handle: Handle,
    /// The kernel's word.
    pub discipline: String,
}

/// Removes a discipline from a link, with its classes and filters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeleteQdisc {
    pub link: LinkFacts,
    pub parent: Handle,
    /// The discipline to remove, if it is still there; none if there is none.
    #[serde(flatten)]
    pub present: Option<PresentQdisc>,
}

/// Reads the disciplines of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListQdiscs {
    pub link: LinkFacts,
}

/// Adds a class to an `htb` discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddClass {
    pub link: LinkFacts,
    #[serde(flatten)]
    pub class: Class,
}

impl AddClass {
    /// What takes it back.
    pub fn inverse(&self) -> DeleteClass {
        DeleteClass {
            link: self.link.clone(),
            handle: self.class.handle,
        }
    }
}

/// Removes a class. weir does this when an `add` fails; plugins cannot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeleteClass {
    pub link: LinkFacts,
    pub handle: Handle,
}

/// Reads the classes of a link's `htb` disciplines.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListClasses {
    pub link: LinkFacts,
}

/// Adds a filter to a discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AddFilter {
    pub link: LinkFacts,
    #[serde(flatten)]
    pub filter: Filter,
}

/// Removes a filter. weir does this when an `add` fails; plugins cannot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeleteFilter {
    pub link: LinkFacts,
    pub parent: Handle,
    pub priority: u16,
    /// None for every filter of the priority, which the kernel chose for this one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handle: Option<u32>,
    /// The Ethernet type of its packets.
    pub protocol: u16,
    pub action: Action,
}

/// Reads the filters of a discipline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListFilters {
    pub link: LinkFacts,
    pub parent: Handle,
}

operations! {
    TrafficRule;
    AddQdisc: "traffic.add-qdisc", Create, about(link), |o|
        Requirement::new(&o.link, Some(o.qdisc.discipline.word()), Self::VERB);
    DeleteQdisc: "traffic.delete-qdisc", Delete, about(link), |o|
        Requirement::new(&o.link, o.present.as_ref().map(|s| s.discipline.as_str()), Self::VERB);
    ListQdiscs: "traffic.list-qdiscs", Read, about(link), |o| Requirement::new(&o.link, None, Self::VERB);
    AddClass: "traffic.add-class", Create, about(link), |o| Requirement::new(&o.link, Some(HTB), Self::VERB);
    DeleteClass: "traffic.delete-class", Delete, about(link), |o| Requirement::new(&o.link, Some(HTB), Self::VERB);
    ListClasses: "traffic.list-classes", Read, about(link), |o| Requirement::new(&o.link, Some(HTB), Self::VERB);
    DeleteFilter: "traffic.delete-filter", Delete, about(link), |o|
        Requirement::new(&o.link, Some(o.action.word()), Self::VERB);
    ListFilters: "traffic.list-filters", Read, about(link), |o| Requirement::new(&o.link, None, Self::VERB);
}

impl Operation for AddFilter {
    type Rule = TrafficRule;
    const NAME: &'static str = "traffic.add-filter";
    const VERB: Verb = Verb::Create;

    fn requirements(&self) -> Vec<Requirement> {
        let action = &self.filter.action;
        let mut needed = vec![Requirement::new(
            &self.link,
            Some(action.word()),
            Self::VERB,
        )];
        if let Action::Redirect(target) = action {
            needed.push(Requirement::new(target, Some(MIRRED), Self::VERB));
        }
        needed
    }

    fn links(&self) -> Vec<&LinkFacts> {
        let target = match &self.filter.action {
            Action::Redirect(target) => Some(target),
            _ => None,
        };
        [&self.link].into_iter().chain(target).collect()
    }

    fn links_mut(&mut self) -> Vec<&mut LinkFacts> {
        let target = match &mut self.filter.action {
            Action::Redirect(target) => Some(target),
            _ => None,
        };
        [&mut self.link].into_iter().chain(target).collect()
    }
}

words! {
    /// What a grant may name: a discipline, or `mirred` for a filter that redirects.
    pub enum DisciplineName {
        Tbf = "tbf",
        /// Also its classes, and filters that put packets into them.
        Htb = "htb",
        Ingress = "ingress",
        Clsact = "clsact",
        /// The action of a filter that redirects: on the link that packets come from, and on the one
        /// that they go to.
        Mirred = "mirred",
    }
}

rule! {
    /// `traffic:` in a grant. Absent fields match everything.
    pub struct TrafficRule: Traffic for r: Requirement, which may "add" Create, "look at" Read, "remove" Delete {
        /// Where; in both, when left out.
        namespace: InNamespace = One(r.link.namespace);
        /// Kinds of links, as the kernel reports them.
        kinds: Kinds = Has::if_any(r.link.kind_if_there());
        /// Names of links.
        links: LinkNames = One(r.link.name());
        /// Disciplines, and `mirred` for the filters that redirect.
        disciplines: KernelWords<DisciplineName> = Has::if_any(r.discipline.as_deref());
        => verbs = r.verb;
        /// Owners of the links, in `host`: this network, this attachment.
        owners: Owners = Has::if_any(r.link.owner_if_there()), never_suggested();
    } says |rule| {
        let disciplines = rule.all_of("disciplines", "every discipline");
        format!("{} {disciplines} on {}", rule.verbs(), rule.interfaces("links"))
    }
}

/// A discipline or an action on one link, and what is done with it.
#[derive(Clone, Debug, PartialEq)]
pub struct Requirement {
    pub link: LinkFacts,
    /// The kernel's word. None if there is no discipline, and to read all of the link's.
    pub discipline: Option<String>,
    pub verb: Verb,
}

impl Requirement {
    fn new(link: &LinkFacts, discipline: Option<&str>, verb: Verb) -> Self {
        Self {
            link: link.clone(),
            discipline: discipline.map(str::to_owned),
            verb,
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { link, verb, .. } = self;
        match &self.discipline {
            Some(discipline) => write!(f, "{verb} `{discipline}` on {link}"),
            None => write!(f, "{verb} the disciplines of {link}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::namespace::Namespace;
    use super::*;
    use crate::act::Act;
    use crate::tests::decisions::{allowed, decision, denied, link};

    const BANDWIDTH: &str = r#"{"traffic": [
        {"namespace": "host", "kinds": ["veth"], "disciplines": ["tbf", "ingress", "mirred"],
         "verbs": ["create", "read", "delete"]},
        {"namespace": "host", "kinds": ["ifb"], "links": ["bw*"],
         "disciplines": ["tbf", "mirred"], "verbs": ["create"]}
    ]}"#;

    fn add(link: LinkFacts, discipline: Discipline) -> AddQdisc {
        AddQdisc {
            link,
            qdisc: Qdisc {
                handle: Handle(0x1_0000),
                parent: Handle::ROOT,
                discipline,
            },
        }
    }

    fn tbf() -> Discipline {
        Discipline::Tbf(TokenBucket {
            rate: 1_000_000,
            burst: 20_000,
            latency: 25_000,
        })
    }

    fn filter(action: Action) -> AddFilter {
        AddFilter {
            link: link("veth0", "veth"),
            filter: Filter {
                parent: Handle(0xffff_0000),
                priority: 1,
                source: None,
                destination: None,
                action,
            },
        }
    }

    fn class() -> Class {
        Class {
            handle: Handle(0x1_0030),
            parent: Handle(0x1_0000),
            rate: 1,
            ceil: 1,
            burst: 1,
            cburst: 1,
        }
    }

    fn delete(link: LinkFacts, discipline: Option<&str>) -> DeleteQdisc {
        DeleteQdisc {
            link,
            parent: Handle::ROOT,
            present: discipline.map(|discipline| PresentQdisc {
                handle: Handle(0x1_0000),
                discipline: discipline.to_owned(),
            }),
        }
    }

    #[test]
    fn what_is_listed_is_allowed() {
        let expected = allowed(&["traffic[0]"]);
        let on_veth = |discipline| add(link("veth0", "veth"), discipline);
        assert_eq!(decision(BANDWIDTH, &on_veth(tbf())), expected);
        assert_eq!(decision(BANDWIDTH, &on_veth(Discipline::Ingress)), expected);
        let of_veth = ListQdiscs {
            link: link("veth0", "veth"),
        };
        assert_eq!(decision(BANDWIDTH, &of_veth), expected);
        let from_veth = delete(link("veth0", "veth"), Some("tbf"));
        assert_eq!(decision(BANDWIDTH, &from_veth), expected);
        let on_ifb = add(link("bw1", "ifb"), tbf());
        assert_eq!(decision(BANDWIDTH, &on_ifb), allowed(&["traffic[1]"]));
    }

    #[test]
    fn without_a_rule_nothing_is_allowed() {
        fn denies(operation: &impl Operation) {
            assert_eq!(decision("{}", operation), denied(&operation.act(), None));
        }
        let link = link("eth0", "physical");
        let (class, parent) = (class(), Handle(0x1_0000));
        denies(&add(link.clone(), tbf()));
        denies(&delete(link.clone(), None));
        denies(&ListQdiscs { link: link.clone() });
        denies(&ListClasses { link: link.clone() });
        denies(&AddClass {
            link: link.clone(),
            class,
        });
        denies(&ListFilters { link, parent });
        denies(&filter(Action::Classify(Handle(0x1_0030))));
    }

    #[test]
    fn each_field_counts() {
        let cases = [
            (link("eth0", "physical"), tbf(), "traffic[0]: kinds"),
            (link("ifb0", "ifb"), tbf(), "traffic[1]: links"),
            (
                link("veth0", "veth"),
                Discipline::Htb { default: 0 },
                "traffic[0]: disciplines",
            ),
            (
                link("veth0", "veth"),
                Discipline::Clsact,
                "traffic[0]: disciplines",
            ),
            (
                link("veth0", "veth"),
                Discipline::Other {
                    word: "mirred0".to_owned(),
                },
                "traffic[0]: disciplines",
            ),
        ];
        for (link, discipline, closest) in cases {
            let operation = add(link, discipline);
            let expected = denied(&operation.act(), Some(closest));
            assert_eq!(decision(BANDWIDTH, &operation), expected);
        }
        let mut inside = link("veth0", "veth");
        inside.namespace = Namespace::Container;
        let operation = add(inside, tbf());
        let expected = denied(&operation.act(), Some("traffic[0]: namespace"));
        assert_eq!(decision(BANDWIDTH, &operation), expected);
    }

    #[test]
    fn what_is_removed_counts_as_what_the_kernel_says() {
        let operation = delete(link("veth0", "veth"), Some("fq_codel"));
        let expected = denied(&operation.act(), Some("traffic[0]: disciplines"));
        assert_eq!(decision(BANDWIDTH, &operation), expected);
        let operation = delete(link("bw1", "ifb"), Some("tbf"));
        let expected = denied(&operation.act(), Some("traffic[1]: verbs"));
        assert_eq!(decision(BANDWIDTH, &operation), expected);
        // It may learn that there is nothing.
        let operation = delete(link("veth0", "veth"), None);
        assert_eq!(decision(BANDWIDTH, &operation), allowed(&["traffic[0]"]));
    }

    #[test]
    fn a_redirect_needs_both_links() {
        let to = |target| filter(Action::Redirect(target));
        assert_eq!(
            decision(BANDWIDTH, &to(link("bw1", "ifb"))),
            allowed(&["traffic[0]", "traffic[1]"])
        );
        let expected = denied(
            "redirect all that enters veth `veth0` in host out of physical `eth0` in host (`mirred`), which needs a \
             rule to create `mirred` on physical `eth0` in host",
            Some("traffic[0]: kinds"),
        );
        assert_eq!(decision(BANDWIDTH, &to(link("eth0", "physical"))), expected);
        let only_target = r#"{"traffic": [{"kinds": ["ifb"], "disciplines": ["mirred"]}]}"#;
        let expected = denied(
            "redirect all that enters veth `veth0` in host out of ifb `bw1` in host (`mirred`), which needs a rule to \
             create `mirred` on veth `veth0` in host",
            Some("traffic[0]: kinds"),
        );
        assert_eq!(decision(only_target, &to(link("bw1", "ifb"))), expected);
    }

    #[test]
    fn ifname_is_this_invocations() {
        let grant = r#"{"traffic": [{"links": ["{ifname}"]}]}"#;
        let own = add(link("eth0", "veth"), tbf());
        assert_eq!(decision(grant, &own), allowed(&["traffic[0]"]));
        let other = add(link("eth1", "veth"), tbf());
        let expected = denied(&other.act(), Some("traffic[0]: links"));
        assert_eq!(decision(grant, &other), expected);
    }

    #[test]
    fn the_audit_log_has_handles_as_tc_writes_them() {
        let operation = add(link("veth0", "veth"), Discipline::Htb { default: 48 });
        assert_eq!(
            serde_json::to_string(&operation).expect("JSON"),
            r#"{"link":{"namespace":"host","index":7,"name":"veth0","kind":"veth"},"handle":"1:","parent":"root","discipline":"htb","default":48}"#
        );
        let operation = delete(link("veth0", "veth"), Some("tbf"));
        assert_eq!(
            serde_json::to_string(&operation).expect("JSON"),
            r#"{"link":{"namespace":"host","index":7,"name":"veth0","kind":"veth"},"parent":"root","handle":"1:","discipline":"tbf"}"#
        );
        let mut operation = filter(Action::Classify(Handle(0x1_0030)));
        operation.filter.source = Some("10.0.0.0/8".parse().expect("a network"));
        assert_eq!(
            serde_json::to_string(&operation).expect("JSON"),
            r#"{"link":{"namespace":"host","index":7,"name":"veth0","kind":"veth"},"parent":"ffff:","priority":1,"source":"10.0.0.0/8","action":{"classify":"1:30"}}"#
        );
    }
}
