//! What reference plugins of a later version did, in files of the repository: see `differential`.
//!
//! `UPDATE_RECORDED` names the commit of containernetworking/plugins that the plugins in `WEIR_REFERENCE` were built from,
//! and has the recordings written anew.

use std::env;
use std::fs::{self, File};
use std::io::Write as _;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::house;

/// Names the commit.
const UPDATE: &str = "UPDATE_RECORDED";

/// How a line begins that a virtual machine hands out on standard error.
const HANDED_OUT: &str = "recorded: ";

/// A file of recordings: of one plugin.
#[derive(Default, Serialize, Deserialize)]
struct Recordings {
    commit: String,
    cases: Map<String, Value>,
}

/// Keeps the recording of a case, if recordings are to be written.
pub fn keep(plugin: &str, case: &str, steps: &Value) -> Result<()> {
    match env::var(UPDATE) {
        Ok(commit) => write(plugin, case, steps, &commit),
        Err(_) => {
            // In a virtual machine, which hands it out.
            let line = json!({"plugin": plugin, "case": case, "steps": steps});
            if !house().exists() {
                std::io::stderr().write_all(format!("{HANDED_OUT}{line}\n").as_bytes())?;
            }
            Ok(())
        }
    }
}

/// Keeps what a virtual machine has handed out, if recordings are to be written.
pub fn keep_handed_out(standard_error: &str) -> Result<()> {
    let Ok(commit) = env::var(UPDATE) else {
        return Ok(());
    };
    let lines = standard_error.lines();
    for line in lines.filter_map(|line| line.strip_prefix(HANDED_OUT)) {
        let line: Value = serde_json::from_str(line)?;
        let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
        write(&text("plugin"), &text("case"), &line["steps"], &commit)?;
    }
    Ok(())
}

/// Puts the recording of a case into its plugin's file, which other tests may be writing as well.
fn write(plugin: &str, case: &str, steps: &Value, commit: &str) -> Result<()> {
    let directory = house().join("tests/differential/recorded");
    let lock = File::open(&directory).with_context(|| directory.display().to_string())?;
    lock.lock()?;
    let file = directory.join(plugin).with_extension("json");
    let mut recordings: Recordings = serde_json::from_str(&fs::read_to_string(&file)?)?;
    commit.clone_into(&mut recordings.commit);
    recordings.cases.insert(case.to_owned(), steps.clone());
    Ok(fs::write(&file, text(&recordings))?)
}

/// One line for each step, so that a difference between two versions can be read.
fn text(recordings: &Recordings) -> String {
    let cases = recordings.cases.iter().map(|(name, steps)| {
        let steps = steps.as_object().into_iter().flatten();
        let lines: Vec<String> = steps
            .map(|(step, noted)| format!("{}: {noted}", json!(step)))
            .collect();
        format!("{}: {{\n{}\n}}", json!(name), lines.join(",\n"))
    });
    let cases: Vec<String> = cases.collect();
    let commit = json!(recordings.commit);
    format!(
        "{{\n\"commit\": {commit},\n\"cases\": {{\n{}\n}}\n}}\n",
        cases.join(",\n")
    )
}
