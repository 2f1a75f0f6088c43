//! `weir completions` and `weir man`: what the command line's own description gives a shell and a manual.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context, Result};
use clap::{Command, ValueEnum};
use clap_complete::{Generator, generate, shells};
use clap_mangen::Man;

use super::creation_time::creation_time;
use super::output::print_text;

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Fish,
    Zsh,
}

/// Prints the script with which a shell completes weir's command lines.
pub fn complete(shell: Shell, command: Command) -> Result<()> {
    let shown = without_hidden(&command);
    let script = match shell {
        Shell::Bash => script(shells::Bash, shown),
        Shell::Fish => script(shells::Fish, shown),
        Shell::Zsh => script(shells::Zsh, shown),
    };
    print_text!("{}", script?);
    Ok(())
}

/// The same command without those that are not for people, which the scripts would offer.
fn without_hidden(command: &Command) -> Command {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    Command::new(command.get_name().to_owned())
        .version(env!("CARGO_PKG_VERSION"))
        .args(command.get_arguments())
        .subcommands(shown)
}

fn script(shell: impl Generator, mut command: Command) -> Result<String> {
    let name = command.get_name().to_owned();
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    String::from_utf8(script).context("the script is not UTF-8")
}

/// Writes the manual page of each command into a directory, which is created: `weir.1`, `weir-plugin.1`,
/// `weir-plugin-add.1`.
///
/// Errors: the directory cannot be created or written.
pub fn man(directory: &Path, command: Command) -> Result<()> {
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let date = creation_time()?.strftime("%Y-%m-%d").to_string();
    fs::create_dir_all(directory)
        .and_then(|()| write_pages(&command, &date, directory))
        .with_context(|| format!("write the manual pages to `{}`", directory.display()))
}

fn write_pages(command: &Command, date: &str, directory: &Path) -> io::Result<()> {
    let shown = command.get_subcommands().filter(|one| !one.is_hide_set());
    for below in shown {
        write_pages(below, date, directory)?;
    }
    let page = Man::new(command.clone())
        .date(date)
        .source(concat!("weir ", env!("CARGO_PKG_VERSION")))
        .manual("weir");
    page.generate_to(directory).map(drop)
}
