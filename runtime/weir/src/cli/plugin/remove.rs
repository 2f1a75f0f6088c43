//! `weir plugin remove`.

use anyhow::Result;
use clap::Args;
use serde::Serialize;
use weir_gate::{Event, User};
use weir_grant::document::Digest;
use weir_sandbox::{Loaded, Origin, Sandbox, survey_grants};

use crate::cli::number::counted;
use crate::cli::output::{Answer, Format, say, show};
use crate::cli::outside::refuse;

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name.
    name: String,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Removed {
    name: String,
    /// The digest of the removed component, if known.
    digest: Option<String>,
    /// How many attachments it has made that are there: without it, their CHECK and DEL fail.
    attachments: usize,
    /// The files of its remaining grants.
    grants_left: Vec<String>,
    /// The same as sentences.
    #[serde(skip)]
    remarks: Vec<String>,
}

pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let name = &arguments.name;
    refuse(sandbox.paths(), name)?;
    let attachments = sandbox.catalogue().attachments(name);
    let found = sandbox.catalogue().find(name).ok();
    let digest = found.map(|plugin| plugin.digest);
    let gone = sandbox.catalogue().remove(name);
    // The removal of a plugin that is not installed is not recorded.
    let recorded = if gone.is_ok() || sandbox.catalogue().is_installed(name) {
        let user = User::of_process();
        let outcome = gone.as_ref().copied();
        sandbox.record(name, digest.as_ref(), &Event::Removed { user }, outcome)
    } else {
        Ok(())
    };
    gone.map_err(show)?;
    recorded.map_err(|e| show(e.with_prefix(format_args!("plugin `{name}` is removed"))))?;
    let left = grants_of(sandbox, name);
    let mut remarks: Vec<String> = left.iter().map(|l| remark(l, digest.as_ref())).collect();
    if attachments > 0 {
        let made = counted(attachments as u64, "attachment");
        remarks.push(format!(
            "it has made {made} that are there: their CHECK and DEL fail until it is installed again"
        ));
    }
    let removed = Removed {
        attachments,
        remarks,
        grants_left: left.iter().map(|l| l.origin.to_string()).collect(),
        digest: digest.map(|digest| digest.to_string()),
        name: name.clone(),
    };
    arguments.format.print(&removed, print)?;
    Ok(Answer::Yes)
}

/// The administrator's grants of a plugin. Other commands report one that cannot be read.
fn grants_of(sandbox: &Sandbox, name: &str) -> Vec<Loaded> {
    let mut grants: Vec<Loaded> = survey_grants(sandbox.paths())
        .into_iter()
        .flatten()
        .flatten()
        .collect();
    grants.retain(|loaded| {
        loaded.document.spec.plugin.name == name && loaded.origin != Origin::Shipped
    });
    grants
}

/// What a remaining grant means for the removed component.
fn remark(loaded: &Loaded, removed: Option<&Digest>) -> String {
    let file = &loaded.origin;
    match &loaded.document.spec.plugin.digest {
        Some(granted) if Some(granted) == removed => {
            format!("its grant remains, and allows it to run if it is added again: `{file}`")
        }
        Some(granted) => {
            format!("a grant of its name remains, for component {granted}: `{file}`")
        }
        None => format!(
            "a grant of its name remains, under which nothing runs, because it names no digest: `{file}`"
        ),
    }
}

fn print(removed: &Removed) {
    say!("removed plugin {}", removed.name);
    for remark in &removed.remarks {
        say!("{remark}");
    }
}
