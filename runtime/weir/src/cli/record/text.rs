//! The arguments of a record as words.

use serde_json::{Map, Value};

/// Returns the arguments of an operation: `namespace=host name=br0 kind=bridge`.
pub fn arguments(arguments: &Value) -> String {
    match arguments {
        Value::Object(members) => pairs(members),
        other => value(other),
    }
}

/// The object of the operation first.
fn pairs(members: &Map<String, Value>) -> String {
    let rank = |key: &str| match key {
        "namespace" => 0,
        "link" => 1,
        "name" | "key" => 2,
        "kind" => 3,
        _ => 4,
    };
    let mut pairs: Vec<_> = members.iter().collect();
    pairs.sort_by_key(|(key, _)| rank(key));
    let shown = pairs
        .into_iter()
        .map(|(key, member)| format!("{key}={}", value(member)));
    shown.collect::<Vec<_>>().join(" ")
}

fn value(value: &Value) -> String {
    match value {
        Value::String(text) if is_word(text) => text.clone(),
        Value::Object(members) => {
            found_link(members).unwrap_or_else(|| format!("{{{}}}", pairs(members)))
        }
        Value::Array(list) => {
            let list: Vec<_> = list.iter().map(self::value).collect();
            format!("[{}]", list.join(", "))
        }
        other => other.to_string(),
    }
}

/// A link as the kernel reported it, in one word: `host/eth0 (veth)`.
fn found_link(members: &Map<String, Value>) -> Option<String> {
    let word = |key: &str| members.get(key)?.as_str().filter(|text| is_word(text));
    members.get("index")?;
    let is_all = members.len() == 4;
    let (namespace, name, kind) = (word("namespace")?, word("name")?, word("kind")?);
    is_all.then(|| format!("{namespace}/{name} ({kind})"))
}

/// Whether a text needs no quotes.
fn is_word(text: &str) -> bool {
    let ordinary = |c: char| c.is_alphanumeric() || "-_.:/%{}+*?".contains(c);
    !text.is_empty() && text.chars().all(ordinary)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_words() {
        let all = json!({
            "name": "a b", "link": { "namespace": "host", "index": 4, "name": "veth1", "kind": "veth" },
            "changes": { "alias": "green/5f3c", "mtu": 1400 }, "protocols": ["tcp", "udp"],
            "namespace": "host",
        });
        assert_eq!(
            arguments(&all),
            r#"namespace=host link=host/veth1 (veth) name="a b" changes={alias=green/5f3c mtu=1400} protocols=[tcp, udp]"#
        );
    }

    #[test]
    fn a_link_is_one_word_only_where_nothing_is_lost_or_pretended() {
        for (link, expected) in [
            (
                json!({ "namespace": "host", "index": 4, "name": "a (b) ", "kind": "veth" }),
                r#"link={namespace=host name="a (b) " kind=veth index=4}"#,
            ),
            (
                json!({ "namespace": "host", "index": 4, "name": "a", "kind": "veth", "mtu": 9 }),
                "link={namespace=host name=a kind=veth index=4 mtu=9}",
            ),
        ] {
            assert_eq!(arguments(&json!({ "link": link })), expected);
        }
    }
}
