//! Plugins that were installed or removed, and grants that changed.

use maud::{Markup, html};
use serde_json::Value;
use weir_grant::text::printable;

use super::columns;
use super::denials::in_code;
use crate::cli::audit::changes::{Change, Changes};
use crate::cli::audit::time;
use crate::cli::number::counted;

/// The most rows; the others are only counted.
const MOST_ROWS: usize = 12;

/// The latest first.
pub fn section(changes: &Changes) -> Markup {
    let shown = changes.latest.iter().rev().take(MOST_ROWS);
    let hidden = changes.latest.len().saturating_sub(MOST_ROWS) as u64 + changes.earlier;
    html! {
        section.changes {
            h2 { "What changed in plugins and grants" }
            p.caption {
                "Components that were installed or removed, and grants that were added, changed or removed: the latest first. A grant's change \
                 is recorded by the next call that reads it."
            }
            @if changes.latest.is_empty() { p.good { "✓ No change is recorded." } }
            @else {
                table.list.short {
                    (columns(&[(None, "Plugin"), (None, "What was done"), (None, "By"), (Some("when"), "When (UTC)")]))
                    tbody {
                        @for change in shown { (row(change)) }
                        @if hidden > 0 {
                            tr { td {} td colspan="3" { (counted(hidden, "change")) " before" } }
                        }
                    }
                }
            }
        }
    }
}

fn row(change: &Change) -> Markup {
    html! {
        tr data-change=(printable(&change.plugin)) {
            td { code { (printable(&change.plugin)) } }
            td {
                (in_code(&printable(&change.what)))
                @if let Some(modified) = &change.modified {
                    div.quiet { "its file was written " (printable(modified)) }
                }
            }
            td { (change.user.as_ref().map_or("–".to_owned(), user)) }
            td.when { span.nowrap { (time::to_the_second(change.time)) } }
        }
    }
}

/// A user by the numbers that are recorded.
fn user(user: &Value) -> String {
    let number = |key: &str| user.get(key).and_then(Value::as_u64);
    let Some(uid) = number("uid") else {
        return "–".to_owned();
    };
    let login = number("login_uid").map(|id| format!(", logged in as {id}"));
    let sudo = number("sudo_uid").map(|id| format!(", by sudo of {id}"));
    format!(
        "user {uid}{}{}",
        login.unwrap_or_default(),
        sudo.unwrap_or_default()
    )
}
