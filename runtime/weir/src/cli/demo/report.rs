//! The output of the demo: steps with the time they took.

use std::io::{IsTerminal, stdout};
use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

use crate::cli::output::print_line;

/// Prints while the demo runs.
pub struct Report {
    start: Instant,
    colour: bool,
}

impl Report {
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            colour: stdout().is_terminal(),
        }
    }

    pub fn title(&self, title: &str) {
        print_line!("\n{}\n", self.coloured("1", title));
    }

    fn coloured(&self, code: &str, text: &str) -> String {
        if self.colour {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    pub fn say(&self, sentence: &str) {
        print_line!("  {sentence}");
    }

    pub fn json(&self, document: &Value) {
        for line in format!("{document:#}").lines() {
            print_line!("      {line}");
        }
        print_line!();
    }

    /// Does one step and prints how long it took.
    pub fn step<T>(&self, what: &str, act: impl FnOnce() -> Result<T>) -> Result<T> {
        let start = Instant::now();
        let outcome = act();
        let took = start.elapsed().as_secs_f64() * 1000.0;
        let mark = match &outcome {
            Ok(_) => self.coloured("32", "ok    "),
            Err(_) => self.coloured("31", "failed"),
        };
        print_line!("  {mark} {took:8.2} ms  {what}");
        outcome
    }

    pub fn fact(&self, what: &str, found: &str) {
        print_line!("  {what:<24} {found}");
    }

    pub fn end(&self) {
        let took = self.start.elapsed().as_secs_f64();
        print_line!("\n  The demo took {took:.2} s. Its namespaces end with it.");
    }
}
