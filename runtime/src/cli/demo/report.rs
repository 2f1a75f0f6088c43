//! What the demo prints: steps with the time they took, and what they show.

use std::io::{IsTerminal, stdout};
use std::time::Instant;

use anyhow::Result;
use serde_json::Value;

/// Prints as the demo goes on.
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
        match self.colour {
            true => println!("\n\x1b[1m{title}\x1b[0m\n"),
            false => println!("\n{title}\n"),
        }
    }

    /// A sentence.
    pub fn say(&self, sentence: &str) {
        println!("  {sentence}");
    }

    /// A document, indented.
    pub fn json(&self, document: &Value) {
        for line in format!("{document:#}").lines() {
            println!("      {line}");
        }
        println!();
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
        println!("  {mark} {took:8.2} ms  {what}");
        outcome
    }

    /// Something that was found.
    pub fn fact(&self, what: &str, found: &str) {
        println!("  {what:<24} {found}");
    }

    /// The last line.
    pub fn end(&self) {
        let took = self.start.elapsed().as_secs_f64();
        println!("\n  The demo took {took:.2} s. Its namespaces end with it.");
    }
}
