//! Records over time, in bounded memory: as many points as a picture needs.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::cli::record::Verdict;

/// More points than a picture has columns.
const MOST_POINTS: usize = 4096;

const MILLISECOND: i64 = 1_000;
const SECOND: i64 = 1_000 * MILLISECOND;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Steps in which people count time: units in microseconds, and multiples of each.
const STEPS: [(i64, &[i64]); 5] = [
    (MILLISECOND, &[1, 2, 5, 10, 20, 50, 100, 200, 500]),
    (SECOND, &[1, 2, 5, 10, 15, 30]),
    (MINUTE, &[1, 2, 5, 10, 15, 30]),
    (HOUR, &[1, 2, 3, 6, 12]),
    (DAY, &[1, 2, 7, 14, 28, 56, 112]),
];

/// The longest step. Longer ones are multiples of it.
const YEAR: i64 = 364 * DAY;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub allowed: u64,
    pub denied: u64,
    pub undone: u64,
}

impl Counts {
    fn join(&mut self, other: &Self) {
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.undone += other.undone;
    }
}

/// Counts at points in time, which become coarser as their number grows.
pub struct Timeline {
    /// Microseconds of one point.
    width: i64,
    points: BTreeMap<i64, Counts>,
}

/// Counts in equal steps, without gaps.
pub struct Columns {
    /// Microseconds since 1970 at which the first begins.
    pub start: i64,
    /// Microseconds of each.
    pub step: i64,
    pub counts: Vec<Counts>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self {
            width: MILLISECOND,
            points: BTreeMap::new(),
        }
    }
}

impl Timeline {
    pub fn add(&mut self, time: Timestamp, verdict: Verdict) {
        let point = time.as_microsecond().div_euclid(self.width);
        let counts = self.points.entry(point).or_default();
        match verdict {
            Verdict::Allowed => counts.allowed += 1,
            // Neither was done.
            Verdict::Denied | Verdict::Refused => counts.denied += 1,
            Verdict::Undo => counts.undone += 1,
        }
        while self.points.len() > MOST_POINTS {
            self.coarsen();
        }
    }

    fn coarsen(&mut self) {
        self.width *= 2;
        for (point, counts) in std::mem::take(&mut self.points) {
            let coarser = self.points.entry(point.div_euclid(2)).or_default();
            coarser.join(&counts);
        }
    }

    /// Returns the counts in at most `most` columns; none without records.
    pub fn columns(&self, most: usize) -> Option<Columns> {
        let first = self.points.keys().next()? * self.width;
        let last = self.points.keys().next_back()? * self.width;
        let number = |step: i64| last.div_euclid(step) - first.div_euclid(step) + 1;
        let step = nice_step(self.width, |step| number(step) <= most as i64);
        let mut counts = vec![Counts::default(); number(step) as usize];
        let start = first.div_euclid(step);
        for (point, of_point) in &self.points {
            let column = (point * self.width).div_euclid(step) - start;
            counts[column as usize].join(of_point);
        }
        Some(Columns {
            start: start * step,
            step,
            counts,
        })
    }
}

impl Columns {
    /// Returns the columns with a time below: at most `most`, at round times.
    pub fn ticks(&self, most: usize) -> Vec<usize> {
        let columns = 0..self.counts.len();
        let begin = |column: &usize| self.start + *column as i64 * self.step;
        let at = |step: i64| {
            let round = move |column: &usize| begin(column).rem_euclid(step) == 0;
            columns.clone().filter(round).collect::<Vec<_>>()
        };
        let step = nice_step(self.step, |step| at(step).len() <= most);
        match at(step) {
            ticks if ticks.is_empty() => vec![0],
            ticks => ticks,
        }
    }

    /// When a column begins, as precisely as the steps need.
    pub fn label(&self, column: usize) -> String {
        let begin = self.start + column as i64 * self.step;
        let Ok(time) = Timestamp::from_microsecond(begin) else {
            return String::new();
        };
        let format = match self.step {
            _ if begin.rem_euclid(SECOND) != 0 => "%H:%M:%S%.3f",
            step if step < MINUTE => "%H:%M:%S",
            step if step < 12 * HOUR => "%m-%d %H:%M",
            _ => "%Y-%m-%d",
        };
        time.strftime(format).to_string()
    }
}

/// The shortest step, at least `least`, that is enough.
fn nice_step(least: i64, enough: impl Fn(i64) -> bool) -> i64 {
    let steps = STEPS.into_iter();
    let steps = steps.flat_map(|(unit, multiples)| multiples.iter().map(move |n| n * unit));
    let longer = (1..).map(|factor| factor * YEAR);
    let mut steps = steps.chain(longer).filter(|step| *step >= least);
    steps
        .find(|step| enough(*step))
        .expect("some step is long enough")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn nothing_is_lost_when_points_become_coarser() {
        let mut timeline = Timeline::default();
        let start = 1_800_000_000;
        for n in 0..20_000 {
            let verdict = if n % 1_000 == 0 {
                Verdict::Denied
            } else {
                Verdict::Allowed
            };
            timeline.add(at(start + n * 61), verdict);
        }
        assert!(timeline.points.len() <= MOST_POINTS);
        let columns = timeline.columns(96).unwrap();
        assert!(columns.counts.len() <= 96 && columns.counts.len() > 30);
        assert_eq!(columns.step, 6 * HOUR);
        assert_eq!(
            columns.counts.iter().map(|c| c.allowed).sum::<u64>(),
            19_980
        );
        assert_eq!(columns.counts.iter().map(|c| c.denied).sum::<u64>(), 20);
    }

    #[test]
    fn one_moment_is_one_column() {
        let mut timeline = Timeline::default();
        assert!(timeline.columns(10).is_none());
        timeline.add(at(5), Verdict::Undo);
        let columns = timeline.columns(10).unwrap();
        assert_eq!(columns.start, 5 * SECOND);
        assert_eq!(
            columns.counts,
            [Counts {
                undone: 1,
                ..Counts::default()
            }]
        );
        assert_eq!(columns.ticks(4), [0]);
    }

    #[test]
    fn columns_begin_at_round_times() {
        let mut timeline = Timeline::default();
        timeline.add(at(7), Verdict::Allowed);
        timeline.add(at(3_605), Verdict::Denied);
        let columns = timeline.columns(10).unwrap();
        assert_eq!((columns.start, columns.step), (0, 10 * MINUTE));
        assert_eq!(columns.counts[0].allowed, 1);
        assert_eq!(columns.counts[6].denied, 1);
        assert_eq!(columns.ticks(3), [0, 3, 6]);
    }
}
