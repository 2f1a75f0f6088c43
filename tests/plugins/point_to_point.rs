//! The example `point-to-point`: containers that reach each other through the host, with IPv4 and IPv6.

use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use weir_kit::{Container, Node, Outcome, State, weir};

use crate::examples::grant;

const EXAMPLE: &str = "point-to-point";
const PORT: u16 = 7000;

/// A node with the example.
struct PointToPointNode(Node);

impl PointToPointNode {
    fn create() -> Result<Self> {
        let node = Node::create()?;
        node.install_plugin(EXAMPLE)?;
        grant(&node, EXAMPLE)?;
        Ok(Self(node))
    }

    fn run(
        &self,
        command: &str,
        container: &Container,
        previous: Option<&Value>,
    ) -> Result<Outcome> {
        let mut config = json!({
            "cniVersion": "1.1.0",
            "name": "connected",
            "type": EXAMPLE,
            "ipam": {
                "type": "host-local",
                "ranges": [[{ "subnet": "10.98.0.0/24" }], [{ "subnet": "fd98::/64" }]],
                "routes": [{ "dst": "0.0.0.0/0" }, { "dst": "::/0" }],
            },
        });
        if let Some(previous) = previous {
            config["prevResult"] = previous.clone();
        }
        self.0
            .run(&weir(&self.0, EXAMPLE, command, container, &config))
    }

    /// Attaches a new container.
    fn attach(&self) -> Result<(Container, Value)> {
        let container = self.0.container()?;
        let result = self.run("ADD", &container, None)?.result();
        Ok((container, result))
    }
}

/// A container's addresses: IPv4, then IPv6.
pub(crate) fn addresses(result: &Value) -> Result<Vec<IpAddr>> {
    let ips = result["ips"].as_array().context("a list")?.iter();
    let address = |ip: &Value| {
        let text = ip["address"].as_str().context("an address")?;
        let (address, _) = text.split_once('/').context("a prefix length")?;
        Ok(address.parse()?)
    };
    ips.map(address).collect()
}

/// Connects from one place to an address in a container that listens there.
pub(crate) fn connects(
    server: &Container,
    to: IpAddr,
    client: impl FnOnce(SocketAddr) -> Result<()>,
) -> Result<()> {
    let listener = server.inside(|| Ok(TcpListener::bind((to, PORT))?))?;
    client(listener.local_addr()?).with_context(|| format!("connect to {to}"))
}

pub(crate) fn connect(to: SocketAddr) -> Result<()> {
    TcpStream::connect_timeout(&to, Duration::from_secs(5))?;
    Ok(())
}

#[test]
fn containers_reach_each_other_and_the_host() -> Result<()> {
    let fixture = PointToPointNode::create()?;
    // What the plugin leaves for the next container exists before.
    let (first, result) = fixture.attach()?;
    fixture.run("DEL", &first, Some(&result))?.result();
    let before = State::of(&fixture.0)?;

    let (server, of_server) = fixture.attach()?;
    let (client, of_client) = fixture.attach()?;
    for to in addresses(&of_server)? {
        connects(&server, to, |to| client.inside(|| connect(to)))?;
        connects(&server, to, |to| fixture.0.inside(|| connect(to)))?;
    }

    fixture.run("CHECK", &server, Some(&of_server))?.result();
    server.ip("-6 route delete fd98::/64 via fd98::1")?;
    let checked = fixture.run("CHECK", &server, Some(&of_server))?;
    checked.refused(106, &["fd98::/64"]);

    for (container, result) in [(&server, &of_server), (&client, &of_client)] {
        for _ in 0..2 {
            fixture.run("DEL", container, Some(result))?.result();
        }
    }
    assert!(fixture.0.taken("connected").is_empty());
    State::of(&fixture.0)?.assert_same(&before);
    Ok(())
}

#[test]
fn an_address_without_a_gateway_is_refused() -> Result<()> {
    let fixture = PointToPointNode::create()?;
    let container = fixture.0.container()?;
    let before = State::of(&fixture.0)?;
    let config = json!({
        "cniVersion": "1.1.0",
        "name": "connected",
        "type": EXAMPLE,
        "ipam": { "type": "static", "addresses": [{ "address": "10.98.0.2/24" }] },
    });
    let call = weir(&fixture.0, EXAMPLE, "ADD", &container, &config);
    fixture
        .0
        .run(&call)?
        .refused(108, &["10.98.0.2/24", "gateway"]);
    State::of(&fixture.0)?.assert_same(&before);
    Ok(())
}
