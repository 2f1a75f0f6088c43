//! The matrix of plugins and capabilities. Its colours repeat its signs and numbers.

use maud::{Markup, html};
use weir_grant::Capability;
use weir_grant::text::printable;

use super::Plugin;
use crate::cli::audit::count::Count;
use crate::cli::audit::filter::Filter;
use crate::cli::audit::rules::{self, Extent};
use crate::cli::number::number;
use crate::cli::output::capability_words;

pub fn section(plugins: &[Plugin<'_>], filter: &Filter) -> Markup {
    let wanted = Capability::RECORDED
        .into_iter()
        .filter(|c| *c != Capability::Log && filter.wants_capability(*c));
    let is_used = |c: &Capability| plugins.iter().any(|plugin| Cell::of(plugin, *c).is_there());
    let (shown, mut empty): (Vec<Capability>, Vec<Capability>) = wanted.partition(is_used);
    // Plugins cannot ask for it.
    empty.retain(|c| *c != Capability::Native);
    html! {
        @if !shown.is_empty() {
            section.matrix {
                h2 { "Plugins and capabilities" }
                (legend())
                div.scroll { (table(plugins, &shown)) }
                @if !empty.is_empty() {
                    p.caption { "Granted to no plugin, and tried by none: " (capability_words(&empty)) "." }
                }
            }
        }
    }
}

fn table(plugins: &[Plugin<'_>], capabilities: &[Capability]) -> Markup {
    html! {
        table {
            thead {
                tr {
                    th scope="col" { "Plugin" }
                    @for capability in capabilities { th scope="col" { (capability.word()) } }
                }
            }
            tbody {
                @for plugin in plugins {
                    tr data-plugin=(printable(plugin.name)) {
                        th scope="row" { (printable(plugin.name)) }
                        @for capability in capabilities { (Cell::of(plugin, *capability).markup(*capability)) }
                    }
                }
            }
        }
    }
}

struct Cell {
    granted: Extent,
    count: Count,
}

impl Cell {
    fn of(plugin: &Plugin<'_>, capability: Capability) -> Self {
        let counts = plugin.tally.map(|tally| &tally.capabilities);
        Self {
            granted: plugin
                .in_force()
                .map(|grant| rules::extent(&grant.loaded.document, capability))
                .max()
                .unwrap_or(Extent::Nothing),
            count: counts
                .and_then(|counts| counts.get(capability.word()).copied())
                .unwrap_or_default(),
        }
    }

    fn is_there(&self) -> bool {
        self.granted > Extent::Nothing || self.count.records() > 0
    }

    /// The sign says what is granted; the numbers below it what was done.
    fn markup(&self, capability: Capability) -> Markup {
        let Count {
            allowed,
            denied,
            refused,
            undone,
            ..
        } = self.count;
        let (class, sign, meaning) = match (self.granted, allowed > 0) {
            (Extent::Reading | Extent::Changing, true) => ("used", "●", "granted and used"),
            (Extent::Changing, false) => ("unused", "○", "granted, not used"),
            (Extent::Reading, false) => ("reads", "◌", "granted to read; reads are not recorded"),
            (Extent::Nothing, true) => ("withdrawn", "◐", "used, no longer granted"),
            (Extent::Nothing, false) => ("not", "–", "not granted"),
        };
        let granted = self.granted > Extent::Nothing;
        let is_tried = denied + refused > 0;
        let class = if is_tried { "tried" } else { class };
        html! {
            td class=(class) data-capability=(capability.word()) data-granted=(granted)
                data-allowed=(allowed) data-denied=(denied) data-refused=(refused) data-undone=(undone) {
                span.sign role="img" aria-label=(meaning) { (sign) }
                @if allowed > 0 { span.allowed { (number(allowed)) } }
                @if denied > 0 { span.denied { "✕ " (number(denied)) } }
                @if refused > 0 { span.denied { "⊘ " (number(refused)) } }
                @if undone > 0 { span.undone { "↶ " (number(undone)) } }
            }
        }
    }
}

fn legend() -> Markup {
    html! {
        ul.legend {
            li { span.sign { "●" } " granted, with how often it was used" }
            li { span.sign { "○" } " granted, not used" }
            li { span.sign { "◌" } " granted to read: reads are not recorded" }
            li { span.sign { "–" } " not granted" }
            li { span.sign { "◐" } " used, no longer granted" }
            li { span.denied { "✕ 3" } " denied" }
            li { span.denied { "⊘ 3" } " refused by weir itself" }
            li { span.undone { "↶ 3" } " undone" }
        }
    }
}
