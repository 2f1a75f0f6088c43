//! The linker's map (`ld.lld -Map`).

use std::ops::Range;

use anyhow::{Result, ensure};

/// Where each section of the input is in a binary.
pub struct Map<'a>(Vec<Section<'a>>);

/// A section of an input file.
pub struct Section<'a> {
    pub range: Range<u64>,
    pub name: &'a str,
    file: &'a str,
}

impl<'a> Map<'a> {
    /// Reads a map. Errors: it has no sections.
    pub fn read(text: &'a str) -> Result<Self> {
        let sections: Vec<_> = text.lines().filter_map(Section::of_line).collect();
        ensure!(
            !sections.is_empty(),
            "no sections: expected a map of `ld.lld`"
        );
        Ok(Self(sections))
    }

    /// The sections, by address.
    pub fn sections(&self) -> impl Iterator<Item = &Section<'a>> {
        self.0.iter()
    }
}

impl<'a> Section<'a> {
    /// Reads `VMA LMA SIZE ALIGN FILE:(SECTION)`. All numbers but the last are hexadecimal. Lines without a file are of sections
    /// of the output, and of symbols.
    fn of_line(line: &'a str) -> Option<Self> {
        let (place, name) = line.strip_suffix(')')?.split_once(":(")?;
        let mut words = place.split_ascii_whitespace();
        let mut number = || u64::from_str_radix(words.next()?, 16).ok();
        let (start, _, size) = (number()?, number()?, number()?);
        let file = words.nth(1)?;
        let range = start..start.checked_add(size)?;
        Some(Self { range, name, file })
    }

    /// Whether the linker made it from sections of several files, or may merge it with those.
    pub(crate) fn is_merged(&self) -> bool {
        let merged = [".rodata.cst", ".rodata.str"];
        self.file == "<internal>" || merged.iter().any(|kind| self.name.starts_with(kind))
    }
}
