//! The figures that weir must reach, and whether it does.

use std::collections::BTreeMap;

use anyhow::Result;
use serde::Serialize;

use crate::contender::{Contender, Contenders};
use crate::plan::{Quantity, Samples};

use Contender::{Floor, Reference, Weir};

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    Ratio,
    /// Milliseconds more than something else.
    MoreMilliseconds,
    /// Mebibytes.
    Mebibytes,
}

/// How a value compares to what is asked.
#[derive(Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    Missed,
    Must,
    Aim,
    /// Nothing is asked; the value explains another.
    NotAsked,
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
    fn asked(name: &'static str, unit: Unit, value: f64, must: f64, aim: f64) -> Self {
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
    pub fn from_samples(samples: &Samples, contenders: &Contenders) -> Result<Self> {
        let size = |contender| Ok((contender, contenders.size(contender)?));
        Ok(Self {
            headlines: headlines(samples),
            sizes: Contender::ALL
                .into_iter()
                .map(size)
                .collect::<Result<_>>()?,
        })
    }

    /// The names of those that miss what they must reach.
    pub fn missed(&self) -> impl Iterator<Item = &'static str> {
        let missed = self
            .headlines
            .iter()
            .filter(|figure| figure.verdict == Verdict::Missed);
        missed.map(|figure| figure.name)
    }
}

fn headlines(samples: &Samples) -> Vec<Figure> {
    use Unit::{Mebibytes, MoreMilliseconds, Ratio};
    vec![
        Figure::asked(
            "ADD, weir to reference",
            Ratio,
            ratio(samples, Quantity::Add),
            0.35,
            0.25,
        ),
        Figure::beside(
            "  the same where it makes the bridge",
            Ratio,
            ratio(samples, Quantity::AddFirst),
        ),
        Figure::asked(
            "DEL, weir over floor",
            MoreMilliseconds,
            over_floor(samples),
            3.0,
            2.0,
        ),
        Figure::asked(
            "peak memory of one ADD",
            Mebibytes,
            memory(samples, Quantity::Add, Weir),
            24.0,
            16.0,
        ),
        Figure::beside(
            "  on the crowded node",
            Mebibytes,
            memory(samples, Quantity::AddCrowded, Weir),
        ),
        Figure::beside(
            "  after another program's change",
            Mebibytes,
            memory(samples, Quantity::AddAfterOther, Weir),
        ),
        Figure::asked(
            "ADD, crowded to empty node",
            Ratio,
            growth(samples, Weir),
            1.5,
            1.2,
        ),
        Figure::beside(
            "  after another program's change",
            Ratio,
            samples.time(Quantity::AddAfterOther, Weir).median()
                / samples.time(Quantity::AddEmpty, Weir).median(),
        ),
        Figure::beside("  the reference's", Ratio, growth(samples, Reference)),
        Figure::beside("  the floor's", Ratio, growth(samples, Floor)),
    ]
}

/// The median of the rounds' ratios.
fn ratio(samples: &Samples, quantity: Quantity) -> f64 {
    let weir = samples.time(quantity, Weir);
    weir.pairwise(&samples.time(quantity, Reference), |weir, reference| {
        weir / reference
    })
    .median()
}

/// The median of the rounds' differences.
fn over_floor(samples: &Samples) -> f64 {
    let weir = samples.time(Quantity::Del, Weir);
    weir.pairwise(&samples.time(Quantity::Del, Floor), |weir, floor| {
        weir - floor
    })
    .median()
}

fn growth(samples: &Samples, contender: Contender) -> f64 {
    samples.time(Quantity::AddCrowded, contender).median()
        / samples.time(Quantity::AddEmpty, contender).median()
}

fn memory(samples: &Samples, quantity: Quantity, contender: Contender) -> f64 {
    samples.memory(quantity, contender).median() / f64::from(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::{Figure, Unit, Verdict};

    fn verdict(value: f64) -> Verdict {
        Figure::asked("", Unit::Ratio, value, 0.35, 0.25).verdict
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
    fn no_number_is_missed() {
        assert!(verdict(f64::NAN) == Verdict::Missed);
    }
}
