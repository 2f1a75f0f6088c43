//! Whole numbers, and ranges of them.

use std::marker::PhantomData;

use super::{EVERY_ONE, one};
use crate::field::{FieldType, Texts, points};
use crate::invocation::Invocation;
use crate::pattern::{Number, Range};

/// Whole numbers.
pub struct Numbers;

impl FieldType for Numbers {
    type Values = Vec<u32>;
    type Fact<'r> = u32;
    const IS_NUMBER: bool = true;
    const EXAMPLES: &'static [&'static str] = &["254", "100", "0"];
    const OTHER: Option<&'static str> = Some("4294967295");

    fn matches(numbers: &Vec<u32>, fact: u32, _: &Invocation) -> bool {
        numbers.contains(&fact)
    }

    fn text(fact: u32) -> Texts {
        one(fact)
    }
}

/// Whole numbers, and ranges of them.
pub struct Ranges<N>(PhantomData<N>);

impl<N: Number + 'static> FieldType for Ranges<N> {
    type Values = Vec<Range<N>>;
    type Fact<'r> = N;
    const IS_NUMBER: bool = true;
    const EXAMPLES: &'static [&'static str] = &["53", "100", "2048", "30000-32767", "0-65535"];

    fn matches(ranges: &Vec<Range<N>>, fact: N, _: &Invocation) -> bool {
        ranges.iter().any(|range| range.contains(fact))
    }

    fn text(fact: N) -> Texts {
        one(fact)
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        let ranges = (wide.parse::<Range<N>>(), narrow.parse::<Range<N>>());
        matches!(ranges, (Ok(w), Ok(n)) if w.first <= n.first && n.last <= w.last)
    }

    fn meets(value: &str, query: &str) -> bool {
        Self::covers(value, query)
    }

    fn points(value: &str, others: &Texts) -> Texts {
        points::of_range::<N>(value, others)
    }

    fn aggregate(ranges: &Texts) -> Texts {
        let parsed = ranges.iter().filter_map(|text| text.parse().ok());
        let together = Range::<N>::aggregate(parsed.collect());
        together.iter().map(ToString::to_string).collect()
    }

    fn included(value: &str) -> Option<String> {
        let range: Range<N> = value.parse().ok()?;
        let is_every = range.first.to_string() == "0" && range.last == N::MAX;
        is_every.then(|| EVERY_ONE.to_owned())
    }
}

/// Says whether a range has every port; nothing listens at port 0.
pub(crate) fn every_port(value: &str) -> Option<String> {
    let range: Range<u16> = value.parse().ok()?;
    let is_every = range.first <= 1 && range.last == u16::MAX;
    is_every.then(|| "every port".to_owned())
}
