//! A rule on one line of YAML, as people write them: `{ namespace: host, kinds: [bridge] }`.

use serde_json::Value;

/// Returns the line.
pub fn flow(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".to_owned(),
        Value::Object(members) => {
            let mut members: Vec<(&String, &Value)> = members.iter().collect();
            members.sort_by_key(|(key, _)| rank(key));
            let members = members
                .iter()
                .map(|(key, value)| format!("{key}: {}", flow(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(list) => {
            let list: Vec<String> = list.iter().map(flow).collect();
            format!("[{}]", list.join(", "))
        }
        Value::String(text) if is_plain(text) => text.clone(),
        // A string that JSON quotes is quoted the same way in YAML.
        other => other.to_string(),
    }
}

/// `namespace` comes first, `verbs` last.
fn rank(key: &str) -> u8 {
    match key {
        "namespace" => 0,
        "kinds" | "families" => 1,
        "names" | "links" => 2,
        "verbs" => 4,
        _ => 3,
    }
}

/// Whether YAML reads the text as itself without quotes.
fn is_plain(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphanumeric() || "_./-".contains(c);
    let is_word = !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
        .contains(&text.to_ascii_lowercase().as_str());
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    starts && is_word && text.chars().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_back() {
        let rule = json!({
            "namespace": "host", "names": ["{ifname}", "veth*", "on", "a b", "-x", "1e3", ""],
            "values": ["1"], "tables": [254], "addresses": ["::/0", "10.0.0.0/8"],
        });
        let line = flow(&rule);
        assert!(!line.contains('\n'), "{line}");
        let read: Value = serde_saphyr::from_str(&line).expect("YAML");
        assert_eq!(read, rule, "{line}");
        assert_eq!(flow(&json!({ "kinds": ["veth"] })), "{ kinds: [veth] }");
    }

    #[test]
    fn where_first_and_what_is_done_last() {
        let rule = json!({ "verbs": ["create", "read"], "names": ["{ifname}"], "namespace": "host",
            "kinds": ["veth"], "values": ["1"] });
        assert_eq!(
            flow(&rule),
            r#"{ namespace: host, kinds: [veth], names: ["{ifname}"], values: ["1"], verbs: [create, read] }"#
        );
        assert_eq!(flow(&json!({})), "{}");
        assert_eq!(flow(&json!("host-local")), "host-local");
    }
}
