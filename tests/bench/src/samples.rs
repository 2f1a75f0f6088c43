//! The samples that come of measuring, by what they are of and whose they are.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::call::Answer;
use crate::contender::Contender;
use crate::statistics::{Series, Summary};

/// What a series is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
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
    /// All plugins of the list with `portmap`, on a node where it has been before.
    ListAdd,
    ListDel,
    /// The part of `portmap` in these.
    PortmapAdd,
    PortmapDel,
    /// The same on a node with the mappings of many others.
    ListAddMapped,
    ListDelMapped,
    PortmapAddMapped,
    PortmapDelMapped,
    /// `macvlan` with `static`.
    MacvlanAdd,
    /// The list of `macvlan`, `sbr` and `tuning`.
    RoutedAdd,
    /// With `host-local`, in the virtual machine, with the programs in large pages.
    VlanAdd,
    IpvlanAdd,
    DummyAdd,
    /// As `VlanAdd`, with the programs in pages of 4 KiB.
    VlanAddSmallPages,
}

/// Series in numbers, by what they are of.
pub type Summaries = BTreeMap<Quantity, BTreeMap<Contender, Summary>>;

/// Milliseconds and bytes of every quantity of every contender.
#[derive(Default, Serialize, Deserialize)]
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

    pub fn record(&mut self, quantity: Quantity, contender: Contender, answer: &Answer) {
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

    /// Takes in what another has of other quantities.
    pub fn extend(&mut self, other: Self) {
        self.milliseconds.extend(other.milliseconds);
        self.memory.extend(other.memory);
    }

    /// Whether it was measured.
    pub fn has(&self, quantity: Quantity, contender: Contender) -> bool {
        self.time(quantity, contender).len() > 0
    }

    pub fn forget(&mut self) {
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
