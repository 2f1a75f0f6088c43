//! Splits and gathers firewall rules: the table itself, the chains on each hook, and each statement on each hook.

use std::collections::BTreeMap;

use super::{Hook, StatementKind};
use crate::Capability;
use crate::field::Texts;
use crate::rule::RuleFields;
use crate::word::Word;

/// What a transaction says about a table.
const STATED: [&str; 2] = ["hooks", "statements"];

/// Splits a rule. One without hooks covers only chains that no hook leads to.
pub(super) fn split(whole: RuleFields) -> Vec<RuleFields> {
    let table = whole.with_one_of(&STATED, "");
    let mut parts = vec![table.clone()];
    if whole.names("verbs", "write") {
        let values = |field: &str, all: &[&str]| match whole.get(field) {
            Some(named) => named.clone(),
            None => all.iter().map(|word| (*word).to_owned()).collect(),
        };
        let written = table.with("verbs", ["write"]);
        let hooks = values("hooks", Hook::WORDS);
        let said = written
            .clone()
            .with("statements", values("statements", StatementKind::WORDS));
        if hooks.is_empty() {
            parts.push(said)
        } else {
            parts.push(written.with("hooks", &hooks));
            parts.push(said.with("hooks", hooks));
        }
    }
    parts
}

/// Parts of firewall rules that are about the same tables, as rules: one for the hooks on which the same
/// statements are allowed.
pub(super) fn gather(parts: Vec<RuleFields>) -> Vec<RuleFields> {
    let mut tables: BTreeMap<Vec<Option<Texts>>, Table> = BTreeMap::new();
    for part in parts {
        let tables_of = |field| part.get(field).cloned();
        let key = ["namespace", "families", "ports", "owners"]
            .map(tables_of)
            .to_vec();
        tables.entry(key).or_default().take(&part);
    }
    tables.into_values().flat_map(Table::rules).collect()
}

/// What is allowed in the tables of a namespace and family.
#[derive(Default)]
struct Table {
    /// Namespace, families and verbs.
    fields: BTreeMap<String, Texts>,
    /// The statements on each hook.
    hooks: BTreeMap<String, Texts>,
    /// Statements to allow on each of them.
    anywhere: Texts,
}

impl Table {
    fn take(&mut self, part: &RuleFields) {
        for (field, values) in part
            .fields
            .iter()
            .filter(|(f, _)| !STATED.contains(&f.as_str()))
        {
            let own = self.fields.entry(field.clone()).or_default();
            own.extend(values.iter().cloned());
        }
        let said = part.get("statements").cloned().unwrap_or_default();
        match part.get("hooks").filter(|hooks| !hooks.is_empty()) {
            None => self.anywhere.extend(said),
            Some(hooks) => {
                for hook in hooks {
                    let on_hook = self.hooks.entry(hook.clone()).or_default();
                    on_hook.extend(said.iter().cloned());
                }
            }
        }
    }

    fn rules(self) -> Vec<RuleFields> {
        let mut whole = RuleFields::new(Capability::Firewall);
        whole.fields = self.fields;
        if !whole.names("verbs", "write") {
            return vec![whole];
        }
        // Statements, and the hooks on which they are allowed.
        let mut alike: BTreeMap<Texts, Texts> = BTreeMap::new();
        for (hook, mut said) in self.hooks {
            said.extend(self.anywhere.iter().cloned());
            alike.entry(said).or_default().insert(hook);
        }
        if alike.is_empty() {
            alike.insert(self.anywhere, Texts::new());
        }
        let rule = |(statements, hooks)| {
            let rule = whole.clone().with("statements", statements);
            rule.with("hooks", hooks)
        };
        alike.into_iter().map(rule).collect()
    }
}
