//! `weir audit --unused`: what the grants in force allow and no record shows was needed: rules, values of rules, and networks.

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use weir_grant::phrase::joined;

use super::filter::Filter;
use super::parts::{PartlyUsed, Parts};
use super::rules::{self, Rule};
use super::tally::{PluginTally, Tally};
use crate::cli::grants::document::wrapped;
use crate::cli::grants::grant_state::{self, Grant};
use crate::cli::output::{Format, print_line, say};

/// A grant in force, and its rules that allowed nothing that was recorded.
#[derive(Serialize)]
struct Unused {
    plugin: String,
    /// A file, or `shipped`.
    from: String,
    /// The time of the plugin's first record; none if it has no record.
    first: Option<Timestamp>,
    /// When a grant of the plugin was last found changed, after which its rules are counted; none if the log has no such record.
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<Timestamp>,
    /// The globs of the networks that the grant is for.
    networks: Vec<String>,
    /// The networks on which a record shows it; fewer than the globs may cover.
    used_on: Vec<String>,
    /// How many rules the grant has.
    rules: usize,
    unused: Vec<UnusedRule>,
    /// What was not used of rules that were.
    in_part: Vec<PartlyUsed>,
}

#[derive(Serialize)]
struct UnusedRule {
    /// `link[0]`.
    name: String,
    /// What it allows, in words.
    what: String,
    /// Whether it allows only reads, which are recorded only on request: it may well be used.
    reads_only: bool,
}

/// Prints the unused rules of the plugins that pass the filter.
pub fn print(
    grants: &[Grant],
    format: Format,
    filter: &Filter,
    tally: &Tally,
    parts: &Parts<'_>,
) -> Result<()> {
    let is_selected = |grant: &&Grant| grant.is_in_force() && filter.passes_plugin(grant.plugin());
    let in_force = grants.iter().filter(is_selected);
    let unused = in_force.map(|grant| Unused::of(grant, grants, tally, parts));
    let unused: Vec<Unused> = unused.filter(Unused::is_broader).collect();
    format.print(&unused, |unused| {
        if unused.is_empty() {
            print_line!(
                "Every rule of the grants in question was used, on every network that they are for."
            );
        }
        unused.iter().for_each(Unused::print);
    })
}

impl Unused {
    fn of(grant: &Grant, all: &[Grant], tally: &Tally, parts: &Parts<'_>) -> Self {
        let plugin = tally.plugins.get(grant.plugin());
        let used = plugin.map(|tally: &PluginTally| rules::used(grant, all, tally));
        let is_used = |rule: &str| used.as_ref().is_some_and(|used| used.contains_key(rule));
        let document = &grant.loaded.document;
        let applies = |network: &&String| {
            let its = grant_state::applying(all, grant.plugin(), Some(network));
            its.is_ok_and(|its| std::ptr::eq(its, grant))
        };
        let seen = plugin.into_iter().flat_map(|tally| tally.rules.keys());
        let rules = rules::rules(document);
        let count = rules.len();
        let unused = rules.into_iter().filter(|rule: &Rule| !is_used(&rule.name));
        Self {
            plugin: grant.plugin().to_owned(),
            from: grant.loaded.origin.to_string(),
            first: plugin.and_then(|tally| tally.count.times.first),
            changed: plugin.and_then(|tally| tally.grant_changed),
            networks: document.networks().collect(),
            used_on: seen.filter(applies).cloned().collect(),
            rules: count,
            unused: unused
                .map(|rule| UnusedRule {
                    name: rule.name,
                    what: rule.sentence,
                    reads_only: rule.reads_only,
                })
                .collect(),
            in_part: parts.unused(grant, is_used),
        }
    }

    fn is_broader(&self) -> bool {
        !self.unused.is_empty() || !self.in_part.is_empty() || self.wider_networks()
    }

    /// Whether the grant is for networks beyond those it was used on.
    fn wider_networks(&self) -> bool {
        let is_named = |glob: &String| self.used_on.contains(glob);
        !self.networks.iter().all(is_named)
    }

    fn print(&self) {
        let Self {
            plugin,
            from,
            rules,
            ..
        } = self;
        let Some(first) = self.first else {
            return say!("{plugin} ({from}): no record, so none of its {rules} rules was used");
        };
        let count = self.unused.len();
        let since = match self.changed {
            Some(changed) => format!("{changed:.0}, when its grant was found changed"),
            None => format!("{first:.0}"),
        };
        say!("{plugin} ({from}): {count} of {rules} rules not used since {since}");
        if self.wider_networks() {
            let used_on = match self.used_on.as_slice() {
                [] => "none".to_owned(),
                networks => joined(networks.to_vec(), "and"),
            };
            let networks = joined(self.networks.clone(), "and");
            let text = format!("networks: for {networks}, used on {used_on}");
            print_line!("{}", wrapped(&text, "  * "));
        }
        for rule in &self.unused {
            let text = format!("{}: {}", rule.name, rule.what);
            print_use(&text, rule.reads_only);
        }
        for rule in &self.in_part {
            print_use(&rule.sentence(), rule.reads);
        }
    }
}

/// Prints what was not used; what is for reads may have been.
fn print_use(text: &str, reads: bool) {
    let reads = if reads {
        " - reads are recorded only on request"
    } else {
        ""
    };
    print_line!("{}", wrapped(&format!("{text}{reads}"), "  * "));
}
