//! Pages of `docs/` with commands and what weir prints for them.

use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::house;

/// Where a block of a page begins and ends.
pub const FENCE: &str = "```";

/// Returns the page with what its commands, `$ weir …` at the beginning of a block, print now.
pub fn run_again(page: &str, printed: impl Fn(&str) -> Result<String>) -> Result<String> {
    let mut lines = page.lines();
    let mut again = String::new();
    while let Some(line) = lines.next() {
        again += &format!("{line}\n");
        let Some(command) = line.strip_prefix("$ weir ") else {
            continue;
        };
        again += &printed(command)?;
        lines
            .find(|line| *line == FENCE)
            .with_context(|| format!("the block of `{command}` has an end"))?;
        again += &format!("{FENCE}\n");
    }
    Ok(again)
}

/// Checks that a page, by its path in the repository, is what it would be now. With `UPDATE_DOCS=1` it becomes that.
#[track_caller]
pub fn check(path: &str, page: &str, again: &str) -> Result<()> {
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(house().join(path), again)?;
    }
    let (shown, real) = (steady(page), steady(again));
    let differs = shown.iter().zip(&real).find(|(shown, real)| shown != real);
    assert_eq!(
        differs, None,
        "{path} is out of date; UPDATE_DOCS=1 updates it"
    );
    assert_eq!(shown.len(), real.len(), "{path} has other lines");
    Ok(())
}

/// Text without what is another one with each run or toolchain: times, sizes, digests, generated names, and the widths of
/// columns that follow from them; of a record, its keys.
fn steady(text: &str) -> Vec<String> {
    let lines = text.lines().map(|line| {
        if let Ok(Value::Object(record)) = serde_json::from_str(line) {
            return record.keys().cloned().collect::<Vec<_>>().join(" ");
        }
        let words: Vec<&str> = line.split_whitespace().collect();
        let steady = words.iter().enumerate().map(|(at, word)| {
            let is_time = words.get(at + 1).is_some_and(|unit| is_unit(unit));
            if is_time || is_generated(word) {
                "…"
            } else {
                word
            }
        });
        steady.collect::<Vec<_>>().join(" ")
    });
    lines.collect()
}

fn is_unit(word: &str) -> bool {
    ["µs", "ms", "s", "bytes", "bytes;"].contains(&word)
}

fn is_generated(word: &str) -> bool {
    let like = |pattern: &str| {
        let same = |(c, p): (char, char)| if p == '0' { c.is_ascii_digit() } else { c == p };
        word.len() >= pattern.len() && word.chars().zip(pattern.chars()).all(same)
    };
    is_unit(word)
        || is_mac(word.trim_matches(['"', ',']))
        || word.starts_with("sha256:")
        || word.contains("veth")
        || word.contains("/weir-")
        || like("0000-00-00")
        || like("00:00:00")
}

/// Whether a word is the address of a link, which the kernel chooses.
fn is_mac(word: &str) -> bool {
    let octets: Vec<&str> = word.split(':').collect();
    let is_octet = |octet: &&str| octet.len() == 2 && octet.chars().all(|c| c.is_ascii_hexdigit());
    octets.len() == 6 && octets.iter().all(is_octet)
}
