//! A rule as its fields, of any capability: what the tools compare, merge and describe.
//!
//! Nothing is decided here: the gate and `explain` use the rules themselves.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::field::{Field, Flaw, Texts};
use crate::namespace::Namespace;
use crate::verb::Verb;
use crate::{Capabilities, Capability};

/// A rule's fields; whether an absent one matches everything depends on its type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RuleFields {
    pub capability: Capability,
    pub fields: BTreeMap<String, Texts>,
}

/// The values that bound what a rule allows, by field.
pub type Bounds = BTreeMap<String, Texts>;

/// Returns a capability's rules, in the document's order.
pub fn rules_of(capabilities: &Capabilities, capability: Capability) -> Vec<RuleFields> {
    let document = serde_json::to_value(capabilities).expect("a grant is JSON");
    let rules = document[capability.word()].as_array();
    let rules = rules.into_iter().flatten();
    rules.map(|rule| RuleFields::of(capability, rule)).collect()
}

/// Makes capabilities of these rules. Errors: an invalid rule.
pub fn capabilities(rules: &[RuleFields]) -> Result<Capabilities, serde_json::Error> {
    let mut document = Map::new();
    for rule in rules {
        let list = document
            .entry(rule.capability.word())
            .or_insert_with(|| json!([]));
        if let Value::Array(list) = list {
            list.push(rule.to_json());
        }
    }
    serde_json::from_value(Value::Object(document))
}

impl RuleFields {
    /// Makes a rule without fields.
    pub fn new(capability: Capability) -> Self {
        Self {
            capability,
            fields: BTreeMap::new(),
        }
    }

    fn of(capability: Capability, rule: &Value) -> Self {
        let mut own = Self::new(capability);
        match rule {
            Value::Object(fields) => {
                let fields = fields
                    .iter()
                    .map(|(key, value)| (key.clone(), texts(value)));
                own.fields.extend(fields);
            }
            name => {
                let field = own.described().first();
                let key = field.map_or("name", |field| field.key);
                own.fields.insert(key.to_owned(), texts(name));
            }
        }
        own
    }

    /// Returns the rule with this field set.
    #[must_use]
    pub fn with<T: ToString>(mut self, field: &str, values: impl IntoIterator<Item = T>) -> Self {
        let values = values.into_iter().map(|v| v.to_string()).collect();
        self.fields.insert(field.to_owned(), values);
        self
    }

    /// Keeps the values of a field that pass.
    #[must_use]
    pub(crate) fn retain(mut self, field: &str, passes: impl Fn(&str) -> bool) -> Self {
        if let Some(values) = self.fields.get_mut(field) {
            values.retain(|value| passes(value));
        }
        self
    }

    /// Removes all of these fields except one.
    pub(crate) fn with_one_of(&self, fields: &[&str], kept: &str) -> Self {
        let mut own = self.clone();
        own.fields
            .retain(|field, _| field == kept || !fields.contains(&field.as_str()));
        own
    }

    /// Returns the values of a field; none where it is left out.
    pub fn get(&self, field: &str) -> Option<&Texts> {
        self.fields.get(field)
    }

    /// Whether a field is there and has this value.
    pub fn names(&self, field: &str, value: &str) -> bool {
        self.get(field).is_some_and(|values| values.contains(value))
    }

    /// Returns the fields that rules of the capability may have.
    pub fn described(&self) -> &'static [Field] {
        self.capability.description().map_or(&[], |d| d.fields)
    }

    pub(super) fn field(&self, key: &str) -> Option<&'static Field> {
        self.described().iter().find(|field| field.key == key)
    }

    /// Returns the verbs, in the capability's order: all if the rule names none.
    pub fn verbs(&self) -> Vec<Verb> {
        let named = self.get("verbs");
        let all = self.capability.description().map_or(&[][..], |d| d.verbs);
        let is_named = |verb: &&Verb| named.is_none_or(|named| named.contains(verb.word()));
        all.iter().filter(is_named).copied().collect()
    }

    /// Returns the namespaces that it covers.
    pub fn namespaces(&self) -> Vec<&str> {
        match self.get("namespace") {
            _ if self.field("namespace").is_none() => Vec::new(),
            Some(named) => named.iter().map(String::as_str).collect(),
            None => Namespace::ALL.iter().map(|n| n.word()).collect(),
        }
    }

    /// Returns the rule as a document has it.
    pub fn to_json(&self) -> Value {
        let mut rule = Map::new();
        for (key, values) in &self.fields {
            let text = |text: &String| match self.field(key) {
                Some(field) => field.to_json(text),
                None => text.as_str().into(),
            };
            let is_scalar = self.field(key).is_some_and(|field| !field.is_list);
            let value = match key.as_str() {
                _ if is_scalar => values.first().map(text).into(),
                "verbs" if !self.verbs().is_empty() => {
                    self.verbs().iter().map(|verb| verb.word()).collect()
                }
                _ => values.iter().map(text).collect(),
            };
            rule.insert(key.clone(), value);
        }
        match self.capability.description() {
            Some(d) if d.is_name => rule.into_values().next().unwrap_or_default(),
            _ => Value::Object(rule),
        }
    }

    /// Splits it into rules that together allow the same, each with one value per field. Absent fields
    /// are spelled out if their values can be listed.
    pub fn split(&self) -> Vec<Self> {
        let mut whole = self.clone().with("verbs", self.verbs());
        if self.field("namespace").is_some() {
            whole = whole.with("namespace", self.namespaces());
        }
        let parts = match self.capability.description() {
            Some(description) => (description.split)(whole),
            None => vec![whole],
        };
        let by_verb = parts.iter().flat_map(Self::for_each_verb);
        let mut rules: Vec<Self> = by_verb.flat_map(|part| part.product()).collect();
        rules.sort();
        rules.dedup();
        rules
    }

    /// Merges values of a field that one value can express.
    #[must_use]
    pub fn aggregated(mut self) -> Self {
        for field in self.described() {
            if let Some(values) = self.fields.get_mut(field.key) {
                *values = (field.aggregate)(values);
            }
        }
        self
    }

    /// Returns the fields that no operation of its verbs is matched with.
    pub fn unused(&self) -> Vec<&'static str> {
        let verbs = self.verbs();
        let is_unused = |field: &&Field| !verbs.iter().any(|verb| field.is_for(*verb));
        let unused = self.described().iter().filter(is_unused);
        unused
            .filter(|_| !verbs.is_empty())
            .map(|f| f.key)
            .collect()
    }

    /// Returns the fields that the rule does not have and others of its verbs may: it allows every value of them.
    pub fn unbounded(&self) -> Vec<&'static str> {
        let unused = self.unused();
        let is_open = |field: &&Field| {
            let key = field.key;
            let is_matched =
                field.left_out_is_all && !field.is_alternative && !unused.contains(&key);
            is_matched && key != "verbs" && self.get(key).is_none()
        };
        self.described()
            .iter()
            .filter(is_open)
            .map(|f| f.key)
            .collect()
    }

    /// One rule for each verb, with the fields that operations of the verb are matched with.
    fn for_each_verb(&self) -> Vec<Self> {
        self.verbs().into_iter().map(|v| self.only(v)).collect()
    }

    /// Returns the rule for one of its verbs alone, with the fields that operations of the verb are matched with.
    #[must_use]
    pub fn only(&self, verb: Verb) -> Self {
        let mut rule = self.clone().with("verbs", [verb]);
        let unused = rule.unused();
        rule.fields
            .retain(|field, _| !unused.contains(&field.as_str()));
        rule
    }

    /// One rule for each combination of values. An empty list stays as it is: it matches what has no value, such as a
    /// link that is not there.
    fn product(&self) -> Vec<Self> {
        let mut rules = vec![Self::new(self.capability)];
        for (field, values) in &self.fields {
            if values.is_empty() && !(self.is_alternative(field) && self.has_place()) {
                rules = rules
                    .iter()
                    .map(|rule| rule.clone().with(field, values))
                    .collect();
                continue;
            }
            rules = rules
                .iter()
                .flat_map(|rule| values.iter().map(|v| rule.clone().with(field, [v])))
                .collect();
        }
        rules
    }

    /// Whether it allows everything that `other`, a part from [`RuleFields::split`], allows. It may say no if only two
    /// rules together do, or if one glob contains another in a roundabout way.
    pub fn covers(&self, other: &Self) -> bool {
        let unused = other.unused();
        let bounds_alike = |key: &String| {
            let is_matched = !self.is_alternative(key) && !unused.contains(&key.as_str());
            other.fields.contains_key(key) || !is_matched
        };
        let covers = |(key, theirs): (&String, &Texts)| self.covers_field(key, theirs);
        self.capability == other.capability
            && other.fields.iter().all(covers)
            && self.fields.keys().all(bounds_alike)
            && self.has_place() == other.has_place()
    }

    /// What this rule and a part from [`RuleFields::split`] both allow; none if they have nothing in common, as far as their
    /// fields show one by one. Of two values that overlap without one covering the other, it has this rule's.
    #[must_use]
    pub fn in_common_with(&self, part: &Self) -> Option<Self> {
        let meets = |(key, values): (&String, &Texts)| match (self.field(key), self.get(key)) {
            (None, _) | (_, None) => key == "verbs" || self.covers_field(key, values),
            (Some(field), Some(own)) => {
                values.is_empty()
                    || own
                        .iter()
                        .any(|a| values.iter().any(|b| overlap(field, a, b)))
            }
        };
        let has_verb = part.verbs().iter().any(|verb| self.verbs().contains(verb));
        let is_about_alike =
            self.capability == part.capability && self.has_place() == part.has_place();
        if !is_about_alike || !has_verb || !part.fields.iter().all(meets) {
            return None;
        }
        let mut common = self.clone().with("verbs", part.verbs());
        for (key, theirs) in &part.fields {
            let values = match (self.field(key), self.get(key)) {
                (Some(field), Some(own)) => in_common(field, own, theirs),
                _ => theirs.clone(),
            };
            common.fields.insert(key.clone(), values);
        }
        let unused = common.unused();
        common
            .fields
            .retain(|field, _| !unused.contains(&field.as_str()));
        Some(common)
    }

    /// The values of the fields in which another rule reaches beyond this one, although the two overlap.
    pub fn exceeded_by(&self, other: &Self) -> Bounds {
        let exceeds = |(key, theirs): &(&String, &Texts)| {
            other.field(key).is_some() && self.get(key).is_some() && !self.covers_field(key, theirs)
        };
        let exceeded = other.fields.iter().filter(exceeds);
        let own = exceeded.filter_map(|(key, _)| Some((key.clone(), self.get(key)?.clone())));
        own.collect()
    }

    fn covers_field(&self, key: &str, theirs: &Texts) -> bool {
        let field = self.field(key);
        let Some(own) = self.get(key) else {
            return field.is_none_or(|field| field.left_out_is_all);
        };
        let is_covered = |narrow: &String| match field {
            Some(field) => own.iter().any(|wide| (field.covers)(wide, narrow)),
            None => own.contains(narrow),
        };
        theirs.iter().all(is_covered)
    }

    fn is_alternative(&self, key: &str) -> bool {
        self.field(key).is_some_and(|field| field.is_alternative)
    }

    /// Whether it has a field without which it would cover something else.
    fn has_place(&self) -> bool {
        let keys = self.fields.keys();
        let mut fields = keys.filter_map(|key| self.field(key));
        fields.any(|field| !field.left_out_is_all)
    }

    /// Merges two rules that differ in one field only, so that the result allows nothing more.
    fn join(&self, other: &Self, may_differ: &dyn Fn(&str) -> bool) -> Option<Self> {
        let same_fields = self.fields.keys().eq(other.fields.keys());
        if self.capability != other.capability || !same_fields {
            return None;
        }
        let mut differ = self.fields.keys().filter(|f| self.get(f) != other.get(f));
        let field = match (differ.next(), differ.next()) {
            (None, _) => return Some(self.clone()),
            (Some(field), None) if self.is_list(field) && may_differ(field) => field.clone(),
            _ => return None,
        };
        let mut both = self.clone();
        if let (Some(own), Some(theirs)) = (both.fields.get_mut(&field), other.get(&field)) {
            own.extend(theirs.iter().cloned());
        }
        Some(both)
    }

    fn is_list(&self, key: &str) -> bool {
        self.field(key).is_none_or(|field| field.is_list)
    }

    /// Finds values that nothing can match.
    pub fn flaws(&self) -> Vec<Flaw> {
        let fields = self.described().iter();
        let given = fields.filter_map(|field| Some((field, self.get(field.key)?)));
        given
            .flat_map(|(field, values)| (field.flaws)(values))
            .collect()
    }
}

/// Whether something matches two values of rules. In a question `*` may match more than in a rule, so each is asked about the
/// other.
fn overlap(field: &Field, a: &str, b: &str) -> bool {
    let covers = (field.covers)(a, b) || (field.covers)(b, a);
    covers || (field.meets)(a, b) && (field.meets)(b, a)
}

/// The values that match what two lists of a field have in common: of each two that meet, the narrower one.
fn in_common(field: &Field, own: &Texts, theirs: &Texts) -> Texts {
    if theirs.is_empty() {
        return Texts::new();
    }
    let pairs = own.iter().flat_map(|a| theirs.iter().map(move |b| (a, b)));
    let meet = |(a, b): &(&String, &String)| overlap(field, a, b);
    let narrower = |(a, b): (&String, &String)| {
        if (field.covers)(a, b) {
            b.clone()
        } else {
            a.clone()
        }
    };
    pairs.filter(meet).map(narrower).collect()
}

fn texts(value: &Value) -> Texts {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        Value::Array(list) => list.iter().map(text).collect(),
        scalar => Texts::from([text(scalar)]),
    }
}

/// Merges rules as long as that allows nothing more. Rules for the same object that differ in their
/// verbs are merged first.
pub fn merge(rules: Vec<RuleFields>) -> Vec<RuleFields> {
    let by_verbs = put_together(gather(rules), &|field| field == "verbs");
    put_together(by_verbs, &|_| true)
}

fn put_together(rules: Vec<RuleFields>, may_differ: &dyn Fn(&str) -> bool) -> Vec<RuleFields> {
    let mut merged: Vec<RuleFields> = Vec::new();
    for rule in rules {
        add(&mut merged, rule, may_differ);
    }
    merged
}

fn add(merged: &mut Vec<RuleFields>, rule: RuleFields, may_differ: &dyn Fn(&str) -> bool) {
    let joined = merged
        .iter()
        .enumerate()
        .find_map(|(at, other)| Some((at, other.join(&rule, may_differ)?)));
    match joined {
        // The larger rule may now merge with another.
        Some((at, both)) if both != merged[at] => {
            merged.remove(at);
            add(merged, both, may_differ);
        }
        Some(_) => {}
        None => merged.push(rule),
    }
}

/// Gathers the parts of each capability's rules, as the capability does.
fn gather(rules: Vec<RuleFields>) -> Vec<RuleFields> {
    let mut by_capability: BTreeMap<Capability, Vec<RuleFields>> = BTreeMap::new();
    for rule in rules {
        by_capability.entry(rule.capability).or_default().push(rule);
    }
    let gathered =
        by_capability
            .into_iter()
            .flat_map(|(capability, parts)| match capability.description() {
                Some(description) => (description.gather)(parts),
                None => parts,
            });
    gathered.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(grant: &str) -> Vec<RuleFields> {
        let capabilities = serde_json::from_str(grant).expect("a grant");
        let all = Capability::ALL.into_iter();
        all.flat_map(|c| rules_of(&capabilities, c)).collect()
    }

    fn covers(wide: &str, narrow: &str) -> bool {
        let wide = rules(wide);
        let narrow = rules(narrow);
        let mut parts = narrow.iter().flat_map(RuleFields::split);
        parts.all(|part| wide.iter().any(|rule| rule.covers(&part)))
    }

    #[test]
    fn a_rule_covers_what_it_allows_all_of() {
        for (wide, narrow) in [
            (
                r#"{"link": [{}]}"#,
                r#"{"link": [{"kinds": ["veth"], "verbs": ["read"]}]}"#,
            ),
            (
                r#"{"link": [{"namespace": "host", "names": ["veth*"]}]}"#,
                r#"{"link": [{"namespace": "host", "names": ["veth1", "veth1*"], "kinds": ["veth"]}]}"#,
            ),
            (
                r#"{"link": [{"namespace": "host"}, {"namespace": "container"}]}"#,
                r#"{"link": [{}]}"#,
            ),
            (
                r#"{"address": [{"addresses": ["10.0.0.0/8"]}]}"#,
                r#"{"address": [{"addresses": ["10.1.0.0/16"]}]}"#,
            ),
            (
                r#"{"address": [{"addresses": ["10.0.0.0/8"], "verbs": ["read"]}]}"#,
                r#"{"address": [{"verbs": ["read"]}]}"#,
            ),
            (
                r#"{"conntrack": [{"ports": ["1-100"]}]}"#,
                r#"{"conntrack": [{"ports": [53, "60-70"]}]}"#,
            ),
            (
                r#"{"sysctl": [{"keys": ["net.ipv4.conf.*.*"]}]}"#,
                r#"{"sysctl": [{"keys": ["net.ipv4.conf.{ifname}.rp_filter"], "values": ["1"]}]}"#,
            ),
            (
                r#"{"firewall": [{"families": ["inet"], "hooks": ["input", "forward"], "statements": []},
                                 {"families": ["inet"], "statements": ["drop"], "verbs": ["write"]}]}"#,
                r#"{"firewall": [{"families": ["inet"], "hooks": ["input"], "statements": ["drop"]}]}"#,
            ),
            (
                r#"{"store": [{"directories": ["/var/lib"]}, {"files": ["/etc/a"]}]}"#,
                r#"{"store": [{"directories": ["/var/lib/cni"], "files": ["/etc/a"]}]}"#,
            ),
            (r#"{"ipam": ["a", "b"]}"#, r#"{"ipam": ["b"]}"#),
        ] {
            assert!(covers(wide, narrow), "{wide} covers {narrow}");
        }
    }

    #[test]
    fn a_rule_does_not_cover_more() {
        for (wide, narrow) in [
            (r#"{"link": [{"kinds": ["veth"]}]}"#, r#"{"link": [{}]}"#),
            (
                r#"{"link": [{"names": ["veth*"]}]}"#,
                r#"{"link": [{"names": ["*"]}]}"#,
            ),
            (
                r#"{"link": [{"names": ["eth0"]}]}"#,
                r#"{"link": [{"names": ["{ifname}"]}]}"#,
            ),
            (r#"{"link": [{"verbs": ["read"]}]}"#, r#"{"link": [{}]}"#),
            (
                r#"{"sysctl": [{"keys": ["net.ipv4.*"]}]}"#,
                r#"{"sysctl": [{"keys": ["net.ipv4.conf.all"]}]}"#,
            ),
            (
                r#"{"sysctl": [{"values": ["1"]}]}"#,
                r#"{"sysctl": [{"values": ["0"], "verbs": ["write"]}]}"#,
            ),
            (
                r#"{"address": [{"addresses": ["10.0.0.0/8"]}]}"#,
                r#"{"address": [{"addresses": ["::ffff:10.0.0.0/104"]}]}"#,
            ),
            // A rule about nothing is about the plugin's own store, and not about every one.
            (
                r#"{"store": [{}]}"#,
                r#"{"store": [{"directories": ["/var/lib"]}]}"#,
            ),
            (
                r#"{"store": [{"directories": ["/"]}]}"#,
                r#"{"store": [{}]}"#,
            ),
            (
                r#"{"store": [{"directories": ["/etc"]}]}"#,
                r#"{"store": [{"files": ["/etc/a"]}]}"#,
            ),
            (
                r#"{"firewall": [{"hooks": ["input"], "statements": []}]}"#,
                r#"{"firewall": [{"hooks": ["input"], "statements": ["drop"]}]}"#,
            ),
            // What may be said on one hook may not be on another.
            (
                r#"{"firewall": [{"hooks": ["input"], "statements": ["accept"]},
                                 {"hooks": ["postrouting"], "statements": ["drop"]}]}"#,
                r#"{"firewall": [{"hooks": ["input"], "statements": ["drop"]}]}"#,
            ),
            (r#"{"ipam": ["a"]}"#, r#"{"ipam": ["b"]}"#),
        ] {
            assert!(!covers(wide, narrow), "{wide} does not cover {narrow}");
        }
    }

    #[test]
    fn rules_are_put_together_where_that_allows_nothing_more() {
        let merged = |grant: &str| -> Vec<String> {
            let rules = merge(rules(grant));
            rules
                .iter()
                .map(|rule| rule.to_json().to_string())
                .collect()
        };
        let two = r#"{"link": [{"kinds": ["veth"], "verbs": ["read"]}, {"kinds": ["veth"], "verbs": ["create"]}]}"#;
        assert_eq!(
            merged(two),
            [r#"{"kinds":["veth"],"verbs":["create","read"]}"#]
        );
        let apart = r#"{"link": [{"kinds": ["veth"], "names": ["a"]}, {"kinds": ["bridge"], "names": ["b"]}]}"#;
        assert_eq!(merged(apart).len(), 2);
        let absent = r#"{"link": [{"kinds": ["veth"]}, {"names": ["b"]}]}"#;
        assert_eq!(merged(absent).len(), 2);
    }

    #[test]
    fn what_is_split_and_put_together_is_the_rule() {
        for grant in [
            r#"{"link":[{"kinds":["bridge","veth"],"names":["a","b*"],"namespace":"host","verbs":["create","read"]}]}"#,
            r#"{"firewall":[{"families":["inet"],"hooks":["input"],"namespace":"host","statements":["accept","drop"],"verbs":["read","write"]}]}"#,
            r#"{"firewall":[{"families":["inet"],"hooks":["input"],"namespace":"host","statements":["accept"],"verbs":["read","write"]},{"families":["inet"],"hooks":["postrouting"],"namespace":"host","statements":["drop"],"verbs":["read","write"]}]}"#,
            r#"{"route":[{"namespace":"container","tables":[100,254],"verbs":["create"]}]}"#,
            r#"{"ipam":["a"]}"#,
        ] {
            let parts: Vec<RuleFields> = rules(grant).iter().flat_map(RuleFields::split).collect();
            let merged = capabilities(&merge(parts)).expect("rules");
            assert_eq!(
                serde_json::to_string(&merged).expect("JSON"),
                canonical(grant)
            );
        }
    }

    fn canonical(grant: &str) -> String {
        let capabilities: Capabilities = serde_json::from_str(grant).expect("a grant");
        serde_json::to_string(&capabilities).expect("JSON")
    }
}
