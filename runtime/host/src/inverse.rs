//! What puts back what an `add` changes of the container: links, ports and parameters.
//!
//! A link is remembered as it was met and as every change has left it: what is asked for and different
//! from what was remembered is what comes back. So inverses cost no call of the kernel, but for the
//! name of a master that a link leaves. What this invocation made has none, because it goes itself.

use serde_json::{Value, json};
use weir_grant::Namespace;
use weir_grant::link::{LinkFacts, Move, NewMaster, Update, UpdatePort};
use weir_grant::sysctl::Write;
use weir_kernel::link::Link;
use weir_kernel::sysctl::shared::Before;
use weir_kernel::without_permit::find_link;
use weir_kernel::{self as kernel, Code, Error};

use super::bindings::weir::cni::types::LinkReference;
use super::state::Host;
use super::undo::Undo;

impl Host {
    /// Remembers how an update has left a link, and notes its inverses.
    pub(super) fn note_update(
        &mut self,
        update: &Update,
        before: &Link,
        outcome: &Result<(), Error>,
    ) {
        let namespace = update.link.namespace;
        let Some(after) = self.after(&update.link, outcome, updated(before, update)) else {
            return;
        };
        if self.is_put_back(namespace, after.index) {
            let master = |index| self.master(namespace, index);
            let inverse = of_update(update, before, &after, master);
            let inverses = parts(inverse).into_iter();
            self.done
                .extend(inverses.map(|part| Undo::Update(Box::new(part))));
        }
        self.meet(namespace, after);
    }

    /// Remembers how an update has left a bridge's port, and notes its inverse.
    pub(super) fn note_port(
        &mut self,
        update: &UpdatePort,
        before: &Link,
        outcome: &Result<(), Error>,
    ) {
        let namespace = update.link.namespace;
        let Some(after) = self.after(&update.link, outcome, updated_port(before, update)) else {
            return;
        };
        if self.is_put_back(namespace, after.index) {
            let inverse = of_port(update, before, &after);
            self.done.extend(inverse.map(Undo::Port));
        }
        self.meet(namespace, after);
    }

    /// Notes the inverse of a move. The link comes back up, if it was: the kernel sets down what it
    /// moves.
    pub(super) fn note_move(
        &mut self,
        from: Namespace,
        before: &Link,
        moved: &LinkFacts,
        is_cleared: bool,
    ) {
        let was = before.facts(from);
        let is_it = |made: &&mut (Namespace, u32)| **made == (from, was.index);
        match self.made.iter_mut().find(is_it) {
            Some(made) => *made = (moved.namespace, moved.index),
            None if before.up => self.done.push(Undo::Update(Box::new(Update {
                up: Some(true),
                ..Update::nothing_of(was.clone())
            }))),
            None => {}
        }
        self.done.push(Undo::Move {
            index: was.index,
            back: Move {
                alias: is_cleared.then(|| before.alias.clone()),
                link: moved.clone(),
                to: from,
                name: was.name,
            },
        });
    }

    /// Notes the inverse of a write, where the parameter had a value that can be read.
    pub(super) fn note_write(&mut self, write: Write, before: Option<String>) {
        let inverse = before.and_then(|before| of_write(write, before));
        self.done.extend(inverse.map(Undo::Parameter));
    }

    /// The same where others may come to rely on the new value. However often it is written, a parameter gets back what it
    /// had at first, or what another has set in between.
    pub(super) fn note_shared_write(&mut self, write: Write, before: Before) {
        let is_of_it = |back: &Write| back.key == write.key;
        let first = self.done.iter_mut().rev().find_map(|step| match step {
            Undo::SharedParameter { back, changed } if is_of_it(back) => Some(changed),
            _ => None,
        });
        if let Some(known) = first.filter(|_| before.is_own) {
            known.clone_from(&write.value);
            return;
        }
        let changed = write.value.clone();
        let inverse = before.value.and_then(|before| of_write(write, before));
        let inverse = inverse.map(|back| Undo::SharedParameter { back, changed });
        self.done.extend(inverse);
    }

    /// Whether a parameter goes with a link that this invocation has made.
    pub(super) fn is_of_made_link(&self, write: &Write) -> bool {
        let namespace = write.namespace;
        let Some(name) = write.link() else {
            return false;
        };
        let mut links = self.known_in(namespace).filter(|link| link.name == name);
        links.any(|link| self.made.contains(&(namespace, link.index)))
    }

    fn is_put_back(&self, namespace: Namespace, index: u32) -> bool {
        namespace == Namespace::Container && !self.made.contains(&(namespace, index))
    }

    /// A link after a change; none when nothing was tried. Of a message that the kernel refuses it
    /// may have done what comes before the attribute that it refuses.
    fn after(
        &mut self,
        link: &LinkFacts,
        outcome: &Result<(), Error>,
        wanted: Link,
    ) -> Option<Link> {
        let reference = kernel::link::LinkReference::Index(link.index);
        match outcome {
            Ok(()) => Some(wanted),
            Err(error) if error.code == Code::Denied || link.is_absent() => None,
            Err(_) => {
                let namespace = self.namespaces.of(link.namespace);
                let now = namespace.and_then(|namespace| find_link(namespace, &reference));
                Some(now.unwrap_or(wanted))
            }
        }
    }

    /// The master with that index, or none; nothing for one that is gone.
    fn master(&mut self, namespace: Namespace, index: Option<u32>) -> Option<NewMaster> {
        let Some(index) = index else {
            return Some(NewMaster::None);
        };
        let master = self.identify(namespace.into(), &LinkReference::Index(index));
        master.ok().map(NewMaster::Link)
    }
}

/// What an update changes, with the values from before, for its record; none where it changes nothing.
pub(super) fn previous(update: &Update, before: &Link) -> Option<Value> {
    let after = updated(before, update);
    let was = of_update(update, before, &after, |_| None);
    let master = (after.master != before.master).then_some(before.master);
    values(json!({
        "name": was.name, "up": was.up, "mac": was.mac, "mtu": was.mtu, "txqlen": was.txqlen,
        "promiscuous": was.promiscuous, "all_multicast": was.all_multicast, "alias": was.alias,
        "master": master.map(Option::unwrap_or_default),
    }))
}

/// The same of a bridge port's flags.
pub(super) fn previous_port(update: &UpdatePort, before: &Link) -> Option<Value> {
    let was = of_port(update, before, &updated_port(before, update))?;
    values(json!({ "hairpin": was.hairpin, "isolated": was.isolated }))
}

/// Those that there are.
fn values(mut all: Value) -> Option<Value> {
    let members = all.as_object_mut()?;
    members.retain(|_, value| !value.is_null());
    (!members.is_empty()).then_some(all)
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
        // It is another port, and is none any more when it has its former master back.
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

/// What an update changed, as it was before. `master` tells the link of an index.
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

/// The attributes, the last to come back first.
///
/// What was down goes down before it gets back its MAC and its name: some links take another one only
/// then. The name comes back last, so that it is right in the records of all.
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

/// An update in parts of one attribute each, so that one which the kernel refuses keeps no other from
/// coming back.
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

/// The kernel takes any white space between numbers, and prints tabs.
fn of_write(write: Write, before: String) -> Option<Write> {
    let is_same = write.value.split_whitespace().eq(before.split_whitespace());
    (!is_same).then_some(Write {
        value: before,
        ..write
    })
}

/// The value before, where one was asked for and it is another one now.
fn back<A, T: Clone + PartialEq>(asked: &Option<A>, before: &T, after: &T) -> Option<T> {
    (asked.is_some() && before != after).then(|| before.clone())
}

#[cfg(test)]
mod tests {
    use weir_grant::link::Mac;
    use weir_kernel::link::{Details, OperState, Port};

    use super::*;

    fn link() -> Link {
        Link {
            index: 7,
            name: "eth0".to_owned(),
            alternative_names: Vec::new(),
            kind: "veth".to_owned(),
            mac: Mac(vec![2, 0, 0, 0, 0, 1]),
            mtu: 1500,
            txqlen: 1000,
            up: false,
            oper_state: OperState::Down,
            promiscuous: false,
            all_multicast: true,
            master: None,
            lower: None,
            alias: String::new(),
            details: Details::None,
            port: None,
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

    #[test]
    fn a_parameter_gets_its_value_back_where_it_was_another_one() {
        let write = Write {
            owner: String::new(),
            namespace: Namespace::Container,
            key: "net.ipv4.tcp_rmem".to_owned(),
            value: "4096 90000  7000000".to_owned(),
        };
        let back = of_write(write.clone(), "4096\t131072\t6291456".to_owned()).unwrap();
        assert_eq!(back.value, "4096\t131072\t6291456");
        assert_eq!((back.namespace, &back.key), (write.namespace, &write.key));
        assert_eq!(of_write(write, "4096\t90000\t7000000".to_owned()), None);
    }
}
