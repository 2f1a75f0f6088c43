//! The commands that people type.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use nix::sys::signal::{SigHandler, Signal, signal};

use super::output::Answer;
use super::{audit, demo, grants, install, net, plugin};

/// A CNI runtime in which every network plugin is a sandboxed WebAssembly component.
///
/// Called with CNI_COMMAND set, as a container runtime does, weir is a CNI plugin instead: the
/// plugin of the name it is called by, or the delegating plugin when it is called `weir`.
#[derive(Parser)]
#[command(name = "weir", version, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show what weir does: two containers, a bridge, real packets, and a hostile plugin.
    ///
    /// Everything happens in a user and network namespace of its own; no root is needed and
    /// nothing outside is touched.
    Demo,
    /// Put the binary and a link for each plugin into a directory of CNI plugins.
    Install {
        /// Where the container runtime looks for CNI plugins.
        #[arg(long, value_name = "DIR", default_value = "/opt/cni/bin")]
        bin_dir: PathBuf,
    },
    /// Attach containers to networks and detach them, as a container runtime would.
    #[command(subcommand)]
    Net(net::Command),
    /// Look at plugins, install and remove them.
    #[command(subcommand)]
    Plugin(plugin::Command),
    /// Look at grants: what plugins may do on this node.
    #[command(subcommand)]
    Grants(grants::Command),
    /// Show the audit log: what plugins did, and what was denied them.
    Audit(audit::Arguments),
}

/// Parses the command line and carries it out.
pub fn run() -> ExitCode {
    let command = Arguments::parse().command;
    if matches!(
        command,
        Command::Plugin(_) | Command::Grants(_) | Command::Audit(_)
    ) {
        end_with_the_reader();
    }
    let outcome = match command {
        Command::Demo => demo::run().map(done),
        Command::Install { bin_dir } => install::run(&bin_dir).map(done),
        Command::Net(command) => net::run(command).map(done),
        Command::Plugin(command) => plugin::run(command),
        Command::Grants(command) => grants::run(command),
        Command::Audit(arguments) => audit::run(&arguments),
    };
    match outcome {
        Ok(answer) => answer.into(),
        Err(error) => {
            eprintln!("weir: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn done((): ()) -> Answer {
    Answer::Yes
}

/// Who reads a list may have seen enough, as `head` has: that ends what prints it, quietly.
fn end_with_the_reader() {
    // SAFETY: no handler is installed, only the system's default action. It always succeeds for
    // this signal.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
}
