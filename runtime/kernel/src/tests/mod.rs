//! The kernel layer against the kernel: each test in two fresh namespaces of its own, compared with
//! what iproute2 shows. They run as root, or in a user namespace (`unshare -Urn`).

mod address;
mod conntrack;
mod firewall;
mod kinds;
mod link;
mod lock;
mod namespace;
mod neighbour;
mod route;
mod sysctl;
mod traffic;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::process::Command;
use std::thread;

use nix::sched::{CloneFlags, unshare};
use serde_json::Value;
use weir_gate::{Gate, Permit};
use weir_grant::link::{BridgeChanges, Create, LinkFacts, NewKind, NewPeer, Read};
use weir_grant::{Namespace, Operation};
use weir_kit::gate;

use super::link::find::find_link;
use super::link::{Link, LinkReference, create, get};
use super::{Error, Namespaces, NetworkNamespace};

/// Two namespaces, and a gate that allows everything in them.
pub(crate) struct Lab {
    pub namespaces: Namespaces,
    gate: Gate,
}

/// Runs a test in a lab. The namespaces go with the thread.
pub(crate) fn lab(test: impl FnOnce(&mut Lab) + Send) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let container = thread::scope(|scope| scope.spawn(fresh_namespace).join());
            fresh_namespace();
            test(&mut Lab {
                namespaces: Namespaces::new(Some(container.expect("a namespace"))),
                gate: gate::everything(),
            });
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Moves the calling thread to a new namespace.
fn fresh_namespace() -> OwnedFd {
    unshare(CloneFlags::CLONE_NEWNET)
        .expect("a new network namespace: run the tests as root, or with `unshare -Urn`");
    let namespace = File::open("/proc/thread-self/ns/net").expect("the thread's namespace");
    namespace.into()
}

impl Lab {
    /// Carries out an operation through the gate.
    pub(crate) fn perform<O: Operation, T>(
        &mut self,
        operation: O,
        act: fn(&mut Namespaces, &Permit<O>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.gate
            .perform(operation, |permit| act(&mut self.namespaces, permit))
    }

    /// The same for several in one step.
    pub(crate) fn perform_all<O: Operation>(
        &mut self,
        operations: Vec<O>,
        act: fn(&mut Namespaces, &[Permit<O>]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.gate
            .perform_all(operations, |permits| act(&mut self.namespaces, permits))
    }

    fn namespace(&mut self, which: Namespace) -> &mut NetworkNamespace {
        self.namespaces.of(which).expect("both are there")
    }

    /// The facts about a link that is there.
    pub(crate) fn facts(&mut self, namespace: Namespace, name: &str) -> LinkFacts {
        let reference = LinkReference::Name(name.to_owned());
        let found = find_link(self.namespace(namespace), &reference).expect("the link is there");
        found.facts(namespace)
    }

    /// The link as it is now. Errors: `NotFound`.
    pub(crate) fn link(&mut self, link: &LinkFacts) -> Result<Link, Error> {
        let reference = LinkReference::Index(link.index);
        let found = find_link(self.namespace(link.namespace), &reference)?;
        let link = found.facts(link.namespace);
        self.gate
            .perform(Read { link }, |permit| Ok(get(permit, found)))
    }

    /// A veth `host0` with its peer `eth0` in the container, both up.
    pub(crate) fn veth(&mut self) -> (LinkFacts, LinkFacts) {
        let peer = NewPeer {
            owner: None,
            namespace: Namespace::Container,
            name: "eth0".to_owned(),
            mac: None,
            mtu: None,
            up: true,
        };
        let kind = NewKind::Veth { peer };
        let wanted = Create {
            up: true,
            ..new_link(Namespace::Host, "host0", kind)
        };
        self.perform(wanted, create).expect("a veth");
        (
            self.facts(Namespace::Host, "host0"),
            self.facts(Namespace::Container, "eth0"),
        )
    }

    /// A bridge that is up.
    pub(crate) fn bridge(&mut self, name: &str) -> LinkFacts {
        let wanted = Create {
            up: true,
            ..new_link(
                Namespace::Host,
                name,
                NewKind::Bridge(BridgeChanges::default()),
            )
        };
        self.perform(wanted, create).expect("a bridge");
        self.facts(Namespace::Host, name)
    }

    /// Runs `ip` in a namespace, which must succeed.
    pub(crate) fn ip(&mut self, namespace: Namespace, arguments: &[&str]) -> String {
        self.run(namespace, "ip", arguments)
    }

    /// Runs a program of iproute2 in a namespace, which must succeed.
    pub(crate) fn run(
        &mut self,
        namespace: Namespace,
        program: &str,
        arguments: &[&str],
    ) -> String {
        let mut command = Command::new(program);
        command.args(arguments);
        let run = move || command.output();
        let output = self.namespace(namespace).enter(run);
        let output = output.expect("the thread enters it");
        let output = output.expect("iproute2 runs: install the package of that name");
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {errors}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The one object that `ip -j -d ARGUMENTS` shows.
    pub(crate) fn show(&mut self, namespace: Namespace, arguments: &[&str]) -> Value {
        let mut all = self.show_all(namespace, arguments);
        assert_eq!(all.len(), 1, "ip {arguments:?}: {all:?}");
        all.remove(0)
    }

    /// The objects that `ip -j -d ARGUMENTS` shows.
    pub(crate) fn show_all(&mut self, namespace: Namespace, arguments: &[&str]) -> Vec<Value> {
        let json = self.ip(namespace, &[&["-j", "-d"], arguments].concat());
        let Ok(Value::Array(all)) = serde_json::from_str(json.trim()) else {
            panic!("ip {arguments:?} printed {json}");
        };
        // iproute2 prints an empty object for each thing that it filtered.
        all.into_iter()
            .filter(|o| o.as_object().is_none_or(|o| !o.is_empty()))
            .collect()
    }
}

/// A link with nothing but its name and kind.
pub(crate) fn new_link(namespace: Namespace, name: &str, kind: NewKind) -> Create {
    Create {
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
