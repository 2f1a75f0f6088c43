//! The values of rules that no record needed: a rule of many keys of which one was used is broader than its use.
//!
//! A value is used if an operation is allowed with it as the only one of its field. Of several that each allow an operation, one
//! is enough.

use anyhow::Result;
use serde::Serialize;
use weir_gate::GRANT_CHANGE;
use weir_grant::pattern::is_glob;
use weir_grant::phrase::{joined, quoted};
use weir_grant::query::Query;
use weir_grant::rule::{RuleFields, capabilities, rules_of};
use weir_grant::{Capabilities, Capability, Decision, Invocation, Verb};

use crate::cli::grants::grant_state::{Grant, applying};
use crate::cli::record::{Record, Verdict};

/// The rules in force with several values in a field.
pub struct Parts<'a> {
    grants: &'a [Grant],
    /// The lists of each grant, in the order of the grants.
    lists: Vec<Vec<List>>,
}

/// A field of a rule with several values.
struct List {
    /// `sysctl[0]`.
    rule: String,
    field: String,
    /// Whether the rule allows reads, which are recorded only on request.
    reads: bool,
    values: Vec<Value>,
}

/// One of the values.
struct Value {
    text: String,
    /// The capability's rules, in which this one has no other value in this field.
    alone: Capabilities,
    is_used: bool,
}

/// The values of a field that were not used, of a rule that was.
#[derive(Serialize)]
pub struct PartlyUsed {
    /// `sysctl[0]`.
    pub name: String,
    pub field: String,
    pub values: Vec<String>,
    /// Whether the rule allows reads, which are recorded only on request: the values may well be used.
    pub reads: bool,
}

impl<'a> Parts<'a> {
    pub fn of(grants: &'a [Grant]) -> Result<Self> {
        let lists = grants.iter().map(lists).collect::<Result<_>>()?;
        Ok(Self { grants, lists })
    }

    /// Notes which values allowed the operation of a record.
    pub fn add(&mut self, record: &Record) {
        if record.operation == GRANT_CHANGE {
            self.forget(&record.subject.plugin);
            return;
        }
        if record.verdict != Verdict::Allowed || record.rules.is_empty() {
            return;
        }
        let Ok(grant) = applying(
            self.grants,
            &record.subject.plugin,
            Some(record.subject.granted_as()),
        ) else {
            return;
        };
        let at = self.grants.iter().position(|one| std::ptr::eq(one, grant));
        let Some(lists) = at.and_then(|at| self.lists.get_mut(at)) else {
            return;
        };
        let is_open = |list: &&mut List| record.rules.contains(&list.rule) && !list.is_used();
        let mut open = lists.iter_mut().filter(is_open).peekable();
        if open.peek().is_none() {
            return;
        }
        if let Ok(operation) = record.query() {
            let invocation = record.subject.invocation();
            open.for_each(|list| list.note(&*operation, &invocation));
        }
    }

    /// What was noted of a plugin's grants before one of them was changed may be about other rules.
    fn forget(&mut self, plugin: &str) {
        let grants = self.grants.iter().zip(&mut self.lists);
        let lists = grants.filter(|(grant, _)| grant.plugin() == plugin);
        let values = lists
            .flat_map(|(_, lists)| lists)
            .flat_map(|list| &mut list.values);
        values.for_each(|value| value.is_used = false);
    }

    /// The unused values of a grant's rules. `is_used` tells of a rule whether it was used at all.
    pub fn unused(&self, grant: &Grant, is_used: impl Fn(&str) -> bool) -> Vec<PartlyUsed> {
        let at = self.grants.iter().position(|one| std::ptr::eq(one, grant));
        let lists = at.and_then(|at| self.lists.get(at)).into_iter().flatten();
        let lists = lists.filter(|list| is_used(&list.rule) && !list.is_used());
        lists.map(List::unused).collect()
    }
}

impl List {
    /// Of a capability's rules the one at `index`. None for a field without several values.
    fn new(
        rules: &[RuleFields],
        index: usize,
        (rule, field): (String, &str),
    ) -> Result<Option<Self>> {
        let own = &rules[index];
        // The verb itself is not among the values.
        let reads = field != "verbs" && own.verbs().into_iter().any(Verb::is_read);
        let is_recorded = |value: &&String| field != "verbs" || *value != Verb::Read.word();
        let texts = own.get(field).into_iter().flatten();
        let mut texts: Vec<&String> = texts.filter(is_recorded).collect();
        if texts.len() < 2 {
            return Ok(None);
        }
        // An exact value is the narrower one where either would do.
        texts.sort_by_key(|text| is_glob(text));
        let value = |text: &String| -> Result<Value> {
            let mut rules = rules.to_vec();
            rules[index] = own.clone().with(field, [text]);
            Ok(Value {
                text: text.clone(),
                alone: capabilities(&rules)?,
                is_used: false,
            })
        };
        Ok(Some(Self {
            rule,
            field: field.to_owned(),
            reads,
            values: texts.into_iter().map(value).collect::<Result<_>>()?,
        }))
    }

    /// Whether each value was used.
    fn is_used(&self) -> bool {
        self.values.iter().all(|value| value.is_used)
    }

    fn note(&mut self, operation: &dyn Query, invocation: &Invocation) {
        let allows = |value: &Value| {
            let decision = operation.decide(&value.alone, invocation);
            matches!(decision, Decision::Allowed { .. })
        };
        let (used, open): (Vec<_>, Vec<_>) = self.values.iter_mut().partition(|v| v.is_used);
        if used.into_iter().any(|value| allows(value)) {
            return;
        }
        let mut open = open.into_iter();
        match open.find(|value| allows(value)) {
            Some(value) => value.is_used = true,
            // It needs several of them, or the rule has changed since.
            None => self
                .values
                .iter_mut()
                .for_each(|value| value.is_used = true),
        }
    }

    fn unused(&self) -> PartlyUsed {
        let unused = self.values.iter().filter(|value| !value.is_used);
        PartlyUsed {
            name: self.rule.clone(),
            field: self.field.clone(),
            values: unused.map(|value| value.text.clone()).collect(),
            reads: self.reads,
        }
    }
}

impl PartlyUsed {
    /// Says it, as in "used without `a` and `b` in `keys`", with the rule before it.
    pub fn sentence(&self) -> String {
        let Self { name, field, .. } = self;
        let values = joined(quoted(&self.values), "and");
        format!("{name}: used without {values} in `{field}`")
    }
}

/// The lists of a grant that is in force.
fn lists(grant: &Grant) -> Result<Vec<List>> {
    let mut lists = Vec::new();
    if !grant.is_in_force() {
        return Ok(lists);
    }
    for (section, granted) in grant.loaded.document.spec.sections() {
        for capability in Capability::ALL {
            let rules = rules_of(granted, capability);
            for (index, rule) in rules.iter().enumerate() {
                let name = section.rule(&format!("{capability}[{index}]"));
                for field in rule.fields.keys() {
                    lists.extend(List::new(&rules, index, (name.clone(), field))?);
                }
            }
        }
    }
    Ok(lists)
}

#[cfg(test)]
mod tests {
    use weir_grant::operation_names::by_name;

    use super::*;

    /// A field of the first rule of these.
    fn list(capability: Capability, rules: &str, field: &str) -> Option<List> {
        let granted: Capabilities = serde_saphyr::from_str(rules).expect("rules");
        let rules = rules_of(&granted, capability);
        let list = List::new(&rules, 0, ("it".to_owned(), field));
        list.expect("valid rules")
    }

    /// The values that were not used, after these operations: names and fields.
    fn unused(list: Option<List>, operations: &[(&str, &str)]) -> Vec<String> {
        let mut list = list.expect("a field with several values");
        let invocation = Invocation {
            ifname: "eth0".to_owned(),
            ..Invocation::default()
        };
        for (name, fields) in operations {
            let pair = |field: &str| field.split_once('=').map(|(a, b)| (a.into(), b.into()));
            let fields: Option<Vec<_>> = fields.split(' ').map(pair).collect();
            let operation = by_name(name, &fields.expect("fields")).expect("an operation");
            list.note(&*operation, &invocation);
        }
        list.unused().values
    }

    const SYSCTL: &str = "sysctl: [{ namespace: container, keys: ['net.ipv4.conf.{ifname}.rp_filter', \
        'net.ipv4.conf.*.arp_filter', net.ipv4.conf.eth0.arp_filter], values: ['0', '1'] }]";

    const ARP_FILTER: (&str, &str) = (
        "sysctl.write",
        "namespace=container key=net.ipv4.conf.eth0.arp_filter value=1",
    );

    #[test]
    fn what_no_operation_needs_is_unused() {
        let sysctl = |field| list(Capability::Sysctl, SYSCTL, field);
        // The exact key would do for the one operation.
        assert_eq!(
            unused(sysctl("keys"), &[ARP_FILTER]),
            [
                "net.ipv4.conf.{ifname}.rp_filter",
                "net.ipv4.conf.*.arp_filter"
            ]
        );
        assert_eq!(unused(sysctl("values"), &[ARP_FILTER]), ["0"]);
        let other = (
            "sysctl.write",
            "namespace=container key=net.ipv4.conf.lo.arp_filter value=0",
        );
        let left = unused(sysctl("keys"), &[ARP_FILTER, other]);
        assert_eq!(left, ["net.ipv4.conf.{ifname}.rp_filter"]);
        assert!(unused(sysctl("values"), &[ARP_FILTER, other]).is_empty());
    }

    #[test]
    fn an_operation_that_needs_several_uses_all() {
        let links = "link: [{ namespace: host, kinds: [veth], names: [a, b, c] }]";
        let pair = (
            "link.create",
            "namespace=host kind=veth name=a peer.namespace=host peer.name=b",
        );
        let names = list(Capability::Link, links, "names");
        assert!(unused(names, &[pair]).is_empty());
    }

    #[test]
    fn reads_are_not_called_unused() {
        let links = "link: [{ verbs: [read, create, delete] }]";
        let delete = ("link.delete", "namespace=host kind=veth name=a");
        let verbs = list(Capability::Link, links, "verbs");
        assert_eq!(unused(verbs, &[delete]), ["create"]);
        let two = "link: [{ verbs: [read, create] }]";
        assert!(list(Capability::Link, two, "verbs").is_none());
    }
}
