//! A grant as text: the document with a rule on each line, and sentences that fit on a page.

use serde_json::{Value, json};
use weir_grant::flow::flow;
use weir_grant::text::{misleads, printable};
use weir_grant::{Capability, Document, Limits};

/// The width at which sentences are wrapped.
const WIDTH: usize = 96;

/// The keys of limits as the documentation has them.
const LIMITS: [&str; 6] = ["memory", "time", "calls", "changes", "transfer", "log"];

/// Returns the document as people write it.
pub fn to_yaml(document: &Document) -> String {
    let value = serde_json::to_value(document).expect("a grant is JSON");
    let text = |value: &Value| flow(value);
    let spec = &value["spec"];
    let mut lines = vec![
        format!("apiVersion: {}", text(&value["apiVersion"])),
        format!("kind: {}", text(&value["kind"])),
        "metadata:".to_owned(),
        format!("  name: {}", text(&value["metadata"]["name"])),
        "spec:".to_owned(),
        "  plugin:".to_owned(),
        format!("    name: {}", text(&spec["plugin"]["name"])),
    ];
    if let Some(digest) = spec["plugin"].get("digest") {
        // Nothing in it needs quotes.
        lines.push(format!(
            "    digest: {}",
            digest.as_str().unwrap_or_default()
        ));
    }
    lines.push(format!("  networks: {}", text(&spec["networks"])));
    lines.extend(capabilities(&spec["capabilities"]));
    if let Some(tenants) = spec.get("tenants") {
        lines.push("  tenants:".to_owned());
        let of_tenants = capabilities(&tenants["capabilities"]);
        lines.extend(of_tenants.into_iter().map(|line| format!("  {line}")));
        if let Some(pods) = tenants.get("pods") {
            lines.push(format!("    pods: {}", text(pods)));
        }
    }
    lines.push(format!("  limits: {}", limits(&document.spec.limits)));
    let text = lines.join("\n") + "\n";
    text.chars().map(escaped).collect()
}

/// Returns the limits in the order in which people write them: `{ memory: 64MiB, time: 1m, calls: 10000, … }`.
pub fn limits(limits: &Limits) -> String {
    let value = json!(limits);
    let mut members: Vec<_> = value.as_object().into_iter().flatten().collect();
    members.sort_by_key(|(key, _)| LIMITS.iter().position(|known| known == key));
    let text = |value: &Value| value.as_str().map_or(value.to_string(), str::to_owned);
    let members: Vec<String> = members
        .into_iter()
        .map(|(key, value)| format!("{key}: {}", text(value)))
        .collect();
    format!("{{ {} }}", members.join(", "))
}

/// A character of a document. Misleading ones occur only in quotes, and are escaped there.
fn escaped(c: char) -> String {
    if c != '\n' && misleads(c) {
        format!("\\U{:08x}", u32::from(c))
    } else {
        c.to_string()
    }
}

fn capabilities(capabilities: &Value) -> Vec<String> {
    let capabilities = match capabilities.as_object() {
        Some(capabilities) if !capabilities.is_empty() => capabilities,
        _ => return vec!["  capabilities: {}".to_owned()],
    };
    let mut lines = vec!["  capabilities:".to_owned()];
    for capability in Capability::ALL {
        let Some(rules) = capabilities.get(capability.word()) else {
            continue;
        };
        let rules = rules.as_array().map(Vec::as_slice).unwrap_or_default();
        let are_names = rules.iter().all(Value::is_string);
        if are_names {
            lines.push(format!("    {capability}: {}", flow(&rules.into())));
            continue;
        }
        lines.push(format!("    {capability}:"));
        lines.extend(rules.iter().map(|rule| format!("      - {}", flow(rule))));
    }
    lines
}

/// Returns a text wrapped into lines. The first begins with `start`, and the others are indented below it.
pub fn wrapped(text: &str, start: &str) -> String {
    let text = printable(text);
    let indent = " ".repeat(start.chars().count());
    let mut lines = Vec::new();
    let mut line = start.to_owned();
    let mut is_empty = true;
    for word in text.split(' ') {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            lines.push(std::mem::replace(&mut line, indent.clone()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    lines.push(line);
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_document_misleads_nobody_and_is_the_same() {
        let name = "a\u{1b}]0;\u{7f}\u{9b}\u{202e}\u{200b}\u{e0041}\n\u{2028}ü";
        let document: Document = serde_json::from_value(json!({
            "apiVersion": "weir.dev/v1alpha1", "kind": "PluginGrant",
            "metadata": { "name": name },
            "spec": { "plugin": { "name": "p" }, "networks": [name],
                "capabilities": { "link": [{ "names": [name] }], "ipam": [name] },
                "tenants": { "capabilities": { "link": [{ "names": [name] }] }, "pods": ["ips"] } },
        }))
        .expect("a grant");
        let text = to_yaml(&document);
        assert!(!text.contains(|c| c != '\n' && misleads(c)), "{text:?}");
        let read = Document::read(text.as_bytes());
        assert_eq!(read.as_ref(), Ok(&document), "{text}");
    }
}
