//! The commands of weir on the pages are commands of this weir: each of their words is one that it takes.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use weir_kit::{binary, house};

/// The pages, by their paths in the repository.
fn pages() -> Result<Vec<String>> {
    let mut pages = vec!["README.md".to_owned()];
    for directory in ["docs", "docs/plugins"] {
        for entry in fs::read_dir(house().join(directory))? {
            let name = entry?.file_name().into_string().ok().context("text")?;
            if name.ends_with(".md") {
                pages.push(format!("{directory}/{name}"));
            }
        }
    }
    pages.sort();
    Ok(pages)
}

/// The commands in a page's blocks: a line that is indented, or begins with a prompt. One that ends with `\` goes on.
fn commands(page: &str) -> Vec<String> {
    let mut commands = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let is_indented = line.starts_with("    ") && !line.starts_with("     ");
        let shown = line.trim_start();
        let prompted = shown.strip_prefix("$ ");
        let Some(command) = prompted.or(is_indented.then_some(shown)) else {
            continue;
        };
        let command = command.strip_prefix("sudo ").unwrap_or(command);
        let Some(first) = command.strip_prefix("weir ") else {
            continue;
        };
        // As the output of `weir version` and of tables begins, too.
        let is_output = prompted.is_none() && first.starts_with(|c: char| !c.is_ascii_lowercase());
        if is_output {
            continue;
        }
        let mut whole = first.to_owned();
        while let Some(before) = whole.strip_suffix('\\') {
            whole = format!("{before} {}", lines.next().unwrap_or_default().trim());
        }
        commands.push(whole);
    }
    commands
}

/// The words of a command, up to what the shell would do with its output.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut quoted = None;
    let mut word = String::new();
    for c in command.chars().chain([' ']) {
        match (quoted, c) {
            (None, '\'' | '"') => quoted = Some(c),
            (Some(quote), c) if c == quote => quoted = None,
            (None, c) if c.is_whitespace() => {
                if matches!(word.as_str(), "|" | ">" | ">>" | "&&" | "#" | "2>&1")
                    || word.starts_with('>')
                {
                    return words;
                }
                if !word.is_empty() {
                    words.push(std::mem::take(&mut word));
                }
            }
            (_, c) => word.push(c),
        }
    }
    words
}

#[test]
fn the_words_of_a_command_end_where_the_shells_begin() {
    for (command, expected) in [
        (
            "grants list             # what is in force",
            &["grants", "list"][..],
        ),
        (
            "audit --container-id '3f2a*'",
            &["audit", "--container-id", "3f2a*"],
        ),
        (
            "grants new labels > labels.yaml",
            &["grants", "new", "labels"],
        ),
        ("grants show ptp >ptp.yaml", &["grants", "show", "ptp"]),
        ("audit --denied | weir grants", &["audit", "--denied"]),
    ] {
        assert_eq!(words(command), expected);
    }
}

/// A word with a whole digest, where the page shortens it: `sha256:28b8…`.
fn with_digest(word: &str) -> String {
    match word.split_once("sha256:") {
        Some((before, shortened)) if shortened.ends_with('…') => {
            format!("{before}sha256:{}", "0".repeat(64))
        }
        _ => word.to_owned(),
    }
}

/// With `--help` a command does nothing, and the words before it are checked.
#[test]
fn each_command_on_a_page_is_one() -> Result<()> {
    let mut wrong = Vec::new();
    let mut count = 0;
    for page in pages()? {
        let text = fs::read_to_string(house().join(&page))?;
        for command in commands(&text) {
            count += 1;
            let output = Command::new(binary())
                .args(words(&command).iter().map(|word| with_digest(word)))
                .arg("--help")
                .env("WEIR_ROOT", Path::new("/nonexistent"))
                .output()?;
            if !output.status.success() {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.lines().next().unwrap_or_default().to_owned();
                wrong.push(format!("{page}: weir {command}: {said}"));
            }
        }
    }
    assert!(count > 90, "{count} commands were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
    Ok(())
}
