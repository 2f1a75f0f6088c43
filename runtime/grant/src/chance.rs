//! Random choices, for property tests and fuzz targets.

/// A source of random choices.
pub trait Chance {
    /// Chooses a number below `count`; 0 if `count` is 0.
    fn below(&mut self, count: usize) -> usize;
}

impl<F: FnMut(usize) -> usize> Chance for F {
    fn below(&mut self, count: usize) -> usize {
        self(count)
    }
}

/// Pseudo-random numbers: the same seed gives the same ones.
pub struct Seeded(u64);

impl Seeded {
    /// Starts with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
}

impl Chance for Seeded {
    fn below(&mut self, count: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or_default() % count.max(1)
    }
}

/// One of some words.
pub(crate) fn one_of<'w>(chance: &mut dyn Chance, words: &[&'w str]) -> &'w str {
    words
        .get(chance.below(words.len()))
        .copied()
        .unwrap_or_default()
}
