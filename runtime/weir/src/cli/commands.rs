//! The commands that people type.

use std::env;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};
use weir_grant::text::printable;

use super::output::{Answer, Failure, complain, finish};
use super::{audit, command_pages, demo, grants, install, net, plugin, report, version};

/// Variables that every command reads.
const ENVIRONMENT: &str = "\
Environment:
  WEIR_ROOT  An absolute path: weir's files are below it, such as WEIR_ROOT/etc/weir/grants.d, in place
             of /. For trying weir without root";

/// A CNI runtime in which every network plugin is a sandboxed WebAssembly component.
///
/// Called with CNI_COMMAND set, as a container runtime does, weir is a CNI plugin instead: the
/// plugin of the name it is called by, or the delegating plugin when it is called `weir`.
#[derive(Parser)]
#[command(name = "weir", version, max_term_width = 100, after_help = ENVIRONMENT)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what weir does: two containers, a bridge, real packets, and a hostile plugin.
    ///
    /// Everything happens in a new user and network namespace: it needs no root and changes nothing
    /// outside.
    Demo,
    /// Install the binary and a link for each plugin in a directory of CNI plugins.
    ///
    /// With --kubernetes also the configuration that makes weir the delegating plugin of the node, as soon as
    /// that of the default network exists. A file that is replaced is kept beside it under a name that ends in
    /// `.weir-replaced`, for `weir uninstall`.
    Install(Box<install::Arguments>),
    /// Remove what `weir install` has installed, the configuration first, and put back what it replaced.
    Uninstall(install::UninstallArguments),
    /// Attach containers to networks and detach them, as a container runtime would.
    #[command(subcommand)]
    Net(net::Command),
    /// Look at plugins, publish, install and remove them.
    #[command(subcommand)]
    Plugin(plugin::Command),
    /// Look at grants: what plugins may do on this node.
    #[command(subcommand)]
    Grants(grants::Command),
    /// Show the audit log: what plugins did, and what they were denied.
    Audit(audit::Arguments),
    /// Print which weir this is, and what is built into it.
    Version(version::Arguments),
    /// Print a script with which a shell completes weir's commands and options.
    ///
    /// bash reads it from `/usr/share/bash-completion/completions/weir`, zsh as `_weir` from a directory of
    /// `$fpath`, fish from `~/.config/fish/completions/weir.fish`. The Debian package has them.
    Completions { shell: command_pages::Shell },
    /// Write a manual page for each command into a directory, for a package of weir.
    #[command(hide = true)]
    Man { directory: PathBuf },
    /// Report the events on standard input about a pod to the cluster: an ADD starts this.
    #[command(hide = true)]
    ReportEvents,
}

/// Describes the whole command line.
fn description() -> clap::Command {
    Arguments::command()
        .mut_subcommand("install", install::with_variables)
        .mut_subcommand("uninstall", install::with_variables)
}

pub fn run() -> ExitCode {
    let matches = description().try_get_matches();
    let command = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments.command,
        Err(error) => return explain(&error),
    };
    if only_prints(&command) {
        end_with_the_reader();
    }
    let outcome = match command {
        Command::Demo => demo::run().map(done),
        Command::Install(arguments) => install::run(&arguments),
        Command::Uninstall(arguments) => install::uninstall(&arguments).map(done),
        Command::Net(command) => net::run(command),
        Command::Plugin(command) => plugin::run(command),
        Command::Grants(command) => grants::run(command),
        Command::Audit(arguments) => audit::run(&arguments),
        Command::Version(arguments) => version::run(&arguments).map(done),
        Command::Completions { shell } => command_pages::complete(shell, description()).map(done),
        Command::Man { directory } => command_pages::man(&directory, description()).map(done),
        Command::ReportEvents => report::run().map(done),
    };
    end(outcome)
}

/// Prints what is wrong with the command line, or the help.
fn explain(error: &clap::Error) -> ExitCode {
    let code = u8::try_from(error.exit_code()).unwrap_or(u8::MAX);
    if let Some(text) = without_misleading_words(error) {
        // There is no way to report a failure.
        let _ = io::stderr().write_all(text.as_bytes());
        return code.into();
    }
    match error.print() {
        Err(unwritten) if unwritten.kind() == ErrorKind::BrokenPipe => code.into(),
        Err(unwritten) if !error.use_stderr() => {
            complain(&format!("cannot write to standard output: {unwritten}"));
            ExitCode::FAILURE
        }
        _ => code.into(),
    }
}

/// The text of an error whose command line has characters that control a terminal or end a line: those words, escaped, in place of
/// clap's, which shows them as they are.
fn without_misleading_words(error: &clap::Error) -> Option<String> {
    let words: Vec<String> = env::args_os()
        .map(|word| word.to_string_lossy().into_owned())
        .flat_map(|word| {
            let value = word.split_once('=').map(|(_, value)| value.to_owned());
            [Some(word), value].into_iter().flatten()
        })
        .filter(|word| printable(word) != *word)
        .collect();
    if words.is_empty() || !error.use_stderr() {
        return None;
    }
    let mut text = error.to_string();
    for word in &words {
        text = text.replace(word, &printable(word));
    }
    let lines: Vec<String> = text.split('\n').map(printable).collect();
    Some(lines.join("\n"))
}

/// Prints the error of a command, or that its output could not be written.
fn end(outcome: Result<Answer>) -> ExitCode {
    let unwritten = finish().err();
    let has_reader = !unwritten.as_ref().is_some_and(Failure::is_without_reader);
    let answer = match outcome {
        Ok(answer) => answer.into(),
        Err(error) if Failure::is_cause_of(&error) && !has_reader => ENDED_WITH_THE_READER.into(),
        Err(error) => {
            if !Failure::is_cause_of(&error) {
                complain(&format!("{error:#}"));
            }
            ExitCode::FAILURE
        }
    };
    match unwritten {
        Some(failure) if has_reader => {
            complain(&failure.to_string());
            ExitCode::FAILURE
        }
        _ => answer,
    }
}

/// The exit code of a shell for a program that `SIGPIPE` ended.
const ENDED_WITH_THE_READER: u8 = 128 + Signal::SIGPIPE as u8;

/// Whether a command only reads and prints, so that it may end at any time.
fn only_prints(command: &Command) -> bool {
    match command {
        // A registry or a credential helper that hangs up is an error to report, not a signal that ends weir.
        Command::Plugin(command) => !matches!(
            command,
            plugin::Command::Test(_)
                | plugin::Command::Push(_)
                | plugin::Command::Sign(_)
                | plugin::Command::Verify(_)
                | plugin::Command::Pull(_)
                | plugin::Command::Save(_)
        ),
        Command::Grants(command) => !matches!(command, grants::Command::Learn(_)),
        Command::Audit(_) => true,
        Command::Net(command) => matches!(
            command,
            net::Command::List(_) | net::Command::Attachments(_)
        ),
        Command::Version(_) | Command::Completions { .. } => true,
        Command::Demo
        | Command::Install(_)
        | Command::Uninstall(_)
        | Command::Man { .. }
        | Command::ReportEvents => false,
    }
}

fn done((): ()) -> Answer {
    Answer::Yes
}

/// Ends the program without a message when the reader of its output ends, as `head` does.
fn end_with_the_reader() {
    // SAFETY: no handler is installed, only the system's default action. It always succeeds for
    // this signal.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}
