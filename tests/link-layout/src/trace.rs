//! What `valgrind --tool=lackey --trace-mem=yes` writes, and `qemu -d in_asm`.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::BufRead;
use std::ops::Range;

use anyhow::{Context, Result};

/// The addresses that were executed, read or written, in units of eight bytes.
pub struct Touched(BTreeSet<u64>);

const UNIT: u64 = 8;

impl Touched {
    /// Reads a trace: `I ADDRESS,SIZE` for an instruction, `L`, `S` and `M` for a load, a store and both, with the address in
    /// hexadecimal. Other lines are valgrind's own.
    ///
    /// Errors: it cannot be read; an address is not one.
    pub fn read(trace: impl BufRead) -> Result<Self> {
        let mut touched = BTreeSet::new();
        for_each_line(trace, |line| {
            if let Some(access) = access(line) {
                let range = range(access).with_context(|| format!("not an access: `{access}`"))?;
                touched.extend(range.start / UNIT..=(range.end - 1) / UNIT);
            }
            Ok(())
        })?;
        Ok(Self(touched))
    }

    /// Reads the instructions that QEMU has translated: lines of `0xADDRESS:  BYTES  INSTRUCTION`, and others between them. Of
    /// each, the first byte counts.
    ///
    /// Errors: it cannot be read.
    pub fn of_emulator(log: impl BufRead) -> Result<Self> {
        let mut touched = BTreeSet::new();
        for_each_line(log, |line| {
            touched.extend(address(line).map(|address| address / UNIT));
            Ok(())
        })?;
        Ok(Self(touched))
    }

    /// Whether a byte of the range was touched, or one in the same unit.
    pub fn any(&self, range: Range<u64>) -> bool {
        let units = range.start / UNIT..range.end.div_ceil(UNIT);
        self.0.range(units).next().is_some()
    }

    /// The shortest trace that touches the same.
    pub fn trace(&self) -> String {
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for unit in &self.0 {
            match ranges.last_mut() {
                Some(last) if last.end == *unit => last.end += 1,
                _ => ranges.push(*unit..*unit + 1),
            }
        }
        let mut trace = String::new();
        for Range { start, end } in ranges {
            // Writing to a text cannot fail.
            let _ = writeln!(trace, " L {:x},{}", start * UNIT, (end - start) * UNIT);
        }
        trace
    }
}

/// Lines may be no UTF-8: what the programs printed is among them.
fn for_each_line(mut input: impl BufRead, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let mut line = Vec::new();
    while input.read_until(b'\n', &mut line)? > 0 {
        take(&line)?;
        line.clear();
    }
    Ok(())
}

/// The address and size in a line. valgrind's own lines, and what the program printed, are none of those.
fn access(line: &[u8]) -> Option<&str> {
    let (kind, access) = line.split_at_checked(3)?;
    let is_access = matches!(kind, b"I  " | b" L " | b" S " | b" M ");
    std::str::from_utf8(access)
        .ok()
        .filter(|_| is_access)
        .map(str::trim_end)
}

/// The address at the beginning of a line.
fn address(line: &[u8]) -> Option<u64> {
    let line = std::str::from_utf8(line).ok()?;
    let (address, _) = line.strip_prefix("0x")?.split_once(':')?;
    u64::from_str_radix(address, 16).ok()
}

fn range(access: &str) -> Option<Range<u64>> {
    let (address, size) = access.split_once(',')?;
    let start = u64::from_str_radix(address, 16).ok()?;
    let size: u64 = size.parse().ok().filter(|size| *size > 0)?;
    Some(start..start.checked_add(size)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_touches_all_its_bytes() -> Result<()> {
        let trace = "==12== Lackey\nI  04000000,3\n L 1ffeffe8,16\n";
        let touched = Touched::read(trace.as_bytes())?;
        for (range, expected) in [
            (0x400_0000..0x400_0001, true),
            (0x400_0008..0x400_0010, false),
            (0x1ffe_fff7..0x1ffe_fff8, true),
            (0x1ffe_fff8..0x1fff_0000, false),
        ] {
            assert_eq!(touched.any(range.clone()), expected, "{range:x?}");
        }
        Ok(())
    }

    #[test]
    fn the_shortest_trace_has_each_range_once() -> Result<()> {
        let trace = "I  1000,3\n L 1008,16\nI  1000,3\n M 2004,8\n";
        let shortest = Touched::read(trace.as_bytes())?.trace();
        assert_eq!(shortest, " L 1000,24\n L 2000,16\n");
        assert_eq!(Touched::read(shortest.as_bytes())?.trace(), shortest);
        Ok(())
    }

    #[test]
    fn an_emulated_instruction_touches_its_first_byte() -> Result<()> {
        let log = "----------------\nIN: \n0x021bc2a0:  55                       pushq    %rbp\n\n0x021bc2b0:  c3  retq\n";
        let touched = Touched::of_emulator(log.as_bytes())?;
        assert_eq!(touched.trace(), " L 21bc2a0,8\n L 21bc2b0,8\n");
        Ok(())
    }

    #[test]
    fn a_damaged_access_is_an_error() {
        for line in ["I  zz,3", "I  10", "I  10,0", " L ffffffffffffffff,8"] {
            assert!(Touched::read(line.as_bytes()).is_err(), "{line}");
        }
    }
}
