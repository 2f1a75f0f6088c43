//! Medians and percentiles.

use serde::{Deserialize, Serialize};

/// Samples of one quantity, in the order of the rounds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Series(Vec<f64>);

/// A series in numbers.
#[derive(Serialize)]
pub struct Summary {
    pub runs: usize,
    pub min: f64,
    pub median: f64,
    pub p99: f64,
    pub max: f64,
    pub samples: Vec<f64>,
}

impl Series {
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The middle, or between the two in the middle. Not a number without samples.
    pub fn median(&self) -> f64 {
        let sorted = self.sorted();
        let middle = sorted.len() / 2;
        match sorted.len() {
            0 => f64::NAN,
            odd if odd % 2 == 1 => sorted[middle],
            _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
        }
    }

    /// The smallest sample that is not exceeded by `percent` of them (nearest rank). Not a number
    /// without samples.
    pub fn percentile(&self, percent: f64) -> f64 {
        let sorted = self.sorted();
        let rank = (sorted.len() as f64 * percent / 100.0).ceil() as usize;
        sorted
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or(f64::NAN)
    }

    /// One sample with that of the same round in another series.
    pub fn pairwise(&self, other: &Self, combine: impl Fn(f64, f64) -> f64) -> Self {
        Self(
            self.0
                .iter()
                .zip(&other.0)
                .map(|(a, b)| combine(*a, *b))
                .collect(),
        )
    }

    pub fn summary(&self) -> Summary {
        Summary {
            runs: self.len(),
            min: self.percentile(0.0),
            median: self.median(),
            p99: self.percentile(99.0),
            max: self.percentile(100.0),
            samples: self.0.clone(),
        }
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

impl FromIterator<f64> for Series {
    fn from_iter<T: IntoIterator<Item = f64>>(values: T) -> Self {
        Self(values.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::Series;

    fn series(values: &[f64]) -> Series {
        values.iter().copied().collect()
    }

    #[test]
    fn median_of_an_odd_number_is_the_middle() {
        assert_eq!(series(&[9.0, 1.0, 5.0]).median(), 5.0);
    }

    #[test]
    fn median_of_an_even_number_is_between_the_two_in_the_middle() {
        assert_eq!(series(&[4.0, 1.0, 9.0, 2.0]).median(), 3.0);
    }

    #[test]
    fn percentile_is_a_sample_by_nearest_rank() {
        let hundred: Series = (1..=100).rev().map(f64::from).collect();
        assert_eq!(hundred.percentile(99.0), 99.0);
        assert_eq!(series(&[3.0, 1.0, 2.0]).percentile(99.0), 3.0);
        assert_eq!(series(&[3.0, 1.0, 2.0]).percentile(0.0), 1.0);
    }

    #[test]
    fn without_samples_there_is_no_number() {
        assert!(series(&[]).median().is_nan());
        assert!(series(&[]).percentile(99.0).is_nan());
    }

    #[test]
    fn pairwise_keeps_to_the_rounds() {
        let ratios = series(&[1.0, 9.0]).pairwise(&series(&[2.0, 3.0]), |a, b| a / b);
        assert_eq!(ratios.0, [0.5, 3.0]);
    }
}
