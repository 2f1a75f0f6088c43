//! What was denied, with the rule that came closest and the field in which it missed.

use maud::{Markup, html};

use crate::cli::audit::count::Use;
use crate::cli::audit::tally::{Denial, PluginTally, Tally};
use crate::cli::audit::text::number;
use crate::cli::audit::time;
use crate::host::printable;

/// A table of so few stays on one sheet of paper.
const FEW_DENIALS: usize = 18;

/// The section.
pub fn section(tally: &Tally) -> Markup {
    let denying = tally.plugins.iter().filter(|(_, p)| p.count.denied > 0);
    let denying: Vec<(&String, &PluginTally)> = denying.collect();
    html! {
        @if !denying.is_empty() {
            section.denials {
                h2 { "Denied" }
                p.caption {
                    "What plugins asked for and no rule of their grant allows, the most frequent first.
                    Nothing of it was done."
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
            caption { span.denied { "✕ " (number(plugin.count.denied)) } " denied to " b { (printable(name)) } }
            thead {
                tr {
                    th.amount scope="col" { "Times" }
                    th scope="col" { "The plugin wanted to" }
                    th.closest scope="col" { "Closest rule" }
                    th.missed scope="col" { "Missed in" }
                    th.when scope="col" { "When (UTC)" }
                }
            }
            tbody {
                @for denial in plugin.frequent_denials() { (row(denial)) }
                @if plugin.further_denials > 0 {
                    tr {
                        (labelled("amount", "Times", &html! { (number(plugin.further_denials)) }))
                        td colspan="4" { div { "other things, too many to tell apart" } }
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
    let (rule, field) = match (denial.closest(), &denial.closest) {
        (Some((rule, field)), _) => (code(rule), code(field)),
        (None, Some(rule)) => (code(rule), html! {}),
        (None, None) if denial.is_of_whole_plugin() => {
            (html! { "the plugin was not run" }, html! { "–" })
        }
        (None, None) => (html! { "none for this capability" }, html! { "–" }),
    };
    html! {
        tr {
            (labelled("amount", "Times", &html! { (number(denial.seen.count)) }))
            (labelled("wanted", "Wanted to", &wanted))
            (labelled("closest", "Closest rule", &rule))
            (labelled("missed", "Missed in", &field))
            (labelled("when", "When (UTC)", &when(&denial.seen)))
        }
    }
}

/// A cell with the title that it has where the table is too wide to be one.
fn labelled(class: &str, label: &str, content: &Markup) -> Markup {
    html! { td class=(class) data-label=(label) { div { (content) } } }
}

fn code(text: &str) -> Markup {
    html! { code { (printable(text)) } }
}

/// Once, or from when to when; the day once, where it is one.
fn when(seen: &Use) -> Markup {
    let first = seen.first.map(time::to_the_second).unwrap_or_default();
    let last = seen.last.map(time::to_the_second).unwrap_or_default();
    let until = match (first.split_once(' '), last.split_once(' ')) {
        (Some((day, _)), Some((same, time))) if day == same => time,
        _ => &last,
    };
    html! {
        span.nowrap { (first) }
        @if last != first { " to " span.nowrap { (until) } }
    }
}

/// Names stand in backquotes, as in all of weir's messages.
fn in_code(text: &str) -> Markup {
    html! {
        @for (at, part) in text.split('`').enumerate() {
            @if at % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}
