//! Whether a rule reaches the host, and what it changes there.

use weir_grant::rule::RuleFields;
use weir_grant::{Capability, Namespace};

/// Whether the rule allows changing something.
pub fn changes(rule: &RuleFields) -> bool {
    rule.verbs().iter().any(|verb| !verb.is_read())
}

/// Whether it covers the host's network namespace.
pub fn on_host(rule: &RuleFields) -> bool {
    rule.namespaces().contains(&Namespace::Host.word())
}

/// Whether it allows changing something of the host: its network, firewalld, or files outside the plugin's own store.
pub fn changes_host(rule: &RuleFields) -> bool {
    let is_of_host = match rule.capability {
        Capability::Firewalld => true,
        Capability::Store => rule.get("directories").is_some(),
        _ => on_host(rule),
    };
    is_of_host && changes(rule)
}
