//! What takes back what an invocation did to links.
//!
//! A link is remembered as it was first looked up and as every change has left it. An inverse restores the attributes that
//! an update changes. So inverses cost no system call, except for the name of a master that a link leaves. Links that the
//! invocation made have none, because they are removed; links of the host have none, because they stay as they are.

use serde_json::{Value, json};
use weir_grant::Namespace;
use weir_grant::link::{
    Create, Delete, Link, LinkFacts, LinkReference, List, Move, NewKind, NewMaster, Update,
    UpdatePort,
};

use crate::error::Result;
use crate::linux::Linux;
use crate::perform::{Changes, Facts, Inverse, KnownLinks, Undo};

/// Removes a link that the invocation made.
struct RemoveLink(Delete);

impl RemoveLink {
    /// The deletion, if it has no condition: a bridge may be in use by others.
    fn unconditional(&self) -> Option<&Delete> {
        (self.0.link.kind != "bridge").then_some(&self.0)
    }
}

impl Inverse for RemoveLink {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        if self.unconditional().is_some() || is_unused(undo, &self.0.link)? {
            return undo.perform(self.0);
        }
        Ok(())
    }

    fn removed_link(&self) -> Option<&Delete> {
        self.unconditional()
    }

    fn link_that_stays(&mut self) -> Option<&mut LinkFacts> {
        Some(&mut self.0.link)
    }
}

/// Whether a bridge can be removed: it has no ports, and no other ADD is running that may be about to use it.
fn is_unused(undo: &mut Undo<'_>, bridge: &LinkFacts) -> Result<bool> {
    if !undo.kernel.is_alone()? {
        return Ok(false);
    }
    let ports = List {
        namespace: bridge.namespace,
        kind: None,
        master: Some(bridge.index),
    };
    let ports: Vec<Link> = undo.perform(ports)?;
    Ok(ports.is_empty())
}

/// Gives one attribute of a link the value back that it had.
struct Restore(Box<Update>);

impl Inverse for Restore {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        undo.perform(*self.0)
    }

    fn link_that_stays(&mut self) -> Option<&mut LinkFacts> {
        Some(&mut self.0.link)
    }
}

/// Moves a link back. It may get another index than the one by which the inverses of what was done before name it.
struct MoveBack {
    back: Move,
    /// The index that it had there.
    index: u32,
}

impl Inverse for MoveBack {
    fn undo(self: Box<Self>, undo: &mut Undo<'_>) -> Result<()> {
        let there = self.back.to;
        let moved: Link = undo.perform(self.back)?;
        undo.earlier.renumber(there, self.index, moved.index);
        Ok(())
    }

    fn moves_link(&self) -> bool {
        true
    }
}

/// A kernel that remembers what an invocation has done to links, and notes what takes it back.
pub trait LinkHistory: Facts {
    /// The links that the invocation has met and made.
    fn known_links_mut(&mut self) -> &mut KnownLinks;

    /// A link as it is before a change; none if it does not exist. Mostly it was looked up when it was identified.
    fn before(&mut self, link: &LinkFacts) -> Option<Link> {
        if let Some(known) = self.known_link(link) {
            return Some(known.clone());
        }
        let reference = LinkReference::Index(link.index);
        self.find_link(link.namespace, &reference).ok()
    }

    /// Remembers a link that was created, and notes its removal.
    fn note_created(&mut self, wanted: &Create, link: &Link, changes: &mut Changes<'_>) {
        changes.undo_with(RemoveLink(Delete {
            link: link.facts(wanted.namespace),
        }));
        let known = self.known_links_mut();
        known.note_made(wanted.namespace, link.index);
        if let NewKind::Veth { peer } = &wanted.kind {
            // The kernel may leave the peer's index out where it is the same.
            known.note_made(peer.namespace, link.lower.unwrap_or(link.index));
        }
        known.meet(wanted.namespace, link.clone());
    }

    /// Remembers how an update has left a link, and notes its inverses.
    fn note_update(
        &mut self,
        update: &Update,
        before: &Link,
        outcome: &Result<()>,
        changes: &mut Changes<'_>,
    ) {
        let namespace = update.link.namespace;
        changes.previous = previous(update, before);
        let after = after(self, &update.link, outcome, updated(before, update));
        if is_put_back(self.known_links_mut(), namespace, after.index) {
            let master = |index| master(self, namespace, index);
            for part in parts(of_update(update, before, &after, master)) {
                changes.undo_with(Restore(Box::new(part)));
            }
        }
        self.known_links_mut().meet(namespace, after);
    }

    /// Remembers how an update has left a bridge's port, and notes its inverse.
    fn note_port(
        &mut self,
        update: &UpdatePort,
        before: &Link,
        outcome: &Result<()>,
        changes: &mut Changes<'_>,
    ) {
        let namespace = update.link.namespace;
        changes.previous = previous_port(update, before);
        let after = after(self, &update.link, outcome, updated_port(before, update));
        if is_put_back(self.known_links_mut(), namespace, after.index)
            && let Some(inverse) = of_port(update, before, &after)
        {
            changes.undo_with(inverse);
        }
        self.known_links_mut().meet(namespace, after);
    }

    /// Notes the inverse of a move. The link comes back up, if it was: the kernel sets down what it moves.
    fn note_move(&mut self, done: &Move, before: &Link, moved: &Link, changes: &mut Changes<'_>) {
        let from = done.link.namespace;
        let was = before.facts(from);
        let is_made = self
            .known_links_mut()
            .note_moved((from, was.index), (done.to, moved.index));
        if before.up && !is_made {
            changes.undo_with(Restore(Box::new(Update {
                up: Some(true),
                ..Update::nothing_of(was.clone())
            })));
        }
        changes.undo_with(MoveBack {
            index: was.index,
            back: Move {
                alias: done.alias.as_ref().map(|_| before.alias.clone()),
                link: moved.facts(done.to),
                to: from,
                name: was.name,
                strands_host: false,
            },
        });
    }
}

impl LinkHistory for Linux {
    fn known_links_mut(&mut self) -> &mut KnownLinks {
        &mut self.links
    }
}

fn is_put_back(known: &KnownLinks, namespace: Namespace, index: u32) -> bool {
    namespace == Namespace::Container && !known.is_made(namespace, index)
}

/// A link after a change. When the kernel refuses a message, it may already have set some attributes.
fn after<K: Facts + ?Sized>(
    kernel: &mut K,
    link: &LinkFacts,
    outcome: &Result<()>,
    wanted: Link,
) -> Link {
    match outcome {
        Ok(()) => wanted,
        Err(_) => {
            let now = kernel.find_link(link.namespace, &LinkReference::Index(link.index));
            now.unwrap_or(wanted)
        }
    }
}

/// The master with that index, or none; nothing for one that is gone.
fn master<K: Facts + ?Sized>(
    kernel: &mut K,
    namespace: Namespace,
    index: Option<u32>,
) -> Option<NewMaster> {
    let Some(index) = index else {
        return Some(NewMaster::None);
    };
    let master = kernel.identify(namespace, &LinkReference::Index(index));
    master.ok().map(NewMaster::Link)
}

/// What an update changes, with the values from before, for its record; none where it changes nothing.
fn previous(update: &Update, before: &Link) -> Option<Value> {
    let after = updated(before, update);
    let mut was = json!(of_update(update, before, &after, |_| None));
    if after.master != before.master {
        was["master"] = json!(before.master.unwrap_or_default());
    }
    attributes(was)
}

/// The same for a bridge port's flags.
fn previous_port(update: &UpdatePort, before: &Link) -> Option<Value> {
    let was = of_port(update, before, &updated_port(before, update))?;
    attributes(json!(was))
}

/// What an update says beside its link.
fn attributes(mut update: Value) -> Option<Value> {
    let members = update.as_object_mut()?;
    members.remove("link");
    (!members.is_empty()).then_some(update)
}

/// The link, as an update leaves it.
fn updated(before: &Link, update: &Update) -> Link {
    let mut link = before.clone();
    set(&mut link.name, &update.name);
    set(&mut link.up, &update.up);
    set(&mut link.mac, &update.mac);
    set(&mut link.mtu, &update.mtu);
    set(&mut link.txqlen, &update.txqlen);
    set(&mut link.promiscuous, &update.promiscuous);
    set(&mut link.all_multicast, &update.all_multicast);
    set(&mut link.alias, &update.alias);
    set(&mut link.master, &update.master.as_ref().map(index_of));
    if link.master != before.master {
        // It is another port now, and none after an undo.
        link.port = None;
    }
    link
}

fn index_of(master: &NewMaster) -> Option<u32> {
    match master {
        NewMaster::None => None,
        NewMaster::Link(master) => Some(master.index),
    }
}

fn updated_port(before: &Link, update: &UpdatePort) -> Link {
    let mut link = before.clone();
    if let Some(port) = &mut link.port {
        set(&mut port.hairpin, &update.hairpin);
        set(&mut port.isolated, &update.isolated);
    }
    link
}

fn set<T: Clone>(attribute: &mut T, value: &Option<T>) {
    if let Some(value) = value {
        attribute.clone_from(value);
    }
}

/// The former values of what an update changed. `master` finds the link with an index.
fn of_update(
    update: &Update,
    before: &Link,
    after: &Link,
    master: impl FnOnce(Option<u32>) -> Option<NewMaster>,
) -> Update {
    Update {
        link: after.facts(update.link.namespace),
        name: back(&update.name, &before.name, &after.name),
        up: back(&update.up, &before.up, &after.up),
        mac: back(&update.mac, &before.mac, &after.mac),
        mtu: back(&update.mtu, &before.mtu, &after.mtu),
        txqlen: back(&update.txqlen, &before.txqlen, &after.txqlen),
        promiscuous: back(&update.promiscuous, &before.promiscuous, &after.promiscuous),
        all_multicast: back(
            &update.all_multicast,
            &before.all_multicast,
            &after.all_multicast,
        ),
        alias: back(&update.alias, &before.alias, &after.alias),
        master: back(&update.master, &before.master, &after.master).and_then(master),
        owner: None,
    }
}

/// Moves one attribute from an update to another.
type Take = fn(&mut Update, &mut Update);

/// The attributes, in the reverse order of their restoration.
///
/// A link is set down before its MAC and its name are restored: some links require that. The name is restored last, so that
/// all records have the same.
const ATTRIBUTES: [Take; 9] = [
    |part, all| part.name = all.name.take(),
    |part, all| part.mac = all.mac.take(),
    |part, all| part.mtu = all.mtu.take(),
    |part, all| part.alias = all.alias.take(),
    |part, all| part.master = all.master.take(),
    |part, all| part.up = all.up.take(),
    |part, all| part.promiscuous = all.promiscuous.take(),
    |part, all| part.all_multicast = all.all_multicast.take(),
    |part, all| part.txqlen = all.txqlen.take(),
];

/// Splits an update into one for each attribute, so that a refused one does not keep the others from being restored.
fn parts(mut all: Update) -> Vec<Update> {
    let none = Update::nothing_of(all.link.clone());
    let part = |take: &Take| {
        let mut part = none.clone();
        take(&mut part, &mut all);
        part
    };
    let parts = ATTRIBUTES.iter().map(part);
    parts.filter(|part| *part != none).collect()
}

fn of_port(update: &UpdatePort, before: &Link, after: &Link) -> Option<UpdatePort> {
    let (was, is) = (before.port?, after.port?);
    let inverse = UpdatePort {
        link: after.facts(update.link.namespace),
        hairpin: back(&update.hairpin, &was.hairpin, &is.hairpin),
        isolated: back(&update.isolated, &was.isolated, &is.isolated),
    };
    (inverse.hairpin.is_some() || inverse.isolated.is_some()).then_some(inverse)
}

/// The former value, if the update sets the attribute and has changed it.
fn back<A, T: Clone + PartialEq>(wanted: &Option<A>, before: &T, after: &T) -> Option<T> {
    (wanted.is_some() && before != after).then(|| before.clone())
}

#[cfg(test)]
mod tests {
    use weir_grant::link::{Mac, Port};

    use super::*;

    fn link() -> Link {
        Link {
            index: 7,
            name: "eth0".to_owned(),
            kind: "veth".to_owned(),
            mac: Mac(vec![2, 0, 0, 0, 0, 1]),
            mtu: 1500,
            txqlen: 1000,
            all_multicast: true,
            ..Link::default()
        }
    }

    fn facts(index: u32, name: &str) -> LinkFacts {
        LinkFacts {
            owner: String::new(),
            by_index: false,
            namespace: Namespace::Container,
            index,
            name: name.to_owned(),
            kind: "veth".to_owned(),
        }
    }

    fn nothing() -> Update {
        Update::nothing_of(facts(7, "eth0"))
    }

    /// An update of every attribute of [`link`].
    fn everything() -> Update {
        Update {
            name: Some("eth1".to_owned()),
            up: Some(true),
            mac: Some(Mac(vec![2, 0, 0, 0, 0, 2])),
            mtu: Some(1400),
            txqlen: Some(0),
            promiscuous: Some(true),
            all_multicast: Some(false),
            alias: Some("changed".to_owned()),
            master: Some(NewMaster::Link(facts(9, "br0"))),
            ..nothing()
        }
    }

    fn master(index: Option<u32>) -> Option<NewMaster> {
        Some(index.map_or(NewMaster::None, |index| {
            NewMaster::Link(facts(index, "former"))
        }))
    }

    /// The inverses of an update that the kernel makes, the last to be run first.
    fn inverses(update: &Update, before: &Link) -> Vec<Update> {
        parts(of_update(update, before, &updated(before, update), master))
    }

    #[test]
    fn updates_that_are_undone_in_reverse_leave_everything_as_it_was() {
        let again = Update {
            name: Some("eth2".to_owned()),
            mtu: Some(1300),
            up: Some(false),
            master: Some(NewMaster::None),
            ..nothing()
        };
        let back_again = Update {
            name: Some("eth0".to_owned()),
            mtu: Some(1500),
            master: Some(NewMaster::Link(facts(9, "br0"))),
            ..nothing()
        };
        let (mut now, mut done) = (link(), Vec::new());
        for update in [everything(), again, everything(), back_again] {
            done.extend(inverses(&update, &now));
            now = updated(&now, &update);
        }
        while let Some(inverse) = done.pop() {
            assert_eq!(inverse.link, now.facts(Namespace::Container));
            now = updated(&now, &inverse);
        }
        assert_eq!(now, link());
    }

    #[test]
    fn each_attribute_comes_back_by_itself() {
        let inverses = inverses(&everything(), &link());
        assert_eq!(inverses.len(), 9);
        assert!(inverses.iter().all(|i| parts(i.clone()).len() == 1));
        let place = |is: fn(&Update) -> bool| inverses.iter().position(is).unwrap();
        let (name, mac) = (place(|i| i.name.is_some()), place(|i| i.mac.is_some()));
        let up = place(|i| i.up.is_some());
        assert!(name < mac && mac < up, "{inverses:#?}");
    }

    #[test]
    fn what_does_not_differ_has_no_inverse() {
        let same = Update {
            mtu: Some(1500),
            all_multicast: Some(true),
            alias: Some(String::new()),
            master: Some(NewMaster::None),
            ..nothing()
        };
        assert_eq!(inverses(&same, &link()), []);
        let one = Update {
            mtu: Some(1400),
            ..same
        };
        let back = Update {
            mtu: Some(1500),
            ..nothing()
        };
        assert_eq!(inverses(&one, &link()), [back]);
    }

    /// What else has changed since was not done by this update.
    #[test]
    fn of_an_update_that_was_refused_comes_back_what_was_done() {
        let refused = Update {
            mac: Some(Mac(vec![2, 0, 0, 0, 0, 2])),
            mtu: Some(70000),
            ..nothing()
        };
        let after = Link {
            mac: Mac(vec![2, 0, 0, 0, 0, 2]),
            promiscuous: true,
            ..link()
        };
        let back = Update {
            mac: Some(link().mac),
            ..nothing()
        };
        let inverse = of_update(&refused, &link(), &after, master);
        assert_eq!(inverse, back);
    }

    #[test]
    fn a_port_gets_its_former_master_back() {
        let port = Link {
            master: Some(3),
            port: Some(Port::default()),
            ..link()
        };
        let leave = Update {
            master: Some(NewMaster::None),
            ..nothing()
        };
        let back = Update {
            master: Some(NewMaster::Link(facts(3, "former"))),
            ..nothing()
        };
        assert_eq!(inverses(&leave, &port), [back]);
        assert_eq!(updated(&port, &leave).port, None);
        let gone = of_update(&leave, &port, &updated(&port, &leave), |_| None);
        assert_eq!(gone, nothing());
    }

    #[test]
    fn a_port_gets_its_flags_back() {
        let port = Link {
            port: Some(Port {
                hairpin: false,
                isolated: true,
            }),
            ..link()
        };
        let update = UpdatePort {
            link: facts(7, "eth0"),
            hairpin: Some(true),
            isolated: Some(true),
        };
        let inverse = |before: &Link| of_port(&update, before, &updated_port(before, &update));
        let back = UpdatePort {
            hairpin: Some(false),
            isolated: None,
            ..update.clone()
        };
        assert_eq!(inverse(&port), Some(back));
        assert_eq!(inverse(&updated_port(&port, &update)), None);
        // One that this invocation has made a port is none when its master is taken from it.
        assert_eq!(inverse(&link()), None);
    }
}
