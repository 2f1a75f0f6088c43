//! The figures that weir must reach, and whether it does.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::bandwidth::{self, Throughput};
use crate::contender::{Contender, Contenders};
use crate::plan::Measured;
use crate::pods::{MULTUS_ADD, MULTUS_DEL, Pods};
use crate::samples::{Quantity, Samples};
use crate::statistics::Series;

use Contender::{Floor, Reference, Weir};

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Ratio,
    /// Milliseconds more than something else.
    MoreMilliseconds,
    Milliseconds,
    /// How many.
    Count,
    /// Mebibytes.
    Mebibytes,
    Percent,
}

/// How a value compares to its target.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Missed,
    Must,
    Aim,
    /// There is no target; the value explains another.
    NotAsked,
    /// There is no reference plugin here to compare with.
    NoReference,
    /// What it needs is not on this machine.
    NotMeasured,
}

/// One line of the first table.
#[derive(Serialize)]
pub struct Figure {
    pub name: &'static str,
    pub unit: Unit,
    pub value: f64,
    /// Not more than this.
    pub must: Option<f64>,
    pub aim: Option<f64>,
    pub verdict: Verdict,
}

impl Figure {
    fn bounded(name: &'static str, unit: Unit, value: f64, must: f64, aim: f64) -> Self {
        let verdict = match value {
            _ if value <= aim => Verdict::Aim,
            _ if value <= must => Verdict::Must,
            // A value that is not a number, too, has not been shown to be good enough.
            _ => Verdict::Missed,
        };
        Self {
            name,
            unit,
            value,
            must: Some(must),
            aim: Some(aim),
            verdict,
        }
    }

    /// Where there is nothing to aim at beyond what must be.
    fn within(name: &'static str, unit: Unit, value: f64, must: f64) -> Self {
        let figure = Self::bounded(name, unit, value, must, f64::NEG_INFINITY);
        Self {
            aim: None,
            ..figure
        }
    }

    /// The same without a verdict where there are no samples to judge by.
    fn if_measured(self, samples: &Samples, quantity: Quantity) -> Self {
        let verdict = if !samples.has(quantity, Weir) {
            Verdict::NotMeasured
        } else if !samples.has(quantity, Reference) {
            Verdict::NoReference
        } else {
            self.verdict
        };
        Self { verdict, ..self }
    }

    fn beside(name: &'static str, unit: Unit, value: f64) -> Self {
        Self {
            name,
            unit,
            value,
            must: None,
            aim: None,
            verdict: Verdict::NotAsked,
        }
    }
}

/// All that is reported beyond plain times.
pub struct Figures {
    pub headlines: Vec<Figure>,
    /// Bytes of the programs that one ADD needs.
    pub sizes: BTreeMap<Contender, u64>,
}

impl Figures {
    pub fn from_measured(measured: &Measured, contenders: &Contenders) -> Result<Self> {
        let size = |contender| Ok((contender, contenders.size(contender)?));
        Ok(Self {
            headlines: headlines(measured),
            sizes: Contender::ALL
                .into_iter()
                .map(size)
                .collect::<Result<_>>()?,
        })
    }

    /// The names of those that miss what they must reach, or were not measured.
    pub fn missed(&self) -> impl Iterator<Item = &'static str> {
        let missed = self
            .headlines
            .iter()
            .filter(|figure| matches!(figure.verdict, Verdict::Missed | Verdict::NotMeasured));
        missed.map(|figure| figure.name)
    }
}

fn headlines(measured: &Measured) -> Vec<Figure> {
    let samples = &measured.samples;
    let groups = [
        bridge(samples),
        gate(measured),
        list(samples),
        interfaces(samples),
        memory_of_one_add(samples),
        growth(samples),
        pods(&measured.pods),
        shaping(measured.throughput),
    ];
    groups.into_iter().flatten().collect()
}

fn bridge(samples: &Samples) -> Vec<Figure> {
    use Unit::{MoreMilliseconds, Ratio};
    let share = |quantity| share(samples, quantity);
    let ratio = |quantity| ratio(samples, quantity);
    let del = over_floor(samples, Quantity::Del);
    vec![
        Figure::bounded("ADD, share", Ratio, share(Quantity::Add), 0.15, 0.10),
        Figure::beside("  weir to reference", Ratio, ratio(Quantity::Add)),
        Figure::beside(
            "  where it makes the bridge, share",
            Ratio,
            share(Quantity::AddFirst),
        ),
        Figure::bounded("CHECK, share", Ratio, share(Quantity::Check), 0.20, 0.12),
        Figure::beside("  weir to reference", Ratio, ratio(Quantity::Check)),
        Figure::bounded("DEL, weir over floor", MoreMilliseconds, del, 2.0, 1.0),
    ]
}

/// The gate's and the audit log's part of an ADD of weir's.
fn gate(measured: &Measured) -> Vec<Figure> {
    let add = measured.samples.time(Quantity::Add, Weir).median();
    let percent = measured.gate.median() / add * 100.0;
    let name = "gate and audit log, of an ADD of weir";
    vec![Figure::within(name, Unit::Percent, percent, 5.0)]
}

fn list(samples: &Samples) -> Vec<Figure> {
    use Unit::{MoreMilliseconds, Ratio};
    vec![
        Figure::bounded(
            "ADD of the list, share",
            Ratio,
            share(samples, Quantity::ListAdd),
            0.12,
            0.08,
        ),
        Figure::bounded(
            "  weir to reference",
            Ratio,
            ratio(samples, Quantity::ListAdd),
            0.15,
            0.10,
        ),
        Figure::beside(
            "DEL of the list, weir over floor",
            MoreMilliseconds,
            over_floor(samples, Quantity::ListDel),
        ),
        Figure::bounded(
            "  weir to reference",
            Ratio,
            ratio(samples, Quantity::ListDel),
            0.25,
            0.15,
        ),
    ]
}

fn interfaces(samples: &Samples) -> Vec<Figure> {
    use Quantity::{DummyAdd, IpvlanAdd, MacvlanAdd, RoutedAdd, VlanAdd, VlanAddSmallPages};
    use Unit::Ratio;
    let share = |name, quantity, must, aim| {
        let share = Figure::bounded(name, Ratio, share(samples, quantity), must, aim);
        let to_reference = ratio(samples, quantity);
        [
            share.if_measured(samples, quantity),
            Figure::beside("  weir to reference", Ratio, to_reference),
        ]
    };
    let list = ratio(samples, RoutedAdd);
    let list = Figure::bounded(
        "ADD of macvlan, sbr, tuning, to reference",
        Ratio,
        list,
        0.30,
        0.20,
    );
    let mut figures = Vec::from(share("ADD of macvlan, share", MacvlanAdd, 0.15, 0.10));
    figures.push(list);
    figures.extend(share("ADD of vlan, in the VM, share", VlanAdd, 0.20, 0.12));
    figures.push(Figure::beside(
        "  with pages of 4 KiB, share",
        Ratio,
        self::share(samples, VlanAddSmallPages),
    ));
    figures.extend(share(
        "ADD of ipvlan, in the VM, share",
        IpvlanAdd,
        0.20,
        0.12,
    ));
    figures.extend(share(
        "ADD of dummy, in the VM, share",
        DummyAdd,
        0.20,
        0.12,
    ));
    figures
}

fn memory_of_one_add(samples: &Samples) -> Vec<Figure> {
    use Unit::Mebibytes;
    let of = |quantity| memory(samples, quantity);
    vec![
        Figure::bounded(
            "peak memory of one ADD",
            Mebibytes,
            of(Quantity::Add),
            24.0,
            16.0,
        ),
        Figure::beside("  on the crowded node", Mebibytes, of(Quantity::AddCrowded)),
        Figure::beside(
            "  after another program's change",
            Mebibytes,
            of(Quantity::AddAfterOther),
        ),
        Figure::beside("  of portmap", Mebibytes, of(Quantity::PortmapAdd)),
    ]
}

/// A pod with the default network and a second one. The kernel takes 19 ms to remove a link.
fn pods(pods: &Pods) -> Vec<Figure> {
    use Unit::{Count, Mebibytes, Milliseconds, Ratio};
    let (add, del) = (pods.add.median(), pods.del.median());
    let memory = pods.memory.median() / f64::from(1 << 20);
    vec![
        Figure::within("ADD of a pod with two networks", Milliseconds, add, 15.0),
        Figure::beside("  to that of Multus 4.2.4", Ratio, add / MULTUS_ADD),
        Figure::within("DEL of it", Milliseconds, del, 45.0),
        Figure::beside("  to that of Multus 4.2.4", Ratio, del / MULTUS_DEL),
        Figure::within("  peak memory", Mebibytes, memory, 40.0),
        Figure::within(
            "  API requests of an ADD",
            Count,
            pods.requests_of_add as f64,
            3.0,
        ),
        Figure::within(
            "  API requests of a DEL",
            Count,
            pods.requests_of_del as f64,
            2.0,
        ),
    ]
}

fn growth(samples: &Samples) -> Vec<Figure> {
    use Quantity::{AddAfterOther, AddCrowded, AddEmpty};
    use Quantity::{ListAdd, ListAddMapped, ListDel, ListDelMapped};
    use Unit::Ratio;
    let of_weir = |much, little| {
        let of = |quantity| samples.time(quantity, Weir);
        of_rounds(&of(much), &of(little))
    };
    let crowded = |contender| growing(samples, contender, AddCrowded, AddEmpty);
    vec![
        Figure::bounded("ADD, crowded to empty node", Ratio, crowded(Weir), 1.5, 1.2),
        Figure::beside(
            "  after another program's change",
            Ratio,
            growing(samples, Weir, AddAfterOther, AddEmpty),
        ),
        Figure::beside("  the reference's", Ratio, crowded(Reference)),
        Figure::beside("  the floor's", Ratio, crowded(Floor)),
        Figure::bounded(
            "ADD of the list, among mappings to alone",
            Ratio,
            of_weir(ListAddMapped, ListAdd),
            1.5,
            1.2,
        ),
        Figure::beside("  its DEL", Ratio, of_weir(ListDelMapped, ListDel)),
    ]
}

fn shaping(throughput: Throughput) -> Vec<Figure> {
    let off = |name, seen: f64| {
        let off = (seen / f64::from(bandwidth::RATE) - 1.0).abs();
        Figure::within(name, Unit::Percent, off * 100.0, 5.0)
    };
    vec![
        off(
            "throughput, off its limit to the container",
            throughput.to_container,
        ),
        off("  from the container", throughput.from_container),
    ]
}

/// weir's to the reference's.
fn ratio(samples: &Samples, quantity: Quantity) -> f64 {
    let weir = samples.time(quantity, Weir);
    of_rounds(&weir, &samples.time(quantity, Reference))
}

/// The median of the rounds' ratios.
fn of_rounds(one: &Series, other: &Series) -> f64 {
    one.pairwise(other, |one, other| one / other).median()
}

/// What weir takes over the floor, of what the reference takes over it: what is the kernel's is in neither.
fn share(samples: &Samples, quantity: Quantity) -> f64 {
    let [floor, reference, weir] =
        Contender::ALL.map(|contender| samples.time(quantity, contender).median());
    (weir - floor) / (reference - floor)
}

/// The median of the rounds' differences.
fn over_floor(samples: &Samples, quantity: Quantity) -> f64 {
    let weir = samples.time(quantity, Weir);
    let differences = weir.pairwise(&samples.time(quantity, Floor), |weir, floor| weir - floor);
    differences.median()
}

/// How much slower it is with much than with little, where not every round had both.
fn growing(samples: &Samples, contender: Contender, much: Quantity, little: Quantity) -> f64 {
    samples.time(much, contender).median() / samples.time(little, contender).median()
}

/// weir's, in mebibytes.
fn memory(samples: &Samples, quantity: Quantity) -> f64 {
    samples.memory(quantity, Weir).median() / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::Value;

    use super::{Figure, Unit, Verdict, interfaces};
    use crate::call::Answer;
    use crate::contender::Contender;
    use crate::samples::{Quantity, Samples};

    fn verdict(value: f64) -> Verdict {
        Figure::bounded("", Unit::Ratio, value, 0.35, 0.25).verdict
    }

    #[test]
    fn a_limit_itself_is_reached() {
        assert!(verdict(0.25) == Verdict::Aim);
        assert!(verdict(0.35) == Verdict::Must);
    }

    #[test]
    fn beyond_the_limit_is_missed() {
        assert!(verdict(0.36) == Verdict::Missed);
    }

    #[test]
    fn without_an_aim_there_is_no_more_to_reach() {
        let within = |value| Figure::within("", Unit::Percent, value, 5.0);
        assert!(within(0.0).verdict == Verdict::Must && within(0.0).aim.is_none());
        assert!(within(5.1).verdict == Verdict::Missed);
    }

    /// ADD of `dummy` of these contenders, in as many milliseconds.
    fn verdict_of_dummy(measured: &[(Contender, u64)]) -> Verdict {
        let mut samples = Samples::default();
        for (contender, milliseconds) in measured {
            let answer = Answer {
                elapsed: Duration::from_millis(*milliseconds),
                peak_memory: 0,
                output: Value::Null,
            };
            samples.record(Quantity::DummyAdd, *contender, &answer);
        }
        let figures = interfaces(&samples);
        let dummy = figures.iter().find(|figure| figure.name.contains("dummy"));
        dummy.expect("a figure of dummy").verdict
    }

    #[test]
    fn without_a_reference_there_is_no_verdict() {
        use Contender::{Floor, Reference, Weir};
        assert!(verdict_of_dummy(&[(Floor, 10), (Weir, 11), (Reference, 20)]) == Verdict::Aim);
        assert!(verdict_of_dummy(&[(Floor, 10), (Weir, 18), (Reference, 20)]) == Verdict::Missed);
        assert!(verdict_of_dummy(&[(Floor, 10), (Weir, 11)]) == Verdict::NoReference);
        assert!(verdict_of_dummy(&[]) == Verdict::NotMeasured);
    }

    #[test]
    fn no_number_is_missed() {
        assert!(verdict(f64::NAN) == Verdict::Missed);
    }
}
