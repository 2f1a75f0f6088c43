//! Exact sizes: a limit is printed as a document has it.

use std::fmt;

use bytesize::{ByteSize, GIB, KIB, MIB, TIB};

/// A number and the largest unit that divides the size: `64MiB`, and `1100KiB` rather than `1.1 MiB`.
pub struct Exact {
    number: u64,
    unit: &'static str,
}

const UNITS: [(u64, &str); 4] = [(TIB, "TiB"), (GIB, "GiB"), (MIB, "MiB"), (KIB, "KiB")];

impl Exact {
    /// As a sentence has it: `64 MiB`.
    pub fn in_words(&self) -> String {
        format!("{} {}", self.number, self.unit)
    }
}

impl From<ByteSize> for Exact {
    fn from(size: ByteSize) -> Self {
        let ByteSize(bytes) = size;
        let divides = |unit: &&(u64, &str)| bytes > 0 && bytes % unit.0 == 0;
        let (of_unit, unit) = *UNITS.iter().find(divides).unwrap_or(&(1, "B"));
        Self {
            number: bytes / of_unit,
            unit,
        }
    }
}

/// As a document has it: `64MiB`.
impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.number, self.unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_unit_that_divides_is_used() {
        for (size, expected) in [
            (ByteSize::mib(64), "64MiB"),
            (ByteSize::kib(1100), "1100KiB"),
            (ByteSize::kib(1024), "1MiB"),
            (ByteSize::gib(1024), "1TiB"),
            (ByteSize(1_048_577), "1048577B"),
            (ByteSize(1000), "1000B"),
            (ByteSize(0), "0B"),
        ] {
            assert_eq!(Exact::from(size).to_string(), expected);
        }
        assert_eq!(Exact::from(ByteSize::mib(64)).in_words(), "64 MiB");
    }

    #[test]
    fn what_is_written_is_read_back() {
        for shift in 0..64 {
            for odd in [1_u64, 3, 1023, 1025, 1100, u64::MAX] {
                let size = ByteSize(odd << shift);
                assert_eq!(Exact::from(size).to_string().parse(), Ok(size));
            }
        }
    }
}
