//! How far an act reaches, in a cell of a table.

use maud::{Markup, html};
use weir_grant::Severity;

/// The severity as a sign and words: colours only repeat them.
pub(super) fn reach(severity: Severity) -> Markup {
    let sign = match severity {
        Severity::LeavesContainer => "▲▲▲",
        Severity::DisablesProtection => "▲▲",
        Severity::ReachesOthers => "▲",
        Severity::ChangesHost | Severity::Contained | Severity::Reads => "△",
    };
    html! { span.sign { (sign) } " " (severity.phrase()) }
}
