//! Whole plugins on the model, as `make` has compiled them: without root, without namespaces and without the program.

use std::env::consts::ARCH;
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wasmtime::component::Component;
use wasmtime::{Engine, Store};
use weir_cni::{AddResult, Command, Error};
use weir_grant::store::Configured;
use weir_grant::{Limits, Namespace};
use weir_host::bindings::PluginPre;
use weir_host::bindings::weir::cni::cni;
use weir_host::{Log, RunIpam, Setup, SharedIpam, State, convert};
use weir_kernel::Broker;
use weir_kernel::store::StoreOwner;
use weir_kit::{gate, house};
use weir_model::{Node, Traffic};

const RULES: &str = r#"{"link": [{}], "address": [{}], "route": [{}], "neighbour": [{}], "firewall": [{}],
    "sysctl": [{}], "store": [{"directories": ["/var/lib/cni/networks"]}], "conntrack": [{}], "traffic": [{}], "ipam": ["host-local"]}"#;

/// An attachment to a machine.
#[derive(Clone)]
struct Attachment {
    node: Node,
    config: String,
    previous: Option<AddResult>,
}

impl Attachment {
    /// With a route by a gateway.
    fn new(node: &Node, gateway: &str) -> Self {
        let config = json!({
            "cniVersion": "1.1.0", "name": "pods", "type": "bridge", "bridge": "cni0", "isGateway": true, "ipMasq": true,
            "ipam": {
                "type": "host-local", "ranges": [[{ "subnet": "10.1.0.0/24" }]],
                "routes": [{ "dst": "10.9.0.0/16", "gw": gateway }],
            },
        });
        Self {
            node: node.clone(),
            config: config.to_string(),
            previous: None,
        }
    }

    /// With a limit for both directions behind a plugin that has attached it.
    fn shaped(&self, rest: Value) -> Self {
        let mut config = json!({
            "cniVersion": "1.1.0", "name": "pods", "type": "bandwidth", "ingressRate": 1_000_000,
            "ingressBurst": 100_000, "egressRate": 2_000_000, "egressBurst": 200_000,
        });
        let keys = config.as_object_mut().expect("it is an object");
        keys.extend(rest.as_object().cloned().unwrap_or_default());
        let previous = self.run("bridge", Command::Add).expect("an ADD");
        Self {
            node: self.node.clone(),
            config: config.to_string(),
            previous,
        }
    }

    /// Runs one command of a plugin; what fails of an ADD is undone.
    fn run(&self, plugin: &str, command: Command) -> Result<Option<AddResult>, Error> {
        let engine = weir_engine::runner().expect("an engine");
        let ready = load(&engine, plugin);
        let mut store = Store::new(&engine, self.state(plugin, command));
        store.set_epoch_deadline(u64::MAX / 2);
        let plugin = ready.instantiate(&mut store).expect("an instance");
        let request = self.request();
        let returned = match command {
            Command::Add => {
                let returned = plugin
                    .weir_cni_commands()
                    .call_add(&mut store, &request)
                    .expect("no trap");
                returned
                    .map_err(Error::from)
                    .and_then(convert::result)
                    .map(Some)
            }
            Command::Del => done(plugin.weir_cni_commands().call_del(&mut store, &request)),
            _ => done(plugin.weir_cni_commands().call_check(&mut store, &request)),
        };
        let state = store.data_mut();
        state.close();
        if command == Command::Add && returned.is_err() {
            assert_eq!(state.undo(), Vec::<String>::new(), "everything is undone");
        }
        returned
    }

    fn state(&self, plugin: &str, command: Command) -> State {
        let kernel = self.node.kernel().with_stores_of(StoreOwner {
            plugin: plugin.to_owned(),
            network: "pods".to_owned(),
            former: None,
        });
        let kernel = match command {
            Command::Add => kernel.for_add(),
            _ => kernel,
        };
        let rules = serde_json::from_str(RULES).expect("rules");
        State::new(Setup {
            broker: Broker::new(gate::granting(rules), Box::new(kernel)),
            plugin: plugin.to_owned(),
            network: "pods".to_owned(),
            previous: self.previous.clone(),
            configured: Configured::default(),
            limits: Limits::default(),
            code: 0,
            deadline: Instant::now() + Duration::from_secs(60),
            log: Log::new("/dev/null".into(), json!({}), 1 << 20),
            ipam: SharedIpam::new(Ipam(self.clone())),
        })
    }

    fn request(&self) -> cni::Request {
        cni::Request {
            container_id: "one".to_owned(),
            ifname: "eth0".to_owned(),
            network: "pods".to_owned(),
            known_as: "pods".to_owned(),
            args: Vec::new(),
            config: self.config.clone(),
            previous: self.previous.clone().map(Into::into),
            has_container: true,
            sandbox: "/run/netns/one".to_owned(),
        }
    }
}

fn done(returned: wasmtime::Result<Result<(), cni::Failure>>) -> Result<Option<AddResult>, Error> {
    match returned.expect("no trap") {
        Ok(()) => Ok(None),
        Err(failure) => Err(failure.into()),
    }
}

fn load(engine: &Engine, plugin: &str) -> PluginPre<State> {
    let path = house().join(format!("target/plugins/{ARCH}/debug/{plugin}.cwasm"));
    let code = fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}: run `make`", path.display()));
    // SAFETY: the build has compiled these bytes with this engine's settings.
    let component = unsafe { Component::deserialize(engine, &code) }.expect("code of this engine");
    let linker = weir_host::linker(engine, &component).expect("the contract");
    let ready = linker.instantiate_pre(&component).and_then(PluginPre::new);
    ready.expect("a plugin of this contract")
}

/// Runs host-local on the same machine.
struct Ipam(Attachment);

impl RunIpam for Ipam {
    fn plugin(&self) -> Result<String, Error> {
        Ok("host-local".to_owned())
    }

    fn run(&mut self, command: Command) -> Result<Option<AddResult>, Error> {
        self.0.run("host-local", command)
    }
}

#[test]
fn an_attachment_is_made_checked_and_removed() {
    let node = Node::new();
    let mut attachment = Attachment::new(&node, "10.1.0.1");
    let result = attachment.run("bridge", Command::Add).expect("an ADD");
    let container = node.network(Namespace::Container);
    let addresses = container.addresses_of("eth0");
    assert_eq!(addresses.len(), 1, "{addresses:?}");
    assert!(node.network(Namespace::Host).link("cni0").is_some());
    assert!(!node.state().stores.is_empty(), "there is a lease");

    attachment.previous = result;
    attachment.run("bridge", Command::Check).expect("a CHECK");
    attachment.run("bridge", Command::Del).expect("a DEL");
    assert!(node.network(Namespace::Container).link("eth0").is_none());
    let leases = node
        .state()
        .stores
        .into_keys()
        .filter(|(_, key)| key.starts_with("10."));
    assert_eq!(leases.count(), 0);
}

#[test]
fn a_failing_add_leaves_the_machine_as_it_was() {
    let node = Node::new();
    let before = node.state();
    // Nothing is on the way to this gateway, which the kernel says when all else is done.
    let failed = Attachment::new(&node, "192.0.2.1").run("bridge", Command::Add);
    let error = failed.expect_err("the gateway is not reached");
    assert!(error.msg.contains("10.9.0.0/16"), "{error:?}");
    let mut after = node.state();
    // host-local goes on behind the last address, also where its lease was given back.
    after
        .stores
        .retain(|(_, key), _| key != "last_reserved_ip.0");
    assert_eq!(after.difference(&before), Vec::<String>::new());
}

/// What shapes traffic on the host: by link, its disciplines and how many classes and filters there are.
fn shaping(node: &Node) -> Vec<(String, Vec<String>, usize, usize)> {
    let links = node.network(Namespace::Host).links.into_iter();
    let shaping = links.map(|device| {
        let Traffic {
            qdiscs,
            classes,
            priorities,
        } = device.traffic;
        let words = qdiscs
            .iter()
            .map(|qdisc| qdisc.discipline.word().to_owned());
        let filters = priorities.iter().flat_map(|priority| &priority.filters);
        let count = filters.count();
        (device.link.kind, words.collect(), classes.len(), count)
    });
    let mut shaping: Vec<_> = shaping.filter(|(_, words, ..)| words != &[""; 0]).collect();
    shaping.sort();
    shaping
}

fn shaped_by(
    kind: &str,
    words: &[&str],
    classes: usize,
    filters: usize,
) -> (String, Vec<String>, usize, usize) {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    (kind.to_owned(), words, classes, filters)
}

#[test]
fn traffic_is_shaped_checked_and_let_go() {
    let some = json!({ "shapedSubnets": ["10.9.0.0/16", "fd00::/8"] });
    for (rest, expected) in [
        (
            json!({}),
            [
                shaped_by("ifb", &["tbf"], 0, 0),
                shaped_by("veth", &["tbf", "ingress"], 0, 1),
            ],
        ),
        (
            some,
            [
                shaped_by("ifb", &["htb"], 2, 2),
                shaped_by("veth", &["htb", "ingress"], 2, 3),
            ],
        ),
    ] {
        let node = Node::new();
        let mut attachment = Attachment::new(&node, "10.1.0.1").shaped(rest);
        let before = node.state();
        let result = attachment.run("bandwidth", Command::Add);
        attachment.previous = result.expect("an ADD");
        assert_eq!(shaping(&node), expected);

        attachment
            .run("bandwidth", Command::Check)
            .expect("a CHECK");
        let slower = attachment.config.replace("1000000", "900000");
        let other = Attachment {
            config: slower,
            ..attachment.clone()
        };
        let error = other.run("bandwidth", Command::Check);
        let error = error.expect_err("it has another rate");
        assert!(error.msg.contains("112500 bytes"), "{error:?}");

        attachment.run("bandwidth", Command::Del).expect("a DEL");
        assert_eq!(node.state().difference(&before), Vec::<String>::new());
    }
}

#[test]
fn an_add_that_finds_another_shaper_takes_back_its_own() {
    let node = Node::new();
    let attachment = Attachment::new(&node, "10.1.0.1").shaped(json!({}));
    let mut first = attachment.clone();
    let only_out = json!({
        "cniVersion": "1.1.0", "name": "pods", "type": "bandwidth", "egressRate": 8000, "egressBurst": 80_000,
    });
    first.config = only_out.to_string();
    first.run("bandwidth", Command::Add).expect("an ADD");
    let before = node.state();
    // The second ifb has another name; the hook of the host's end is taken.
    let error = attachment.run("bandwidth", Command::Add);
    let error = error.expect_err("there is a redirection");
    assert!(error.msg.contains("cannot redirect"), "{error:?}");
    assert_eq!(node.state().difference(&before), Vec::<String>::new());
}
