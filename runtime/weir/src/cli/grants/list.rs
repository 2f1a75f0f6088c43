//! `weir grants list`: every grant of the node.

use std::collections::BTreeSet;

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use weir_files::Paths;
use weir_grant::diagnostic::expected_one_of;

use weir_sandbox::Broken;

use super::grant_state::{self, Grant, State};
use super::host::{changers, print_changers};
use crate::cli::output::{Answer, Format, complain, print_line};
use crate::cli::outside::Outside;
use crate::cli::table::{or_dash, print_table_with_notes};

#[derive(Args)]
pub struct Arguments {
    /// Only grants of this plugin.
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,
    /// Only what may change the host: which plugins, with what, and whose they are.
    #[arg(long)]
    host: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Listed {
    /// The document's name; none if it cannot be read.
    name: Option<String>,
    plugin: Option<String>,
    networks: Vec<String>,
    /// `shipped`, or the file.
    from: String,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<String>,
    /// The origins of the grants that it keeps from being in force.
    shadows: Vec<String>,
}

/// No if a grant needs mending.
pub fn run(paths: &Paths, arguments: &Arguments) -> Result<Answer> {
    let wanted = arguments.plugin.as_deref();
    let all = grant_state::survey(paths)?;
    let valid: Vec<&Grant> = all.iter().flatten().collect();
    if let Some(plugin) = wanted.filter(|p| !valid.iter().any(|grant| grant.plugin() == *p)) {
        match Outside::of(paths, plugin)? {
            Some(outside) => complain(&outside.to_string()),
            None => complain(&no_such_plugin(&valid, plugin)),
        }
    }
    grant_state::tell_not_read(paths)?;
    if arguments.host {
        let changers = changers(paths, &valid, wanted)?;
        arguments
            .format
            .print(&changers, |changers| print_changers(changers))?;
        for broken in all.iter().filter_map(|one| one.as_ref().err()) {
            complain(&grant_state::not_valid(broken));
        }
        let needs_fixing = all.iter().any(|one| match one {
            Ok(grant) => grant.state.needs_fixing(),
            Err(_) => true,
        });
        return Ok((!needs_fixing).into());
    }
    let listed = all.iter().filter_map(|one| match one {
        Err(broken) => Some(not_valid(broken)),
        Ok(grant) if wanted.is_some_and(|plugin| plugin != grant.plugin()) => None,
        Ok(grant) => Some(listed(grant, &valid)),
    });
    let listed: Vec<Listed> = listed.collect();
    arguments.format.print(&listed, |listed| print(listed))?;
    let needs_fixing = listed.iter().any(|one| one.state.needs_fixing());
    Ok((!needs_fixing).into())
}

fn no_such_plugin(all: &[&Grant], plugin: &str) -> String {
    let known: BTreeSet<&str> = all.iter().map(|grant| grant.plugin()).collect();
    let known: Vec<&str> = known.into_iter().collect();
    let expected = expected_one_of(plugin, &known);
    format!("no grant is for plugin `{plugin}`; {expected}")
}

fn listed(grant: &Grant, all: &[&Grant]) -> Listed {
    let document = &grant.loaded.document;
    let shadowed = all
        .iter()
        .filter(|one| one.by.contains(&grant.loaded.origin));
    Listed {
        name: Some(document.metadata.name.clone()),
        plugin: Some(grant.plugin().to_owned()),
        networks: document.networks().collect(),
        from: grant.loaded.origin.to_string(),
        state: grant.state,
        because: grant.because.clone(),
        shadows: shadowed.map(|one| one.loaded.origin.to_string()).collect(),
    }
}

fn not_valid(broken: &Broken) -> Listed {
    Listed {
        name: None,
        plugin: None,
        networks: Vec::new(),
        from: broken.file.display().to_string(),
        state: State::Invalid,
        because: Some(broken.error.msg.clone()),
        shadows: Vec::new(),
    }
}

fn print(listed: &[Listed]) {
    if listed.iter().any(|one| one.state == State::Invalid) {
        print_line!("A grant is not valid: no plugin runs until it is fixed or removed.\n");
    }
    let row = |one: &Listed| {
        let row = [
            or_dash(one.name.clone().unwrap_or_default()),
            or_dash(one.plugin.clone().unwrap_or_default()),
            networks(one),
            one.state.word().to_owned(),
            one.from.clone(),
        ];
        // The reason that stops the others is printed above.
        let is_said = one.state == State::Stopped;
        (row, one.because.clone().filter(|_| !is_said))
    };
    let titles = ["NAME", "PLUGIN", "NETWORKS", "STATE", "FROM"];
    print_table_with_notes(titles, listed.iter().map(row).collect());
}

fn networks(one: &Listed) -> String {
    match (&one.name, one.networks.as_slice()) {
        (None, _) => "-".to_owned(),
        (Some(_), []) => "none".to_owned(),
        (Some(_), networks) => networks.join(","),
    }
}
