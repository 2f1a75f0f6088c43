//! Denials, with the closest rule and the field in which it did not match.

use maud::{Markup, html};
use weir_grant::Severity;
use weir_grant::text::printable;

use super::columns;
use super::reach::reach;
use crate::cli::audit::count::Use;
use crate::cli::audit::tally::{Denial, PluginTally, Tally};
use crate::cli::audit::time;
use crate::cli::number::number;

/// The most rows that stay on one sheet of paper.
const FEW_DENIALS: usize = 18;

pub fn section(tally: &Tally) -> Markup {
    let denying = tally.plugins.iter().filter(|(_, p)| !p.denials.is_empty());
    let denying: Vec<(&String, &PluginTally)> = denying.collect();
    html! {
        @if !denying.is_empty() {
            section.denials {
                h2 { "Denied" }
                p.caption {
                    "What no rule of a plugin's grant allows, or weir itself refuses: the gravest first, and of the equally grave the most \
                     frequent. None of it was done."
                }
                @for (name, plugin) in denying {
                    (table(name, plugin))
                }
            }
        }
    }
}

fn table(name: &str, plugin: &PluginTally) -> Markup {
    html! {
        table.list.short[plugin.denials.len() <= FEW_DENIALS] {
            caption {
                span.denied { "✕ " (number(plugin.count.denied)) } " denied to " b { (printable(name)) }
                @if plugin.count.refused > 0 { ", " (number(plugin.count.refused)) " refused by weir itself" }
            }
            (columns(&[
                (Some("amount"), "Times"),
                (Some("reach"), "How far"),
                (None, "The plugin wanted to"),
                (Some("closest"), "Closest rule"),
                (Some("missed"), "Missed in"),
                (Some("when"), "When (UTC)"),
            ]))
            tbody {
                @for denial in plugin.gravest_denials() { (row(denial)) }
                @if plugin.further_denials > 0 {
                    tr {
                        (labelled("amount", "Times", &html! { (number(plugin.further_denials)) }))
                        td colspan="5" { div { "other operations, too many to list" } }
                    }
                }
            }
        }
    }
}

fn row(denial: &Denial) -> Markup {
    let wanted = html! {
        (in_code(&printable(&denial.requirement)))
        " " span.operation { (printable(&denial.operation)) }
    };
    let how_far = denial.severity.map_or_else(|| html! { "–" }, reach);
    let (rule, field) = match &denial.closest {
        Some(closest) => (code(&closest.rule), code(&closest.field)),
        None => (html! { (denial.without_closest()) }, html! { "–" }),
    };
    html! {
        tr data-denied=[denial.severity.map(Severity::word)] {
            (labelled("amount", "Times", &html! { (number(denial.seen.count)) }))
            (labelled("reach", "How far", &how_far))
            (labelled("wanted", "Wanted to", &wanted))
            (labelled("closest", "Closest rule", &rule))
            (labelled("missed", "Missed in", &field))
            (labelled("when", "When (UTC)", &when(&denial.seen)))
        }
    }
}

/// A cell with the title that it has on a narrow screen.
fn labelled(class: &str, label: &str, content: &Markup) -> Markup {
    html! { td class=(class) data-label=(label) { div { (content) } } }
}

fn code(text: &str) -> Markup {
    html! { code { (printable(text)) } }
}

/// A time, or a span, with the day once if it is the same.
pub(super) fn when(seen: &Use) -> Markup {
    let first = seen
        .times
        .first
        .map(time::to_the_second)
        .unwrap_or_default();
    let last = seen.times.last.map(time::to_the_second).unwrap_or_default();
    let until = match (first.split_once(' '), last.split_once(' ')) {
        (Some((day, _)), Some((same, time))) if day == same => time,
        _ => &last,
    };
    html! {
        span.nowrap { (first) }
        @if last != first { " to " span.nowrap { (until) } }
    }
}

/// Names are in backquotes, as in all of weir's messages.
pub(super) fn in_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
