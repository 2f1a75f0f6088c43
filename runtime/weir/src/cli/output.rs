//! How a command answers: as text for people or as JSON for programs, and by its exit code.

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use serde::Serialize;
use weir_cni::Error;

pub(super) use super::standard_output::{Failure, StandardOutput, finish, print};
use weir_gate::escape;
use weir_host::printable;

/// Prints a line as it is, as `println!` does; where it cannot be written, the command's end tells.
macro_rules! print_line {
    () => {
        crate::cli::output::print(format_args!("\n"))
    };
    ($($format:tt)*) => {
        crate::cli::output::print(format_args!("{}\n", format_args!($($format)*)))
    };
}
pub(super) use print_line;

/// The same without the line's end.
macro_rules! print_text {
    ($($format:tt)*) => {
        crate::cli::output::print(format_args!($($format)*))
    };
}
pub(super) use print_text;

/// Prints a line for people, as [`print_line`] does, and in it whatever a plugin, a document or a log has to
/// say: that cannot drive the terminal, pretend another line, or turn the direction of text.
macro_rules! say {
    ($($format:tt)*) => {
        crate::cli::output::print(format_args!(
            "{}\n",
            weir_host::printable(&format!($($format)*))
        ))
    };
}
pub(super) use say;

/// Tells on standard error what is amiss, in as many lines as the message has.
pub fn complain(message: &str) {
    let lines: Vec<String> = message.split('\n').map(printable).collect();
    // There is nobody left to tell of a failure.
    let _ = writeln!(io::stderr(), "weir: {}", lines.join("\n"));
}

/// A CNI error for a person.
pub(super) fn show(error: Error) -> anyhow::Error {
    if error.details.is_empty() {
        anyhow!("{} (CNI error {})", error.msg, error.code.0)
    } else {
        anyhow!(
            "{} (CNI error {})\n  {}",
            error.msg,
            error.code.0,
            error.details
        )
    }
}

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
    /// Whether programs read the answer.
    pub fn is_json(self) -> bool {
        self.output == Output::Json
    }

    /// Prints a value: as JSON, or by `text`, which writes whole lines.
    pub fn print<T: Serialize>(self, value: &T, text: impl FnOnce(&T)) -> Result<()> {
        match self.output {
            Output::Text => text(value),
            Output::Json => print_line!("{}", escape(serde_json::to_string_pretty(value)?)),
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
