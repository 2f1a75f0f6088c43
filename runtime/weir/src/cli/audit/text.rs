//! A record as a line for people.

use weir_grant::text::printable;

use super::time;
use crate::cli::record::{Record, Verdict, arguments};

/// Container ids usually have 64 digits.
const LONGEST_ID: usize = 16;
const SHORT_ID: usize = 12;

/// Returns a record in one line, with the operation in words, such as `take bridge `cni0` in host down`, or by its
/// arguments; at the end, how far it reaches, and the value before.
pub fn sentence(record: &Record, by_arguments: bool) -> String {
    let mut parts = vec![
        format!(
            "{} {:<7}  {:<10} {:<5}",
            time::precise(record.time),
            record.verdict.word(),
            record.subject.plugin,
            record.subject.command,
        ),
        subject(record),
        record.operation.clone(),
    ];
    parts.extend(action(record, by_arguments));
    if let Some(bytes) = record.shortened_from {
        parts.push(format!("(shortened from {bytes} bytes)"));
    }
    if !record.rules.is_empty() {
        parts.push(format!("by {}", record.rules.join(", ")));
    }
    parts.extend(record.remark().map(|remark| format!("- {remark}")));
    let reach = record.severity().map(|s| s.phrase().to_owned());
    let notes: Vec<String> = reach.into_iter().chain(record.before()).collect();
    if !notes.is_empty() {
        parts.push(format!("({})", notes.join("; ")));
    }
    printable(&parts.join("  "))
}

/// What was done or tried. The answer of a denial says it.
fn action(record: &Record, by_arguments: bool) -> Option<String> {
    if by_arguments {
        return Some(arguments(&record.arguments));
    }
    if record.verdict == Verdict::Denied {
        return None;
    }
    Some(record.act().unwrap_or_else(|| arguments(&record.arguments)))
}

/// The attachment: `mynet k8s-pod-1/eth0`, or the network alone.
fn subject(record: &Record) -> String {
    let network = record.subject.granted_as();
    if record.subject.container_id.is_empty() {
        return network.to_owned();
    }
    let id = short_id(&record.subject.container_id);
    format!("{network} {id}/{}", record.subject.ifname)
}

/// A long container id as a glob.
fn short_id(id: &str) -> String {
    match id.char_indices().nth(SHORT_ID) {
        Some((end, _)) if id.chars().count() > LONGEST_ID => format!("{}*", &id[..end]),
        _ => id.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_id_becomes_a_glob() {
        assert_eq!(short_id("0123456789abcdef"), "0123456789abcdef");
        assert_eq!(short_id("0123456789abcdef0"), "0123456789ab*");
        assert_eq!(short_id("üüüüüüüüüüüüüüüüü"), "üüüüüüüüüüüü*");
    }
}
