//! Lines of the log, as they are hashed.

use std::io::{self, BufRead, Read as _};

/// Longer lines are read in parts; weir writes none.
const LONGEST_LINE: u64 = 64 << 20;

/// Reads a line with its end. Returns whether there was one.
pub fn read_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>) -> io::Result<bool> {
    bytes.clear();
    Ok(reader.take(LONGEST_LINE).read_until(b'\n', bytes)? > 0)
}
