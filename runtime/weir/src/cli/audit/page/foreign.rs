//! What third parties did beyond the containers of their attachments, and what their grants allow more than they should:
//! plugins that are not part of the program.

use maud::{Markup, html};
use weir_grant::text::printable;
use weir_grant::{Severity, internal_grant};
use weir_sandbox::Catalogue;

use super::denials::{in_code, when};
use super::reach::reach;
use super::{Plugin, columns};
use crate::cli::audit::acts::{Act, Acts};
use crate::cli::grants::check::{KnownNode, of_grant};
use crate::cli::number::{counted, number};
use crate::cli::policy::lint::{Remark, Weight};

/// The most rows of a plugin on the page's first sheet; the others are below it, with the plugin.
const MOST_FIRST: usize = 12;

/// Whether a plugin is a third party's.
fn is_foreign(plugin: &Plugin<'_>) -> bool {
    !Catalogue::is_built_in(plugin.name) && plugin.name != internal_grant::NAME
}

fn acts_of<'a>(plugin: &'a Plugin<'_>) -> Option<&'a Acts> {
    plugin.tally.map(|tally| &tally.acts)
}

/// Returns the gravest act of a third party, with the plugin's name; one that changed nothing only if no other was
/// done.
pub fn gravest<'a>(plugins: &'a [Plugin<'_>]) -> Option<(&'a str, &'a Act)> {
    let foreign = plugins.iter().filter(|plugin| is_foreign(plugin));
    let gravest = foreign.filter_map(|plugin| {
        let act = *acts_of(plugin)?.gravest().first()?;
        Some((plugin.name, act))
    });
    gravest.max_by_key(|(_, act)| rank(act))
}

/// What changed something is before what did not, however grave that is.
fn rank(act: &Act) -> (bool, Severity) {
    (!act.unchanged, act.severity)
}

/// Returns what third parties did, the plugin with the gravest act first.
pub fn section(plugins: &[Plugin<'_>]) -> Markup {
    let foreign = plugins.iter().filter(|plugin| is_foreign(plugin));
    let mut acting: Vec<(&Plugin<'_>, &Acts, Vec<&Act>)> = foreign
        .filter_map(|plugin| {
            let acts = acts_of(plugin)?;
            Some((plugin, acts, acts.gravest()))
        })
        .filter(|(_, _, acts)| !acts.is_empty())
        .collect();
    acting.sort_by_key(|(.., acts)| std::cmp::Reverse(acts.first().map(|act| rank(act))));
    html! {
        section.foreign {
            h2 { "What third parties changed on the host" }
            p.caption {
                "Plugins that are not part of weir, and what they did beyond the container of their attachment: the gravest first, \
                 and of the equally grave what was done least often; \
                 at last what is as it was before."
            }
            @if acting.is_empty() { p.good { "✓ Nothing." } }
            @for (plugin, all, acts) in acting { (table(plugin.name, all, &acts)) }
        }
    }
}

fn table(name: &str, all: &Acts, acts: &[&Act]) -> Markup {
    let rest: u64 = acts.iter().skip(MOST_FIRST).map(|act| act.seen.count).sum();
    let rest = rest + all.further;
    html! {
        table.list.acts.short[acts.len() <= MOST_FIRST] {
            caption { "Plugin " b { (printable(name)) } }
            (columns(&[(Some("reach"), "How far"), (None, "What it did"), (Some("amount"), "Times"), (Some("when"), "When (UTC)")]))
            tbody {
                @for act in acts.iter().take(MOST_FIRST) { (row(act)) }
                @if rest > 0 {
                    tr { td.reach {} td { "others, not graver" } td.amount { (number(rest)) } td.when {} }
                }
            }
        }
    }
}

fn row(act: &Act) -> Markup {
    let networks: Vec<String> = act.networks.iter().map(|name| printable(name)).collect();
    let rules: Vec<String> = act.rules.iter().map(|name| printable(name)).collect();
    html! {
        tr class=(if act.unchanged { "unchanged" } else { act.severity.word() })
            data-severity=(act.severity.word()) data-unchanged=(act.unchanged) {
            td.reach { (reach(act.severity)) }
            td {
                div.act { (in_code(&printable(&act.act))) }
                @if let Some(before) = &act.before { div.before { (printable(before)) } }
                @if act.different.len() > 1 {
                    div.quiet { "the first of " (counted(act.different.len() as u64, "act")) " like it" }
                }
                div.quiet {
                    span.operation { (printable(&act.operation)) } " on " code { (networks.join(", ")) }
                    @if !rules.is_empty() { ", allowed by " code { (rules.join(", ")) } }
                }
            }
            td.amount { (number(act.seen.count)) }
            td.when { (when(&act.seen)) }
        }
    }
}

/// Returns what `weir grants check` warns of in the grants of third parties that decide on a network.
pub fn warnings(plugins: &[Plugin<'_>], node: &KnownNode) -> Markup {
    let foreign = plugins.iter().filter(|plugin| is_foreign(plugin));
    let grants = foreign.flat_map(|plugin| plugin.grants.iter().map(move |grant| (plugin, grant)));
    let warned: Vec<(&str, String, Vec<Remark>)> = grants
        .map(|(plugin, grant)| {
            let mut remarks = of_grant(node, grant);
            remarks.retain(|remark| remark.weight == Weight::Warning);
            (plugin.name, grant.loaded.origin.to_string(), remarks)
        })
        .filter(|(.., remarks)| !remarks.is_empty())
        .collect();
    html! {
        @if !warned.is_empty() {
            section.warnings {
                h2 { "Warnings about their grants" }
                p.caption { "The warnings of " code { "weir grants check" } "." }
                @for (plugin, origin, remarks) in &warned {
                    h3 { "Plugin " b { (printable(plugin)) } ", " span.path { (printable(origin)) } }
                    ul {
                        @for remark in remarks {
                            li {
                                @if let Some(rule) = &remark.rule { code { (printable(rule)) } ": " }
                                (in_code(&printable(&remark.text))) " "
                                span.operation { (remark.code) }
                            }
                        }
                    }
                }
            }
        }
    }
}
