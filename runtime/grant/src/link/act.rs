//! What an operation on links does, in words, and how far it reaches.

use super::{
    AddVlans, BridgeVlan, Create, Delete, DeleteVlans, GetPeer, LinkFacts, List, ListVlans,
    MacvlanMode, Move, NewKind, NewMaster, Read, Update, UpdateBridge, UpdatePort, WaitUp,
};
use crate::act::{Act, Severity};
use crate::invocation::Invocation;
use crate::namespace::Namespace;
use crate::operation::reads;
use crate::phrase::joined;

reads!(Read, ListVlans, GetPeer, WaitUp);

impl Act for Create {
    fn act(&self) -> String {
        let kind = self.kind.word();
        let mut text = format!("create {}", new_link(kind, &self.name, self.namespace));
        text += &match &self.kind {
            NewKind::Veth { peer } => {
                let peer = new_link("", &peer.name, peer.namespace);
                format!(" with its other end{peer}")
            }
            NewKind::Macvlan { lower, mode, .. } => format!(" over {lower}, in mode {mode}"),
            NewKind::Ipvlan { lower, mode } => format!(" over {lower}, in mode {mode}"),
            NewKind::Vlan { lower, id, .. } => format!(" for VLAN {id} of {lower}"),
            NewKind::Vrf { table } => format!(" for routing table {table}"),
            NewKind::Bridge(_) | NewKind::Dummy | NewKind::Tap(_) | NewKind::Ifb => String::new(),
        };
        if let Some(master) = &self.master {
            text += &format!(" as a port of {master}");
        }
        text
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        let peer = match &self.kind {
            NewKind::Veth { peer } => Some(Severity::of_change_in(peer.namespace)),
            _ => None,
        };
        let master = self.master.as_ref();
        let master = master.map(|link| Severity::of_using(link, invocation));
        let lower = self.kind.lower().map(|link| match &self.kind {
            // All that the lower device receives goes to the new one.
            NewKind::Macvlan { mode, .. } if *mode == MacvlanMode::Passthru => {
                Severity::of_changing(link, invocation)
            }
            // As a port of a bridge, the new one is where the traffic of the lower device is.
            _ => Severity::of_using(link, invocation),
        });
        let touched = peer.into_iter().chain(master).chain(lower);
        touched.fold(Severity::of_change_in(self.namespace), Severity::max)
    }
}

/// A link that does not exist yet; without a name, the kernel chooses one.
fn new_link(kind: &str, name: &str, namespace: Namespace) -> String {
    if name.is_empty() {
        format!("{kind} in {namespace}")
    } else {
        format!("{kind} `{name}` in {namespace}")
    }
}

impl Act for List {
    fn act(&self) -> String {
        let of_kind = self.kind.as_ref();
        let of_kind = of_kind.map_or_else(String::new, |kind| format!(" of kind `{kind}`"));
        format!("list the links{of_kind} in {}", self.namespace)
    }

    fn severity(&self, _: &Invocation) -> Severity {
        Severity::Reads
    }
}

impl Act for Delete {
    fn act(&self) -> String {
        format!("delete {}", self.link)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

/// One change of a link.
enum Change {
    /// "take it down".
    Itself(&'static str, String),
    /// "set its MTU to 1400".
    Its(&'static str, &'static str, String),
}

impl Change {
    fn set(what: &'static str, value: impl ToString) -> Self {
        Self::Its("set", what, format!(" to {}", value.to_string()))
    }

    fn turn(what: &'static str, on: bool) -> Self {
        let verb = if on { "turn on" } else { "turn off" };
        Self::Its(verb, what, String::new())
    }

    /// Says it of a link, or of the one that was named before.
    fn words(&self, link: Option<&LinkFacts>) -> String {
        match (self, link) {
            (Self::Itself(verb, after), Some(link)) => format!("{verb} {link}{after}"),
            (Self::Itself(verb, after), None) => format!("{verb} it{after}"),
            (Self::Its(verb, what, after), Some(link)) => {
                format!("{verb} the {what} of {link}{after}")
            }
            (Self::Its(verb, what, after), None) => format!("{verb} its {what}{after}"),
        }
    }
}

/// Changes of a link: the first names it.
fn changed(link: &LinkFacts, changes: &[Change]) -> String {
    if changes.is_empty() {
        return format!("change nothing of {link}");
    }
    let words = changes.iter().enumerate();
    let words = words.map(|(at, change)| change.words((at == 0).then_some(link)));
    joined(words.collect(), "and")
}

impl Update {
    /// What is changed, what may cut off traffic first.
    fn changes(&self) -> Vec<Change> {
        let up = self.up.map(|up| {
            if up {
                Change::Itself("bring", " up".to_owned())
            } else {
                Change::Itself("take", " down".to_owned())
            }
        });
        let master = self.master.as_ref().map(|master| match master {
            NewMaster::None => Change::Itself("take", " out of its master".to_owned()),
            NewMaster::Link(master) => Change::Itself("make", format!(" a port of {master}")),
        });
        let name = self.name.as_ref();
        let name = name.map(|name| Change::Itself("rename", format!(" to `{name}`")));
        let mac = self.mac.as_ref().map(|mac| Change::set("MAC address", mac));
        let alias = self.alias.as_ref();
        let alias = alias.map(|alias| Change::set("alias", format!("`{alias}`")));
        let owner = self.owner.as_ref().map(|owner| {
            if owner.is_empty() {
                Change::Its("remove", "owner's mark", String::new())
            } else {
                Change::set("owner's mark", format!("`{owner}`"))
            }
        });
        let promiscuous = self
            .promiscuous
            .map(|on| Change::turn("promiscuous mode", on));
        let multicast = self
            .all_multicast
            .map(|on| Change::turn("reception of all multicast", on));
        let mtu = self.mtu.map(|mtu| Change::set("MTU", mtu));
        let queue = self
            .txqlen
            .map(|length| Change::set("transmit queue length", length));
        let all = [
            up,
            master,
            name,
            mac,
            promiscuous,
            multicast,
            mtu,
            queue,
            alias,
            owner,
        ];
        all.into_iter().flatten().collect()
    }

    /// Whether it is only brought up, or marked as its owner's.
    fn is_harmless(&self) -> bool {
        let Self {
            name,
            mac,
            mtu,
            txqlen,
            promiscuous,
            all_multicast,
            master,
            ..
        } = self;
        let is_changed = name.is_some()
            || mac.is_some()
            || mtu.is_some()
            || txqlen.is_some()
            || promiscuous.is_some()
            || all_multicast.is_some()
            || master.is_some();
        self.up != Some(false) && !is_changed
    }
}

impl Act for Update {
    fn act(&self) -> String {
        changed(&self.link, &self.changes())
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        let own = if self.is_harmless() {
            Severity::of_using(&self.link, invocation)
        } else {
            Severity::of_changing(&self.link, invocation)
        };
        match &self.master {
            Some(NewMaster::Link(master)) => own.max(Severity::of_using(master, invocation)),
            _ => own,
        }
    }
}

impl Act for UpdatePort {
    fn act(&self) -> String {
        let hairpin = self.hairpin.map(|on| Change::turn("hairpin mode", on));
        let isolated = self
            .isolated
            .map(|on| Change::turn("isolation from other ports", on));
        let changes: Vec<Change> = isolated.into_iter().chain(hairpin).collect();
        changed(&self.link, &changes)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        let change = Severity::of_changing(&self.link, invocation);
        if self.isolated == Some(false) {
            return change.max(Severity::DisablesProtection);
        }
        change
    }
}

impl Act for UpdateBridge {
    fn act(&self) -> String {
        let filtering = self.changes.vlan_filtering;
        let filtering = filtering.map(|on| Change::turn("VLAN filtering", on));
        let default = self.changes.default_pvid.map(|id| {
            if id == 0 {
                Change::Its("remove", "default VLAN", String::new())
            } else {
                Change::set("default VLAN", id)
            }
        });
        let changes: Vec<Change> = filtering.into_iter().chain(default).collect();
        changed(&self.link, &changes)
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        let change = Severity::of_changing(&self.link, invocation);
        if self.changes.vlan_filtering == Some(false) {
            return change.max(Severity::DisablesProtection);
        }
        change
    }
}

impl Act for AddVlans {
    fn act(&self) -> String {
        format!("add {} to {}", self.link, vlans(&self.vlans))
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

impl Act for DeleteVlans {
    fn act(&self) -> String {
        format!("remove {} from {}", self.link, vlans(&self.vlans))
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        Severity::of_changing(&self.link, invocation)
    }
}

/// The ranges that are named one by one; a list is at most as long as the contract allows.
const MOST_RANGES: usize = 8;

fn vlans(vlans: &[BridgeVlan]) -> String {
    let range = |vlan: &BridgeVlan| {
        if vlan.first == vlan.last {
            vlan.first.to_string()
        } else {
            format!("{}-{}", vlan.first, vlan.last)
        }
    };
    let mut ranges: Vec<String> = vlans.iter().take(MOST_RANGES).map(range).collect();
    if vlans.len() > MOST_RANGES {
        ranges.push(format!("{} more ranges", vlans.len() - MOST_RANGES));
    }
    match vlans {
        [] => "no VLAN".to_owned(),
        [one] if one.first == one.last => format!("VLAN {}", one.first),
        _ => format!("VLANs {}", joined(ranges, "and")),
    }
}

impl Act for Move {
    fn act(&self) -> String {
        let (from, to, name) = (self.link.namespace, self.to, &self.name);
        let mut text = format!("move {} from {from} to {to}", self.link.title());
        // If the plugin may not know a link, it must not learn the name that the link keeps either.
        if *name != self.link.name && !self.link.name.is_empty() {
            text += &format!(" as `{name}`");
        }
        text
    }

    fn severity(&self, invocation: &Invocation) -> Severity {
        match (self.link.namespace, self.to) {
            (Namespace::Container, Namespace::Host) => Severity::LeavesContainer,
            // What is taken away from the host is missing there.
            _ => Severity::of_changing(&self.link, invocation),
        }
    }
}
