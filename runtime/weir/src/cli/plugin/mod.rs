//! `weir plugin`: lists, inspects, writes, tests, publishes, installs and removes plugins.

mod add;
mod arrival;
mod artifact;
pub mod at_uri;
mod component;
pub mod coverage;
pub mod difference;
mod inspect;
pub mod installation;
mod list;
mod load;
mod native;
mod new;
mod proposal;
mod pull;
mod push;
pub mod registry;
mod remove;
mod save;
mod sign;
mod staged;
mod target;
mod template;
mod test;
mod verify;

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
    /// Upload a component to a registry, as an artifact that others can pull.
    Push(push::Arguments),
    /// Sign a component, or an artifact in a registry, with a key.
    Sign(sign::Arguments),
    /// Verify who signed a component or an artifact, and whether the node's policy lets it be installed.
    Verify(verify::Arguments),
    /// Download a component from a registry into a file, to inspect and add it.
    Pull(pull::Arguments),
    /// Download an artifact as an OCI image layout, for nodes without a network.
    Save(save::Arguments),
    /// Take a component out of an OCI image layout into a file, to inspect and add it.
    Load(load::Arguments),
    /// Remove an installed plugin.
    Remove(remove::Arguments),
    /// Print the entry of weir's configuration that lets a native plugin run, outside the sandbox.
    Native(native::Arguments),
    /// Write the project of a new plugin, with a grant and a test.
    New(new::Arguments),
    /// Make a component of the module that Go builds of a plugin.
    Component(component::Arguments),
    /// Run a component in temporary namespaces, without root, and show what it does and leaves.
    Test(test::Arguments),
}

pub fn run(command: Command) -> Result<Answer> {
    let sandbox = || Sandbox::new(Paths::from_environment(), false).map_err(show);
    match command {
        Command::List(format) => list::run(&*sandbox()?, format),
        Command::Inspect(arguments) => inspect::run(&*sandbox()?, &arguments),
        Command::Add(arguments) => add::run(&*sandbox()?, &arguments),
        Command::Push(arguments) => push::run(&*sandbox()?, &arguments),
        Command::Sign(arguments) => sign::run(&*sandbox()?, &arguments),
        Command::Verify(arguments) => verify::run(&*sandbox()?, &arguments),
        Command::Pull(arguments) => pull::run(&*sandbox()?, &arguments),
        Command::Save(arguments) => save::run(&*sandbox()?, &arguments),
        Command::Load(arguments) => load::run(&*sandbox()?, &arguments),
        Command::Remove(arguments) => remove::run(&*sandbox()?, &arguments),
        Command::Native(arguments) => native::run(&arguments),
        Command::New(arguments) => new::run(&arguments),
        Command::Component(arguments) => component::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
    }
}
