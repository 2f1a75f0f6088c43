//! What is measured in which order. The contenders take turns within each round.

use anyhow::Result;

use crate::bandwidth::{self, Throughput};
use crate::contender::{Contender, Contenders};
use crate::crowd;
use crate::gate;
use crate::interfaces;
use crate::interrupt;
use crate::machine::Machine;
use crate::node::Node;
use crate::pods::{self, Pods};
use crate::ports;
use crate::samples::{Quantity, Samples};
use crate::scratch::Scratch;
use crate::statistics::Series;
use crate::table::grouped;
use crate::turns::{WARM_UP, order};

/// The reference reads every lease in each ADD and DEL, so that more would take minutes.
const CROWDED_RUNS_OF_REFERENCE: usize = 10;

/// All that was measured.
pub struct Measured {
    pub samples: Samples,
    pub throughput: Throughput,
    /// What the gate and the audit log take of an ADD, milliseconds.
    pub gate: Series,
    pub pods: Pods,
    /// Why nothing was measured in the virtual machine.
    pub machine_failed: Option<String>,
    /// What the reference translated addresses with.
    pub backend: String,
}

/// The measuring of one run.
pub struct Plan<'a> {
    contenders: &'a Contenders,
    scratch: &'a Scratch,
    runs: usize,
    samples: Samples,
}

impl<'a> Plan<'a> {
    pub fn new(contenders: &'a Contenders, scratch: &'a Scratch, runs: usize) -> Self {
        Self {
            contenders,
            scratch,
            runs,
            samples: Samples::default(),
        }
    }

    pub fn carry_out(mut self, machine: &Machine<'_>) -> Result<Measured> {
        let mut empty = self.nodes("empty")?;
        eprintln!(
            "weir-bench: ADD, CHECK, DEL and VERSION, {} runs each",
            self.runs
        );
        for _ in 0..WARM_UP {
            self.everyday(&mut empty, 0)?;
            self.first(&mut empty, 0)?;
        }
        self.samples.forget();
        for round in 0..self.runs {
            self.everyday(&mut empty, round)?;
        }
        for round in 0..self.runs {
            self.first(&mut empty, round)?;
        }
        let gate = gate::measure(self.contenders, self.scratch, self.runs)?;
        let pods = pods::measure(self.contenders, self.scratch, self.runs)?;
        let throughput = bandwidth::measure(self.contenders, self.scratch)?;
        let backend = ports::measure(self.contenders, self.scratch, self.runs, &mut self.samples)?;
        interfaces::measure(self.contenders, self.scratch, self.runs, &mut self.samples)?;
        self.growth(&mut empty)?;
        let machine_failed = self.in_machine(machine)?;
        Ok(Measured {
            samples: self.samples,
            throughput,
            gate,
            pods,
            machine_failed,
            backend,
        })
    }

    /// Why it failed. All else is measured where there is no virtual machine.
    fn in_machine(&mut self, machine: &Machine<'_>) -> Result<Option<String>> {
        match machine.measure(self.runs) {
            Ok(samples) => {
                self.samples.extend(samples);
                Ok(None)
            }
            Err(error) => {
                interrupt::check()?;
                let why = format!("{error:#}");
                eprintln!("weir-bench: vlan, ipvlan and dummy are not measured: {why}");
                Ok(Some(why))
            }
        }
    }

    fn nodes(&self, name: &str) -> Result<Vec<Node>> {
        let create = |contender| Node::create(contender, self.contenders, self.scratch, name);
        Contender::ALL.into_iter().map(create).collect()
    }

    /// One attachment of each contender.
    fn everyday(&mut self, nodes: &mut [Node], round: usize) -> Result<()> {
        for place in order(round) {
            let contender = Contender::ALL[place];
            let node = &mut nodes[place];
            let (add, attachment) = node.add()?;
            self.samples.record(Quantity::Add, contender, &add);
            self.samples
                .record(Quantity::Check, contender, &node.check(&attachment)?);
            self.samples
                .record(Quantity::Del, contender, &node.del(attachment)?);
        }
        for place in order(round) {
            let contender = Contender::ALL[place];
            self.samples
                .record(Quantity::Version, contender, &nodes[place].version()?);
        }
        Ok(())
    }

    /// The first attachment on a node, of each contender.
    fn first(&mut self, nodes: &mut [Node], round: usize) -> Result<()> {
        for place in order(round) {
            let contender = Contender::ALL[place];
            let node = &mut nodes[place];
            node.delete_bridge()?;
            self.add_and_del(Quantity::AddFirst, contender, node)?;
        }
        Ok(())
    }

    fn growth(&mut self, empty: &mut [Node]) -> Result<()> {
        eprintln!(
            "weir-bench: ADD with {} addresses taken and {} links",
            grouped(crowd::LEASES),
            grouped(crowd::LINKS)
        );
        let mut crowded = self.nodes("crowded")?;
        for node in &mut crowded {
            let (_, attachment) = node.add()?;
            node.del(attachment)?;
            crowd::gather(node)?;
            // Whoever keeps an index makes it here.
            let (_, attachment) = node.add()?;
            node.del(attachment)?;
        }
        for round in 0..self.runs {
            self.beside_each_other(empty, &mut crowded, round)?;
        }
        self.after_other(&mut crowded)
    }

    /// One attachment on the empty and on the crowded node, of each contender.
    fn beside_each_other(
        &mut self,
        empty: &mut [Node],
        crowded: &mut [Node],
        round: usize,
    ) -> Result<()> {
        for place in order(round) {
            let contender = Contender::ALL[place];
            if contender == Contender::Reference && round >= CROWDED_RUNS_OF_REFERENCE {
                continue;
            }
            let mut both = [
                (Quantity::AddEmpty, &mut empty[place]),
                (Quantity::AddCrowded, &mut crowded[place]),
            ];
            both.rotate_left(round % 2);
            for (quantity, node) in both {
                self.add_and_del(quantity, contender, node)?;
            }
        }
        Ok(())
    }

    /// weir's ADD right after another program took or gave back an address.
    fn after_other(&mut self, crowded: &mut [Node]) -> Result<()> {
        let node = &mut crowded[Contender::Weir as usize];
        let store = node.store()?;
        for round in 0..self.runs {
            match round % 2 {
                0 => crowd::foreign_lease(&store)?,
                _ => crowd::foreign_release(&store)?,
            }
            self.add_and_del(Quantity::AddAfterOther, Contender::Weir, node)?;
        }
        Ok(())
    }

    fn add_and_del(
        &mut self,
        quantity: Quantity,
        contender: Contender,
        node: &mut Node,
    ) -> Result<()> {
        let (add, attachment) = node.add()?;
        self.samples.record(quantity, contender, &add);
        node.del(attachment)?;
        Ok(())
    }
}
