//! The list that most nodes run: `bridge` with masquerading and `host-local`, then `portmap` with one port of TCP and
//! one of UDP. And weir's once more, on a node with the mappings of many others.
//!
//! The floor is one program for all of the list, called once.

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::backend;
use crate::contender::{Contender, Contenders};
use crate::crowd;
use crate::list::{Calls, List};
use crate::node::Node;
use crate::outside::{Outside, Port};
use crate::samples::{Quantity, Samples};
use crate::scratch::Scratch;
use crate::table::grouped;
use crate::turns::{WARM_UP, order_of_four};

/// The reference takes a quarter of a second for an ADD and a DEL.
const RUNS: usize = 50;

const TCP: Port = Port {
    host: 8080,
    container: 80,
};
const UDP: Port = Port {
    host: 5353,
    container: 53,
};

/// A node where ports are mapped: one of the four that take turns.
struct Mapped {
    contender: Contender,
    quantities: Quantities,
    list: List,
    outside: Outside,
}

/// What the samples are of: of the whole list, and of `portmap`.
struct Quantities {
    add: [Quantity; 2],
    del: [Quantity; 2],
}

const ALONE: Quantities = Quantities {
    add: [Quantity::ListAdd, Quantity::PortmapAdd],
    del: [Quantity::ListDel, Quantity::PortmapDel],
};

const AMONG_OTHERS: Quantities = Quantities {
    add: [Quantity::ListAddMapped, Quantity::PortmapAddMapped],
    del: [Quantity::ListDelMapped, Quantity::PortmapDelMapped],
};

/// Records all samples; what the reference translates addresses with.
pub fn measure(
    contenders: &Contenders,
    scratch: &Scratch,
    runs: usize,
    samples: &mut Samples,
) -> Result<String> {
    let runs = runs.min(RUNS);
    eprintln!(
        "weir-bench: ADD and DEL of a list with portmap, {runs} runs each, also among {} mappings",
        grouped(crowd::MAPPINGS)
    );
    let mut nodes = nodes(contenders, scratch)?;
    let [_, reference, _, among_others] = &mut nodes;
    let backend = reference.backend()?;
    among_others.gather()?;
    for round in 0..WARM_UP {
        take_turns(&mut nodes, round, &mut Samples::default())?;
    }
    for round in 0..runs {
        take_turns(&mut nodes, round, samples)?;
    }
    Ok(backend)
}

fn nodes(contenders: &Contenders, scratch: &Scratch) -> Result<[Mapped; 4]> {
    let create = |contender, name, quantities| {
        let node = Node::create(contender, contenders, scratch, name)?;
        Mapped::new(contender, node, quantities)
    };
    Ok([
        create(Contender::Floor, "list", ALONE)?,
        create(Contender::Reference, "list", ALONE)?,
        create(Contender::Weir, "list", ALONE)?,
        create(Contender::Weir, "mapped", AMONG_OTHERS)?,
    ])
}

fn take_turns(nodes: &mut [Mapped; 4], round: usize, samples: &mut Samples) -> Result<()> {
    for place in order_of_four(round) {
        let node = &mut nodes[place];
        let name = node.contender.name();
        node.add_and_del(samples).context(name)?;
    }
    Ok(())
}

impl Mapped {
    fn new(contender: Contender, node: Node, quantities: Quantities) -> Result<Self> {
        let outside = Outside::connect(&node, TCP, UDP)?;
        let plugins = match contender {
            Contender::Floor => vec![with_ports(bridge(&node))],
            _ => vec![bridge(&node), portmap()],
        };
        Ok(Self {
            contender,
            quantities,
            list: List::new(node, plugins),
            outside,
        })
    }

    fn add_and_del(&mut self, samples: &mut Samples) -> Result<()> {
        let (add, attachment) = self.list.add()?;
        self.record(self.quantities.add, &add, samples);
        self.outside.must_be_mapped()?;
        let del = self.list.del(&attachment)?;
        self.record(self.quantities.del, &del, samples);
        self.outside.must_not_be_mapped()
    }

    fn record(&self, [whole, portmap]: [Quantity; 2], calls: &Calls, samples: &mut Samples) {
        samples.record(whole, self.contender, &calls.whole());
        if self.contender != Contender::Floor {
            samples.record(portmap, self.contender, calls.last());
        }
    }

    /// What shows how ports are mapped, while one is.
    fn backend(&mut self) -> Result<String> {
        let (_, attachment) = self.list.add()?;
        let backend = backend::find(&self.list.node.host)?;
        self.list.del(&attachment)?;
        Ok(backend)
    }

    /// Fills the node with the mappings of others.
    fn gather(&mut self) -> Result<()> {
        // Makes the bridge that they go through.
        let (_, attachment) = self.list.add()?;
        self.list.del(&attachment)?;
        crowd::map_ports(&self.list.node)
    }
}

/// nftables, where the plugin knows it: it is what weir uses. Older references do not know these keys
/// and use iptables.
const BACKEND: &str = "nftables";

fn bridge(node: &Node) -> Value {
    let mut bridge = node.bridge();
    bridge["ipMasq"] = json!(true);
    bridge["ipMasqBackend"] = json!(BACKEND);
    bridge
}

fn portmap() -> Value {
    with_ports(json!({
        "type": "portmap",
        "backend": BACKEND,
        "capabilities": {"portMappings": true},
    }))
}

fn with_ports(mut plugin: Value) -> Value {
    plugin["runtimeConfig"] = json!({"portMappings": [
        {"hostPort": TCP.host, "containerPort": TCP.container, "protocol": "tcp"},
        {"hostPort": UDP.host, "containerPort": UDP.container, "protocol": "udp"},
    ]});
    plugin
}
