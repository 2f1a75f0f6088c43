//! What the plugin's grants in force add to records without reads: the plugin ran under them, so they allow all that it reads.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use weir_files::Paths;
use weir_grant::document::{Digest, Spec};
use weir_grant::rule::{RuleFields, capabilities, merge, rules_of, sentence};
use weir_grant::{Capabilities, Capability, Decision, Section};
use weir_sandbox::{Loaded, Sandbox};

use super::Suggestion;
use super::collected::{Bounds, Collected, Operation};
use crate::cli::grants::grant_state;
use crate::cli::plugin::coverage::{Function, not_granted};
use crate::cli::policy::reach::changes;
use crate::cli::policy::reads::{Functions, reading, reads_of};

/// The grants in force of a plugin, by network, and what the component of this node imports.
pub(super) struct Standing {
    grants: BTreeMap<String, Loaded>,
    /// What the component of this node imports.
    imports: Functions,
    /// The functions that read.
    reading: Functions,
    /// Why it is not known whether all reads that are needed are among those of the grants.
    doubts: Vec<String>,
}

impl Standing {
    /// What is in force for a plugin on the networks of the records.
    pub(super) fn of(paths: &Paths, plugin: &str, collected: &Collected) -> Self {
        let mut standing = Self {
            grants: BTreeMap::new(),
            imports: Functions::new(),
            reading: Functions::new(),
            doubts: Vec::new(),
        };
        match component(paths, plugin) {
            Err(doubt) => standing.doubts.push(doubt),
            Ok((digest, imported)) => {
                standing.reading = reading(&imported);
                standing.imports = imported;
                if collected.digest.as_ref().is_some_and(|d| *d != digest) {
                    let doubt =
                        "the plugin on this node is another component than the recorded one";
                    standing.doubts.push(doubt.to_owned());
                }
            }
        }
        if standing.reading.is_empty() {
            return standing;
        }
        let grants = match grant_state::grants(paths) {
            Ok(grants) => grants,
            Err(error) => {
                standing
                    .doubts
                    .push(format!("no grant of this node is in force ({error})"));
                return standing;
            }
        };
        for network in &collected.networks {
            match grant_state::applying(&grants, plugin, Some(network)) {
                Ok(grant) if grant.is_in_force() => {
                    standing
                        .grants
                        .insert(network.clone(), grant.loaded.clone());
                }
                _ => standing
                    .doubts
                    .push(format!("it has no grant in force on network `{network}`")),
            }
        }
        standing.compare(&collected.distinct);
        standing
    }

    /// Notes a doubt if the plugin ran under other grants than these.
    fn compare(&mut self, recorded: &[Operation]) {
        let is_denied = |operation: &&Operation| operation.was_allowed && !self.allows(operation);
        if let Some(denied) = recorded.iter().find(is_denied) {
            let from = self.grants.get(&denied.recorded.invocation.network);
            self.doubts.extend(from.map(|grant| {
                let act = denied.recorded.operation.act();
                format!(
                    "the grant in force ({}) does not allow it to {act}, as it did",
                    grant.origin
                )
            }));
        }
    }

    fn allows(&self, operation: &Operation) -> bool {
        let Operation {
            recorded, section, ..
        } = operation;
        let grant = self.grants.get(&recorded.invocation.network);
        let granted = grant.and_then(|grant| grant.document.spec.section(*section));
        granted.is_some_and(|granted| {
            let decision = recorded.operation.decide(granted, &recorded.invocation);
            matches!(decision, Decision::Allowed { .. })
        })
    }

    /// What the grants allow, if the plugin ran under them.
    pub(super) fn bounds(&self) -> Bounds<'_> {
        let sections = Section::ALL.into_iter();
        let sections = sections.filter(|_| self.doubts.is_empty());
        let granted = sections.map(|section| (section, self.granted(section).collect()));
        granted.collect()
    }

    /// Adds the reads of these grants to a suggestion.
    pub(super) fn add_reads(&self, suggestion: &mut Suggestion) -> Result<()> {
        let spec = &mut suggestion.document.spec;
        self.add_to(Section::Node, &mut spec.capabilities)?;
        if let Some(tenants) = &mut spec.tenants {
            self.add_to(Section::Tenants, &mut tenants.capabilities)?;
        }
        let origins = self.grants.values().map(|grant| grant.origin.to_string());
        suggestion.reads_from = origins.collect();
        suggestion.reads_for = self.reading.clone();
        suggestion.doubts.extend(self.doubts.iter().cloned());
        Ok(())
    }

    /// The functions that the component imports and a grant does not allow, of capabilities that it has rules for.
    pub(super) fn not_granted(&self, spec: &Spec) -> Vec<Function> {
        not_granted(&self.imports, spec)
    }

    /// What the grants let the plugin change and a suggestion does not, in words.
    pub(super) fn not_recorded(&self, spec: &Spec) -> BTreeSet<String> {
        let of_section = |(section, suggested): (Section, &Capabilities)| {
            let all = Capability::ALL.into_iter();
            all.flat_map(move |capability| self.not_in(section, suggested, capability))
                .collect::<Vec<_>>()
        };
        let left_out = spec.sections().flat_map(of_section).collect();
        merge(left_out).iter().map(sentence).collect()
    }

    fn not_in(
        &self,
        section: Section,
        suggested: &Capabilities,
        capability: Capability,
    ) -> Vec<RuleFields> {
        let suggested = rules_of(suggested, capability);
        let is_in = |part: &RuleFields| {
            let mut suggested = suggested.iter();
            suggested.any(|rule| rule.in_common_with(part).is_some())
        };
        let granted = self.granted(section);
        let granted = granted.flat_map(|granted| rules_of(granted, capability));
        let mut parts: Vec<RuleFields> = granted.flat_map(|rule| rule.split()).collect();
        parts.retain(|part| changes(part) && !is_in(part));
        parts
    }

    fn add_to(&self, section: Section, suggested: &mut Capabilities) -> Result<()> {
        let all = Capability::ALL.into_iter();
        let mut rules: Vec<_> = all.flat_map(|c| rules_of(suggested, c)).collect();
        let granted = self.granted(section);
        rules.extend(granted.flat_map(|granted| reads_of(granted, &self.reading)));
        let mut rules = merge(rules);
        rules.sort_by_key(|rule| rule.capability);
        *suggested = capabilities(&rules)?;
        Ok(())
    }

    /// A section of the grants. That of tenants is also for what pods request on the node's own networks.
    fn granted(&self, section: Section) -> impl Iterator<Item = &Capabilities> {
        let grants = self.grants.iter().filter(move |(network, _)| {
            Section::of(network) == section || section == Section::Tenants
        });
        grants.filter_map(move |(_, grant)| grant.document.spec.section(section))
    }
}

/// The digest of this node's component of a plugin, and what it imports. Errors: why that is not known.
fn component(paths: &Paths, plugin: &str) -> Result<(Digest, Functions), String> {
    let sandbox = Sandbox::new(paths.clone(), false).map_err(|error| error.msg)?;
    let found = sandbox.catalogue().find(plugin);
    let found = found.map_err(|_| "this node does not have the plugin".to_owned())?;
    let imports = sandbox.imports(&found).map_err(|error| error.msg)?;
    Ok((found.digest, imports.functions))
}
