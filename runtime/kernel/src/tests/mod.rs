//! The kernel layer against the kernel: each test in two fresh namespaces of its own, compared with
//! what iproute2 shows. They run as root, or in a user namespace (`unshare -Urn`).

mod address;
mod conntrack;
mod device;
mod firewall;
mod kinds;
mod link;
mod lock;
mod namespace;
mod neighbour;
mod policy_rule;
mod route;
mod sysctl;
mod traffic;
mod undo;

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use weir_files::Paths;
use weir_gate::Gate;
use weir_grant::link::{BridgeChanges, Create, Delete, LinkFacts, NewKind, NewPeer, Read};
use weir_grant::{Namespace, Operation};
use weir_kit::{fresh_namespace, gate};

use super::link::find::find_link;
use super::perform::perform;
use super::{
    Code, Facts as _, Inverse, Kernel as _, Linux, Namespaces, NetworkNamespace, Perform, Result,
    UndoLog,
};
use weir_grant::link::{Link, LinkReference};

/// Two namespaces, and a gate that allows everything in them.
pub(crate) struct Lab {
    pub linux: Linux,
    pub log: UndoLog,
    gate: Gate,
}

/// Runs a test in a lab. The namespaces go with the thread.
pub(crate) fn lab(test: impl FnOnce(&mut Lab) + Send) {
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            let container = weir_kit::Namespace::create().expect("a namespace");
            fresh_namespace().expect("a namespace");
            test(&mut Lab {
                linux: linux(Namespaces::new(Some(container.into()))),
                log: UndoLog::default(),
                gate: gate::everything(),
            });
        });
        if let Err(panic) = thread.join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// An operation has failed with this code, and says these words.
#[track_caller]
pub(crate) fn assert_code<T: std::fmt::Debug>(outcome: Result<T>, code: Code, words: &str) {
    let error = outcome.unwrap_err();
    assert_eq!(error.code, code, "{error}");
    assert!(error.message.contains(words), "`{words}`: {error}");
}

/// A kernel without state, that waits a minute.
pub(crate) fn linux(namespaces: Namespaces) -> Linux {
    let nowhere = Paths::below(Path::new("/nonexistent"));
    Linux::new(
        namespaces,
        nowhere,
        Instant::now() + Duration::from_secs(60),
    )
}

impl Lab {
    /// Carries out an operation through the gate.
    pub(crate) fn perform<O, A>(&mut self, operation: O) -> Result<A>
    where
        O: Operation,
        Linux: Perform<O, A>,
    {
        perform(&mut self.gate, &mut self.linux, &mut self.log, operation)
    }

    /// Deletes links in one step.
    pub(crate) fn delete_links(&mut self, deletes: Vec<Delete>) -> Result<()> {
        let linux = &mut self.linux;
        self.gate
            .perform_all(deletes, |permits| linux.delete_links(permits))
    }

    /// What takes back what was done last.
    pub(crate) fn inverse<I: Inverse>(&mut self) -> I {
        self.log.take().remove(0)
    }

    /// Takes back what was done since the lab began. Returns what could not be.
    pub(crate) fn undo(&mut self) -> Vec<String> {
        self.log.undo(&mut self.gate, &mut self.linux)
    }

    fn namespace(&mut self, which: Namespace) -> &mut NetworkNamespace {
        self.linux.namespaces().of(which).expect("both are there")
    }

    /// The facts about a link that is there.
    pub(crate) fn facts(&mut self, namespace: Namespace, name: &str) -> LinkFacts {
        let reference = LinkReference::Name(name.to_owned());
        let found = find_link(self.namespace(namespace), &reference).expect("the link is there");
        found.facts(namespace)
    }

    /// The link as it is now. Errors: `NotFound`.
    pub(crate) fn link(&mut self, link: &LinkFacts) -> Result<Link> {
        let reference = LinkReference::Index(link.index);
        let found = self.linux.find_link(link.namespace, &reference)?;
        self.perform(Read {
            link: found.facts(link.namespace),
        })
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
            ..Create::new(Namespace::Host, "host0", kind)
        };
        self.perform(wanted).expect("a veth");
        (
            self.facts(Namespace::Host, "host0"),
            self.facts(Namespace::Container, "eth0"),
        )
    }

    /// A bridge that is up.
    pub(crate) fn bridge(&mut self, name: &str) -> LinkFacts {
        let wanted = Create {
            up: true,
            ..Create::new(
                Namespace::Host,
                name,
                NewKind::Bridge(BridgeChanges::default()),
            )
        };
        self.perform(wanted).expect("a bridge");
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
