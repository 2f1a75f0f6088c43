//! `weir grants suggest`: the smallest grant that covers what was recorded.
//!
//! | file | subject |
//! |---|---|
//! | `collected` | the parts of the records that a suggestion needs |
//! | `standing` | the reads that were not recorded, of the grants in force |

mod collected;
mod standing;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use clap::Args;
use serde::Serialize;
use weir_files::Paths;
use weir_grant::Document;
use weir_grant::phrase::joined;
use weir_sandbox::Catalogue;

use self::collected::{Called, Collected};
use self::standing::Standing;
use super::document::{to_yaml, wrapped};
use super::grant_state;
use super::replay::{Unknown, replay};
use crate::cli::output::{Answer, Format, complain, print_line, print_text, say};
use crate::cli::outside::refuse;
use crate::cli::plugin::coverage::Function;
use crate::cli::policy::reads::Functions;
use crate::cli::policy::suggest::WithoutRule;
use crate::cli::record::{Record, Verdict};

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name.
    plugin: String,
    /// Records, as `weir grants learn` prints them; `-` for standard input [default: the node's
    /// audit log].
    #[arg(long, value_name = "FILE")]
    records: Option<PathBuf>,
    /// Only from records of this network.
    #[arg(long, value_name = "NAME")]
    network: Option<String>,
    /// Allow as well what was denied.
    #[arg(long)]
    denied: bool,
    #[command(flatten)]
    format: Format,
}

/// How many operations without a possible rule are shown to people.
const MOST_WITHOUT_RULE: usize = 20;

/// A grant, and the records that it is based on.
#[derive(Serialize)]
struct Suggestion {
    /// Records that were used.
    operations: u64,
    attachments: usize,
    /// Whether reads were recorded.
    reads: bool,
    /// If not, the grants in force whose reads are kept.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    reads_from: BTreeSet<String>,
    /// The functions that the component imports for those reads.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    reads_for: Functions,
    /// Why it is not known whether the plugin runs with the grant.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
    /// Functions that the component imports and the grant does not allow, of capabilities that it has rules for: no record
    /// shows them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_granted: Vec<Function>,
    /// What the grants in force let the plugin change and this one does not, in words: no record shows it, as of a bridge that
    /// existed before the first record.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    not_recorded: BTreeSet<String>,
    /// Denied operations that the grant leaves denied.
    denied: u64,
    /// Records that were not used, because they have no known operation.
    left_out: Unknown,
    /// Operations that no rule can allow.
    without_rule: Vec<WithoutRule>,
    /// The origin of the limits, which records do not show: a grant in force; none for weir's defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    limits_from: Option<String>,
    document: Document,
}

/// Prints a document to review.
pub fn run(paths: &Paths, arguments: &Arguments) -> Result<Answer> {
    let plugin = &arguments.plugin;
    refuse(paths, plugin)?;
    let log = paths.audit_log();
    let file = arguments.records.as_deref().unwrap_or(&log);
    let host_interfaces = weir_gate::host_interfaces(paths).map_err(|why| anyhow!(why))?;
    let mut collected = Collected::new(host_interfaces);
    // The addresses that other plugins added show which networks this one works on.
    let network = arguments.network.as_deref();
    let mut called = Called::default();
    let passes = |r: &Record| {
        called.note(r);
        let is_of_network = network.is_none_or(|network| r.subject.granted_as() == network);
        is_of_network && (r.subject.plugin == *plugin || gives_address(r))
    };
    let left_out = replay(file, passes, |record, operation| {
        collected.take(plugin, arguments.denied, record, operation);
        Ok(())
    })?;
    if collected.operations == 0 {
        left_out.sentences().iter().for_each(|text| complain(text));
        bail!(
            "`{}` has no operation of plugin `{plugin}`{} that was allowed: run it with `weir grants \
             learn {plugin} --config FILE`",
            file.display(),
            network.map_or(String::new(), |network| format!(" on network `{network}`")),
        );
    }
    let built_in = Catalogue::is_built_in(plugin);
    let standing = Standing::of(paths, plugin, &collected);
    let unrecorded = collected.unrecorded(&called, arguments.records.is_some());
    let mut suggestion = collected.suggestion(plugin, left_out, built_in, &standing.bounds())?;
    if !suggestion.reads {
        standing.add_reads(&mut suggestion)?;
    }
    let doubts = doubts(&unrecorded, &suggestion.left_out);
    suggestion.doubts.extend(doubts);
    suggestion.not_granted = standing.not_granted(&suggestion.document.spec);
    suggestion.not_recorded = standing.not_recorded(&suggestion.document.spec);
    keep_limits(paths, network, &mut suggestion);
    arguments.format.print(&suggestion, print)?;
    Ok(Answer::Yes)
}

/// Why the records may not show all that the plugin needs.
fn doubts(unrecorded: &[&str], left_out: &Unknown) -> Vec<String> {
    let unrecorded = unrecorded.iter();
    let mut doubts: Vec<String> = unrecorded
        .map(|command| format!("no {command} of it was recorded"))
        .collect();
    if left_out.has_records() {
        doubts.push("records of what it did are left out".to_owned());
    }
    doubts
}

/// Gives the suggestion the limits of the plugin's grant in force, if it has one, and what pods may request by it: what was
/// recorded ran within them.
fn keep_limits(paths: &Paths, network: Option<&str>, suggestion: &mut Suggestion) {
    // If a document is not valid, none is in force.
    let grants = grant_state::grants(paths).unwrap_or_default();
    let spec = &mut suggestion.document.spec;
    if let Ok(grant) = grant_state::applying(&grants, &spec.plugin.name, network)
        && grant.is_in_force()
    {
        let standing = &grant.loaded.document.spec;
        suggestion.limits_from = Some(grant.loaded.origin.to_string());
        spec.limits = standing.limits.clone();
        let pods = standing.tenants.as_ref().map_or(&[][..], |t| &t.pods);
        if !pods.is_empty() {
            spec.tenants.get_or_insert_default().pods = pods.to_vec();
        }
    }
}

fn gives_address(record: &Record) -> bool {
    record.operation == "address.add" && record.verdict == Verdict::Allowed
}

fn print(suggestion: &Suggestion) {
    let Suggestion {
        operations,
        attachments,
        ..
    } = suggestion;
    print_reads(suggestion);
    let but_for_reads = if suggestion.reads_from.is_empty() {
        ""
    } else {
        "but for reads "
    };
    comment(&format!(
        "Suggested from {operations} operations of {attachments} attachments, and {but_for_reads}no wider than these, except \
         that `attributes`, `owners`, `overlaps` and `ports` are not narrowed to them: review every rule, and widen what other \
         configurations need."
    ));
    if suggestion.denied > 0 {
        print_line!(
            "# {} operations were denied, and still are; `--denied` allows them.",
            suggestion.denied
        );
    }
    for sentence in suggestion.left_out.sentences() {
        say!("# {sentence}.");
    }
    print_not_granted(&suggestion.not_granted);
    print_not_recorded(&suggestion.not_recorded);
    print_without_rule(&suggestion.without_rule);
    match &suggestion.limits_from {
        Some(from) => comment(&format!(
            "Records show neither limits nor what pods may request: both are from the grant in force ({from})."
        )),
        None => comment("Records do not show limits: weir's defaults apply."),
    }
    print_text!("{}", to_yaml(&suggestion.document));
}

/// Says first if it is not known whether the plugin runs with the grant, and where reads are from that were not recorded.
fn print_reads(suggestion: &Suggestion) {
    let Suggestion {
        reads,
        reads_from,
        reads_for,
        doubts,
        ..
    } = suggestion;
    if !doubts.is_empty() {
        let why = joined(doubts.clone(), "and");
        comment(&format!(
            "It is not known whether the plugin runs with this grant: {why}."
        ));
    }
    if *reads {
        return;
    }
    if reads_for.is_empty() && doubts.is_empty() {
        comment("Reads were not recorded, and the plugin imports no function that reads.");
    } else if reads_from.is_empty() {
        comment("What it reads was not recorded: `weir grants learn` records it.");
    } else {
        let from = joined(reads_from.iter().cloned().collect(), "and");
        let functions = functions(reads_for);
        comment(&format!(
            "Reads were not recorded: those that the grant in force ({from}) allows are kept, for {functions}."
        ));
    }
}

/// Prints a comment of the document, in as many lines as it needs.
fn comment(text: &str) {
    let lines = wrapped(text, "# ").replace("\n  ", "\n# ");
    print_line!("{lines}");
}

/// `link.get and sysctl.read`
fn functions(reading: &Functions) -> String {
    let functions = reading.iter().flat_map(|(capability, functions)| {
        functions
            .iter()
            .map(move |function| format!("{capability}.{function}"))
    });
    joined(functions.collect(), "and")
}

/// Names functions that no record shows, as of a DEL that is repeated.
fn print_not_granted(functions: &[Function]) {
    let names: BTreeSet<String> = functions.iter().map(Function::name).collect();
    if !names.is_empty() {
        let names = joined(names.into_iter().collect(), "and");
        comment(&format!(
            "No record shows {names}, which the plugin imports and this grant denies."
        ));
    }
}

/// Says what this grant does not allow any more, although the plugin may need it once.
fn print_not_recorded(acts: &BTreeSet<String>) {
    if acts.is_empty() {
        return;
    }
    comment(
        "The grant in force also allows the following. No record shows it, so this grant denies it, also where the plugin needs it \
         once, such as to create what existed already:",
    );
    for act in acts {
        say!("#   {act}");
    }
}

/// Prints operations that no rule can allow, of which a plugin may have tried very many.
fn print_without_rule(all: &[WithoutRule]) {
    match all.len() {
        0 => return,
        1 => print_line!("# No rule can allow 1 operation that it requested, which stays denied:"),
        n => {
            print_line!("# No rule can allow {n} operations that it requested, which stay denied:")
        }
    }
    for WithoutRule { need, because } in all.iter().take(MOST_WITHOUT_RULE) {
        say!("#   to {need}: {because}");
    }
    if all.len() > MOST_WITHOUT_RULE {
        let others = all.len() - MOST_WITHOUT_RULE;
        print_line!("#   and {others} more: `--output json` lists them all");
    }
}
