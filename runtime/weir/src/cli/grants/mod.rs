//! `weir grants`: what plugins may do on this node, and tools to work with that.

pub mod check;
pub mod diff;
pub mod document;
mod explain;
pub mod grant_state;
mod host;
pub mod learn;
mod list;
mod missing;
mod new;
mod origin;
mod replay;
mod schema;
pub mod show;
mod suggest;
mod who;

use anyhow::Result;
use clap::Subcommand;
use weir_files::Paths;

use super::output::Answer;
use super::output::show as show_error;

#[derive(Subcommand)]
pub enum Command {
    /// List all grants: those in force, and those that are not, with the reason.
    List(list::Arguments),
    /// Say in words what a plugin may do.
    Show(show::Arguments),
    /// Check documents without putting them in force, and point out overbroad and unreachable rules.
    Check(check::Arguments),
    /// Tell whether an operation would be allowed, and by which rule.
    Explain(explain::Arguments),
    /// Tell which plugins may do something, by which rules and under which conditions.
    Who(who::Arguments),
    /// Run a plugin in temporary namespaces where everything is allowed, and print what it did.
    Learn(learn::Arguments),
    /// Print the smallest grant that covers what was recorded, to review.
    Suggest(suggest::Arguments),
    /// Compare two grants, or what two components ask for.
    Diff(diff::Arguments),
    /// Print a grant to review for a plugin that has none: its digest, and what it asks for.
    New(new::Arguments),
    /// Print the JSON Schema of a document, for editors and pipelines.
    Schema,
}

pub fn run(command: Command) -> Result<Answer> {
    let paths = Paths::from_environment();
    match command {
        Command::List(arguments) => list::run(&paths, &arguments),
        Command::Show(arguments) => show::run(&paths, &arguments),
        Command::Check(arguments) => check::run(&paths, &arguments),
        Command::Explain(arguments) => explain::run(&paths, &arguments),
        Command::Who(arguments) => who::run(&paths, &arguments),
        Command::Learn(arguments) => learn::run(paths, &arguments),
        Command::Suggest(arguments) => suggest::run(&paths, &arguments),
        Command::Diff(arguments) => diff::run(paths, &arguments),
        Command::New(arguments) => new::run(paths, &arguments),
        Command::Schema => {
            schema::run();
            Ok(Answer::Yes)
        }
    }
}
