//! Bad input: weir answers with a clear CNI error of the right code in one JSON document on standard output and exit status
//! 1, changes nothing on the node, and loses no address.

mod addresses;
mod aftermath;
mod bandwidth;
mod chained;
mod disk;
mod in_container;
mod leases;
mod log;
mod over;
mod request;
mod tuning;

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::{Call, Container, Node, State, assert_contains, guarded_bridge, weir};

fn config() -> Value {
    guarded_bridge("bad", &["10.20.0.0/24", "fd00:20::/64"])
}

/// The configuration with another `ipam`.
fn with_ipam(ipam: Value) -> Value {
    let mut config = config();
    config["ipam"] = ipam;
    config["ipam"]["type"] = json!("host-local");
    config
}

fn with(key: &str, value: Value) -> Value {
    let mut config = config();
    config[key] = value;
    config
}

/// A strict configuration.
fn strict(mut config: Value) -> Value {
    config["weir.dev/strict"] = json!(true);
    config
}

/// A node on which one container is attached.
struct AttachedNode {
    node: Node,
    attached: Container,
    container: Container,
}

impl AttachedNode {
    fn create() -> Result<Self> {
        let node = Node::create()?;
        let fixture = Self {
            attached: node.container()?,
            container: node.container()?,
            node,
        };
        let add = weir(&fixture.node, "bridge", "ADD", &fixture.attached, &config());
        fixture.node.run(&add)?.result();
        Ok(fixture)
    }

    fn add(&self, config: &Value) -> Call {
        weir(&self.node, "bridge", "ADD", &self.container, config)
    }

    fn del(&self, config: &Value) -> Call {
        weir(&self.node, "bridge", "DEL", &self.container, config)
    }

    /// Runs a call that must fail with this code and these words, and change nothing.
    #[track_caller]
    fn refused(&self, call: &Call, code: u64, words: &[&str]) {
        refused(&self.node, &self.container, call, code, words);
    }

    /// Runs ADD of the plugin that a configuration names, which must fail so.
    #[track_caller]
    fn refuses(&self, config: &Value, code: u64, words: &[&str]) {
        let plugin = config["type"].as_str().expect("a type");
        let call = weir(&self.node, plugin, "ADD", &self.container, config);
        self.refused(&call, code, words);
    }
}

/// A container that `bridge` has attached, for plugins that come after it.
struct Attached {
    node: Node,
    container: Container,
    /// The result of `bridge`.
    previous: Value,
    /// Reads the state that a refused call must not change.
    watched: fn(&Self) -> Result<Vec<String>>,
}

impl Attached {
    fn to(
        node: Node,
        container: Container,
        watched: fn(&Self) -> Result<Vec<String>>,
    ) -> Result<Self> {
        let config =
            json!({"cniVersion": "1.1.0", "name": "bad", "type": "bridge", "bridge": "bad0"});
        let add = weir(&node, "bridge", "ADD", &container, &config);
        let previous = node.run(&add)?.result();
        Ok(Self {
            node,
            container,
            previous,
            watched,
        })
    }

    /// A call of a plugin with these keys, after a result.
    fn call(&self, plugin: &str, command: &str, keys: &Value, previous: &Value) -> Call {
        let mut config = keys.clone();
        config["cniVersion"] = json!("1.1.0");
        config["name"] = json!("bad");
        config["type"] = json!(plugin);
        config["prevResult"] = previous.clone();
        weir(&self.node, plugin, command, &self.container, &config)
    }

    /// Runs a call that must fail with this code and these words, and change nothing.
    #[track_caller]
    fn refused(&self, call: &Call, code: u64, words: &[&str]) {
        let before = (self.watched)(self).expect("the state before");
        refused(&self.node, &self.container, call, code, words);
        assert_eq!((self.watched)(self).expect("the state after"), before);
    }
}

#[track_caller]
fn refused(node: &Node, container: &Container, call: &Call, code: u64, words: &[&str]) {
    let before = State::of(node).expect("the node's state");
    let inside = container.addresses().expect("its addresses");
    let outcome = node.run(call).expect("the plugin runs");
    let error = outcome.error();
    assert_eq!(error["code"], code, "{error:#}");
    assert!(error["cniVersion"].is_string(), "{error:#}");
    assert_contains(&outcome.said(), words);
    State::of(node)
        .expect("the node's state")
        .assert_same(&before);
    assert_eq!(
        container.addresses().expect("its addresses"),
        inside,
        "the container is not as it was"
    );
}
