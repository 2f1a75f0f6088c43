//! One of the two kernels, and its description in messages.

use std::fmt::Debug;
use std::thread;
use std::time::{Duration, Instant};

use ipnet::IpNet;
use weir_files::Paths;
use weir_gate::Gate;
use weir_grant::link::{Link, LinkFacts, LinkReference};
use weir_grant::pattern::contains;
use weir_grant::route::Route;
use weir_grant::traffic::{Handle, PresentQdisc};
use weir_grant::{Namespace, Operation, address, link, neighbour, policy_rule, route};
use weir_kernel::perform::perform;
use weir_kernel::store::StoreOwner;
use weir_kernel::without_permit::SharedLock;
use weir_kernel::{DynKernel, DynTransaction, Linux, Namespaces, Perform, Result, UndoLog};
use weir_kit::{fresh_namespace, gate};
use weir_model::Node;
use weir_sdk::testing::FakeHost;

use crate::fake::Fake;

pub(crate) const BOTH: [Namespace; 2] = [Namespace::Host, Namespace::Container];

/// How long the kernel may take until what a change leads to has come about.
const PATIENCE: Duration = Duration::from_secs(5);

/// A kernel, and what its answers were.
pub(crate) struct Side {
    gate: Gate,
    kernel: Box<DynKernel>,
    log: UndoLog,
    said: Vec<String>,
    /// What the other one has said: the kernel is waited for until it says the same.
    expected: Option<Vec<String>>,
}

/// Performs the same on both kernels, and on the SDK's fake host.
pub(crate) fn compare(act: impl Fn(&mut Side) + Send + Sync) {
    let model = compare_kernels(&act);
    let _host = FakeHost::new();
    let fake = Side::new(Box::new(Fake::default()), None).run(&act);
    assert_eq!(fake.len(), model.len(), "as many steps");
    // The last two steps are about undoing.
    let before_undoing = model.len().saturating_sub(2);
    let pairs = fake.iter().zip(&model).take(before_undoing);
    for (at, (fake, model)) in pairs.enumerate() {
        assert_eq!(
            fake, model,
            "step {at}: the fake host (left) and the model (right)"
        );
    }
}

/// Performs the same on both kernels, and returns what they said.
pub(crate) fn compare_kernels(act: impl Fn(&mut Side) + Send + Sync) -> Vec<String> {
    let node = Node::new();
    let model = Side::new(Box::new(node.kernel().for_add()), None).run(&act);
    let expected = model.clone();
    let real = thread::scope(|scope| {
        let real = scope.spawn(|| {
            let root = tempfile::tempdir().expect("a directory");
            let container = weir_kit::Namespace::create().expect("a namespace");
            fresh_namespace().expect("a namespace");
            let namespaces = Namespaces::new(Some(container.into()));
            let deadline = Instant::now() + Duration::from_secs(60);
            let owner = StoreOwner {
                plugin: "test".to_owned(),
                network: "pods".to_owned(),
                former: None,
            };
            let paths = Paths::below(root.path());
            let lock = SharedLock::take(&paths).expect("a lock");
            let linux = Linux::new(namespaces, paths, deadline)
                .with_stores_of(owner)
                .for_add("one", Some(lock));
            Side::new(Box::new(linux), Some(expected)).run(&act)
        });
        real.join()
    });
    let real = real.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    for (at, (real, model)) in real.iter().zip(&model).enumerate() {
        assert_eq!(
            real, model,
            "step {at}: the kernel (left) and the model (right)"
        );
    }
    assert_eq!(real.len(), model.len(), "as many steps");
    model
}

impl Side {
    fn new(kernel: Box<DynKernel>, expected: Option<Vec<String>>) -> Self {
        Self {
            gate: gate::everything(),
            kernel,
            log: UndoLog::default(),
            said: Vec::new(),
            expected,
        }
    }

    fn run(mut self, act: &impl Fn(&mut Self)) -> Vec<String> {
        act(&mut self);
        self.show("after");
        let left = self.log.undo(&mut self.gate, &mut *self.kernel);
        self.said
            .push(format!("could not be undone: {}", left.len()));
        self.show("undone");
        self.said
    }

    /// Carries an operation out, and notes whether that went well.
    pub(crate) fn perform<O, A>(&mut self, operation: O) -> Option<A>
    where
        O: Operation + Debug,
        DynKernel: Perform<O, A>,
    {
        let what = format!("{operation:?}");
        let done = perform(&mut self.gate, &mut *self.kernel, &mut self.log, operation);
        self.note::<O, A>(&what, done)
    }

    /// The same, and notes the answer.
    pub(crate) fn answer<O, A: Debug>(&mut self, operation: O) -> Option<A>
    where
        O: Operation + Debug,
        DynKernel: Perform<O, A>,
    {
        let answer = self.perform(operation);
        self.say(format!("{answer:?}"));
        answer
    }

    /// The same as [`perform`](Self::perform) in an open store.
    pub(crate) fn perform_in<O, A>(&mut self, store: &mut DynTransaction, operation: O) -> Option<A>
    where
        O: Operation + Debug,
        DynTransaction: Perform<O, A>,
    {
        let what = format!("{operation:?}");
        let done = perform(&mut self.gate, store, &mut self.log, operation);
        self.note::<O, A>(&what, done)
    }

    /// Commits a store.
    pub(crate) fn commit(&mut self, store: &mut DynTransaction) {
        let done = store.commit(&mut weir_kernel::Changes::new(&mut self.log));
        self.say(format!("commit: {:?}", done.map_err(|error| error.code)));
    }

    fn note<O: Operation, A>(&mut self, what: &str, done: Result<A>) -> Option<A> {
        let outcome = match &done {
            Ok(_) => "done".to_owned(),
            Err(error) => format!("{:?}", error.code),
        };
        self.say(format!("{} {}: {outcome}", O::NAME, without_indexes(what)));
        done.ok()
    }

    /// Notes something that both must say.
    pub(crate) fn say(&mut self, what: impl Into<String>) {
        self.said.push(what.into());
    }

    /// The facts about a link, also where there is none.
    pub(crate) fn link(&mut self, namespace: Namespace, name: &str) -> LinkFacts {
        let reference = LinkReference::Name(name.to_owned());
        self.kernel.look_up(namespace, &reference).expect("a name")
    }

    /// The discipline at a place of a link, for the gate.
    pub(crate) fn present_qdisc(
        &mut self,
        link: &LinkFacts,
        parent: Handle,
    ) -> Option<PresentQdisc> {
        let present = self.kernel.present_qdisc(link, parent);
        let code = present.as_ref().map_err(|error| error.code);
        self.say(format!(
            "at {parent}: {:?}",
            code.map(|present| present.is_some())
        ));
        present.ok().flatten()
    }

    /// Notes all that can be seen, as soon as it is what the other one has said.
    pub(crate) fn show(&mut self, when: &str) {
        let expected = self
            .expected
            .as_ref()
            .and_then(|all| all.get(self.said.len()).cloned());
        let end = Instant::now() + PATIENCE;
        loop {
            let now = format!("{when}: {}", self.look());
            let is_expected = expected.as_ref().is_none_or(|expected| *expected == now);
            if is_expected || Instant::now() > end {
                return self.said.push(now);
            }
            thread::sleep(Duration::from_millis(5));
        }
    }

    fn look(&mut self) -> String {
        BOTH.map(|namespace| self.look_into(namespace)).concat()
    }

    fn look_into(&mut self, namespace: Namespace) -> String {
        let all = link::List {
            namespace,
            kind: None,
            master: None,
        };
        let mut links = self.ask(all);
        links.sort_by(|one, other| one.name.cmp(&other.name));
        let mut lines = vec![format!("in {namespace}")];
        for link in &links {
            lines.push(shown(link, &links));
            let facts = link.facts(namespace);
            lines.extend(self.look_at_traffic(&facts, &links));
            lines.extend(self.look_at(facts));
        }
        for table in [route::MAIN_TABLE, 255, 100] {
            lines.extend(self.routes(namespace, table, &links));
        }
        let family = None;
        let rules = self.ask(policy_rule::List { namespace, family });
        lines.extend(rules.into_iter().map(|rule| format!("{rule:?}")));
        lines.join("\n  ") + "\n"
    }

    fn look_at(&mut self, link: LinkFacts) -> Vec<String> {
        let addresses = self.ask(address::List {
            link: link.clone(),
            family: None,
        });
        let addresses = addresses
            .into_iter()
            .filter(|a| !is_of_every_link(a.address));
        let mut lines: Vec<String> = addresses.map(|address| format!("{address:?}")).collect();
        let entries = self.ask(neighbour::List { link, family: None });
        let entries = entries
            .into_iter()
            .filter(|entry| entry.state == neighbour::State::Permanent);
        lines.extend(entries.map(|entry| format!("{entry:?}")));
        lines.sort();
        lines
    }

    fn routes(&mut self, namespace: Namespace, table: u32, links: &[Link]) -> Vec<String> {
        let routes = self.ask(route::List {
            table: Some(table),
            ..route::List::all(namespace)
        });
        let routes = routes
            .into_iter()
            .filter(|route| !is_of_every_link(route.destination));
        let mut lines: Vec<String> = routes.map(|route| named(route, links)).collect();
        lines.sort();
        lines
    }

    /// Looks at something beside the comparison.
    pub(crate) fn ask<O, A>(&mut self, operation: O) -> A
    where
        O: Operation,
        A: Default,
        DynKernel: Perform<O, A>,
    {
        let mut ignored = UndoLog::default();
        perform(&mut self.gate, &mut *self.kernel, &mut ignored, operation).unwrap_or_default()
    }
}

/// A route with the names of its links.
pub(crate) fn named(route: Route<u32>, links: &[Link]) -> String {
    let name = |index: u32| Ok::<_, ()>(name_of(index, links));
    format!("{:?}", route.with_links(name))
}

pub(crate) fn name_of(index: u32, links: &[Link]) -> String {
    let found = links.iter().find(|link| link.index == index);
    found.map_or_else(|| "?".to_owned(), |link| link.name.clone())
}

/// What does not differ from one run to another. Not every kernel has bridge VLANs, and to the kernel a link whose peer has
/// the same index in the other namespace is `down` where it would be `lower-layer-down`.
fn shown(link: &Link, links: &[Link]) -> String {
    format!(
        "{} {} mtu {} txqlen {} up {} {} promiscuous {} all-multicast {} master {:?} alias `{}` {:?}",
        link.name,
        link.kind,
        link.mtu,
        link.txqlen,
        link.up,
        link.oper_state
            .to_string()
            .trim_start_matches("lower-layer-"),
        link.promiscuous,
        link.all_multicast,
        link.master.map(|index| name_of(index, links)),
        link.alias,
        link.port,
    )
}

/// What the kernel gives to each link.
fn is_of_every_link(network: IpNet) -> bool {
    ["fe80::/10", "ff00::/8"].iter().any(|of_every_link| {
        let of_every_link: IpNet = of_every_link.parse().expect("a network");
        contains(&of_every_link, &network)
    })
}

fn without_indexes(operation: &str) -> String {
    let mut parts = operation.split("index: ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| c.is_ascii_digit())
    })
}
