//! Plugins whose links are in the container alone, killed at many points of ADD: one DEL leaves the container as it was.

use anyhow::Result;
use serde_json::{Value, json};
use weir_kit::trace::{End, kill_at_points};
use weir_kit::{Container, Node, State, weir};

/// How many points of one ADD are tried.
const POINTS: usize = 30;

/// A plugin, and what is in the container before it.
struct Victim {
    config: Value,
    prepared: &'static [&'static str],
}

impl Victim {
    fn plugin(&self) -> &str {
        self.config["type"].as_str().unwrap_or_default()
    }

    fn container(&self, node: &Node) -> Result<Container> {
        let container = node.container()?;
        container.ips(self.prepared)?;
        Ok(container)
    }

    /// Kills ADD at 30 points, each time of another container.
    fn is_left_as_it_was(&self) -> Result<()> {
        let node = Node::create()?;
        // The first call makes directories and the audit log.
        self.kill(&node, None)?;
        let before = State::of(&node)?;
        kill_at_points(POINTS, |point| self.kill(&node, point))?;
        // Once, since some of these run in an emulated machine: what one kill had left would still be there.
        self.kill(&node, None)?;
        State::of(&node)?.assert_same(&before);
        Ok(())
    }

    /// One attachment, killed at a point of its ADD, if any, and deleted.
    fn kill(&self, node: &Node, point: Option<usize>) -> Result<End> {
        let container = self.container(node)?;
        let before = container.links()?;
        let call = |command: &str| weir(node, self.plugin(), command, &container, &self.config);
        let end = node.inside(|| call("ADD").run_until(point))?;
        node.run(&call("DEL"))?.result();
        assert_eq!(container.links()?, before, "links in the container");
        assert_eq!(node.taken("crash"), [""; 0], "leases");
        Ok(end)
    }
}

/// A plugin with an address of each family.
fn addressed(plugin: &str) -> Victim {
    let ranges = json!([[{"subnet": "10.31.0.0/24"}], [{"subnet": "fd00:31::/64"}]]);
    Victim {
        config: json!({
            "cniVersion": "1.1.0", "name": "crash", "type": plugin,
            "ipam": {"type": "host-local", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]},
        }),
        prepared: &[],
    }
}

#[test]
#[ignore = "needs a kernel with dummy: `machine` runs it"]
fn dummy() -> Result<()> {
    addressed("dummy").is_left_as_it_was()
}

/// Who may open `/dev/net/tun` is the machine's to say.
mod needs_root {
    use super::*;

    #[test]
    fn tap() -> Result<()> {
        addressed("tap").is_left_as_it_was()
    }
}

#[test]
#[ignore = "needs a kernel with vrf: `machine` runs it"]
fn vrf() -> Result<()> {
    let victim = Victim {
        config: json!({
            "cniVersion": "1.1.0", "name": "crash", "type": "vrf", "vrfname": "red",
            "prevResult": {"cniVersion": "1.1.0", "interfaces": []},
        }),
        prepared: &[
            "link add eth0 type dummy",
            "address add 10.1.0.5/24 dev eth0",
            "address add fd00:1::5/64 dev eth0 nodad",
            "link set eth0 up",
            "route add default via 10.1.0.1 dev eth0",
        ],
    };
    victim.is_left_as_it_was()
}
