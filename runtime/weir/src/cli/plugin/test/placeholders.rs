//! Placeholders for what differs from run to run: the container's path, the addresses that the kernel gave to links, and
//! generated names.

use std::collections::BTreeMap;

use serde_json::Value;
use weir_grant::generated_prefix;

use super::attached::Attached;
use super::node_state::NodeState;

/// For the path of the container's network namespace.
const NETNS: &str = "{netns}";

/// Each with its value in a run, in the order in which values are replaced: the placeholder of an address has a name in it.
pub struct Placeholders(Vec<(String, String)>);

impl Placeholders {
    /// Returns those after an ADD: `veth{1}` for the first generated name of that prefix, in the order in which links
    /// were made, those of the host first, and `{mac of container eth0}`.
    pub fn of(attached: &Attached) -> Self {
        let mut all = Self::of_links(&attached.state);
        all.0.insert(0, (NETNS.to_owned(), attached.netns.clone()));
        all
    }

    /// Returns the same for the links in a state, without the container's path.
    pub fn of_links(state: &NodeState) -> Self {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut names: Vec<(String, String)> = Vec::new();
        let mut count: BTreeMap<&str, u32> = BTreeMap::new();
        for (place, link) in state.links() {
            let mac = link.mac.to_string();
            let is_given = link.mac.0.iter().any(|byte| *byte != 0);
            if is_given && !all.iter().any(|(_, value)| *value == mac) {
                all.push((format!("{{mac of {place} {}}}", link.name), mac));
            }
            let is_new = !names.iter().any(|(_, value)| *value == link.name);
            if let Some(prefix) = generated_prefix(&link.name).filter(|_| is_new) {
                let number = count.entry(prefix).or_default();
                *number += 1;
                names.push((format!("{prefix}{{{number}}}"), link.name.clone()));
            }
        }
        all.extend(names);
        Self(all)
    }

    /// Without those whose value occurs in a text: its author chose that value.
    #[must_use]
    pub fn except_in(mut self, text: &str) -> Self {
        self.0.retain(|(_, value)| !text.contains(value.as_str()));
        self
    }

    /// Puts the placeholders into a text.
    pub fn fold(&self, text: &str) -> String {
        let all = self.0.iter();
        all.fold(text.to_owned(), |text, (placeholder, value)| {
            replace_words(&text, value, placeholder)
        })
    }

    /// Puts the values into a text.
    pub fn expand(&self, text: &str) -> String {
        let all = self.0.iter().rev();
        all.fold(text.to_owned(), |text, (placeholder, value)| {
            text.replace(placeholder, value)
        })
    }
}

/// Replaces a text where it is not a part of a longer word.
fn replace_words(text: &str, old: &str, new: &str) -> String {
    let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut replaced = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(old) {
        let (before, from) = rest.split_at(at);
        let after = &from[old.len()..];
        let last = before.chars().last().or_else(|| replaced.chars().last());
        let is_word = !is_letter(last) && !is_letter(after.chars().next());
        replaced += before;
        replaced += if is_word { new } else { old };
        rest = after;
    }
    replaced + rest
}

/// Returns the value with each text in it replaced.
pub fn in_texts(value: &Value, replace: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(replace(text)),
        Value::Array(list) => list.iter().map(|one| in_texts(one, replace)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(key, value)| (key.clone(), in_texts(value, replace)))
            .collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn placeholders() -> Placeholders {
        let all = [
            ("{netns}", "/tmp/x/run/netns/test"),
            ("{mac of host vethdeadbeef}", "0a:00:00:00:00:01"),
            ("veth{1}", "vethdeadbeef"),
        ];
        let owned = |(placeholder, value): (&str, &str)| (placeholder.to_owned(), value.to_owned());
        Placeholders(all.into_iter().map(owned).collect())
    }

    #[test]
    fn what_is_folded_is_expanded_to_the_same() {
        let placeholders = placeholders();
        for (text, folded) in [
            (
                "host: link vethdeadbeef (veth), mac 0a:00:00:00:00:01",
                "host: link veth{1} (veth), mac {mac of host veth{1}}",
            ),
            (
                "net.ipv6.conf.vethdeadbeef.mtu",
                "net.ipv6.conf.veth{1}.mtu",
            ),
            ("vethdeadbeef1 vethdeadbeef", "vethdeadbeef1 veth{1}"),
            ("/tmp/x/run/netns/test", "{netns}"),
        ] {
            assert_eq!(placeholders.fold(text), folded);
            assert_eq!(placeholders.expand(folded), text);
        }
    }

    #[test]
    fn what_the_author_chose_has_no_placeholder() {
        let placeholders = placeholders().except_in(r#"{"mac": "0a:00:00:00:00:01"}"#);
        assert_eq!(
            placeholders.fold("vethdeadbeef 0a:00:00:00:00:01"),
            "veth{1} 0a:00:00:00:00:01"
        );
    }
}
