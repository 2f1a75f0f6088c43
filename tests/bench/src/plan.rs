//! What is measured in which order, and the samples that come of it.
//!
//! The contenders take turns within each round, and the order changes from round to round: none
//! has always the same predecessor, and the machine's moods meet all of them.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::call::Answer;
use crate::contender::{Contender, Contenders};
use crate::crowd;
use crate::node::Node;
use crate::scratch::Scratch;
use crate::statistics::{Series, Summary};
use crate::table::grouped;

/// Rounds that are thrown away first: files come into memory, bridges are made.
const WARM_UP: usize = 3;

/// The reference reads every lease in each ADD and DEL, so that more would take minutes.
const CROWDED_RUNS_OF_REFERENCE: usize = 10;

/// What a series is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// On a node where a container has been before: the bridge is there.
    Add,
    /// On a node without the bridge.
    AddFirst,
    Check,
    Del,
    Version,
    /// On an empty node, in turn with `AddCrowded`.
    AddEmpty,
    /// On a node with the crowd.
    AddCrowded,
    /// On a node with the crowd, whose leases another program has changed since the last ADD.
    AddAfterOther,
}

/// Series in numbers, by what they are of.
pub type Summaries = BTreeMap<Quantity, BTreeMap<Contender, Summary>>;

/// Milliseconds and bytes of every quantity of every contender.
#[derive(Default)]
pub struct Samples {
    milliseconds: BTreeMap<Quantity, BTreeMap<Contender, Series>>,
    memory: BTreeMap<Quantity, BTreeMap<Contender, Series>>,
}

impl Samples {
    /// In milliseconds; empty where it was not measured.
    pub fn time(&self, quantity: Quantity, contender: Contender) -> Series {
        lookup(&self.milliseconds, quantity, contender)
    }

    /// Peak memory in bytes; empty where it was not measured.
    pub fn memory(&self, quantity: Quantity, contender: Contender) -> Series {
        lookup(&self.memory, quantity, contender)
    }

    /// All times in numbers, milliseconds.
    pub fn times(&self) -> Summaries {
        summaries(&self.milliseconds)
    }

    /// All peak memory in numbers, bytes.
    pub fn memories(&self) -> Summaries {
        summaries(&self.memory)
    }

    fn record(&mut self, quantity: Quantity, contender: Contender, answer: &Answer) {
        let slot = |map: &mut BTreeMap<_, BTreeMap<_, Series>>, value| {
            map.entry(quantity)
                .or_default()
                .entry(contender)
                .or_default()
                .push(value);
        };
        slot(&mut self.milliseconds, answer.elapsed.as_secs_f64() * 1e3);
        slot(&mut self.memory, answer.peak_memory as f64);
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

fn summaries(all: &BTreeMap<Quantity, BTreeMap<Contender, Series>>) -> Summaries {
    let of_contenders = |series: &BTreeMap<Contender, Series>| {
        let series = series.iter();
        series
            .map(|(contender, series)| (*contender, series.summary()))
            .collect()
    };
    all.iter()
        .map(|(quantity, series)| (*quantity, of_contenders(series)))
        .collect()
}

fn lookup(
    map: &BTreeMap<Quantity, BTreeMap<Contender, Series>>,
    quantity: Quantity,
    contender: Contender,
) -> Series {
    let found = map
        .get(&quantity)
        .and_then(|contenders| contenders.get(&contender));
    found.cloned().unwrap_or_default()
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

    pub fn carry_out(mut self) -> Result<Samples> {
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
        self.growth(&mut empty)?;
        Ok(self.samples)
    }

    fn nodes(&self, name: &str) -> Result<Vec<Node>> {
        let create = |contender| Node::create(contender, self.contenders, self.scratch, name);
        Contender::ALL.into_iter().map(create).collect()
    }

    /// One attachment of each contender.
    fn everyday(&mut self, nodes: &mut [Node], round: usize) -> Result<()> {
        for (contender, place) in order(round) {
            let node = &mut nodes[place];
            let (add, attachment) = node.add()?;
            self.samples.record(Quantity::Add, contender, &add);
            self.samples
                .record(Quantity::Check, contender, &node.check(&attachment)?);
            self.samples
                .record(Quantity::Del, contender, &node.del(attachment)?);
        }
        for (contender, place) in order(round) {
            self.samples
                .record(Quantity::Version, contender, &nodes[place].version()?);
        }
        Ok(())
    }

    /// The first attachment on a node, of each contender.
    fn first(&mut self, nodes: &mut [Node], round: usize) -> Result<()> {
        for (contender, place) in order(round) {
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
        for (contender, place) in order(round) {
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

/// The contenders in the order of a round, with their places among the nodes. Six rounds go through
/// all orders.
fn order(round: usize) -> [(Contender, usize); 3] {
    let mut order = Contender::ALL.map(|contender| (contender, contender as usize));
    if round / 3 % 2 == 1 {
        order.reverse();
    }
    order.rotate_left(round % 3);
    order
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::order;

    #[test]
    fn six_rounds_go_through_all_orders() {
        let orders: BTreeSet<_> = (0..6).map(order).collect();
        assert_eq!(orders.len(), 6);
    }

    #[test]
    fn a_place_is_the_contenders_own() {
        for (contender, place) in (0..6).flat_map(order) {
            assert_eq!(contender as usize, place);
        }
    }
}
