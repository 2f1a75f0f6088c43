//! The throughput that `bandwidth` leaves to a container: how near it is to what was configured.

use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde::Serialize;
use serde_json::{Value, json};
use weir_kit::throughput::throughput;

use crate::contender::{Contender, Contenders};
use crate::interrupt;
use crate::list::List;
use crate::node::{GATEWAY, Node};
use crate::scratch::Scratch;

/// Bits per second, of frames.
pub const RATE: u32 = 100_000_000;

/// Bits that may come at once. The machine may be busy with something else for so long, 80 ms, and
/// nothing is lost.
const BURST: u32 = 8_000_000;

/// How long a connection may take.
const LIMIT: Duration = Duration::from_secs(10);

/// TCP's payload between the container and its host, in bits per second.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Throughput {
    pub to_container: f64,
    pub from_container: f64,
}

/// Attaches a container with weir and measures.
pub fn measure(contenders: &Contenders, scratch: &Scratch) -> Result<Throughput> {
    eprintln!("weir-bench: throughput with bandwidth");
    let node = Node::create(Contender::Weir, contenders, scratch, "shaped")?;
    let plugins = vec![node.bridge(), bandwidth()];
    let mut list = List::new(node, plugins);
    let (_, attachment) = list.add()?;
    let throughput = both_ways(&list.node);
    list.del(&attachment)?;
    throughput
}

fn both_ways(node: &Node) -> Result<Throughput> {
    let (host, container) = connect(node)?;
    let to_container = throughput(host, container)?;
    interrupt::check()?;
    let (host, container) = connect(node)?;
    Ok(Throughput {
        to_container,
        from_container: throughput(container, host)?,
    })
}

/// A connection between host and container.
fn connect(node: &Node) -> Result<(TcpStream, TcpStream)> {
    node.host.enter()?;
    let listener = TcpListener::bind((GATEWAY, 0))?;
    node.container.enter()?;
    let address = listener.local_addr()?;
    let container = TcpStream::connect_timeout(&address, LIMIT).context("from the container")?;
    let (host, _) = listener.accept()?;
    Ok((host, container))
}

fn bandwidth() -> Value {
    json!({
        "type": "bandwidth",
        "ingressRate": RATE,
        "ingressBurst": BURST,
        "egressRate": RATE,
        "egressBurst": BURST,
    })
}
