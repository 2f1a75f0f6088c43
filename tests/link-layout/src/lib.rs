//! Which parts of a binary its calls ran and read, and how the linker puts these side by side: what `weir-link-layout` writes.

mod map;
mod trace;

use std::fmt::Write;

use anyhow::{Result, ensure};

pub use map::{Map, Section};
pub use trace::Touched;

/// Larger than any function, and smaller than a plugin, whose code a page holds with none of another section.
const LARGEST: u64 = 128 << 10;

/// The kinds of sections that have an order: what their names begin with, and the output section that holds the others. Code begins
/// where a large page can; constants are at the start of the binary, where one does.
const KINDS: [(&str, u64); 2] = [(".rodata", 1), (".text", LARGE_PAGE)];

/// What the processor maps by one entry, if the page cache has the file in pieces of this size.
const LARGE_PAGE: u64 = 2 << 20;

/// A linker script with an output section for each kind, of what any of the calls touched. What the first call touched comes first,
/// and of this, what the second one touched as well, and so on; then what the first one did not touch, in the same way. So what
/// a call touches is in few pieces, and that of the first one is in one. Otherwise the sections keep their order.
///
/// Errors: nothing was touched, so that map and traces are of two binaries.
pub fn script(map: &Map, calls: &[Touched]) -> Result<String> {
    let mut script = String::new();
    for (kind, alignment) in KINDS {
        let sections = map.sections().filter(|section| is_ordered(section, kind));
        let untouched = |section: &&Section| -> Vec<bool> {
            let calls = calls.iter();
            calls.map(|call| !call.any(section.range.clone())).collect()
        };
        let mut ran: Vec<_> = sections
            .filter(|section| untouched(section).contains(&false))
            .collect();
        ran.sort_by_cached_key(untouched);
        ensure!(
            !ran.is_empty(),
            "nothing in `{kind}` was touched: is the map that of another binary?"
        );
        writeln!(script, "SECTIONS {{ {kind}.add : ALIGN({alignment:#x}) {{")?;
        for section in ran {
            writeln!(script, "*({})", section.name)?;
        }
        writeln!(script, "}} }} INSERT BEFORE {kind};")?;
    }
    Ok(script)
}

/// Whether the linker can tell a section from others of its kind.
fn is_ordered(section: &Section, kind: &str) -> bool {
    let own = section.name.strip_prefix(kind);
    own.is_some_and(|name| name.starts_with('.'))
        && !section.is_merged()
        && section.range.end - section.range.start <= LARGEST
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAP: &str = "\
             VMA              LMA     Size Align Out     In      Symbol
            1000             1000       30    16 .rodata
            1000             1000       10     8         /target/weir.o:(.rodata..Lanon.1)
            1010             1010       10     8         /target/weir.o:(.rodata.cst16)
            1020             1020       10     8         <internal>:(.rodata)
            2000             2000     2030    16 .text
            2000             2000       10    16         /target/weir.o:(.text.unlikely._ZN4weir4mainE)
            2000             2000        8     1                 _ZN4weir4mainE
            2010             2010       10    16         /target/libc.a(exit.lo):(.text)
            2020             2020       10    16         /target/weir.o:(.text.never)
           10000            10000    40000    16         /target/weir.o:(.text.large)
";

    #[test]
    fn what_was_touched_and_has_a_name_of_its_own_is_listed() -> Result<()> {
        let trace = "I  2004,3\n L 100f,8\n S 1018,8\nI  2012,1\nI  10000,1\n";
        let touched = Touched::read(trace.as_bytes())?;
        let expected = "SECTIONS { .rodata.add : ALIGN(0x1) {\n*(.rodata..Lanon.1)\n} } INSERT BEFORE .rodata;\n\
                        SECTIONS { .text.add : ALIGN(0x200000) {\n*(.text.unlikely._ZN4weir4mainE)\n} } INSERT BEFORE .text;\n";
        assert_eq!(script(&Map::read(MAP)?, &[touched])?, expected);
        Ok(())
    }

    #[test]
    fn what_calls_share_comes_before_what_is_of_one() -> Result<()> {
        const MAP: &str = "\
            1000             1000       10    16         /target/weir.o:(.rodata..Lanon.1)
            2000             2000       10    16         /target/weir.o:(.text.second)
            3000             3000       10    16         /target/weir.o:(.text.first)
            4000             4000       10    16         /target/weir.o:(.text.both)
            5000             5000       10    16         /target/weir.o:(.text.both.too)
";
        let first = "I  3000,1\nI  4000,1\nI  5000,1\n L 1000,8\n";
        let second = "I  2000,1\nI  4000,1\nI  5000,1\n L 1000,8\n";
        let calls = [first, second].map(|trace| Touched::read(trace.as_bytes()));
        let calls = calls.into_iter().collect::<Result<Vec<_>>>()?;
        let script = script(&Map::read(MAP)?, &calls)?;
        let expected = "{\n*(.text.both)\n*(.text.both.too)\n*(.text.first)\n*(.text.second)\n}";
        assert!(script.contains(expected), "{script}");
        Ok(())
    }

    #[test]
    fn a_trace_of_another_binary_is_an_error() -> Result<()> {
        let touched = Touched::read("I  9000000,3\n".as_bytes())?;
        assert!(script(&Map::read(MAP)?, &[touched]).is_err());
        Ok(())
    }
}
