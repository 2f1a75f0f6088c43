//! `weir plugin`: lists, inspects, writes, tests, installs and removes plugins.

mod add;
pub mod coverage;
pub mod difference;
mod inspect;
mod list;
mod native;
mod new;
mod remove;
mod template;
mod test;

use anyhow::Result;
use clap::Subcommand;
use weir_files::Paths;
use weir_sandbox::Sandbox;

use super::output::{Answer, Format, show};

#[derive(Subcommand)]
pub enum Command {
    /// List the plugins of this node.
    List(Format),
    /// Show what a component is, what it asks for, and whether a grant allows that.
    Inspect(inspect::Arguments),
    /// Compile a component and install it.
    Add(add::Arguments),
    /// Remove an installed plugin.
    Remove(remove::Arguments),
    /// Print the entry of weir's configuration that lets a native plugin run, outside the sandbox.
    Native(native::Arguments),
    /// Write the project of a new plugin, with a grant and a test.
    New(new::Arguments),
    /// Run a component in throw-away namespaces, without root, and show what it does and leaves.
    Test(test::Arguments),
}

pub fn run(command: Command) -> Result<Answer> {
    let sandbox = || Sandbox::new(Paths::from_environment(), false).map_err(show);
    match command {
        Command::List(format) => list::run(&*sandbox()?, format),
        Command::Inspect(arguments) => inspect::run(&*sandbox()?, &arguments),
        Command::Add(arguments) => add::run(&*sandbox()?, &arguments),
        Command::Remove(arguments) => remove::run(&*sandbox()?, &arguments),
        Command::Native(arguments) => native::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
    }
}
