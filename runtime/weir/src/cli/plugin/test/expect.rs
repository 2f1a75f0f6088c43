//! `--expect FILE`: compares the outcome of ADD with what is expected, and writes that with `--update`.

use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use similar::TextDiff;
use weir_grant::reading;
use weir_sandbox::Invalid;

use super::attached::Attached;
use super::placeholders::{Placeholders, in_texts};
use super::plan::Plan;
use crate::cli::output::{print_line, say};

/// What a document should have been.
const EXPECTED: &str = "a mapping, with `result`, `added` and `removed`";

/// The first lines of a written document.
const HEAD: &str = "\
# What is expected of ADD; `weir plugin test --expect FILE --update` writes it.
# `{netns}`, `{mac of PLACE LINK}` and `veth{1}`, a generated name, stand for the values of each run.
";

/// What is expected of ADD, or its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    result: Value,
    #[serde(default)]
    added: Vec<String>,
    #[serde(default)]
    removed: Vec<String>,
}

/// The file, read before the namespaces are entered. One that may be written is also opened there: inside, root is not the
/// owner of every user's files.
pub struct Expected {
    path: PathBuf,
    text: String,
    /// None if it is to be written again.
    document: Option<Document>,
    /// With `--update`, until it is written.
    to_write: Option<File>,
}

/// Removes the file if it was made to be written, and was not.
impl Drop for Expected {
    fn drop(&mut self) {
        if self.to_write.is_some() && self.text.is_empty() {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The answer.
#[derive(Serialize)]
pub struct Compared {
    file: String,
    pub matches: bool,
    /// Whether the file was written.
    pub updated: bool,
    /// The lines of a unified diff: `-` for what is expected, `+` for the outcome of ADD.
    diff: Vec<String>,
    /// Whether there was nothing to compare, or nothing to write.
    #[serde(skip)]
    failed: bool,
}

impl Expected {
    /// Errors: a file that does not exist, unless it is to be written; one that is not valid, with line and column.
    pub fn read(path: &Path, updates: bool) -> Result<Self> {
        if updates {
            return Self::open(path);
        }
        if !path.exists() {
            bail!("`{}` does not exist: `--update` writes it", path.display());
        }
        let text =
            fs::read_to_string(path).with_context(|| format!("read `{}`", path.display()))?;
        let document = reading::read(text.as_bytes(), EXPECTED).map_err(|mistakes| Invalid {
            path: path.to_owned(),
            mistakes,
        })?;
        Ok(Self {
            path: path.to_owned(),
            text,
            document: Some(document),
            to_write: None,
        })
    }

    fn open(path: &Path) -> Result<Self> {
        let context = || format!("write `{}`", path.display());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(path).with_context(context)?;
        let mut text = String::new();
        file.read_to_string(&mut text).with_context(context)?;
        Ok(Self {
            path: path.to_owned(),
            // It may be a damaged one.
            document: reading::read(text.as_bytes(), EXPECTED).ok(),
            text,
            to_write: Some(file),
        })
    }

    /// Compares the outcome of ADD, or writes it if that is wanted and everything else of the test `passed`.
    ///
    /// Errors: the file cannot be written.
    pub fn compare(
        mut self,
        plan: &Plan,
        attached: Option<&Attached>,
        passed: bool,
    ) -> Result<Compared> {
        let file = self.path.display().to_string();
        let mut compared = Compared {
            file,
            matches: false,
            updated: false,
            diff: Vec::new(),
            failed: attached.is_none(),
        };
        if let Some(attached) = attached {
            let is = Document::of(attached);
            let placeholders = Placeholders::of(attached);
            let expected = self.document.as_ref().map(|d| d.expanded(&placeholders));
            compared.matches = expected.as_ref() == Some(&is);
            if self.to_write.is_some() {
                compared.failed = !passed;
                if !compared.matches && passed {
                    let literal = format!("{} {}", plan.words(), self.text);
                    let new = is.folded(&placeholders.except_in(&literal));
                    return self.write(&new, compared);
                }
            } else if let Some(expected) = expected {
                compared.diff = difference(&expected, &is)?;
            }
        }
        Ok(compared)
    }

    fn write(&mut self, new: &Document, compared: Compared) -> Result<Compared> {
        let text = HEAD.to_owned() + &new.to_yaml()?;
        let context = || format!("write `{}`", self.path.display());
        if let Some(mut file) = self.to_write.take() {
            file.rewind().with_context(context)?;
            file.write_all(text.as_bytes()).with_context(context)?;
            file.set_len(text.len() as u64).with_context(context)?;
        }
        Ok(Compared {
            matches: true,
            updated: true,
            ..compared
        })
    }
}

impl Document {
    fn of(attached: &Attached) -> Self {
        Self {
            result: attached.shown.clone(),
            added: attached.changes.added.clone(),
            removed: attached.changes.removed.clone(),
        }
        .sorted()
    }

    fn to_yaml(&self) -> Result<String> {
        Ok(serde_saphyr::to_string(self)?)
    }

    /// The order of lines means nothing, and differs with the values in them.
    fn sorted(mut self) -> Self {
        self.added.sort();
        self.removed.sort();
        self
    }

    fn folded(&self, placeholders: &Placeholders) -> Self {
        self.replaced(&|text| placeholders.fold(text))
    }

    fn expanded(&self, placeholders: &Placeholders) -> Self {
        self.replaced(&|text| placeholders.expand(text))
    }

    fn replaced(&self, replace: &dyn Fn(&str) -> String) -> Self {
        let lines = |lines: &[String]| lines.iter().map(|line| replace(line)).collect();
        Self {
            result: in_texts(&self.result, replace),
            added: lines(&self.added),
            removed: lines(&self.removed),
        }
        .sorted()
    }
}

/// The lines of a unified diff, with an ellipsis between places that are apart; none if they are the same.
fn difference(expected: &Document, is: &Document) -> Result<Vec<String>> {
    let (expected, is) = (expected.to_yaml()?, is.to_yaml()?);
    let diff = TextDiff::from_lines(&*expected, &*is);
    let text = diff.unified_diff().context_radius(3).to_string();
    let line = |line: &str| if line.starts_with("@@") { "…" } else { line }.to_owned();
    // The first place begins with its numbers of lines.
    Ok(text.lines().skip(1).map(line).collect())
}

impl Compared {
    pub fn print(&self) {
        let file = &self.file;
        if self.updated {
            return say!("expected    written to {file}");
        }
        if self.failed {
            return say!("expected    {file} was not compared or written, because the test failed");
        }
        if self.matches {
            return say!("expected    as in {file}");
        }
        say!("expected    {file} differs: `-` is expected, `+` is the outcome of ADD");
        print_line!();
        for line in &self.diff {
            say!("    {line}");
        }
        print_line!();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(line: &str) -> Document {
        Document {
            result: json!({ "cniVersion": "1.1.0", "dns": { "search": [line] }, "mtu": 1500, "none": [] }),
            added: vec![line.to_owned()],
            removed: Vec::new(),
        }
    }

    /// A plugin chooses the texts in it.
    #[test]
    fn what_is_written_is_read_as_it_was() {
        for line in [
            "host: address 10.1.0.2/24 on eth0",
            "no",
            "null",
            "~",
            "1.0",
            "0x10",
            "- a",
            "# a",
            "a # b",
            "{a}",
            "[a",
            "*a",
            "&a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "'a'",
            "\"a\"",
            "",
            " a ",
            "a\nb",
            "a\n",
            "a\tb",
            "a\u{1b}[31m",
            "a\u{85}b\u{2028}c\u{feff}d\u{202e}e",
            "ü",
            "---",
            "...",
            "a:",
            ": a",
        ] {
            let document = document(line);
            let text = document
                .to_yaml()
                .unwrap_or_else(|e| panic!("{line:?}: {e}"));
            let text = HEAD.to_owned() + &text;
            let read = reading::read::<Document>(text.as_bytes(), EXPECTED);
            assert_eq!(read.as_ref(), Ok(&document), "{text}");
        }
    }

    #[test]
    fn a_difference_has_the_lines_of_both() {
        let (expected, is) = (document("a"), document("b"));
        let lines = difference(&expected, &is).expect("YAML");
        let changed = lines.iter().filter(|line| line.starts_with(['-', '+']));
        let changed: Vec<&str> = changed.map(|line| line.trim_end()).collect();
        assert_eq!(changed, ["-    - a", "+    - b", "-- a", "+- b"]);
        assert_eq!(difference(&is, &is).expect("YAML"), [""; 0]);
    }
}
