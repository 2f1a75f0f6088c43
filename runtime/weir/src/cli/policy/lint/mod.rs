//! Rules without effect, and rules that allow more than they seem to.

mod others;
mod overbroad;
#[cfg(test)]
mod tests;
mod unreachable;

use others::of_others;
pub use others::{Subnet, overlapping_routes};
use overbroad::overbroad;
use serde::Serialize;
use unreachable::no_effect;
use weir_grant::pattern::network_covers;
use weir_grant::rule::{RuleFields, rules_of};
use weir_grant::{Capabilities, Capability, Document, Limits, Section};

/// Something that the author of a grant may not have meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// `link[2]`; none if it is about the document.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    pub weight: Weight,
    /// A stable name: `no-effect`.
    pub code: &'static str,
    pub text: String,
}

/// How much a remark weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Weight {
    /// Probably a mistake, or more than a plugin should be allowed.
    Warning,
    /// Good to know; many plugins need it.
    Note,
}

fn warning(code: &'static str, text: impl Into<String>) -> Remark {
    Remark {
        rule: None,
        weight: Weight::Warning,
        code,
        text: text.into(),
    }
}

fn note(code: &'static str, text: impl Into<String>) -> Remark {
    Remark {
        weight: Weight::Note,
        ..warning(code, text)
    }
}

/// A page of WebAssembly's memory, in bytes.
const PAGE: u64 = 65536;

/// Remarks on a document. `built_in`: its plugin is inside the binary.
pub fn remarks(document: &Document, built_in: bool) -> Vec<Remark> {
    let mut remarks = of_document(document, built_in);
    for (section, capabilities) in document.spec.sections() {
        remarks.extend(of_section(section, capabilities));
    }
    remarks
}

fn of_section(section: Section, capabilities: &Capabilities) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for capability in Capability::ALL {
        let rules = rules_of(capabilities, capability);
        for (index, rule) in rules.iter().enumerate() {
            let name = section.rule(&format!("{capability}[{index}]"));
            let mut findings = no_effect(rule);
            findings.extend(covered(rule, index, &rules));
            findings.extend(overbroad(rule));
            findings.extend(of_others(rule));
            for finding in &mut findings {
                finding.rule = Some(name.clone());
            }
            remarks.extend(findings);
        }
    }
    remarks
}

fn of_document(document: &Document, built_in: bool) -> Vec<Remark> {
    let mut findings = Vec::new();
    if document.spec.plugin.digest.is_none() {
        findings.push(if built_in {
            let text = "it names no digest: it is for the built-in plugin of any version of weir";
            note("no-digest", text)
        } else {
            let text =
                "it names no digest: a plugin that is not built into weir does not run under it";
            warning("no-digest", text)
        });
    }
    findings.extend(of_networks(document));
    if !built_in {
        findings.extend(every_network(document));
    }
    findings.extend(of_limits(&document.spec.limits));
    findings
}

fn of_networks(document: &Document) -> Vec<Remark> {
    if document.spec.networks.is_empty() {
        // What is written to keep a plugin from running.
        let text = "`networks` is empty, so no network may use the plugin";
        return vec![note("no-network", text)];
    }
    let globs = document.networks();
    let dead = globs.clone().filter(|glob| glob.contains('{'));
    let mut findings: Vec<Remark> = dead
        .map(|glob| {
            let text = format!(
                "`{glob}` in `networks` matches no network: placeholders have no value there"
            );
            warning("no-effect", text)
        })
        .collect();
    let is_tenants = |glob: &String| Section::of(glob) == Section::Tenants;
    let tenants = globs.clone().find(is_tenants);
    findings.extend(match (tenants, &document.spec.tenants) {
        (Some(glob), None) => Some(warning(
            "no-effect",
            format!(
                "`{glob}` in `networks` is about NetworkAttachmentDefinitions, for which nothing is allowed \
                 without `tenants`"
            ),
        )),
        (None, Some(tenants)) if tenants.capabilities != Capabilities::default() => Some(warning(
            "no-effect",
            "`tenants.capabilities` is about NetworkAttachmentDefinitions, and none is in `networks`: `*/*` \
             stands for all",
        )),
        _ => None,
    });
    findings
}

/// Networks whose authors may use a plugin that did not come with weir.
fn every_network(document: &Document) -> Vec<Remark> {
    let globs: Vec<String> = document.networks().collect();
    let all = [
        (
            "*",
            "every network of the node, and each that is added later, may use",
        ),
        (
            "*/*",
            "every NetworkAttachmentDefinition, and so every tenant who may write one, may use",
        ),
    ];
    let nothing = Capabilities::default();
    let is_wide = |all: &str| {
        let allowed = document.spec.section(Section::of(all));
        allowed.is_some_and(|allowed| *allowed != nothing)
            && globs.iter().any(|g| network_covers(g, all))
    };
    let wide = all.into_iter().filter(|(all, _)| is_wide(all));
    wide.map(|(all, who)| {
        let text = format!(
            "`{all}` in `networks`: {who} a plugin that did not come with weir; name the networks that need it"
        );
        warning("every-network", text)
    })
    .collect()
}

/// Limits under which no plugin works.
fn of_limits(limits: &Limits) -> Vec<Remark> {
    let mut findings = Vec::new();
    if limits.memory.as_u64() < PAGE {
        let text = format!(
            "`limits.memory` is less than one page of WebAssembly's memory, {PAGE} bytes: no plugin can start"
        );
        findings.push(warning("no-room", text));
    }
    if limits.calls == 0 {
        let text = "`limits.calls` is 0: whatever the rules allow, the plugin can call nothing";
        findings.push(warning("no-room", text));
    }
    if limits.changes == 0 {
        let text = "`limits.changes` is 0: whatever the rules allow, the plugin can change nothing";
        findings.push(warning("no-room", text));
    }
    if limits.transfer.as_u64() == 0 {
        let text = "`limits.transfer` is 0: the plugin can pass nothing, not even a name";
        findings.push(warning("no-room", text));
    }
    findings
}

/// A rule that an earlier one, or a wider later one, makes unnecessary.
fn covered(rule: &RuleFields, index: usize, rules: &[RuleFields]) -> Option<Remark> {
    let parts = rule.split();
    let by = rules.iter().enumerate().find(|(other, wide)| {
        let all = |wide: &RuleFields, parts: &[RuleFields]| parts.iter().all(|p| wide.covers(p));
        // Of two equal rules, the first counts.
        *other != index && all(wide, &parts) && (*other < index || !all(rule, &wide.split()))
    });
    let (other, _) = by.filter(|_| !parts.is_empty())?;
    let text = format!("`{}[{other}]` allows all that it allows", rule.capability);
    Some(warning("no-effect", text))
}
