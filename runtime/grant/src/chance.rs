//! Choices by chance, for property tests and fuzz targets.

/// Chooses a number below the one that is given.
pub trait Chance {
    /// The number; 0 where nothing else is below.
    fn below(&mut self, count: usize) -> usize;
}

impl<F: FnMut(usize) -> usize> Chance for F {
    fn below(&mut self, count: usize) -> usize {
        self(count)
    }
}

/// Numbers that are the same for the same seed.
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
