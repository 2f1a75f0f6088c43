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
    /// Starts the clock.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
            colour: stdout().is_terminal(),
        }
    }

    /// A heading.
    pub fn title(&self, title: &str) {
        if self.colour {
            print_line!("\n\x1b[1m{title}\x1b[0m\n")
        } else {
            print_line!("\n{title}\n")
        }
    }

    /// A sentence.
    pub fn say(&self, sentence: &str) {
        print_line!("  {sentence}");
    }

    /// A document, indented.
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
        let mark = match (&outcome, self.colour) {
            (Ok(_), true) => "\x1b[32mok\x1b[0m    ",
            (Ok(_), false) => "ok    ",
            (Err(_), true) => "\x1b[31mfailed\x1b[0m",
            (Err(_), false) => "failed",
        };
        print_line!("  {mark} {took:8.2} ms  {what}");
        outcome
    }

    /// A fact.
    pub fn fact(&self, what: &str, found: &str) {
        print_line!("  {what:<24} {found}");
    }

    /// The last line.
    pub fn end(&self) {
        let took = self.start.elapsed().as_secs_f64();
        print_line!("\n  The demo took {took:.2} s. Its namespaces end with it.");
    }
}
