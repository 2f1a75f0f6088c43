//! The output of commands: text for people or JSON for programs, and the exit code.

use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use clap::{Args, ValueEnum};
use serde::Serialize;
use weir_cni::Error;

pub(super) use super::standard_output::{Failure, StandardOutput, finish, print};
use weir_gate::escape;
use weir_grant::Capability;
use weir_grant::text::printable;

/// Prints a line unchanged, as `println!` does. A failure is reported when the command ends.
macro_rules! print_line {
    () => {
        crate::cli::output::print(format_args!("\n"))
    };
    ($($format:tt)*) => {
        crate::cli::output::print(format_args!("{}\n", format_args!($($format)*)))
    };
}
pub(super) use print_line;

/// The same without the line break.
macro_rules! print_text {
    ($($format:tt)*) => {
        crate::cli::output::print(format_args!($($format)*))
    };
}
pub(super) use print_text;

/// Prints a line for people. Text of a plugin, a document or a log in it cannot control the terminal, fake another line, or
/// change the direction of text.
macro_rules! say {
    ($($format:tt)*) => {
        crate::cli::output::print(format_args!(
            "{}\n",
            weir_grant::text::printable(&format!($($format)*))
        ))
    };
}
pub(super) use say;

/// Prints lines for people, with a title before the first.
pub fn print_list(title: &str, lines: impl IntoIterator<Item = impl Display>) {
    let mut title = title;
    for line in lines {
        say!("{title:<11} {line}");
        title = "";
    }
}

/// Prints a message on standard error, in as many lines as it has.
pub fn complain(message: &str) {
    // There is no way to report a failure.
    let _ = writeln!(io::stderr(), "weir: {}", one_message(message));
}

/// A message whose further lines are indented, so that nothing in it, such as a server's text, looks like another message.
fn one_message(message: &str) -> String {
    let mut lines = message.split('\n').map(printable);
    let mut shown = lines.next().unwrap_or_default();
    for line in lines {
        let indent = if line.starts_with("  ") { "" } else { "  " };
        shown.extend(["\n", indent, &line]);
    }
    shown
}

/// A CNI error for people.
pub(super) fn show(error: Error) -> anyhow::Error {
    let Error { code, msg, details } = error;
    if details.is_empty() {
        anyhow!("{msg} (CNI error {})", code.0)
    } else {
        anyhow!("{msg} (CNI error {})\n  {details}", code.0)
    }
}

/// Returns the words of capabilities: `link, route`.
pub fn capability_words(capabilities: &[Capability]) -> String {
    let words: Vec<&str> = capabilities.iter().map(|c| c.word()).collect();
    words.join(", ")
}

#[derive(Args, Clone, Copy, Debug)]
pub struct Format {
    /// For people (text), or for programs (json).
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

/// The answer of a command. A wrong command line exits with 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Yes, or done: exit code 0.
    Yes,
    /// No, or something is wrong: exit code 3.
    No,
    /// They differ, and the second allows nothing that the first does not: exit code 4.
    Narrower,
}

impl From<bool> for Answer {
    fn from(is_yes: bool) -> Self {
        if is_yes { Self::Yes } else { Self::No }
    }
}

impl From<Answer> for ExitCode {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::Yes => Self::SUCCESS,
            Answer::No => Self::from(3),
            Answer::Narrower => Self::from(4),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_from_elsewhere_does_not_look_like_another_message() {
        let said = one_message("the server says: no\nweir: installed\r\x1b[2K\n  key: unknown");
        assert_eq!(
            said,
            "the server says: no\n  weir: installed\\r\\u{1b}[2K\n  key: unknown"
        );
    }
}
