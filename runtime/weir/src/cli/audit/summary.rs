//! `weir audit --summary`: counts for each plugin and capability, and denials.

use std::path::PathBuf;

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use weir_grant::Severity;

use super::acts::Act;
use super::count::Count;
use super::tally::{PluginTally, Tally};
use super::time;
use crate::cli::number::{counted, number};
use crate::cli::output::{Format, print_line, say};
use crate::cli::record::not_records;

#[derive(Serialize)]
struct Summary<'a> {
    files: &'a [PathBuf],
    #[serde(flatten)]
    tally: &'a Tally,
}

pub fn print(format: Format, files: &[PathBuf], tally: &Tally) -> Result<()> {
    format.print(&Summary { files, tally }, print_text)
}

fn print_text(summary: &Summary<'_>) {
    let (unreadable, count) = (summary.tally.unreadable, &summary.tally.count);
    for file in summary.files {
        say!("{}", file.display());
    }
    print_line!(
        "{} of {}{}",
        counted(count.records(), "record"),
        counted(summary.tally.attachments.count(), "attachment"),
        span(count.times.first, count.times.last)
    );
    print_line!(
        "{} allowed, {} denied, {} refused, {} undone; {} failed in the kernel",
        number(count.allowed),
        number(count.denied),
        number(count.refused),
        number(count.undone),
        number(count.failed)
    );
    if count.changes_by_people > 0 {
        let changes = counted(count.changes_by_people, "change");
        print_line!("{changes} of plugins and grants by people");
    }
    if let Some(warning) = not_records(unreadable) {
        print_line!("{warning}");
    }
    for (name, plugin) in &summary.tally.plugins {
        print_plugin(name, plugin);
    }
}

fn span(first: Option<Timestamp>, last: Option<Timestamp>) -> String {
    match (first, last) {
        (Some(first), Some(last)) => format!(
            ", {} to {} UTC",
            time::to_the_second(first),
            time::to_the_second(last)
        ),
        _ => String::new(),
    }
}

fn print_plugin(name: &str, plugin: &PluginTally) {
    print_line!();
    say!("{name}");
    for (digest, seen) in &plugin.digests {
        say!("  {digest}: {}", counted(seen.count, "record"));
    }
    let titles = ["allowed", "denied", "refused", "undone", "failed"];
    print_row(
        "",
        titles.map(str::to_owned),
        ["time", "first", "last"].map(str::to_owned),
    );
    let capabilities = plugin.capabilities.iter();
    let used: Vec<_> = capabilities
        .filter(|(_, count)| count.operations() > 0)
        .collect();
    for (capability, count) in &used {
        print_count(capability, count);
    }
    if used.len() > 1 {
        print_count("together", &plugin.count);
    }
    print_acts(plugin);
    print_denials(plugin);
}

fn print_count(what: &str, count: &Count) {
    let at = |time: Option<Timestamp>| time.map(time::to_the_second).unwrap_or_default();
    let time = match count.allowed + count.undone {
        0 => "-".to_owned(),
        _ => time::duration(count.microseconds),
    };
    let numbers = [
        count.allowed,
        count.denied,
        count.refused,
        count.undone,
        count.failed,
    ]
    .map(number);
    print_row(
        what,
        numbers,
        [time, at(count.times.first), at(count.times.last)],
    );
}

fn print_row(what: &str, numbers: [String; 5], times: [String; 3]) {
    let [allowed, denied, refused, undone, failed] = numbers;
    let [time, first, last] = times;
    say!(
        "  {what:<12}{allowed:>10}{denied:>8}{refused:>8}{undone:>8}{failed:>8}{time:>12}  {first:<20} {last}"
    );
}

fn print_acts(plugin: &PluginTally) {
    let acts = plugin.acts.gravest();
    if acts.is_empty() {
        return;
    }
    print_line!("  Beyond the container:");
    for act in acts {
        say!(
            "  {:>6} × {} ({}{}{})",
            number(act.seen.count),
            act.act,
            act.severity.phrase(),
            after(act.before.as_deref()),
            others(act)
        );
    }
    if plugin.acts.further > 0 {
        print_line!("  {:>6} × others, not graver", number(plugin.acts.further));
    }
}

/// A further remark in brackets.
fn after(remark: Option<&str>) -> String {
    remark.map_or_else(String::new, |remark| format!("; {remark}"))
}

/// How many other acts of the same form an act stands for.
fn others(act: &Act) -> String {
    match act.different.len() {
        0 | 1 => String::new(),
        several => format!("; the first of {} like it", number(several as u64)),
    }
}

fn print_denials(plugin: &PluginTally) {
    if plugin.denials.is_empty() {
        return;
    }
    print_line!("  Denied:");
    for denial in plugin.gravest_denials() {
        let closest = match &denial.closest {
            Some(closest) => format!("closest rule {closest}"),
            None => denial.without_closest().to_owned(),
        };
        say!(
            "  {:>6} × {} ({}; {closest}{})",
            number(denial.seen.count),
            denial.requirement,
            denial.operation,
            after(denial.severity.map(Severity::phrase))
        );
    }
    if plugin.further_denials > 0 {
        print_line!("  {:>6} × others", number(plugin.further_denials));
    }
}
