//! How a command answers: as text for people or as JSON for programs, and by its exit code.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde::Serialize;

/// `--output`, for commands that have both.
#[derive(Args, Clone, Copy, Debug)]
pub struct Format {
    /// For people, or for programs.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    output: Output,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Output {
    #[default]
    Text,
    Json,
}

impl Format {
    /// Prints a value: as JSON, or by `text`, which writes whole lines.
    pub fn print<T: Serialize>(self, value: &T, text: impl FnOnce(&T)) -> Result<()> {
        match self.output {
            Output::Text => text(value),
            Output::Json => println!("{}", serde_json::to_string_pretty(value)?),
        }
        Ok(())
    }
}

/// What a command found out. A failure to find out is an error, and a wrong command line exits with 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, or all is well, or it is done: exit code 0.
    Yes,
    /// No, or not all is well: exit code 3.
    No,
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::from(3),
        }
    }
}
