//! The plugins of `examples/` on a node, as a container runtime runs them.

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Grant, Node, Outcome, State, weir};

use crate::granted;

/// A node with an example installed, and a container attached by `ptp`.
pub(crate) struct ExampleNode {
    pub(crate) node: Node,
    pub(crate) container: Container,
    example: String,
    /// Of its configuration.
    keys: Value,
    pub(crate) attached: Value,
    before: State,
}

impl ExampleNode {
    fn create(example: &str) -> Result<Self> {
        Self::with(example, json!({}))
    }

    /// A place where the example's configuration has these keys.
    pub(crate) fn with(example: &str, keys: Value) -> Result<Self> {
        let node = Node::create()?;
        // What ptp leaves for the next container exists before.
        let first = node.container()?;
        let result = node
            .run(&weir(&node, "ptp", "ADD", &first, &ptp(None)))?
            .result();
        node.run(&weir(&node, "ptp", "DEL", &first, &ptp(Some(&result))))?
            .result();
        let before = State::of(&node)?;

        let container = node.container()?;
        let attached = node
            .run(&weir(&node, "ptp", "ADD", &container, &ptp(None)))?
            .result();
        node.install_plugin(example)?;
        Ok(Self {
            node,
            container,
            example: example.to_owned(),
            keys,
            attached,
            before,
        })
    }

    pub(crate) fn grant(&self) -> Result<()> {
        grant(&self.node, &self.example)
    }

    pub(crate) fn run(&self, command: &str, previous: &Value) -> Result<Outcome> {
        let mut config = self.keys.clone();
        config["cniVersion"] = "1.1.0".into();
        config["name"] = "outside".into();
        config["type"] = self.example.as_str().into();
        config["prevResult"] = previous.clone();
        self.node.run(&weir(
            &self.node,
            &self.example,
            command,
            &self.container,
            &config,
        ))
    }

    /// Runs ADD and CHECK, and DEL of both plugins, which must leave nothing. `damage` are words of `ip` for the container, after which
    /// CHECK must fail.
    pub(crate) fn come_and_go(&self, look: impl Fn() -> Result<()>, damage: &str) -> Result<()> {
        self.grant()?;
        let result = self.run("ADD", &self.attached)?.result();
        assert_eq!(
            result["ips"], self.attached["ips"],
            "the result is passed on"
        );
        look()?;
        self.run("CHECK", &result)?.result();
        self.container.ip(damage)?;
        self.run("CHECK", &result)?.error();
        for _ in 0..2 {
            self.run("DEL", &result)?.result();
        }
        let del = weir(
            &self.node,
            "ptp",
            "DEL",
            &self.container,
            &ptp(Some(&result)),
        );
        self.node.run(&del)?.result();
        // The container's interface is removed by now.
        self.run("DEL", &result)?.result();
        State::of(&self.node)?.assert_same(&self.before);
        Ok(())
    }

    /// Without a grant it does not run, and with an empty one it is denied.
    pub(crate) fn is_denied(&self) -> Result<()> {
        let outcome = self.run("ADD", &self.attached)?;
        assert_eq!(outcome.code(), 202, "{outcome:?}");
        let digest = self.node.digest(&self.example)?;
        let nothing = Grant::nothing(&self.example).document(&digest);
        self.node
            .put_grant(format!("{}.yaml", self.example), &nothing)?;
        let outcome = self.run("ADD", &self.attached)?;
        let error = outcome.error().to_string();
        assert!(
            error.contains("denied") || error.contains("not allow"),
            "{error}"
        );
        let denied = self.node.audit();
        let denied = denied.iter().any(|record| {
            record["plugin"] == self.example.as_str() && record["verdict"] == "denied"
        });
        assert!(denied, "the denial is in the audit log");
        Ok(())
    }

    /// The host's end of the pair.
    fn host_end(&self) -> Result<String> {
        let interfaces = self.attached["interfaces"]
            .as_array()
            .context("interfaces")?;
        let on_host =
            |interface: &&Value| interface["sandbox"].as_str().unwrap_or_default().is_empty();
        let name = interfaces
            .iter()
            .find(on_host)
            .map(|interface| &interface["name"]);
        Ok(name
            .and_then(Value::as_str)
            .context("a link of the host")?
            .to_owned())
    }
}

/// Puts an example's own grant on a node.
pub(crate) fn grant(node: &Node, example: &str) -> Result<()> {
    let grant = granted(example, &node.digest(example)?)?;
    node.put_grant(format!("{example}.yaml"), &grant)
}

fn ptp(previous: Option<&Value>) -> Value {
    let mut config = json!({
        "cniVersion": "1.1.0",
        "name": "outside",
        "type": "ptp",
        "ipam": {
            "type": "host-local",
            "ranges": [[{ "subnet": "10.97.0.0/24" }], [{ "subnet": "fd97::/64" }]],
            "routes": [
                { "dst": "0.0.0.0/0" },
                { "dst": "::/0" },
                { "dst": "198.51.100.0/24" },
                { "dst": "2001:db8:1::/48" },
                { "dst": "169.254.169.254/32" },
            ],
        },
    });
    if let Some(previous) = previous {
        config["prevResult"] = previous.clone();
    }
    config
}

#[test]
fn labels_says_in_the_container_whose_a_link_is() -> Result<()> {
    let fixture = ExampleNode::create("labels")?;
    let alias = || -> Result<Value> {
        let link = fixture.container.ip_json("link show eth0")?;
        Ok(link[0]["ifalias"].clone())
    };
    let look = || {
        let expected = format!("outside/{}/eth0", fixture.container.id);
        assert_eq!(alias()?, expected.as_str());
        Ok(())
    };
    fixture.come_and_go(look, "link set eth0 alias somebody")
}

#[test]
fn labels_is_denied_without_its_grant() -> Result<()> {
    ExampleNode::create("labels")?.is_denied()
}

/// Written in C.
#[test]
fn pinned_gateway_keeps_the_gateways_mac() -> Result<()> {
    let fixture = ExampleNode::create("pinned-gateway")?;
    let mac = fixture
        .node
        .ip_json(&format!("link show {}", fixture.host_end()?))?[0]["address"]
        .clone();
    let look = || {
        let neighbours = fixture
            .container
            .ip_json("neighbour show dev eth0 nud permanent")?;
        let neighbours = neighbours.as_array().context("a list")?;
        for gateway in ["10.97.0.1", "fd97::1"] {
            let found = neighbours.iter().find(|n| n["dst"] == gateway);
            assert_eq!(found.map(|n| &n["lladdr"]), Some(&mac), "{neighbours:?}");
        }
        Ok(())
    };
    let damage = "neighbour replace 10.97.0.1 lladdr 02:00:00:00:00:01 dev eth0 nud permanent";
    fixture.come_and_go(look, damage)
}

#[test]
fn pinned_gateway_is_denied_without_its_grant() -> Result<()> {
    ExampleNode::create("pinned-gateway")?.is_denied()
}
