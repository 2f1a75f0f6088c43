//! What would allow a denied operation: the rules, and the file where they belong.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::Result;
use serde::Serialize;
use weir_files::Paths;
use weir_grant::Capabilities;
use weir_grant::phrase::joined;
use weir_grant::query::Query;
use weir_sandbox::{Loaded, deciding, survey_grants};

use crate::cli::output::show;
use crate::cli::policy::least::{LackingRule, lacking_rules};
use crate::cli::policy::suggest::WithoutRule;
use crate::cli::record::{Record, Verdict};

/// What would allow a denied operation of a step.
#[derive(Serialize)]
pub struct WouldAllow {
    /// Its index among the step's operations, the first of those that are the same.
    pub operation: usize,
    /// The author's file of the grant that lacks the rules; none for a built-in plugin that runs under its shipped grant.
    file: Option<PathBuf>,
    /// The rules that the grant lacks.
    rules: Vec<LackingRule>,
    /// What no rule can allow.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    without_rule: Vec<WithoutRule>,
}

/// The grants of a test in force, and the author's files of them.
pub struct InForce {
    all: Vec<Loaded>,
    /// By plugin.
    files: BTreeMap<String, PathBuf>,
    grants: PathBuf,
}

impl InForce {
    /// Returns those on the node, where the grants of these plugins stand for files.
    pub fn of_node(paths: &Paths, files: BTreeMap<String, PathBuf>) -> Result<Self> {
        let all = survey_grants(paths).map_err(show)?;
        Ok(Self {
            all: all.into_iter().flatten().collect(),
            files,
            grants: paths.grants(),
        })
    }

    /// Returns an error's text with the author's files in the place of their copies.
    pub fn name_files(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for (plugin, file) in &self.files {
            let copy = self.grants.join(format!("{plugin}.yaml"));
            text = text.replace(&copy.display().to_string(), &file.display().to_string());
        }
        text
    }

    /// Returns what would allow each denied operation.
    pub fn would_allow(&self, operations: &[Record]) -> Vec<WouldAllow> {
        let mut known = BTreeSet::new();
        let mut is_new = |r: &Record| {
            let arguments = r.arguments.to_string();
            known.insert((r.subject.plugin.clone(), r.operation.clone(), arguments))
        };
        let operations = operations.iter().enumerate();
        let denied = operations.filter(|(_, r)| r.verdict == Verdict::Denied && is_new(r));
        denied
            .filter_map(|(index, record)| self.one(index, record))
            .collect()
    }

    /// None for an operation that is not known, such as one with shortened arguments.
    fn one(&self, index: usize, record: &Record) -> Option<WouldAllow> {
        let operation = record.query().ok()?;
        let capabilities = self.capabilities(record);
        let lacking = match operation.flaw() {
            Some(because) => Err(refused(&*operation, because)),
            None => lacking_rules(&*operation, &record.subject.invocation(), &capabilities),
        };
        let (rules, without_rule) = match lacking {
            Ok(rules) => (rules, Vec::new()),
            Err(without_rule) => (Vec::new(), without_rule),
        };
        Some(WouldAllow {
            operation: index,
            file: self.files.get(&record.subject.plugin).cloned(),
            rules,
            without_rule,
        })
    }

    fn capabilities(&self, record: &Record) -> Capabilities {
        let network = record.subject.granted_as();
        let covers = |document: &weir_grant::Document| document.covers_network(network);
        let digest = record.subject.digest.parse().ok();
        let grant = deciding(&self.all, &record.subject.plugin, digest.as_ref(), covers).ok();
        grant.map_or_else(Capabilities::default, |grant| {
            grant.document.spec.capabilities.clone()
        })
    }
}

/// What weir itself refuses, whatever a rule says.
fn refused(operation: &dyn Query, because: String) -> Vec<WithoutRule> {
    let needs = operation.needs();
    let needs: Vec<String> = needs.iter().map(ToString::to_string).collect();
    vec![WithoutRule {
        need: joined(needs, "and"),
        because,
    }]
}

impl WouldAllow {
    /// For people, in lines.
    pub fn lines(&self, plugin: &str) -> Vec<String> {
        let place = match &self.file {
            Some(file) => format!("`{}`", file.display()),
            None => format!("a grant of plugin `{plugin}` in place of the shipped one"),
        };
        let rules = self.rules.iter().flat_map(|rule| {
            let key = format!("spec.capabilities.{}", rule.capability.word());
            [
                format!("    to allow it, add below `{key}` in {place}:"),
                format!("      {}", rule.line()),
            ]
        });
        let without = self.without_rule.iter();
        let without = without.map(|without| {
            let WithoutRule { need, because } = without;
            format!("    no rule can allow it to {need}: {because}")
        });
        rules.chain(without).collect()
    }
}
