//! `weir audit --html`: one self-contained page for a browser or a printer.
//!
//! [`maud`] escapes all text; that of the log goes through [`printable`] before. The page is also XML, so that a strict
//! parser can check it.

mod changes;
mod chart;
mod denials;
mod foreign;
mod matrix;
mod plugin;
mod reach;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use crate::cli::grants::check::KnownNode;
use jiff::Timestamp;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use weir_files::Paths;
use weir_grant::Severity;
use weir_grant::text::printable;

use super::acts::Act;
use super::filter::Filter;
use super::tally::{PluginTally, Tally};
use super::time;
use super::verify::Chain;
use crate::cli::grants::grant_state::{self, Grant};
use crate::cli::number::{counted, number};

const STYLE: &str = include_str!("style.css");

/// Nothing is loaded and no script runs, even if text of the log got into the page unescaped.
const META: &str = r#"<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'"/>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<meta name="color-scheme" content="light dark"/>"#;

struct Subject<'a> {
    files: &'a [PathBuf],
    filter: &'a Filter,
    tally: &'a Tally,
    /// Whether the log is as it was written; none for files that were named.
    chain: Option<&'a Chain>,
    /// All grants of the node, or why no plugin runs.
    grants: Result<Vec<Grant>, String>,
}

/// A plugin that has records, or a grant, or both.
struct Plugin<'a> {
    name: &'a str,
    /// Its grants, in force or not.
    grants: Vec<&'a Grant>,
    /// All grants of the node.
    all: &'a [Grant],
    tally: Option<&'a PluginTally>,
}

/// Makes the page; `chain` says whether the node's own log is as it was written.
pub fn page(
    paths: &Paths,
    files: &[PathBuf],
    filter: &Filter,
    tally: &Tally,
    chain: Option<&Chain>,
) -> String {
    let subject = Subject {
        files,
        filter,
        tally,
        chain,
        grants: grant_state::grants(paths).map_err(|why| why.to_string()),
    };
    let plugins = subject.plugins();
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                (PreEscaped(META))
                title { "weir audit: what plugins did" }
                style { (PreEscaped(STYLE)) }
            }
            body {
                (subject.head(&plugins))
                main {
                    (subject.grants_unreadable())
                    (foreign::section(&plugins))
                    (foreign::warnings(&plugins, &KnownNode::of(paths)))
                    (changes::section(&tally.changes))
                    (denials::section(tally))
                    (subject.tiles())
                    (chart::section(tally))
                    (matrix::section(&plugins, filter))
                    (plugin::sections(&plugins))
                }
                (foot())
            }
        }
    };
    page.into_string()
}

/// The titles of a table's columns, each with its class.
fn columns(titles: &[(Option<&str>, &str)]) -> Markup {
    html! {
        thead {
            tr {
                @for (class, title) in titles { th class=[class] scope="col" { (title) } }
            }
        }
    }
}

impl Plugin<'_> {
    fn in_force(&self) -> impl Iterator<Item = &Grant> {
        let grants = self.grants.iter().copied();
        grants.filter(|grant| grant.is_in_force())
    }
}

impl<'a> Subject<'a> {
    fn plugins(&'a self) -> Vec<Plugin<'a>> {
        let all = self.grants.as_deref().unwrap_or_default();
        let deciding = || all.iter().filter(|grant| grant.state.decides());
        let granted = deciding().map(Grant::plugin);
        let counted = self.tally.plugins.keys().map(String::as_str);
        let names: BTreeSet<&str> = granted.chain(counted).collect();
        let plugin = |name: &'a str| Plugin {
            name,
            grants: deciding().filter(|grant| grant.plugin() == name).collect(),
            all,
            tally: self.tally.plugins.get(name),
        };
        let names = names
            .into_iter()
            .filter(|name| self.filter.wants_plugin(name));
        names.map(plugin).collect()
    }

    fn head(&self, plugins: &[Plugin<'_>]) -> Markup {
        let filters = self.filter.described();
        html! {
            header {
                p.kind { "weir audit" }
                h1 { (self.headline(plugins)) }
                dl {
                    div.wide {
                        dt { (if self.files.len() == 1 { "Log" } else { "Logs" }) }
                        @for file in self.files { dd.path { (printable(&file.display().to_string())) } }
                    }
                    div { dt { "Time span (UTC)" } dd { (self.span()) } }
                    div { dt { "Records" } dd { (number(self.tally.count.records())) } }
                    @if !filters.is_empty() {
                        div.wide {
                            dt { "Only" }
                            @for (name, values) in filters { dd { (name) " " code { (printable(&values)) } } }
                        }
                    }
                    @if let Some(chain) = self.chain {
                        div.wide { dt { "Hash chain" } dd.chain { (denials::in_code(&printable(&chain.text))) } }
                    }
                    div { dt { "Made" } dd { (made()) } }
                }
            }
        }
    }

    /// What a reader wants to know first: whether the log can be trusted, the gravest act of a third party, then denials.
    fn headline(&self, plugins: &[Plugin<'_>]) -> Markup {
        html! {
            @if self.chain.is_some_and(|chain| !chain.is_intact) {
                "The log is not as weir wrote it"
                span.second { "What follows is what it says now." }
            } @else if let Some((plugin, act)) = foreign::gravest(plugins) {
                "Plugin " (printable(plugin)) " " (done(act))
                span.second {
                    (denials::in_code(&printable(&act.act)))
                    @if let Some(before) = &act.before { " (" (printable(before)) ")" }
                }
                span.second { (self.denied()) }
            } @else { (self.denied()) }
        }
    }

    fn denied(&self) -> String {
        let count = &self.tally.count;
        if count.records() == 0 {
            return "Nothing is recorded".to_owned();
        }
        let denying = |(name, plugin): (&String, &PluginTally)| {
            (plugin.count.denied > 0).then(|| printable(name))
        };
        let of: Vec<String> = self.tally.plugins.iter().filter_map(denying).collect();
        match (count.denied, of.as_slice()) {
            (0, _) => "Nothing was denied".to_owned(),
            (denied, [one]) => format!("{} of {one}", counted(denied, "denial")),
            (denied, several) => format!(
                "{} of {}",
                counted(denied, "denial"),
                counted(several.len() as u64, "plugin")
            ),
        }
    }

    fn span(&self) -> Markup {
        let count = &self.tally.count;
        html! {
            @match (count.times.first, count.times.last) {
                (Some(first), Some(last)) => {
                    span.nowrap { (time::to_the_second(first)) } " to "
                    span.nowrap { (time::to_the_second(last)) }
                },
                _ => { "none" },
            }
        }
    }

    fn tiles(&self) -> Markup {
        let Tally {
            count, attachments, ..
        } = self.tally;
        let unreadable = self.tally.unreadable;
        html! {
            section.tiles aria-label="Numbers" {
                (tile("● allowed", count.allowed, "allowed"))
                (tile("✕ denied", count.denied, if count.denied > 0 { "denied" } else { "none" }))
                (tile("⊘ refused", count.refused, if count.refused > 0 { "denied" } else { "none" }))
                (tile("↶ undone", count.undone, if count.undone > 0 { "undone" } else { "none" }))
                (tile("failed in the kernel", count.failed, "none"))
                (tile("attachments", attachments.count(), "none"))
                (tile("changes by people", count.changes_by_people, "none"))
                (tile("plugins", self.tally.plugins.len() as u64, "none"))
            }
            @if unreadable > 0 {
                p.note {
                    strong { (counted(unreadable, "line")) }
                    (if unreadable == 1 { " is" } else { " are" })
                    " not counted: cut short by a crash, or not written by this version of weir."
                }
            }
        }
    }

    fn grants_unreadable(&self) -> Markup {
        html! {
            @if let Err(why) = &self.grants {
                p.note {
                    strong { "The grants cannot be read, and no plugin can run: " }
                    (printable(why))
                }
            }
        }
    }
}

/// What a third party did, in the headline.
fn done(act: &Act) -> &'static str {
    if act.unchanged {
        return "wrote the value that was already set";
    }
    match act.severity {
        Severity::LeavesContainer => "left the container or the sandbox",
        Severity::DisablesProtection => "disabled a protection",
        Severity::ReachesOthers => "could reach traffic of others",
        Severity::ChangesHost => "changed the host",
        Severity::Contained | Severity::Reads => "changed nothing on the host",
    }
}

fn tile(word: &str, value: u64, class: &str) -> Markup {
    html! {
        div class=(format!("tile {class}")) {
            span.value { (number(value)) }
            span.word { (word) }
        }
    }
}

fn made() -> Markup {
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    html! {
        span.nowrap { (time::to_the_second(Timestamp::now())) } " on "
        (printable(host.trim())) ", weir " (env!("CARGO_PKG_VERSION"))
    }
}

fn foot() -> Markup {
    html! {
        footer {
            h2 { "How to read this" }
            ul {
                li { "Every operation of a plugin goes through its grant. " b { "Allowed" } ": a rule of the grant
                    allowed it, and the kernel was asked. " b { "Denied" } ": no rule did, and nothing was done. "
                    b { "Refused" } ": a rule did, and weir itself refused it; the kernel was not asked. "
                    b { "Undone" } ": weir took back what a failed ADD had done." }
                li { "How far an operation reaches follows from its facts. " b { "Leaves the container or the sandbox" }
                    ": a link of the container came to the host, or a program ran outside the sandbox. "
                    b { "Disables a protection" } ": of the kernel, of a bridge or of firewalld. "
                    b { "Can reach traffic of others" } ": it is about a link that weir did not make for the attachment, or
                    about packets, routes or connections that need not be the attachment's. " b { "Changes the host" }
                    ": anything else there." }
                li { "Allowed reads change nothing and are recorded on request only. A rule that allows only
                    reads has no count here for that reason, and is not one to remove because of that." }
                li { "Grants are those of this node when the page was made; only one in force grants anything.
                    Records name the rules that applied when they were written, by their number." }
                li { "The kernel's time of an IPAM plugin is also that of the plugin that ran it." }
            }
        }
    }
}
