//! What a component imports functions for and a grant does not allow: remarks of `weir grants check`.

use std::borrow::Cow;

use weir_grant::document::Spec;
use weir_grant::phrase::joined;
use weir_grant::rule::sentence;
use weir_grant::{Capabilities, Capability, Section};
use weir_sandbox::shipped_grant;

use super::grant_state::{self, Grant};
use crate::cli::policy::lint::{Remark, Weight};
use crate::cli::policy::reads::{
    Functions, Lacking, Reads, lacking_alone, lacking_beside, narrowed_beside,
};

/// A grant that shows what a component reads.
pub struct Beside<'a> {
    spec: Cow<'a, Spec>,
    /// `shipped grant`
    called: &'static str,
}

impl<'a> Beside<'a> {
    /// Returns the shipped grant of a built-in plugin; of another one the grant in force among these, if it has one.
    pub fn of(plugin: &str, grants: &'a [Grant]) -> Option<Self> {
        if let Some(shipped) = shipped_grant(plugin) {
            let (spec, called) = (Cow::Owned(shipped.spec), "shipped grant");
            return Some(Self { spec, called });
        }
        let grant = grant_state::applying(grants, plugin, None).ok();
        let grant = grant.filter(|grant| grant.is_in_force())?;
        let spec = Cow::Borrowed(&grant.loaded.document.spec);
        let called = "grant in force";
        Some(Self { spec, called })
    }
}

/// Remarks on reads that a component needs, as far as its imports and another grant of it show, and on capabilities without a
/// rule.
pub fn remarks(spec: &Spec, imported: &Functions, beside: Option<&Beside<'_>>) -> Vec<Remark> {
    let lacking = lacking(spec, imported, beside);
    let called = beside.map_or("", |beside| beside.called);
    let plugin = &spec.plugin.name;
    let (mut remarks, mut needed, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (section, lacking) in &lacking {
        if has_rule(spec, lacking.capability) {
            remarks.push(no_read(plugin, *section, lacking, called));
        }
    }
    remarks.extend(narrower_reads(spec, imported, beside));
    for capability in imported.keys().filter(|c| !has_rule(spec, **c)) {
        let is_needed = lacking.iter().any(|(_, one)| one.capability == *capability);
        let denied = if is_needed { &mut needed } else { &mut others };
        denied.extend(names(*capability, &imported[capability]));
    }
    remarks.extend(no_rule(plugin, Weight::Warning, needed));
    remarks.extend(no_rule(plugin, Weight::Note, others));
    remarks.extend(
        beside
            .into_iter()
            .flat_map(|beside| no_rule_of_sections(spec, imported, beside)),
    );
    remarks
}

/// Remarks on reads that the other grant allows more widely.
fn narrower_reads(spec: &Spec, imported: &Functions, beside: Option<&Beside<'_>>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (section, granted) in spec.sections() {
        let Some((other, called)) =
            beside.and_then(|beside| Some((beside.spec.section(section)?, beside.called)))
        else {
            continue;
        };
        for Lacking {
            capability, reads, ..
        } in narrowed_beside(granted, other, imported)
        {
            let Reads::Rules(rules) = reads else { continue };
            let what = joined(rules.iter().map(sentence).collect(), "and");
            let key = section.rule(capability.word());
            remarks.push(Remark {
                rule: None,
                weight: Weight::Note,
                code: "narrower-read",
                text: format!(
                    "rules of `{key}` let plugin `{}` read less than its {called}, which lets it {what}: what it needs depends on its \
                     configuration",
                    spec.plugin.name
                ),
            });
        }
    }
    remarks
}

/// Remarks on capabilities of which only the other section has rules, although the other grant has some in both.
fn no_rule_of_sections(spec: &Spec, imported: &Functions, beside: &Beside<'_>) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for (section, granted) in spec.sections() {
        let Some(other) = beside.spec.section(section) else {
            continue;
        };
        let is_missing = |c: &Capability| !granted.has(*c) && other.has(*c) && has_rule(spec, *c);
        for capability in imported.keys().filter(|c| is_missing(c)) {
            let denied = joined(names(*capability, &imported[capability]).collect(), "and");
            let key = section.rule(capability.word());
            remarks.push(Remark {
                rule: None,
                weight: Weight::Note,
                code: "no-rule",
                text: format!(
                    "no rule of `{key}` covers {denied}, which plugin `{}` imports and its {} allows there: every call is denied",
                    spec.plugin.name, beside.called
                ),
            });
        }
    }
    remarks
}

/// What each section lacks that has rules. A grant of nothing lets the plugin do nothing on purpose.
fn lacking(
    spec: &Spec,
    imported: &Functions,
    beside: Option<&Beside<'_>>,
) -> Vec<(Section, Lacking)> {
    let mut all = Vec::new();
    for (section, granted) in spec.sections() {
        if *granted != Capabilities::default() {
            let other = beside.and_then(|beside| beside.spec.section(section));
            let lacking = of_section(granted, imported, other);
            all.extend(lacking.into_iter().map(|one| (section, one)));
        }
    }
    all
}

fn of_section(
    granted: &Capabilities,
    imported: &Functions,
    other: Option<&Capabilities>,
) -> Vec<Lacking> {
    let Some(other) = other else {
        return lacking_alone(granted, imported);
    };
    lacking_beside(granted, other, imported)
}

/// Whether there is a rule of a capability; `log` needs none.
fn has_rule(spec: &Spec, capability: Capability) -> bool {
    spec.sections().any(|(_, granted)| granted.has(capability))
}

/// `` `link.get` ``, `` `link.list` ``
fn names<'a>(capability: Capability, functions: &'a [String]) -> impl Iterator<Item = String> + 'a {
    functions
        .iter()
        .map(move |function| format!("`{capability}.{function}`"))
}

fn no_read(plugin: &str, section: Section, lacking: &Lacking, other: &str) -> Remark {
    let Lacking {
        capability,
        functions,
        reads,
    } = lacking;
    let imported = joined(names(*capability, functions).collect(), "and");
    let key = section.rule(capability.word());
    let denied = match reads {
        Reads::Rules(rules) => {
            let what = joined(rules.iter().map(sentence).collect(), "and");
            format!("no rule of `{key}` lets it {what}, as its {other} does")
        }
        Reads::Namespaces(namespaces) => {
            let places = joined(namespaces.clone(), "and");
            format!(
                "rules of `{key}` let it change something in {places}, and none lets it `read` there"
            )
        }
        Reads::All => format!("no rule of `{key}` allows `read` for that"),
    };
    Remark {
        rule: None,
        weight: Weight::Warning,
        code: "no-read",
        text: format!("plugin `{plugin}` imports {imported}, but {denied}: it probably fails"),
    }
}

fn no_rule(plugin: &str, weight: Weight, denied: Vec<String>) -> Option<Remark> {
    (!denied.is_empty()).then(|| Remark {
        rule: None,
        weight,
        code: "no-rule",
        text: format!(
            "no rule covers {}, which plugin `{plugin}` imports: every call is denied",
            joined(denied, "and")
        ),
    })
}

#[cfg(test)]
mod tests {
    use weir_grant::Document;

    use super::*;

    fn spec(text: &str) -> Spec {
        let document: Document = serde_json::from_value(serde_json::json!({
            "apiVersion": "weir.dev/v1alpha1",
            "kind": "PluginGrant",
            "metadata": { "name": "one" },
            "spec": serde_json::from_str::<serde_json::Value>(text).expect("JSON"),
        }))
        .expect("a document");
        document.spec
    }

    #[test]
    fn a_capability_that_only_the_other_section_has_is_named() {
        const LINK: &str = r#"{"link": [{"namespace": "container"}]}"#;
        const SYSCTL: &str = r#"{"sysctl": [{"namespace": "container"}]}"#;
        let grant = |own: &str, tenants: &str| {
            let plugin = r#""plugin": {"name": "one"}, "networks": ["*"]"#;
            spec(&format!(
                r#"{{{plugin}, "capabilities": {own}, "tenants": {{"capabilities": {tenants}}}}}"#
            ))
        };
        let imported = Functions::from([(Capability::Link, vec!["update".to_owned()])]);
        let (whole, partial) = (grant(LINK, LINK), grant(SYSCTL, LINK));
        let beside = Beside {
            spec: Cow::Borrowed(&whole),
            called: "shipped grant",
        };
        let found = remarks(&partial, &imported, Some(&beside));
        let texts: Vec<&str> = found.iter().map(|remark| remark.text.as_str()).collect();
        let expected = "no rule of `link` covers `link.update`, which plugin `one` imports and its shipped grant allows \
                        there: every call is denied";
        assert_eq!(texts, [expected]);
        assert!(remarks(&whole, &imported, Some(&beside)).is_empty());
    }
}
