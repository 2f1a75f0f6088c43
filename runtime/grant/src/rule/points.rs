//! Rules for a single object each, to distinguish two grants.

use std::collections::BTreeMap;

use super::fields::RuleFields;
use crate::field::{Field, Texts};
use crate::host_interfaces::HOST_INTERFACES;
use crate::invocation::Invocation;

/// The most rules that are made of one.
const MOST: usize = 256;

impl RuleFields {
    /// Replaces the placeholders by an invocation's values.
    #[must_use]
    pub fn of_invocation(&self, invocation: &Invocation) -> Self {
        let filled = |text: &String| {
            let text = text
                .replace("{ifname}", &invocation.ifname)
                .replace("{network}", &invocation.network)
                .replace("{containerid}", &invocation.container_id);
            with_each_host_interface(&text, invocation)
        };
        let fields = self.fields.iter();
        let fields =
            fields.map(|(key, values)| (key.clone(), values.iter().flat_map(filled).collect()));
        Self {
            capability: self.capability,
            fields: fields.collect(),
        }
    }

    /// Rules that the rule, a part from [`RuleFields::split`], covers: each for a single object, chosen where `others`
    /// begin and end. Of a rule that bounds less than the others, they bound what the others do.
    ///
    /// Placeholders must have been [replaced](RuleFields::of_invocation).
    pub fn points<'a>(
        &'a self,
        others: &[RuleFields],
    ) -> impl Iterator<Item = RuleFields> + use<'a> {
        let fields = self.points_of_fields(others);
        let count = fields.values().map(Vec::len).fold(1, usize::saturating_mul);
        (0..count.min(MOST)).map(move |number| self.point(&fields, number))
    }

    /// The combination of values with this number.
    fn point(&self, fields: &BTreeMap<&'static str, Vec<String>>, mut number: usize) -> Self {
        let mut point = Self::new(self.capability);
        for (key, values) in fields {
            let value = &values[number % values.len()];
            number /= values.len();
            point
                .fields
                .insert((*key).to_owned(), Texts::from([value.clone()]));
        }
        let empty = self.fields.iter().filter(|(_, values)| values.is_empty());
        point
            .fields
            .extend(empty.map(|(key, _)| (key.clone(), Texts::new())));
        point
    }

    /// The single values of each field that the rule, or one of the others, bounds.
    fn points_of_fields(&self, others: &[RuleFields]) -> BTreeMap<&'static str, Vec<String>> {
        let unused = self.unused();
        let is_compared = |field: &&Field| {
            !field.is_alternative && field.left_out_is_all && !unused.contains(&field.key)
        };
        let mut points = BTreeMap::new();
        for field in self.described() {
            let theirs = others.iter().filter_map(|other| other.get(field.key));
            let theirs: Vec<&Texts> = theirs.collect();
            let bounded: Texts = theirs
                .iter()
                .flat_map(|values| values.iter().cloned())
                .collect();
            let values = match self.get(field.key) {
                Some(values) => values.clone(),
                None if theirs.is_empty() || !is_compared(&field) => continue,
                None => all_of(field, &bounded),
            };
            let values: Texts = values
                .iter()
                .flat_map(|value| (field.points)(value, &bounded))
                .collect();
            if !values.is_empty() {
                points.insert(field.key, values.into_iter().collect());
            }
        }
        points
    }
}

/// A text with each of the names that its placeholder stands for; the text itself where it has none.
fn with_each_host_interface(text: &str, invocation: &Invocation) -> Vec<String> {
    if !text.contains(HOST_INTERFACES) {
        return vec![text.to_owned()];
    }
    let is_key = text != HOST_INTERFACES;
    let names = invocation.host_interfaces.iter();
    let with = names.map(|name| {
        let name = if is_key {
            name.replace('.', "/")
        } else {
            name.to_owned()
        };
        text.replace(HOST_INTERFACES, &name)
    });
    with.collect()
}

/// Values of a field that a rule without it allows.
fn all_of(field: &Field, others: &Texts) -> Texts {
    let examples = field.examples.iter().copied().chain(field.other);
    let examples = examples.filter(|example| !example.contains('{'));
    examples
        .map(str::to_owned)
        .chain(others.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::rules_of;
    use super::*;
    use crate::Capability;

    fn parts(rule: &str) -> Vec<RuleFields> {
        let grant = format!("{{\"link\": [{rule}]}}");
        let capabilities = serde_json::from_str(&grant).expect("a grant");
        let rules = rules_of(&capabilities, Capability::Link);
        rules.iter().flat_map(RuleFields::split).collect()
    }

    #[test]
    fn each_is_covered_by_its_rule() {
        let others =
            parts(r#"{"names": ["veth1*", "eth?"], "kinds": ["veth"], "owners": ["network"]}"#);
        let all = parts(
            r#"{"names": ["veth*", "*0"], "kinds": ["veth", "bridge"], "verbs": ["update"]}"#,
        );
        for part in &all {
            let points: Vec<RuleFields> = part.points(&others).collect();
            assert!(points.len() > 10, "{points:?}");
            assert!(
                points.iter().all(|point| part.covers(point)),
                "{part:?}: {points:?}"
            );
        }
    }

    #[test]
    fn what_is_left_out_is_bounded_as_by_the_others() {
        let other = parts(r#"{"namespace": "host", "kinds": ["veth"], "verbs": ["read"]}"#);
        let all = parts(r#"{"namespace": "host", "verbs": ["read"]}"#);
        let points: Vec<RuleFields> = all[0].points(&other[..1]).collect();
        assert!(
            points.iter().any(|point| !other[0].covers(point)),
            "{points:?}"
        );
        assert!(
            points.iter().any(|point| other[0].covers(point)),
            "{points:?}"
        );
    }

    #[test]
    fn placeholders_are_the_invocations() {
        let rule = parts(r#"{"namespace": "host", "names": ["{ifname}*"], "verbs": ["read"]}"#);
        let invocation = Invocation {
            ifname: "eth0".to_owned(),
            ..Invocation::default()
        };
        let filled = rule[0].of_invocation(&invocation);
        assert!(filled.names("names", "eth0*"), "{filled:?}");
    }
}
