//! `weir plugin`: what plugins there are, what they ask for, how they are written and tested, and how
//! they come and go.

mod add;
mod coverage;
pub mod difference;
mod inspect;
mod list;
mod native;
mod new;
mod remove;
mod test;

use anyhow::Result;
use clap::Subcommand;
use weir_files::Paths;
use weir_sandbox::Sandbox;

use super::output::Answer;
use super::output::show;

#[derive(Subcommand)]
pub enum Command {
    /// List the plugins of this node.
    List(list::Arguments),
    /// Show what a component is, what it asks for, and whether a grant covers it.
    Inspect(inspect::Arguments),
    /// Compile a component and install it.
    Add(add::Arguments),
    /// Remove an installed plugin.
    Remove(remove::Arguments),
    /// Print the entry by which weir's own configuration lets a native plugin run, outside of the sandbox.
    Native(native::Arguments),
    /// Write a plugin's project, with a grant and a test, to begin with.
    New(new::Arguments),
    /// Run a component in throw-away namespaces, without root, and see what it does and leaves.
    Test(test::Arguments),
}

/// Carries out a command.
pub fn run(command: Command) -> Result<Answer> {
    let sandbox = || Sandbox::new(Paths::from_environment(), false).map_err(show);
    match command {
        Command::List(arguments) => list::run(&*sandbox()?, &arguments),
        Command::Inspect(arguments) => inspect::run(&*sandbox()?, &arguments),
        Command::Add(arguments) => add::run(&*sandbox()?, &arguments),
        Command::Remove(arguments) => remove::run(&*sandbox()?, &arguments),
        Command::Native(arguments) => native::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
    }
}
