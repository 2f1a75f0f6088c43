//! One plugin: its component, its grants rule by rule, and how often each rule was used.

use std::collections::BTreeMap;

use maud::{Markup, html};
use weir_grant::internal_grant;
use weir_grant::text::printable;

use super::{Plugin, columns};
use crate::cli::audit::count::{Count, Use};
use crate::cli::audit::rules::{self, Rule};
use crate::cli::audit::tally::PluginTally;
use crate::cli::audit::time;
use crate::cli::grants::grant_state::Grant;
use crate::cli::number::{counted, number};

/// The most rules of a section that stays on one sheet of paper.
const FEW_RULES: usize = 9;

/// Returns a section for each plugin with records, and a line for the others.
pub fn sections(plugins: &[Plugin<'_>]) -> Markup {
    let is_idle = |plugin: &&Plugin| plugin.tally.is_none() && plugin.in_force().next().is_some();
    let idle = plugins.iter().filter(is_idle);
    let idle: Vec<String> = idle.map(|plugin| printable(plugin.name)).collect();
    html! {
        @for plugin in plugins {
            @if let Some(tally) = plugin.tally { (section(plugin, tally)) }
        }
        @if !idle.is_empty() {
            section.idle {
                h2 { "Without records" }
                p { "These plugins have a grant in force and no records: "
                    b { (idle.join(", ")) } "." }
            }
        }
    }
}

fn section(plugin: &Plugin<'_>, tally: &PluginTally) -> Markup {
    let of_grant = |grant: &&Grant| rules::rules(&grant.loaded.document).len();
    let short = plugin.grants.iter().map(of_grant).sum::<usize>() <= FEW_RULES;
    html! {
        section.plugin.short[short] {
            h2 { span.kind { "Plugin" } " " (printable(plugin.name)) }
            (facts(&tally.count, tally.attachments.count()))
            (components(plugin, tally))
            @if plugin.name == internal_grant::NAME {
                p.note { "This is weir itself, which has the program's digest here. What it may do on its \
                          own behalf is fixed in the program: to move a pod's default routes." }
            } @else if plugin.in_force().next().is_none() {
                p.note { "It has " strong { "no grant" } " in force: it cannot run now." }
            }
            @for own in &plugin.grants { (grant(own, plugin.all, tally)) }
        }
    }
}

fn facts(count: &Count, attachments: u64) -> Markup {
    let last = count
        .times
        .last
        .map(time::to_the_second)
        .unwrap_or_default();
    html! {
        p.facts {
            span.nowrap { b { (number(count.allowed)) } " allowed" } " "
            @if count.denied > 0 { span.denied { "✕ " (number(count.denied)) " denied" } " " }
            @if count.undone > 0 { span.undone { "↶ " (number(count.undone)) " undone" } " " }
            @if count.failed > 0 { span.nowrap { b { (number(count.failed)) } " failed in the kernel" } " " }
            span.nowrap { (counted(attachments, "attachment")) } " "
            span.nowrap { (time::duration(count.microseconds)) " in the kernel" } " "
            span.nowrap { "last " (last) }
        }
    }
}

/// The components that ran under its name, and whether a grant in force is for them.
fn components(plugin: &Plugin<'_>, tally: &PluginTally) -> Markup {
    let has_grant = plugin.in_force().next().is_some();
    let granted = |digest: &str| {
        plugin.in_force().any(|grant| {
            let of_grant = grant.loaded.document.spec.plugin.digest.as_ref();
            of_grant.is_none_or(|of_grant| of_grant.to_string() == digest)
        })
    };
    html! {
        dl.components {
            @for (digest, seen) in &tally.digests {
                dt { "Component" }
                dd {
                    code { (printable(digest)) } " " (counted(seen.count, "record"))
                    @if has_grant && !granted(digest) {
                        " " strong { "not the one that is granted" }
                    }
                }
            }
        }
    }
}

fn grant(own: &Grant, all: &[Grant], tally: &PluginTally) -> Markup {
    let rules = rules::rules(&own.loaded.document);
    let used = rules::used(own, all, tally);
    let most = used.values().map(|seen| seen.count).max().unwrap_or(1);
    let is_gone = |name: &String| !rules.iter().any(|rule| rule.name == *name);
    let gone = used.iter().filter(|(name, _)| is_gone(name));
    html! {
        table.list.rules {
            caption {
                "Grant " b { (printable(&own.loaded.document.metadata.name)) } ", " (printable(&own.loaded.origin.to_string()))
                "; networks " code { (printable(&rules::networks(&own.loaded.document))) }
                @if let Some(because) = &own.because {
                    "; " strong { "not in force" } " (" (own.state.word()) "): " (printable(because))
                }
                (changed_meanwhile(own, tally, &used))
            }
            (columns(&[(None, "Rule"), (None, "Allows"), (Some("amount"), "Used")]))
            tbody {
                @for rule in &rules { (row(rule, used.get(&rule.name), most)) }
                @for (name, seen) in gone {
                    tr.gone {
                        td { code { (printable(name)) } }
                        td { "no longer in the grant" }
                        td.amount { (number(seen.count)) }
                    }
                }
                @if rules.is_empty() && used.is_empty() {
                    tr { td colspan="3" { "no rules: it allows nothing" } }
                }
            }
        }
    }
}

fn row(rule: &Rule, seen: Option<&Use>, most: u64) -> Markup {
    let class = match (seen.is_some(), rule.reads_only) {
        (true, _) => "used",
        (false, true) => "reads",
        (false, false) => "never",
    };
    html! {
        tr class=(class) data-rule=(rule.name) data-used=(seen.map_or(0, |seen| seen.count)) {
            td { code { (printable(&rule.name)) } }
            td {
                div.sentence { (printable(&rule.sentence)) }
                code.rule { (printable(&rule.text)) }
            }
            td.amount {
                @match (seen, rule.reads_only) {
                    (Some(seen), _) => {
                        (number(seen.count))
                        (bar(seen.count, most))
                    },
                    (None, true) => { span.quiet { "reads are not recorded" } },
                    (None, false) => { span.unused { "○ never" } },
                }
            }
        }
    }
}

fn bar(count: u64, most: u64) -> Markup {
    let width = (count as f64 / most as f64 * 100.0).max(2.0);
    html! {
        svg.bar viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true" {
            rect x="0" y="0" height="6" width=(format!("{width:.1}")) {}
        }
    }
}

/// Rules are counted by their number, which may be another rule's after a change of the document.
fn changed_meanwhile(own: &Grant, tally: &PluginTally, used: &BTreeMap<String, Use>) -> Markup {
    let changed = rules::changed(&own.loaded.origin);
    let first = used.values().filter_map(|seen| seen.times.first).min();
    html! {
        @if let Some(changed) = tally.grant_changed {
            "; used since " (time::to_the_second(changed)) ", when a change of the plugin's grants was found"
        } @else if let (Some(changed), Some(first)) = (changed, first) && changed > first {
            "; changed " (time::to_the_second(changed)) ": earlier records may be about other rules"
        }
    }
}
