//! The annotation's text: a JSON list with one map for each attachment.

use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::Status;

/// Four spaces, as Multus writes.
const INDENT: &[u8] = b"    ";

/// The text for these attachments, in order. Only the first default network counts as one (section 5.3.5).
pub(crate) fn annotation(statuses: &[Status]) -> String {
    let default = statuses.iter().position(|status| status.default);
    let maps = statuses.iter().enumerate().map(|(index, status)| {
        let mut status = status.clone();
        status.default = default == Some(index);
        text(&status)
    });
    format!("[{}]", maps.collect::<Vec<_>>().join(","))
}

fn text(status: &Status) -> String {
    let mut text = Vec::new();
    let formatter = PrettyFormatter::with_indent(INDENT);
    let mut serializer = Serializer::with_formatter(&mut text, formatter);
    status
        .serialize(&mut serializer)
        .expect("strings and numbers are JSON");
    String::from_utf8(text).expect("JSON is UTF-8")
}
