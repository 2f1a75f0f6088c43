//! `weir grants suggest`: the smallest grant that covers what was recorded.

use std::collections::hash_map::RandomState;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::hash::BuildHasher;
use std::path::PathBuf;

use crate::cli::policy::suggest::reads::{ReadingFunctions, Reads};
use crate::cli::policy::suggest::{Recorded, WithoutRule, networks_given, suggest};
use anyhow::{Result, anyhow, bail};
use clap::Args;
use ipnet::IpNet;
use serde::Serialize;
use weir_files::Paths;
use weir_grant::document::{API_VERSION, Digest, KIND, Metadata, PluginReference, Spec, Tenants};
use weir_grant::pattern::Pattern;
use weir_grant::phrase::joined;
use weir_grant::query::Query;
use weir_grant::{Document, HostInterfaces, Invocation, Limits, Section};
use weir_sandbox::{Catalogue, Imports, Sandbox};

use super::document::to_yaml;
use super::grant_state;
use super::replay::{Unknown, replay};
use super::show_error;
use crate::cli::output::{Answer, Format, complain, print_line, print_text, say};
use crate::cli::outside::refuse;
use crate::cli::plugin::coverage::{Function, not_granted};
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
    /// If not, what was worked out from the component's imports; none if this node does not have the component.
    #[serde(skip_serializing_if = "Option::is_none")]
    reads_from_imports: Option<Reads>,
    /// Functions that the component imports and the grant does not allow, of capabilities that it has rules for. No record has
    /// them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_granted: Vec<Function>,
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

/// The parts of the records that a suggestion needs.
#[derive(Default)]
struct Collected {
    /// Each operation of the plugin, once.
    distinct: Vec<Recorded>,
    /// Hashes of those, since there may be very many.
    seen: HashSet<u64>,
    hasher: RandomState,
    /// The networks in which addresses were given, by whichever plugin, on each network.
    given: BTreeMap<String, BTreeSet<IpNet>>,
    /// The networks that the plugin ran on.
    networks: BTreeSet<String>,
    attachments: BTreeSet<(String, String)>,
    /// The last digest in a record.
    digest: Option<Digest>,
    operations: u64,
    denied: u64,
    /// What weir refuses whatever the grant says.
    refused: BTreeSet<WithoutRule>,
    /// The interfaces of the host that weir's configuration lists.
    host_interfaces: HostInterfaces,
}

/// Prints a document to review.
pub fn run(paths: &Paths, arguments: &Arguments) -> Result<Answer> {
    let plugin = &arguments.plugin;
    refuse(paths, plugin)?;
    let log = paths.audit_log();
    let file = arguments.records.as_deref().unwrap_or(&log);
    let mut collected = Collected {
        host_interfaces: weir_gate::host_interfaces(paths).map_err(|why| anyhow!(why))?,
        ..Collected::default()
    };
    // The addresses that other plugins added show which networks this one works on.
    let network = arguments.network.as_deref();
    let passes = |r: &Record| {
        let is_of_network = network.is_none_or(|network| r.subject.granted_as() == network);
        is_of_network && (r.subject.plugin == *plugin || gives_address(r))
    };
    let left_out = replay(file, passes, |record, operation| {
        collected.take(arguments, record, operation);
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
    let mut suggestion = collected.suggestion(plugin, left_out, built_in)?;
    if let Some(imports) = imports(paths, &suggestion.document.spec)? {
        if !suggestion.reads {
            add_reads(&imports, &mut suggestion)?;
        }
        suggestion.not_granted = not_granted(&imports, &suggestion.document.spec);
    }
    keep_limits(paths, network, &mut suggestion);
    arguments.format.print(&suggestion, print)?;
    Ok(Answer::Yes)
}

/// What the recorded component imports; none if this node does not have it.
fn imports(paths: &Paths, spec: &Spec) -> Result<Option<Imports>> {
    let sandbox = Sandbox::new(paths.clone(), false).map_err(show_error)?;
    let Ok(plugin) = sandbox.catalogue().find(&spec.plugin.name) else {
        return Ok(None);
    };
    let is_recorded = |digest: &Digest| *digest == plugin.digest;
    if !spec.plugin.digest.as_ref().is_none_or(is_recorded) {
        return Ok(None);
    }
    sandbox.imports(&plugin).map(Some).map_err(show_error)
}

/// Adds the reads that the recorded component imports functions for.
fn add_reads(imports: &Imports, suggestion: &mut Suggestion) -> Result<()> {
    let spec = &mut suggestion.document.spec;
    let imported = &imports.functions;
    let add = |capabilities| Reads::add_to(capabilities, imported).map_err(|why| anyhow!(why));
    let mut reads = add(&mut spec.capabilities)?;
    if let Some(tenants) = &mut spec.tenants {
        let of_tenants = add(&mut tenants.capabilities)?;
        reads.added_for.extend(of_tenants.added_for);
        reads.unknown_for.extend(of_tenants.unknown_for);
    }
    suggestion.reads_from_imports = Some(reads);
    Ok(())
}

/// Gives the suggestion the limits of the plugin's grant in force, if it has one: what was recorded ran within them.
fn keep_limits(paths: &Paths, network: Option<&str>, suggestion: &mut Suggestion) {
    // If a document is not valid, none is in force.
    let grants = grant_state::grants(paths).unwrap_or_default();
    let plugin = &suggestion.document.spec.plugin.name;
    if let Ok(grant) = grant_state::applying(&grants, plugin, network)
        && grant.is_in_force()
    {
        suggestion.limits_from = Some(grant.loaded.origin.to_string());
        suggestion.document.spec.limits = grant.loaded.document.spec.limits.clone();
    }
}

fn gives_address(record: &Record) -> bool {
    record.operation == "address.add" && record.verdict == Verdict::Allowed
}

impl Collected {
    fn take(&mut self, arguments: &Arguments, record: &Record, operation: Box<dyn Query>) {
        let is_own = record.subject.plugin == arguments.plugin;
        if record.verdict == Verdict::Refused {
            return;
        }
        let is_denied = record.verdict == Verdict::Denied;
        if is_denied && !arguments.denied {
            self.denied += u64::from(is_own);
            return;
        }
        if is_own && let Some(because) = operation.flaw() {
            let need = operation.act();
            self.refused.insert(WithoutRule { need, because });
            return;
        }
        if record.operation == "address.add" {
            let given = self
                .given
                .entry(record.subject.granted_as().to_owned())
                .or_default();
            given.extend(networks_given(&*operation));
        }
        if is_own {
            self.operations += 1;
            self.take_own(record, operation);
        }
    }

    fn take_own(&mut self, record: &Record, operation: Box<dyn Query>) {
        if !record.subject.container_id.is_empty() {
            let attachment = (
                record.subject.container_id.clone(),
                record.subject.ifname.clone(),
            );
            self.attachments.insert(attachment);
        }
        self.networks.insert(record.subject.granted_as().to_owned());
        self.digest = record.subject.digest.parse().ok().or(self.digest.take());
        let identity = (
            (
                &record.subject.container_id,
                &record.subject.ifname,
                record.subject.granted_as(),
            ),
            (&record.operation, record.arguments.to_string()),
        );
        if self.seen.insert(self.hasher.hash_one(identity)) {
            self.distinct.push(Recorded {
                invocation: Invocation {
                    host_interfaces: self.host_interfaces.clone(),
                    ..record.subject.invocation()
                },
                operation,
            });
        }
    }

    fn suggestion(self, plugin: &str, left_out: Unknown, built_in: bool) -> Result<Suggestion> {
        let of_network = |network: &String| self.given.get(network);
        let given = self.networks.iter().filter_map(of_network).flatten();
        let given: Vec<IpNet> = given.copied().collect();
        let is_of_tenants =
            |recorded: &Recorded| Section::of(&recorded.invocation.network) == Section::Tenants;
        let reads = self.distinct.iter().any(|r| r.operation.is_read());
        let (of_tenants, own): (Vec<Recorded>, Vec<Recorded>) =
            self.distinct.into_iter().partition(is_of_tenants);
        let mut without_rule: Vec<WithoutRule> = self.refused.into_iter().collect();
        let mut suggest = |recorded: &[Recorded]| {
            let suggested = suggest(recorded, &given).map_err(|why| anyhow!(why))?;
            without_rule.extend(suggested.without_rule);
            Ok::<_, anyhow::Error>(suggested.capabilities)
        };
        let tenants = match of_tenants.as_slice() {
            [] => None,
            recorded => Some(Tenants {
                capabilities: suggest(recorded)?,
                pods: Vec::new(),
            }),
        };
        let document = Document {
            api_version: API_VERSION.to_owned(),
            kind: KIND.to_owned(),
            metadata: Metadata {
                name: plugin.to_owned(),
            },
            spec: Spec {
                plugin: PluginReference {
                    name: plugin.to_owned(),
                    digest: self.digest.filter(|_| !built_in),
                },
                networks: self.networks.iter().map(|n| Pattern::literal(n)).collect(),
                capabilities: suggest(&own)?,
                tenants,
                limits: Limits::default(),
            },
        };
        Ok(Suggestion {
            operations: self.operations,
            attachments: self.attachments.len(),
            reads,
            reads_from_imports: None,
            not_granted: Vec::new(),
            denied: self.denied,
            left_out,
            without_rule,
            limits_from: None,
            document,
        })
    }
}

fn print(suggestion: &Suggestion) {
    let Suggestion {
        operations,
        attachments,
        ..
    } = suggestion;
    print_reads(suggestion);
    let added = suggestion.reads_from_imports.as_ref();
    let but_for_reads = if added.is_some_and(|reads| !reads.added_for.is_empty()) {
        "but for reads "
    } else {
        ""
    };
    print_line!(
        "# Suggested from {operations} operations of {attachments} attachments, and {but_for_reads}no wider than"
    );
    print_line!("# these: review every rule, and widen what other configurations need.");
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
    print_without_rule(&suggestion.without_rule);
    match &suggestion.limits_from {
        Some(from) => {
            say!("# Records do not show limits: these are from the grant in force ({from}).")
        }
        None => {
            print_line!("# Records do not show limits: weir's defaults apply.")
        }
    }
    print_text!("{}", to_yaml(&suggestion.document));
}

/// Says first whether a plugin can run with a grant that is made without its reads.
fn print_reads(suggestion: &Suggestion) {
    if suggestion.reads {
        return;
    }
    let does_not_run = |why: &str| {
        print_line!("# The plugin does not run with this grant: {why}.");
        print_line!("# What it reads was not recorded: `weir grants learn` records it.");
    };
    match &suggestion.reads_from_imports {
        None => {
            does_not_run("reads are missing, and this node does not have the recorded component")
        }
        Some(reads) => {
            if !reads.unknown_for.is_empty() {
                let functions = functions(&reads.unknown_for);
                does_not_run(&format!(
                    "it imports {functions}, and no rule shows for what"
                ));
            }
            if !reads.added_for.is_empty() {
                let added = functions(&reads.added_for);
                print_line!(
                    "# Reads were not recorded: `read` is added for what the plugin changes on the host, and for"
                );
                print_line!("# everything in the container, since it imports {added}.");
            }
        }
    }
}

/// `link.get and sysctl.read`
fn functions(reading: &ReadingFunctions) -> String {
    let functions = reading.iter().flat_map(|(capability, functions)| {
        functions
            .iter()
            .map(move |function| format!("{capability}.{function}"))
    });
    joined(functions.collect(), "and")
}

/// Names functions that may be called where the records did not show it, as in a DEL that is repeated.
fn print_not_granted(functions: &[Function]) {
    let names = functions
        .iter()
        .map(|one| format!("{}.{}", one.capability, one.function));
    let names: BTreeSet<String> = names.collect();
    if !names.is_empty() {
        let names = joined(names.into_iter().collect(), "and");
        print_line!("# No record has what it imports beside that, which stays denied: {names}.");
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
