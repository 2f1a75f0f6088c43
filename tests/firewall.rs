//! Capability `firewall` on a real kernel: what is applied is what nft(8) would have made of the
//! same words, and packets go where the rules say.
//!
//! Needs root and the package nftables, and iproute2 for the links of the traffic tests.

use std::fs::File;
use std::io::Write;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::process::{Command as Process, Stdio};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};
use serde_json::Value as Json;
use weir_gate::{Audit, Gate, Subject};
use weir_grant::firewall::*;
use weir_grant::link::Mac;
use weir_grant::{Capabilities, Invocation, Namespace};
use weir_kernel::{Code, Error, Namespaces, firewall};

/// Runs a test in a network namespace of its own, which is gone with the thread.
fn in_new_namespace<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNET).expect("a network namespace: this test needs root");
        test()
    });
    match thread.join() {
        Ok(value) => value,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// A network namespace beside the calling thread's.
struct Place(File);

impl Place {
    fn new() -> Self {
        Self(in_new_namespace(|| {
            File::open("/proc/thread-self/ns/net").expect("the namespace")
        }))
    }

    /// Runs something in the namespace.
    fn run<T: Send>(&self, act: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            setns(&self.0, CloneFlags::CLONE_NEWNET).expect("enter the namespace");
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
    fn take(&self, link: &str) {
        use std::os::fd::AsRawFd;
        let path = format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd());
        ip(&format!("link set {link} netns {path}"));
    }
}

fn ip(arguments: &str) {
    let status = Process::new("ip").args(arguments.split(' ')).status();
    assert!(
        status.expect("run ip: install iproute2").success(),
        "ip {arguments}"
    );
}

fn nft(arguments: &[&str], input: &str) -> String {
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
fn ruleset() -> Json {
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
fn load(text: &str) {
    nft(&["-f", "-"], &text.replace("} }", "}\n}"));
}

/// What nft(8) makes of a text.
fn ruleset_of(text: &str) -> Json {
    let text = text.to_owned();
    in_new_namespace(move || {
        load(&text);
        ruleset()
    })
}

/// An audit log that nobody reads.
struct Plugin {
    gate: Gate,
    namespaces: Namespaces,
    family: Family,
}

impl Plugin {
    fn new(family: Family) -> Self {
        let capabilities = Capabilities {
            firewall: vec![FirewallRule::default()],
            ..Capabilities::default()
        };
        let subject = Subject {
            command: "ADD",
            container_id: "c".to_owned(),
            ifname: "eth0".to_owned(),
            network: "n".to_owned(),
            plugin: "bridge".to_owned(),
            ..Subject::default()
        };
        Self {
            gate: Gate::new(capabilities, Invocation::default(), Audit::nowhere(subject)),
            namespaces: Namespaces::new(None),
            family,
        }
    }

    fn apply(&mut self, commands: Vec<Command>) -> Result<Vec<Apply>, Error> {
        let operation = Apply {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
            commands,
            only_empty: false,
            listening: Vec::new(),
            removed: Vec::new(),
        };
        let namespaces = &mut self.namespaces;
        self.gate
            .perform(operation, |permit| firewall::apply(namespaces, permit))
    }

    fn undo(&mut self, operations: Vec<Apply>) -> Vec<Result<Vec<Apply>, Error>> {
        let namespaces = &mut self.namespaces;
        let mut outcomes = Vec::new();
        for operation in operations {
            outcomes.push(
                self.gate
                    .undo(operation, |permit| firewall::apply(namespaces, permit)),
            );
        }
        outcomes
    }

    fn chains(&mut self) -> Vec<Chain> {
        let operation = ListChains {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
        };
        let namespaces = &mut self.namespaces;
        let listed = self.gate.perform(operation, |permit| {
            firewall::list_chains(namespaces, permit)
        });
        listed.expect("chains")
    }

    fn rules(&mut self, chain: &str) -> Result<Vec<Rule>, Error> {
        let operation = ListRules {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
            chain: chain.to_owned(),
        };
        let namespaces = &mut self.namespaces;
        self.gate
            .perform(operation, |permit| firewall::list_rules(namespaces, permit))
    }

    fn element(&mut self, set: &str, key: Vec<Value>) -> Result<Option<Element>, Error> {
        let operation = GetElement {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
            set: set.to_owned(),
            key,
        };
        let namespaces = &mut self.namespaces;
        self.gate.perform(operation, |permit| {
            firewall::get_element(namespaces, permit)
        })
    }

    fn elements(&mut self, set: &str) -> Result<Vec<Element>, Error> {
        let operation = ListElements {
            namespace: Namespace::Host,
            family: self.family,
            table: table(),
            set: set.to_owned(),
        };
        let namespaces = &mut self.namespaces;
        self.gate.perform(operation, |permit| {
            firewall::list_elements(namespaces, permit)
        })
    }
}

fn table() -> String {
    "weir_bridge".to_owned()
}

fn s(text: &str) -> String {
    text.to_owned()
}

fn base(name: &str, chain_type: ChainType, hook: Hook, priority: i32) -> Chain {
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

fn regular(name: &str) -> Chain {
    Chain {
        name: s(name),
        base: None,
    }
}

fn rule(chain: &str, conditions: Vec<Condition>, statements: Vec<Statement>) -> Rule {
    Rule {
        chain: s(chain),
        conditions,
        statements,
        ..Rule::default()
    }
}

fn append(chain: &str, conditions: Vec<Condition>, statements: Vec<Statement>) -> Command {
    Command::AppendRule(rule(chain, conditions, statements))
}

fn equals(field: Field, value: Value) -> Condition {
    Condition::Equals {
        field,
        value,
        negate: false,
    }
}

fn differs(field: Field, value: Value) -> Condition {
    Condition::Equals {
        field,
        value,
        negate: true,
    }
}

fn within(field: Field, network: &str) -> Condition {
    Condition::Within {
        field,
        network: network.parse().expect("a network"),
        negate: false,
    }
}

fn in_set(fields: &[Field], set: &str, negate: bool) -> Condition {
    Condition::InSet {
        fields: fields.to_vec(),
        set: s(set),
        negate,
    }
}

fn lookup(fields: &[Field], map: &str) -> MapLookup {
    MapLookup {
        fields: fields.to_vec(),
        map: s(map),
    }
}

fn set(name: &str, key: &[DataType], data: &[DataType], interval: bool) -> Set {
    Set {
        name: s(name),
        key: key.to_vec(),
        data: data.to_vec(),
        interval,
    }
}

fn address(text: &str) -> Value {
    Value::Address(text.parse().expect("an address"))
}

fn name(text: &str) -> Value {
    Value::Name(s(text))
}

fn mac(last: u8) -> Value {
    Value::Mac(Mac(vec![2, 0, 0, 0, 0, last]))
}

fn element(key: Vec<Value>, data: ElementData) -> Element {
    Element {
        key,
        data,
        ..Element::default()
    }
}

fn range(first: Vec<Value>, last: Vec<Value>) -> Element {
    Element {
        key: first,
        key_end: Some(last),
        ..Element::default()
    }
}

fn elements(set: &str, elements: Vec<Element>) -> Elements {
    Elements {
        set: s(set),
        elements,
    }
}

fn jump(chain: &str) -> ElementData {
    ElementData::Verdict(Verdict::Jump(s(chain)))
}

fn assert_ruleset(text: &str) {
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

fn assert_code<T: std::fmt::Debug>(result: Result<T, Error>, code: Code, parts: &[&str]) {
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
fn masquerade() -> Vec<Command> {
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

fn pod(last: &str) -> Elements {
    let comment = Some(s("container c, eth0"));
    let element = Element {
        comment,
        ..element(vec![address(last)], jump("net-a"))
    };
    elements("pods4", vec![element])
}

#[test]
fn masquerade_is_what_nft_would_make() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        plugin
            .apply(vec![Command::CreateElements(pod("10.1.0.2"))])
            .expect("a pod");
        let expected = r#"table inet weir_bridge {
            map pods4 {
                type ipv4_addr : verdict
                elements = { 10.1.0.2 comment "container c, eth0" : jump net-a }
            }
            chain postrouting {
                type nat hook postrouting priority srcnat; policy accept;
                ip saddr vmap @pods4
            }
            chain net-a {
                ip daddr 10.1.0.0/16 return
                ip daddr 224.0.0.0/4 return
                masquerade comment "network a"
            }
        }"#;
        assert_ruleset(expected);
        plugin.apply(masquerade()).expect("again");
        assert_ruleset(expected);
    });
}

#[test]
fn every_condition_is_what_nft_would_make() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let number = |field, n| equals(field, Value::Number(n));
        let masked = |field, mask, value, negate| Condition::Masked {
            field,
            mask,
            value,
            negate,
        };
        let conditions = vec![
            vec![equals(Field::InputLinkName, name("eth0"))],
            vec![differs(Field::OutputLinkName, name("a-name-of-15-by"))],
            vec![number(Field::Mark, 0x2000)],
            vec![number(Field::NetworkProtocol, 10)],
            vec![number(Field::TransportProtocol, 17)],
            vec![equals(Field::Ipv4Source, address("10.0.0.1"))],
            vec![differs(Field::Ipv4Destination, address("10.0.0.2"))],
            vec![equals(Field::Ipv6Source, address("fd00::1"))],
            vec![within(Field::Ipv6Destination, "fd00::/9")],
            vec![Condition::Within {
                field: Field::Ipv4Source,
                network: "10.0.0.0/9".parse().expect("a network"),
                negate: true,
            }],
            vec![
                within(Field::Ipv4Source, "10.0.0.3/32"),
                within(Field::Ipv4Destination, "10.0.0.0/8"),
            ],
            vec![
                number(Field::TransportProtocol, 6),
                number(Field::SourcePort, 1024),
            ],
            vec![
                number(Field::TransportProtocol, 132),
                number(Field::DestinationPort, 80),
            ],
            vec![equals(Field::MacSource, mac(1))],
            vec![equals(Field::MacDestination, mac(2))],
            vec![number(Field::EtherType, 0x0800)],
            vec![masked(Field::ConnectionState, 6, 0, true)],
            vec![masked(Field::ConnectionStatus, 32, 0, true)],
            vec![number(Field::ConnectionMark, 7)],
            vec![masked(Field::Mark, 0xff, 0x12, false)],
            vec![number(Field::DestinationAddressType, 2)],
            vec![differs(Field::SourceAddressType, Value::Number(2))],
        ];
        let mut commands = vec![Command::CreateChain(base(
            "input",
            ChainType::Filter,
            Hook::Prerouting,
            0,
        ))];
        commands.extend(
            conditions
                .into_iter()
                .map(|c| append("input", c, vec![Statement::Accept])),
        );
        plugin.apply(commands).expect("apply");
        assert_ruleset(
            r#"table inet weir_bridge {
            chain input {
                type filter hook prerouting priority filter; policy accept;
                iifname "eth0" accept
                oifname != "a-name-of-15-by" accept
                meta mark 0x2000 accept
                meta nfproto ipv6 accept
                meta l4proto udp accept
                ip saddr 10.0.0.1 accept
                ip daddr != 10.0.0.2 accept
                ip6 saddr fd00::1 accept
                ip6 daddr fd00::/9 accept
                ip saddr != 10.0.0.0/9 accept
                ip saddr 10.0.0.3 ip daddr 10.0.0.0/8 accept
                tcp sport 1024 accept
                sctp dport 80 accept
                ether saddr 02:00:00:00:00:01 accept
                ether daddr 02:00:00:00:00:02 accept
                ether type ip accept
                ct state established,related accept
                ct status dnat accept
                ct mark 7 accept
                meta mark & 0xff == 0x12 accept
                fib daddr type local accept
                fib saddr type != local accept
            } }"#,
        );
    });
}

#[test]
fn every_statement_is_what_nft_would_make() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let fixed = |address: Option<&str>, port| Nat {
            target: NatTarget::Fixed {
                address: address.map(|a| a.parse().expect("an address")),
                port,
            },
            options: NO_OPTIONS,
        };
        let mapped = |fields: &[Field], map, with_port, ipv6| Nat {
            target: NatTarget::FromMap {
                lookup: lookup(fields, map),
                with_port,
                ipv6,
            },
            options: NO_OPTIONS,
        };
        let tcp = || equals(Field::TransportProtocol, Value::Number(6));
        let protocol_and_port = [DataType::Protocol, DataType::Port];
        let port_fields = [Field::TransportProtocol, Field::DestinationPort];
        let random = NatOptions {
            random: true,
            fully_random: true,
            persistent: true,
        };
        let mark = |mask, value| MarkChange { mask, value };
        plugin
            .apply(vec![
                Command::CreateChain(base("pre", ChainType::Nat, Hook::Prerouting, -100)),
                Command::CreateChain(base("post", ChainType::Nat, Hook::Postrouting, 100)),
                Command::CreateChain(base("forwarding", ChainType::Filter, Hook::Forward, 0)),
                Command::CreateChain(base("raw", ChainType::Filter, Hook::Prerouting, -300)),
                Command::CreateChain(regular("other")),
                Command::CreateSet(set(
                    "m4",
                    &protocol_and_port,
                    &[DataType::Ipv4Address, DataType::Port],
                    false,
                )),
                Command::CreateSet(set(
                    "m6",
                    &[DataType::Port],
                    &[DataType::Ipv6Address],
                    false,
                )),
                Command::CreateSet(set(
                    "m6p",
                    &protocol_and_port,
                    &[DataType::Ipv6Address, DataType::Port],
                    false,
                )),
                Command::CreateElements(elements(
                    "m4",
                    vec![element(
                        vec![Value::Number(6), Value::Number(8080)],
                        ElementData::Values(vec![address("10.0.0.5"), Value::Number(80)]),
                    )],
                )),
                append(
                    "pre",
                    vec![],
                    vec![Statement::Dnat(mapped(&port_fields, "m4", true, false))],
                ),
                append(
                    "pre",
                    vec![tcp()],
                    vec![Statement::Dnat(mapped(
                        &[Field::DestinationPort],
                        "m6",
                        false,
                        true,
                    ))],
                ),
                append(
                    "pre",
                    vec![],
                    vec![Statement::Dnat(mapped(&port_fields, "m6p", true, true))],
                ),
                append(
                    "pre",
                    vec![tcp()],
                    vec![Statement::Dnat(fixed(Some("10.0.0.9"), Some(53)))],
                ),
                append(
                    "pre",
                    vec![tcp()],
                    vec![Statement::Dnat(fixed(None, Some(54)))],
                ),
                append(
                    "post",
                    vec![],
                    vec![Statement::Snat(fixed(Some("fd00::9"), None))],
                ),
                append("post", vec![], vec![Statement::Masquerade(random)]),
                append(
                    "forwarding",
                    vec![],
                    vec![Statement::Counter, Statement::Jump(s("other"))],
                ),
                append("forwarding", vec![], vec![Statement::Goto(s("other"))]),
                append(
                    "forwarding",
                    vec![],
                    vec![Statement::SetMark(mark(0xff, 0x12)), Statement::Accept],
                ),
                append(
                    "forwarding",
                    vec![],
                    vec![Statement::SetMark(mark(u32::MAX, 5))],
                ),
                append(
                    "forwarding",
                    vec![],
                    vec![Statement::SetConnectionMark(mark(0x2000, 0x2000))],
                ),
                append("forwarding", vec![tcp()], vec![Statement::Reject]),
                append("forwarding", vec![], vec![Statement::Reject]),
                append("raw", vec![], vec![Statement::Notrack]),
                append("raw", vec![], vec![Statement::Drop]),
                Command::InsertRule(rule("raw", vec![], vec![Statement::Return])),
            ])
            .expect("apply");
        assert_ruleset(
            r#"table inet weir_bridge {
            map m4 {
                type inet_proto . inet_service : ipv4_addr . inet_service
                elements = { tcp . 8080 : 10.0.0.5 . 80 }
            }
            map m6 { type inet_service : ipv6_addr; }
            map m6p { type inet_proto . inet_service : ipv6_addr . inet_service; }
            chain pre {
                type nat hook prerouting priority dstnat; policy accept;
                dnat ip to meta l4proto . th dport map @m4
                meta l4proto tcp dnat ip6 to tcp dport map @m6
                dnat ip6 to meta l4proto . th dport map @m6p
                meta l4proto tcp dnat ip to 10.0.0.9:53
                meta l4proto tcp dnat to :54
            }
            chain post {
                type nat hook postrouting priority srcnat; policy accept;
                snat ip6 to fd00::9
                masquerade random,fully-random,persistent
            }
            chain forwarding {
                type filter hook forward priority filter; policy accept;
                counter jump other
                goto other
                meta mark set meta mark & 0xffffff00 | 0x12 accept
                meta mark set 5
                ct mark set ct mark & 0xffffdfff | 0x2000
                meta l4proto tcp reject with tcp reset
                reject
            }
            chain raw {
                type filter hook prerouting priority raw; policy accept;
                return
                notrack
                drop
            }
            chain other { }
            }"#,
        );
    });
}

#[test]
fn sets_of_all_types_are_what_nft_would_make() {
    in_new_namespace(|| {
        use DataType::{Ipv4Address, Ipv6Address, LinkName, MacAddress, Mark, Port, Protocol};
        let mut plugin = Plugin::new(Family::Inet);
        let n = Value::Number;
        let of = |set: &str, list: Vec<Element>| Command::AddElements(elements(set, list));
        let plain = |key| element(key, ElementData::None);
        plugin
            .apply(vec![
                Command::AddSet(set("v4", &[Ipv4Address], &[], false)),
                Command::AddSet(set("v6", &[Ipv6Address], &[], false)),
                Command::AddSet(set("macs", &[MacAddress], &[], false)),
                Command::AddSet(set("links", &[LinkName], &[], false)),
                Command::AddSet(set("ports", &[Port], &[Mark], false)),
                Command::AddSet(set("protocols", &[Protocol], &[], false)),
                Command::AddSet(set("marks", &[Mark], &[DataType::Verdict], false)),
                Command::AddSet(set("allowed", &[LinkName, MacAddress], &[], false)),
                Command::AddSet(set("nets", &[Ipv4Address], &[], true)),
                Command::AddSet(set("nets6", &[Ipv6Address], &[], true)),
                Command::AddSet(set("ranges", &[Port], &[DataType::Verdict], true)),
                Command::AddSet(set("both", &[LinkName, Ipv4Address, Port], &[], true)),
                of("v4", vec![plain(vec![address("10.0.0.1")])]),
                of("v6", vec![plain(vec![address("fd00::1")])]),
                of("macs", vec![plain(vec![mac(1)])]),
                of("links", vec![plain(vec![name("eth0")])]),
                of(
                    "ports",
                    vec![element(vec![n(80)], ElementData::Values(vec![n(0x2000)]))],
                ),
                of("protocols", vec![plain(vec![n(6)])]),
                of(
                    "marks",
                    vec![element(vec![n(5)], ElementData::Verdict(Verdict::Drop))],
                ),
                of("allowed", vec![plain(vec![name("veth0"), mac(2)])]),
                of(
                    "nets",
                    vec![
                        range(vec![address("10.0.0.0")], vec![address("10.0.255.255")]),
                        range(vec![address("10.1.0.0")], vec![address("10.1.0.9")]),
                        plain(vec![address("11.0.0.1")]),
                        range(vec![address("255.0.0.0")], vec![address("255.255.255.255")]),
                    ],
                ),
                of(
                    "nets6",
                    vec![range(vec![address("fd00::")], vec![address("fd00::ffff")])],
                ),
                of(
                    "ranges",
                    vec![Element {
                        data: ElementData::Verdict(Verdict::Return),
                        comment: Some(s("low")),
                        ..range(vec![n(1)], vec![n(1023)])
                    }],
                ),
                of(
                    "both",
                    vec![range(
                        vec![name("eth0"), address("10.0.0.0"), n(80)],
                        vec![name("eth0"), address("10.0.0.255"), n(90)],
                    )],
                ),
            ])
            .expect("apply");
        assert_ruleset(
            r#"table inet weir_bridge {
            set v4 { type ipv4_addr; elements = { 10.0.0.1 } }
            set v6 { type ipv6_addr; elements = { fd00::1 } }
            set macs { type ether_addr; elements = { 02:00:00:00:00:01 } }
            set links { type ifname; elements = { "eth0" } }
            map ports { type inet_service : mark; elements = { 80 : 0x2000 } }
            set protocols { type inet_proto; elements = { tcp } }
            map marks { type mark : verdict; elements = { 0x5 : drop } }
            set allowed { type ifname . ether_addr; elements = { "veth0" . 02:00:00:00:00:02 } }
            set nets { type ipv4_addr; flags interval
                elements = { 10.0.0.0/16, 10.1.0.0-10.1.0.9, 11.0.0.1, 255.0.0.0/8 } }
            set nets6 { type ipv6_addr; flags interval; elements = { fd00::/112 } }
            map ranges { type inet_service : verdict; flags interval
                elements = { 1-1023 comment "low" : return } }
            set both { type ifname . ipv4_addr . inet_service; flags interval
                elements = { "eth0" . 10.0.0.0/24 . 80-90 } }
            }"#,
        );
        let key = vec![name("eth0"), address("10.0.0.7"), n(85)];
        let found = plugin
            .element("both", key)
            .expect("the set")
            .expect("the element");
        assert_eq!(
            found.key_end,
            Some(vec![name("eth0"), address("10.0.0.255"), n(90)])
        );
        let found = plugin
            .element("nets", vec![address("10.1.0.5")])
            .expect("the set");
        let second = range(vec![address("10.1.0.0")], vec![address("10.1.0.9")]);
        assert_eq!(found, Some(second.clone()));
        assert_eq!(
            plugin
                .element("nets", vec![address("10.1.0.10")])
                .expect("the set"),
            None
        );
        let last = range(vec![address("255.0.0.0")], vec![address("255.255.255.255")]);
        assert_eq!(
            plugin
                .element("nets", vec![address("255.1.0.0")])
                .expect("the set"),
            Some(last.clone())
        );
        let listed = plugin.elements("nets").expect("the set");
        let first = range(vec![address("10.0.0.0")], vec![address("10.0.255.255")]);
        assert_eq!(
            listed,
            [
                first.clone(),
                second,
                plain(vec![address("11.0.0.1")]),
                last
            ]
        );
        plugin
            .apply(vec![Command::DeleteElements(elements("nets", vec![first]))])
            .expect("delete");
        assert_eq!(plugin.elements("nets").expect("the set").len(), 3);
        let data = ElementData::Values(vec![n(0x2000)]);
        assert_eq!(
            plugin.element("ports", vec![n(80)]).expect("the map"),
            Some(element(vec![n(80)], data))
        );
        assert_eq!(
            plugin.elements("ranges").expect("the map")[0]
                .comment
                .as_deref(),
            Some("low")
        );
        assert_eq!(
            plugin.elements("allowed").expect("the set"),
            [plain(vec![name("veth0"), mac(2)])]
        );
    });
}

#[test]
fn other_families_are_what_nft_would_make() {
    in_new_namespace(|| {
        ip("link add dev0 type veth peer name dev1");
        let accept = || vec![Statement::Accept];
        let v4 = || vec![within(Field::Ipv4Source, "10.0.0.0/8")];
        let ingress = |name: &str, device: &str| Chain {
            name: s(name),
            base: Some(BaseChain {
                chain_type: ChainType::Filter,
                hook: Hook::Ingress,
                priority: -5,
                policy: Policy::Drop,
                device: Some(s(device)),
            }),
        };
        let filter = |hook| base("c", ChainType::Filter, hook, 0);
        let of = |family, commands| Plugin::new(family).apply(commands).expect("apply");
        of(
            Family::Ip,
            vec![
                Command::AddChain(filter(Hook::Input)),
                append("c", v4(), accept()),
                append("c", vec![], vec![Statement::Reject]),
            ],
        );
        of(
            Family::Ip6,
            vec![
                Command::AddChain(filter(Hook::Output)),
                append("c", vec![within(Field::Ipv6Source, "fd00::/8")], accept()),
                append("c", vec![], vec![Statement::Reject]),
            ],
        );
        of(Family::Inet, vec![Command::AddChain(ingress("c", "dev1"))]);
        of(
            Family::Arp,
            vec![
                Command::AddChain(filter(Hook::Output)),
                append("c", vec![], accept()),
            ],
        );
        of(
            Family::Bridge,
            vec![
                Command::AddChain(filter(Hook::Forward)),
                append("c", v4(), accept()),
                append("c", vec![equals(Field::MacSource, mac(1))], accept()),
            ],
        );
        of(
            Family::Netdev,
            vec![
                Command::AddChain(ingress("c", "dev0")),
                append("c", v4(), accept()),
            ],
        );
        let chain = Plugin::new(Family::Netdev).chains();
        assert_eq!(chain, [ingress("c", "dev0")]);
        let found = ruleset();
        nft(&["flush", "ruleset"], "");
        load(
            r#"
            table ip weir_bridge { chain c { type filter hook input priority 0; policy accept;
                ip saddr 10.0.0.0/8 accept
                reject
            } }
            table ip6 weir_bridge { chain c { type filter hook output priority 0; policy accept;
                ip6 saddr fd00::/8 accept
                reject
            } }
            table inet weir_bridge { chain c { type filter hook ingress device dev1 priority -5; policy drop; } }
            table arp weir_bridge { chain c { type filter hook output priority 0; policy accept; accept
 } }
            table bridge weir_bridge { chain c { type filter hook forward priority 0; policy accept;
                ip saddr 10.0.0.0/8 accept
                ether saddr 02:00:00:00:00:01 accept
            } }
            table netdev weir_bridge { chain c { type filter hook ingress device dev0 priority -5; policy drop;
                ip saddr 10.0.0.0/8 accept
            } }"#,
        );
        assert_eq!(found, ruleset());
    });
}

#[test]
fn errors_name_the_command_and_nothing_is_done() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let chain = || Command::CreateChain(regular("c"));
        assert_code(
            plugin.apply(vec![Command::DeleteTable]),
            Code::NotFound,
            &["delete the table"],
        );
        let twice = vec![chain(), chain()];
        assert_code(
            plugin.apply(twice),
            Code::Exists,
            &["command 2, create chain `c`"],
        );
        assert_eq!(
            ruleset()["nftables"],
            Json::Array(vec![]),
            "nothing is done"
        );

        plugin.apply(vec![chain()]).expect("a chain");
        let to_nowhere = append("c", vec![], vec![Statement::Jump(s("nowhere"))]);
        assert_code(
            plugin.apply(vec![to_nowhere]),
            Code::NotFound,
            &["command 1, append a rule to chain `c`", "chain"],
        );
        let no_set = append("c", vec![in_set(&[Field::Mark], "nothing", false)], vec![]);
        assert_code(plugin.apply(vec![no_set]), Code::NotFound, &["set or map"]);
        let not_here = append("c", vec![], vec![Statement::Masquerade(NO_OPTIONS)]);
        let outside = vec![
            Command::AddChain(base("i", ChainType::Filter, Hook::Input, 0)),
            append("i", vec![], vec![Statement::Masquerade(NO_OPTIONS)]),
        ];
        plugin
            .apply(vec![not_here])
            .expect("a regular chain takes any statement");
        assert_code(
            plugin.apply(outside),
            Code::Unsupported,
            &["command 2", "hook"],
        );
        assert_code(
            plugin.apply(vec![append("no", vec![], vec![])]),
            Code::NotFound,
            &["chain `no`"],
        );

        plugin.apply(masquerade()).expect("chains");
        plugin
            .apply(vec![Command::CreateElements(pod("10.1.0.2"))])
            .expect("a pod");
        let again = Command::CreateElements(pod("10.1.0.2"));
        assert_code(
            plugin.apply(vec![again]),
            Code::Exists,
            &["element 10.1.0.2", "pods4"],
        );
        plugin
            .apply(vec![Command::AddElements(pod("10.1.0.2"))])
            .expect("add is idempotent");
        let other = element(
            vec![address("10.1.0.2")],
            ElementData::Verdict(Verdict::Drop),
        );
        let other = Command::AddElements(elements("pods4", vec![other]));
        assert_code(plugin.apply(vec![other]), Code::Exists, &["other data"]);
        let gone = Command::DeleteElements(pod("10.1.0.9"));
        assert_code(
            plugin.apply(vec![gone]),
            Code::NotFound,
            &["delete element 10.1.0.9"],
        );
        let into_nothing = Command::AddElements(elements("no", vec![]));
        assert_code(plugin.apply(vec![into_nothing]), Code::NotFound, &["`no`"]);
        assert_code(
            plugin.apply(vec![Command::DeleteChain(s("net-a"))]),
            Code::Busy,
            &["delete chain `net-a`"],
        );
        assert_code(
            plugin.apply(vec![Command::DeleteSet(s("pods4"))]),
            Code::Busy,
            &["delete set `pods4`"],
        );
        let other_kind = Command::AddChain(base("postrouting", ChainType::Filter, Hook::Input, 0));
        assert_code(
            plugin.apply(vec![other_kind]),
            Code::Exists,
            &["another kind"],
        );

        assert_code(plugin.rules("no"), Code::NotFound, &["chain `no`"]);
        assert_code(plugin.elements("no"), Code::NotFound, &["`no`"]);
        assert_code(plugin.element("no", vec![]), Code::NotFound, &["`no`"]);
        assert_eq!(
            plugin
                .element("pods4", vec![address("10.9.9.9")])
                .expect("the map"),
            None
        );
        assert_code(
            plugin.element("pods4", vec![name("x")]),
            Code::Invalid,
            &["IPv4 address"],
        );
        assert!(Plugin::new(Family::Ip).chains().is_empty());
    });
}

#[test]
fn impossible_commands_are_invalid() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let chain = |name: &str| Command::AddChain(regular(name));
        let with = |condition| append("c", vec![condition], vec![]);
        let says = |statements| append("c", vec![], statements);
        let two_versions = append(
            "c",
            vec![
                equals(Field::Ipv4Source, address("10.0.0.1")),
                equals(Field::Ipv6Source, address("fd00::1")),
            ],
            vec![],
        );
        let comment = |text: &str| {
            Command::AppendRule(Rule {
                comment: Some(s(text)),
                ..rule("c", vec![], vec![])
            })
        };
        let nothing = Nat {
            target: NatTarget::Fixed {
                address: None,
                port: None,
            },
            options: NO_OPTIONS,
        };
        let many = (0..60)
            .map(|n| equals(Field::Mark, Value::Number(n)))
            .collect();
        let invalid = vec![
            chain(""),
            chain("a b"),
            chain("a\"b"),
            chain(&"x".repeat(256)),
            with(equals(Field::Mark, name("x"))),
            with(equals(Field::DestinationPort, Value::Number(65536))),
            with(equals(Field::InputLinkName, name("a-name-of-16-byt"))),
            with(equals(Field::InputLinkName, name(""))),
            with(equals(Field::MacSource, Value::Mac(Mac(vec![1; 20])))),
            with(within(Field::Ipv4Source, "fd00::/8")),
            with(within(Field::Mark, "10.0.0.0/8")),
            with(Condition::Masked {
                field: Field::SourcePort,
                mask: 1,
                value: 1,
                negate: false,
            }),
            with(in_set(&[], "x", false)),
            with(in_set(&[Field::Ipv6Source; 5], "x", false)),
            two_versions,
            says(vec![Statement::Accept, Statement::Counter]),
            says(vec![Statement::Snat(nothing)]),
            comment("a\nb"),
            comment("say \"hi\""),
            comment(&"x".repeat(129)),
            append("c", many, vec![]),
            Command::AddSet(set("x", &[], &[], false)),
            Command::AddSet(set("x", &[DataType::Verdict], &[], false)),
            Command::AddSet(set(
                "x",
                &[DataType::Mark],
                &[DataType::Verdict, DataType::Mark],
                false,
            )),
            Command::AddSet(set("x", &[DataType::LinkName; 5], &[], false)),
            Command::AddChain(base("x", ChainType::Filter, Hook::Egress, 0)),
            Command::AddChain(base("x", ChainType::Filter, Hook::Ingress, 0)),
        ];
        for command in invalid {
            assert_code(plugin.apply(vec![command]), Code::Invalid, &["command 1"]);
        }
        let marks = Command::AddSet(set("x", &[DataType::Mark], &[], true));
        assert_code(plugin.apply(vec![marks]), Code::Unsupported, &["`mark`"]);
        assert_eq!(
            ruleset()["nftables"],
            Json::Array(vec![]),
            "nothing is done"
        );
    });
}

#[test]
fn rules_are_listed_and_deleted_by_handle() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        let rules = plugin.rules("net-a").expect("rules");
        let comments: Vec<_> = rules.iter().map(|rule| rule.comment.as_deref()).collect();
        assert_eq!(comments, [None, None, Some("network a")]);
        let handle = rules[2].handle.expect("a handle");
        let rule = RuleHandle {
            chain: s("net-a"),
            handle,
        };
        plugin
            .apply(vec![Command::DeleteRule(rule.clone())])
            .expect("delete");
        assert_eq!(plugin.rules("net-a").expect("rules").len(), 2);
        assert_code(
            plugin.apply(vec![Command::DeleteRule(rule)]),
            Code::NotFound,
            &["delete rule"],
        );
        let found = plugin.chains();
        let expected = [
            base("postrouting", ChainType::Nat, Hook::Postrouting, 100),
            regular("net-a"),
        ];
        assert_eq!(found, expected);
        load("table inet somebody { chain elses { } }");
        assert_eq!(plugin.chains(), expected, "only the plugin's own");
    });
}

#[test]
fn deleting_takes_everything_away() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        plugin
            .apply(vec![Command::CreateElements(pod("10.1.0.2"))])
            .expect("a pod");
        plugin
            .apply(vec![
                Command::FlushSet(s("pods4")),
                Command::FlushChain(s("postrouting")),
                Command::DeleteSet(s("pods4")),
                Command::DeleteChain(s("net-a")),
                Command::DeleteChain(s("postrouting")),
            ])
            .expect("delete");
        assert_ruleset("table inet weir_bridge { }");
        plugin
            .apply(vec![
                Command::DeleteTable,
                Command::AddChain(regular("new")),
            ])
            .expect("replace");
        assert_ruleset("table inet weir_bridge { chain new { } }");
        plugin.apply(vec![Command::DeleteTable]).expect("delete");
        assert_eq!(ruleset()["nftables"], Json::Array(vec![]));
        plugin.apply(vec![]).expect("no commands are no error");
        assert_eq!(ruleset()["nftables"], Json::Array(vec![]));
    });
}

#[test]
fn undo_leaves_a_fresh_host_as_it_was() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let mut commands = masquerade();
        commands.push(Command::AddElements(pod("10.1.0.2")));
        let undo = plugin.apply(commands).expect("apply");
        for outcome in plugin.undo(undo) {
            outcome.expect("undo");
        }
        assert_eq!(ruleset()["nftables"], Json::Array(vec![]));
    });
}

#[test]
fn undo_leaves_what_others_share() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let first = plugin.apply(masquerade()).expect("apply");
        let mine = plugin
            .apply(vec![Command::CreateElements(pod("10.1.0.2"))])
            .expect("mine");
        let mut commands = masquerade();
        commands.push(Command::CreateElements(pod("10.1.0.3")));
        plugin.apply(commands).expect("another's");
        let before = plugin.rules("net-a").expect("rules");
        for outcome in plugin.undo(mine) {
            outcome.expect("undo");
        }
        assert_eq!(
            plugin.elements("pods4").expect("pods"),
            pod("10.1.0.3").elements
        );
        let outcomes = plugin.undo(first);
        assert!(!outcomes.is_empty());
        for outcome in outcomes {
            let code = outcome.expect_err("others use it").code;
            assert!(matches!(code, Code::Busy | Code::NotFound), "{code:?}");
        }
        assert_eq!(plugin.rules("net-a").expect("rules"), before);

        let extra = plugin.apply(vec![
            append("net-a", vec![], vec![Statement::Counter]),
            Command::CreateChain(regular("extra")),
            append("extra", vec![], vec![Statement::Counter]),
            Command::CreateSet(set("extra", &[DataType::Mark], &[], false)),
        ]);
        for outcome in plugin.undo(extra.expect("apply")) {
            outcome.expect("undo");
        }
        assert_eq!(plugin.rules("net-a").expect("rules"), before);
        assert_eq!(plugin.chains().len(), 2);
        assert_code(plugin.elements("extra"), Code::NotFound, &[]);
    });
}

#[test]
fn a_transaction_of_thousands_of_elements_is_one() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let all: Vec<_> = (0..20_000_u32)
            .map(|n| {
                element(
                    vec![Value::Address(Ipv4Addr::from(0x0a00_0000 + n).into())],
                    jump("net-a"),
                )
            })
            .collect();
        let mut commands = masquerade();
        commands.push(Command::CreateElements(elements("pods4", all.clone())));
        plugin.apply(commands).expect("apply");
        assert_eq!(plugin.elements("pods4").expect("pods").len(), all.len());
        let mut more = vec![
            element(vec![address("11.0.0.1")], jump("net-a")),
            all[7].clone(),
        ];
        more.extend(all);
        let again = vec![Command::CreateElements(elements("pods4", more))];
        assert_code(plugin.apply(again), Code::Exists, &["20002 elements"]);
        assert_eq!(
            plugin
                .element("pods4", vec![address("11.0.0.1")])
                .expect("the map"),
            None
        );
    });
}

#[test]
fn a_list_of_thousands_is_read_whole_by_its_owner_only() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        let rules = (0..150).map(|n| {
            Command::AppendRule(Rule {
                comment: Some(format!("{n} {}", "x".repeat(120))),
                ..rule(
                    "net-a",
                    vec![within(Field::Ipv4Source, "10.0.0.0/9")],
                    vec![Statement::Counter],
                )
            })
        });
        let undo = plugin.apply(rules.collect()).expect("many rules");
        assert_eq!(undo.len(), 150, "each handle is known");
        assert_eq!(plugin.rules("net-a").expect("rules").len(), 153);
        for outcome in plugin.undo(undo) {
            outcome.expect("undo");
        }
        assert_eq!(plugin.rules("net-a").expect("rules").len(), 3);
        let too_many = (0..1000).map(|_| {
            append(
                "net-a",
                vec![within(Field::Ipv4Source, "10.0.0.0/9")],
                vec![],
            )
        });
        assert_code(
            plugin.apply(too_many.collect()),
            Code::Invalid,
            &["too many rules"],
        );
    });
}

/// Sends a datagram from a namespace.
fn send(from: &Place, to: &str, text: &'static str) {
    let to: SocketAddr = to.parse().expect("an address and port");
    from.run(move || {
        let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
        socket.send_to(text.as_bytes(), to).expect("send");
    });
}

/// The next datagram and its sender's address.
fn receive(socket: &UdpSocket) -> (IpAddr, String) {
    let mut buffer = [0; 64];
    let (length, from) = socket
        .recv_from(&mut buffer)
        .expect("a datagram within the time limit");
    (
        from.ip(),
        String::from_utf8_lossy(&buffer[..length]).into_owned(),
    )
}

fn listen(place: &Place) -> UdpSocket {
    let socket = place.run(|| UdpSocket::bind("0.0.0.0:9000").expect("a socket"));
    let limit = std::time::Duration::from_secs(20);
    socket.set_read_timeout(Some(limit)).expect("a time limit");
    socket
}

#[test]
fn a_pod_in_the_map_is_masqueraded() {
    in_new_namespace(|| {
        let (pod_place, outside) = (Place::new(), Place::new());
        ip("link add pod type veth peer name eth0");
        ip("link add out type veth peer name eth1");
        pod_place.take("eth0");
        outside.take("eth1");
        for line in [
            "addr add 10.1.0.1/24 dev pod",
            "link set pod up",
            "addr add 192.0.2.1/24 dev out",
            "link set out up",
        ] {
            ip(line);
        }
        pod_place.run(|| {
            [
                "addr add 10.1.0.2/24 dev eth0",
                "link set eth0 up",
                "route add default via 10.1.0.1",
            ]
            .into_iter()
            .for_each(ip);
        });
        outside.run(|| {
            [
                "addr add 192.0.2.2/24 dev eth1",
                "addr add 10.1.5.2/32 dev eth1",
                "link set eth1 up",
                "route add 10.1.0.0/24 via 192.0.2.1",
            ]
            .into_iter()
            .for_each(ip);
        });
        ip("route add 10.1.5.2/32 via 192.0.2.2");
        // Of the namespace of the thread that writes.
        std::fs::write("/proc/sys/net/ipv4/ip_forward", "1").expect("forwarding");
        let server = listen(&outside);
        let unchanged: IpAddr = [10, 1, 0, 2].into();
        let masqueraded: IpAddr = [192, 0, 2, 1].into();

        let mut plugin = Plugin::new(Family::Inet);
        plugin.apply(masquerade()).expect("apply");
        send(&pod_place, "192.0.2.2:9000", "before");
        assert_eq!(receive(&server), (unchanged, s("before")));
        plugin
            .apply(vec![Command::CreateElements(pod("10.1.0.2"))])
            .expect("a pod");
        send(&pod_place, "192.0.2.2:9000", "with");
        assert_eq!(receive(&server), (masqueraded, s("with")));
        send(&pod_place, "10.1.5.2:9000", "inside the network");
        assert_eq!(receive(&server), (unchanged, s("inside the network")));
        plugin
            .apply(vec![Command::DeleteElements(pod("10.1.0.2"))])
            .expect("no pod");
        send(&pod_place, "192.0.2.2:9000", "after");
        assert_eq!(receive(&server), (unchanged, s("after")));
    });
}

#[test]
fn a_spoofed_mac_does_not_pass_the_bridge() {
    in_new_namespace(|| {
        let (sender, receiver) = (Place::new(), Place::new());
        [
            "link add br0 type bridge",
            "link add port1 type veth peer name eth0",
            "link add port2 type veth peer name eth1",
            "link set port1 master br0",
            "link set port2 master br0",
            "link set port1 up",
            "link set port2 up",
            "link set br0 up",
        ]
        .into_iter()
        .for_each(ip);
        sender.take("eth0");
        receiver.take("eth1");
        sender.run(|| {
            [
                "link set eth0 address 02:00:00:00:00:01",
                "addr add 10.2.0.1/24 dev eth0",
                "link set eth0 up",
            ]
            .into_iter()
            .for_each(ip);
        });
        receiver.run(|| {
            [
                "link set eth1 address 02:00:00:00:00:02",
                "addr add 10.2.0.2/24 dev eth1",
                "link set eth1 up",
            ]
            .into_iter()
            .for_each(ip);
        });
        sender.run(|| ip("neigh add 10.2.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent"));
        let server = listen(&receiver);

        let ports = || in_set(&[Field::InputLinkName], "ports", false);
        let not_allowed = || in_set(&[Field::InputLinkName, Field::MacSource], "allowed", true);
        let mut plugin = Plugin::new(Family::Bridge);
        let plain = |key| element(key, ElementData::None);
        plugin
            .apply(vec![
                Command::AddChain(base(
                    "prerouting",
                    ChainType::Filter,
                    Hook::Prerouting,
                    -300,
                )),
                Command::AddSet(set("ports", &[DataType::LinkName], &[], false)),
                Command::AddSet(set(
                    "allowed",
                    &[DataType::LinkName, DataType::MacAddress],
                    &[],
                    false,
                )),
                append(
                    "prerouting",
                    vec![ports(), not_allowed()],
                    vec![Statement::Counter, Statement::Drop],
                ),
                Command::CreateElements(elements("ports", vec![plain(vec![name("port1")])])),
                Command::CreateElements(elements(
                    "allowed",
                    vec![plain(vec![name("port1"), mac(1)])],
                )),
            ])
            .expect("apply");
        let listed = nft(&["list", "table", "bridge", "weir_bridge"], "");
        assert!(
            listed.contains("iifname @ports iifname . ether saddr != @allowed counter"),
            "{listed}"
        );

        send(&sender, "10.2.0.2:9000", "honest");
        assert_eq!(receive(&server).1, "honest");
        let static_neighbour =
            "neigh replace 10.2.0.2 lladdr 02:00:00:00:00:02 dev eth0 nud permanent";
        sender.run(|| {
            ["link set eth0 address 02:00:00:00:00:66", static_neighbour]
                .into_iter()
                .for_each(ip)
        });
        send(&sender, "10.2.0.2:9000", "spoofed");
        sender.run(|| {
            ["link set eth0 address 02:00:00:00:00:01", static_neighbour]
                .into_iter()
                .for_each(ip)
        });
        // The path is one queue: had the spoofed one passed, it would come first.
        send(&sender, "10.2.0.2:9000", "honest again");
        assert_eq!(receive(&server).1, "honest again");
    });
}

#[test]
fn what_the_grant_does_not_say_is_denied() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let subject = plugin.gate.invocation().clone();
        let grant = FirewallRule {
            statements: Some(vec![StatementKind::Accept]),
            ..FirewallRule::default()
        };
        let capabilities = Capabilities {
            firewall: vec![grant],
            ..Capabilities::default()
        };
        let audit = Audit::nowhere(Subject {
            command: "ADD",
            container_id: s("c"),
            ifname: s("eth0"),
            network: s("n"),
            plugin: s("bridge"),
            ..Subject::default()
        });
        plugin.gate = Gate::new(capabilities, subject, audit);
        let denied = plugin.apply(vec![
            Command::AddChain(regular("c")),
            append("c", vec![], vec![Statement::Drop]),
        ]);
        assert_code(denied, Code::Denied, &["`drop`"]);
        assert_eq!(
            ruleset()["nftables"],
            Json::Array(vec![]),
            "nothing is done"
        );
    });
}

/// What one element costs, in microseconds: the middle of many.
fn cost_of_an_element(plugin: &mut Plugin, of: &Elements) -> u128 {
    let key = &of.elements[0].key;
    let mut costs: Vec<_> = (0..101)
        .map(|_| {
            let start = std::time::Instant::now();
            plugin
                .apply(vec![Command::CreateElements(of.clone())])
                .expect("create");
            let found = plugin.element(&of.set, key.clone()).expect("the set");
            let took = start.elapsed();
            assert!(found.is_some());
            plugin
                .apply(vec![Command::DeleteElements(of.clone())])
                .expect("delete");
            took.as_micros()
        })
        .collect();
    costs.sort_unstable();
    costs[costs.len() / 2]
}

/// Of elements without a jump. One with a jump makes the kernel look for circles through all
/// elements of the map (`nft_table_validate`): 0.1 µs each.
#[test]
fn the_cost_of_an_element_does_not_grow_with_the_elements() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let mut commands = masquerade();
        commands.push(Command::AddSet(set(
            "members",
            &[DataType::Ipv4Address],
            &[],
            false,
        )));
        let members = in_set(&[Field::Ipv4Source], "members", false);
        commands.push(append(
            "postrouting",
            vec![members],
            vec![Statement::Jump(s("net-a"))],
        ));
        plugin.apply(commands).expect("apply");
        let plain = |n: u32| {
            element(
                vec![Value::Address(Ipv4Addr::from(n).into())],
                ElementData::None,
            )
        };
        let one = elements("members", vec![plain(0x0ac8_0001)]);
        let alone = cost_of_an_element(&mut plugin, &one);
        let others = (0..60_000).map(|n| plain(0x0a00_0000 + n)).collect();
        plugin
            .apply(vec![Command::CreateElements(elements("members", others))])
            .expect("many");
        let among_many = cost_of_an_element(&mut plugin, &one);
        println!("alone {alone} µs, among 60000 {among_many} µs");
        assert!(
            among_many < 5 * alone + 200,
            "alone {alone} µs, among many {among_many} µs"
        );
    });
}

/// The rules of the chain `c`, each with a comment.
fn kept(comments: &str) -> Command {
    let rule = |comment: char| Rule {
        comment: Some(comment.to_string()),
        ..rule("c", Vec::new(), vec![Statement::Counter])
    };
    Command::KeepRules(comments.chars().map(rule).collect())
}

fn comments(plugin: &mut Plugin) -> String {
    let rules = plugin.rules("c").expect("rules").into_iter();
    rules
        .map(|rule| rule.comment.unwrap_or_else(|| s("-")))
        .collect()
}

#[test]
fn rules_that_are_kept_come_back_in_their_places() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let kept_in = |chain: &str| vec![Command::AddChain(regular(chain)), kept("abcd")];
        plugin.apply(kept_in("c")).expect("kept");
        assert_eq!(comments(&mut plugin), "abcd");
        for gone in ["a", "b", "d", "ab", "bc", "ad", "bcd", "abc", "abcd"] {
            let rules = plugin.rules("c").expect("rules");
            let is_gone = |rule: &&Rule| rule.comment.as_ref().is_some_and(|c| gone.contains(c));
            for rule in rules.iter().filter(is_gone) {
                let handle = rule.handle.expect("a handle");
                let chain = s("c");
                plugin
                    .apply(vec![Command::DeleteRule(RuleHandle { chain, handle })])
                    .expect("deleted");
            }
            let undo = plugin.apply(kept_in("c")).expect("kept again");
            assert_eq!(comments(&mut plugin), "abcd", "without {gone}");
            // They are everybody's.
            assert!(undo.is_empty(), "{undo:?}");
        }
        let handles = |plugin: &mut Plugin| plugin.rules("c").expect("rules");
        let before = handles(&mut plugin);
        plugin.apply(kept_in("c")).expect("nothing to do");
        assert_eq!(handles(&mut plugin), before);
    });
}

#[test]
fn rules_that_are_kept_in_a_new_table_are_undone_with_it() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let undo = plugin.apply(vec![Command::AddChain(regular("c")), kept("ab")]);
        for outcome in plugin.undo(undo.expect("kept")) {
            outcome.expect("undone");
        }
        assert_eq!(nft(&["list", "ruleset"], ""), "");
    });
}

/// Another transaction comes between what is read of a chain and what is done to it: the kernel refuses the second.
#[test]
fn rules_that_many_keep_at_once_come_once() {
    in_new_namespace(|| {
        let mut first = Plugin::new(Family::Inet);
        first
            .apply(vec![Command::AddChain(regular("c"))])
            .expect("a chain");
        let place = File::open("/proc/thread-self/ns/net").expect("the namespace");
        for _ in 0..20 {
            thread::scope(|scope| {
                for _ in 0..4 {
                    scope.spawn(|| {
                        setns(&place, CloneFlags::CLONE_NEWNET).expect("enter the namespace");
                        let mut plugin = Plugin::new(Family::Inet);
                        plugin.apply(vec![kept("abcd")]).expect("kept");
                    });
                }
            });
            assert_eq!(comments(&mut first), "abcd");
            first
                .apply(vec![Command::FlushChain(s("c"))])
                .expect("flushed");
        }
    });
}

#[test]
fn what_cannot_be_kept_is_told() {
    in_new_namespace(|| {
        let mut plugin = Plugin::new(Family::Inet);
        let missing = plugin.apply(vec![kept("a")]).expect_err("no chain");
        assert_eq!(missing.code, Code::NotFound);
        assert!(missing.message.contains("keep 1 rules"), "{missing:?}");
        for (commands, expected) in [
            (vec![kept("aa")], "must have a comment"),
            (
                vec![Command::KeepRules(vec![rule("c", Vec::new(), Vec::new())])],
                "must have a comment",
            ),
            (
                vec![Command::FlushChain(s("c")), kept("a")],
                "kept before others are removed",
            ),
        ] {
            let commands = [Command::AddChain(regular("c"))]
                .into_iter()
                .chain(commands);
            let error = plugin.apply(commands.collect()).expect_err("refused");
            assert_eq!(error.code, Code::Invalid);
            assert!(error.message.contains(expected), "{error:?}");
        }
    });
}
