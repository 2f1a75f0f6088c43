//! Capability `firewall` on a real kernel: what is applied is what nft(8) would have made of the
//! same words, and packets go where the rules say.
//!
//! Needs root and the package nftables, and iproute2 for the links of the traffic tests.

mod keep_rules;
mod refusals;
mod ruleset;
mod traffic;
mod transactions;

use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command as Process, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns};
use serde_json::Value as Json;
use weir_gate::Gate;
use weir_grant::firewall::*;
use weir_grant::link::Mac;
use weir_grant::{Namespace, Operation};
use weir_kit::{fresh_namespace, gate};

use super::linux;
use crate::firewall::undo::RemoveCreated;
use crate::perform::perform;
use crate::{Code, Linux, Namespaces, Perform, Result, Undo, UndoLog};

/// Runs a test in a network namespace of its own, which is gone with the thread.
pub(super) fn in_new_namespace<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::spawn(|| {
        fresh_namespace().expect("a network namespace");
        test()
    });
    match thread.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A network namespace beside the calling thread's.
pub(super) struct OtherNamespace(weir_kit::Namespace);

impl OtherNamespace {
    pub(super) fn new() -> Self {
        Self(weir_kit::Namespace::create().expect("a network namespace"))
    }

    /// Runs something in the namespace.
    pub(super) fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            self.0.enter().expect("enter the namespace");
            act()
        };
        thread::scope(|scope| {
            scope
                .spawn(inside)
                .join()
                .expect("no panic in the namespace")
        })
    }

    /// Moves a link of the calling thread's namespace here.
    pub(super) fn take(&self, link: &str) {
        let path = self.0.path().expect("a path");
        ip(&format!("link set {link} netns {}", path.display()));
    }
}

pub(super) fn ip(arguments: &str) {
    let status = Process::new("ip").args(arguments.split(' ')).status();
    assert!(
        status.expect("run ip: install iproute2").success(),
        "ip {arguments}"
    );
}

pub(super) fn nft(arguments: &[&str], input: &str) -> String {
    let mut nft = Process::new("nft")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("run nft: install nftables");
    nft.stdin
        .take()
        .expect("a pipe")
        .write_all(input.as_bytes())
        .expect("write to nft");
    let output = nft.wait_with_output().expect("wait for nft");
    assert!(output.status.success(), "nft {arguments:?} of:\n{input}");
    String::from_utf8(output.stdout).expect("text")
}

/// The ruleset as nft(8) tells it, without handles.
pub(super) fn ruleset() -> Json {
    let mut json: Json = serde_json::from_str(&nft(&["-j", "list", "ruleset"], "")).expect("JSON");
    let list = json["nftables"].as_array_mut().expect("a list");
    list.retain(|object| object.get("metainfo").is_none());
    for object in list.iter_mut() {
        for (_, content) in object.as_object_mut().expect("an object") {
            content.as_object_mut().expect("an object").remove("handle");
        }
    }
    json
}

/// Loads a text, in which nft(8) wants each brace of several on a line of its own.
pub(super) fn load(text: &str) {
    nft(&["-f", "-"], &text.replace("} }", "}\n}"));
}

/// What nft(8) makes of a text.
pub(super) fn ruleset_of(text: &str) -> Json {
    let text = text.to_owned();
    in_new_namespace(move || {
        load(&text);
        ruleset()
    })
}

/// A plugin in the namespace of the calling thread.
pub(super) struct Plugin {
    gate: Gate,
    linux: Linux,
    log: UndoLog,
    family: Family,
}

impl Plugin {
    pub(super) fn new(family: Family) -> Self {
        Self {
            gate: gate::everything(),
            linux: linux(Namespaces::new(None)),
            log: UndoLog::default(),
            family,
        }
    }

    /// One that masquerades what a pod sends.
    pub(super) fn masquerading() -> Self {
        let mut plugin = Self::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        plugin.add_pod();
        plugin
    }

    /// Masquerades what a pod sends.
    pub(super) fn add_pod(&mut self) -> Vec<Apply> {
        self.apply(vec![Command::CreateElements(pod("10.1.0.2"))])
            .expect("a pod")
    }

    fn perform<O, A>(&mut self, operation: O) -> Result<A>
    where
        O: Operation,
        Linux: Perform<O, A>,
    {
        perform(&mut self.gate, &mut self.linux, &mut self.log, operation)
    }

    /// Applies commands. Returns what takes them back, in order.
    pub(super) fn apply(&mut self, commands: Vec<Command>) -> Result<Vec<Apply>> {
        self.perform(Apply::new(Namespace::Host, self.family, table(), commands))?;
        let removals = self.log.take::<RemoveCreated>().into_iter();
        Ok(removals.map(|removal| removal.0).collect())
    }

    pub(super) fn undo(&mut self, operations: Vec<Apply>) -> Vec<Result<()>> {
        let mut undo = Undo {
            gate: &mut self.gate,
            kernel: &mut self.linux,
            earlier: &mut self.log,
        };
        let operations = operations.into_iter();
        operations
            .map(|operation| undo.perform(operation))
            .collect()
    }

    pub(super) fn chains(&mut self) -> Vec<Chain> {
        let listed = self.perform(ListChains {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
        });
        listed.expect("chains")
    }

    pub(super) fn rules(&mut self, chain: &str) -> Result<Vec<Rule>> {
        self.perform(ListRules {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
            chain: chain.to_owned(),
        })
    }

    pub(super) fn element(&mut self, set: &str, key: Vec<Value>) -> Result<Option<Element>> {
        self.perform(GetElement {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
            set: set.to_owned(),
            key,
        })
    }

    pub(super) fn elements(&mut self, set: &str) -> Result<Vec<Element>> {
        self.perform(ListElements {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
            set: set.to_owned(),
        })
    }
}

pub(super) fn table() -> String {
    "weir_bridge".to_owned()
}

pub(super) fn s(text: &str) -> String {
    text.to_owned()
}

pub(super) fn base(name: &str, chain_type: ChainType, hook: Hook, priority: i32) -> Chain {
    Chain {
        name: s(name),
        base: Some(BaseChain {
            chain_type,
            hook,
            priority,
            policy: Policy::Accept,
            device: None,
        }),
    }
}

pub(super) fn regular(name: &str) -> Chain {
    Chain {
        name: s(name),
        base: None,
    }
}

pub(super) fn rule(chain: &str, conditions: Vec<Condition>, statements: Vec<Statement>) -> Rule {
    Rule {
        chain: s(chain),
        conditions,
        statements,
        ..Rule::default()
    }
}

pub(super) fn append(
    chain: &str,
    conditions: Vec<Condition>,
    statements: Vec<Statement>,
) -> Command {
    Command::AppendRule(rule(chain, conditions, statements))
}

/// Appends a rule that does one thing with every packet.
pub(super) fn to_all(chain: &str, statement: Statement) -> Command {
    append(chain, vec![], vec![statement])
}

pub(super) fn equals(field: Field, value: Value) -> Condition {
    Condition::Equals {
        field,
        value,
        negate: false,
    }
}

pub(super) fn differs(field: Field, value: Value) -> Condition {
    Condition::Equals {
        field,
        value,
        negate: true,
    }
}

pub(super) fn within(field: Field, network: &str) -> Condition {
    Condition::Within {
        field,
        network: network.parse().expect("a network"),
        negate: false,
    }
}

pub(super) fn in_set(fields: &[Field], set: &str, negate: bool) -> Condition {
    Condition::InSet {
        fields: fields.to_vec(),
        set: s(set),
        negate,
    }
}

pub(super) fn lookup(fields: &[Field], map: &str) -> MapLookup {
    MapLookup {
        fields: fields.to_vec(),
        map: s(map),
    }
}

pub(super) fn set(name: &str, key: &[DataType], data: &[DataType], interval: bool) -> Set {
    Set {
        name: s(name),
        key: key.to_vec(),
        data: data.to_vec(),
        interval,
    }
}

pub(super) fn address(text: &str) -> Value {
    Value::Address(text.parse().expect("an address"))
}

pub(super) fn name(text: &str) -> Value {
    Value::Name(s(text))
}

pub(super) fn mac(last: u8) -> Value {
    Value::Mac(Mac(vec![2, 0, 0, 0, 0, last]))
}

pub(super) fn element(key: Vec<Value>, data: ElementData) -> Element {
    Element {
        key,
        data,
        ..Element::default()
    }
}

pub(super) fn range(first: Vec<Value>, last: Vec<Value>) -> Element {
    Element {
        key: first,
        key_end: Some(last),
        ..Element::default()
    }
}

pub(super) fn elements(set: &str, elements: Vec<Element>) -> Elements {
    Elements {
        set: s(set),
        elements,
    }
}

pub(super) fn jump(chain: &str) -> ElementData {
    ElementData::Verdict(Verdict::Jump(s(chain)))
}

pub(super) fn assert_ruleset(text: &str) {
    let expected = ruleset_of(text);
    let found = ruleset();
    assert_eq!(
        found,
        expected,
        "\nfound {}\nexpected {}",
        serde_json::to_string_pretty(&found).expect("JSON"),
        serde_json::to_string_pretty(&expected).expect("JSON")
    );
}

pub(super) fn assert_code<T: std::fmt::Debug>(result: Result<T>, code: Code, parts: &[&str]) {
    let error = result.expect_err("an error");
    assert_eq!(error.code, code, "{error}");
    for part in parts {
        assert!(error.message.contains(part), "`{part}` in: {error}");
    }
}

const NO_OPTIONS: NatOptions = NatOptions {
    random: false,
    fully_random: false,
    persistent: false,
};

/// The chains and sets of masquerade: one element per pod, one chain per network.
pub(super) fn masquerade() -> Vec<Command> {
    let daddr = Field::Ipv4Destination;
    vec![
        Command::AddChain(base("postrouting", ChainType::Nat, Hook::Postrouting, 100)),
        Command::AddSet(set(
            "pods4",
            &[DataType::Ipv4Address],
            &[DataType::Verdict],
            false,
        )),
        Command::FlushChain(s("postrouting")),
        append(
            "postrouting",
            vec![],
            vec![Statement::VerdictMap(lookup(&[Field::Ipv4Source], "pods4"))],
        ),
        Command::AddChain(regular("net-a")),
        Command::FlushChain(s("net-a")),
        append(
            "net-a",
            vec![within(daddr, "10.1.0.0/16")],
            vec![Statement::Return],
        ),
        append(
            "net-a",
            vec![within(daddr, "224.0.0.0/4")],
            vec![Statement::Return],
        ),
        Command::AppendRule(Rule {
            comment: Some(s("network a")),
            ..rule("net-a", vec![], vec![Statement::Masquerade(NO_OPTIONS)])
        }),
    ]
}

pub(super) fn pod(last: &str) -> Elements {
    let comment = Some(s("container c, eth0"));
    let element = Element {
        comment,
        ..element(vec![address(last)], jump("net-a"))
    };
    elements("pods4", vec![element])
}
