//! `--suggest-grant`: the smallest grant under which the same test passes.
//!
//! The test runs with everything allowed, as `weir grants learn` runs a network, and what the component did becomes a grant. Then
//! the test runs again under that grant.

use anyhow::{Result, anyhow};
use ipnet::IpNet;
use serde::Serialize;
use weir_grant::document::{API_VERSION, Digest, KIND, Metadata, PluginReference, Spec};
use weir_grant::pattern::Pattern;
use weir_grant::{Capabilities, Document};
use weir_sandbox::{Inspection, Sandbox};

use super::expect::Expected;
use super::plan::Plan;
use super::steps::{self, Step};
use super::{Report, carry_out};
use crate::cli::grants::document::to_yaml;
use crate::cli::grants::learn::{MOST_ROUNDS, StorePaths, everything};
use crate::cli::output::{print_line, print_text, say, show};
use crate::cli::policy::suggest::{Recorded, WithoutRule, networks_given, suggest};
use crate::cli::record::{Record, Verdict};
use crate::cli::scratch_node::ScratchNode;

/// The grant, and what it is based on.
#[derive(Serialize)]
pub struct Suggested {
    /// How many operations of the component were recorded.
    operations: usize,
    /// What no rule can allow.
    without_rule: Vec<WithoutRule>,
    document: Document,
}

/// Runs the test under the suggested grant.
pub fn run(mut plan: Plan, node: &ScratchNode, expected: Option<Expected>) -> Result<Report> {
    let sandbox = Sandbox::new(node.paths(), true).map_err(show)?;
    let component = plan.inspect(&sandbox)?;
    let steps = with_everything(&mut plan, node, &component)?;
    let suggested = suggestion(&plan, &component, &steps)?;
    plan.grants.replace(suggested.document.clone());
    let report = carry_out(&plan, &node.another()?, &component, expected)?;
    Ok(Report {
        suggested: Some(suggested),
        ..report
    })
}

/// Runs the test with everything allowed; again, as long as the component asks for other files and directories, since no rule
/// allows all of them.
fn with_everything(
    plan: &mut Plan,
    node: &ScratchNode,
    component: &Inspection,
) -> Result<Vec<Step>> {
    let mut paths = StorePaths::default();
    let mut rounds = 1;
    loop {
        plan.grants.replace(free(plan, &paths)?);
        let steps = steps::run(plan, &node.another()?, component)?.steps;
        let mut asked_for = StorePaths::default();
        for record in own(plan, &steps) {
            asked_for.note(record);
        }
        if rounds == MOST_ROUNDS || !paths.add(asked_for) {
            return Ok(steps);
        }
        rounds += 1;
    }
}

fn own<'s>(plan: &'s Plan, steps: &'s [Step]) -> impl Iterator<Item = &'s Record> {
    steps
        .iter()
        .flat_map(|step| step.operations_of(&plan.plugin))
}

/// A grant of everything that rules can allow, with these files and directories.
fn free(plan: &Plan, paths: &StorePaths) -> Result<Document> {
    let ipam = plan.list.plugins.iter().filter_map(|p| p.ipam_type());
    document(plan, everything(paths, &ipam.collect())?, None)
}

fn suggestion(plan: &Plan, component: &Inspection, steps: &[Step]) -> Result<Suggested> {
    let mut recorded = Vec::new();
    for record in own(plan, steps) {
        if matches!(record.verdict, Verdict::Allowed | Verdict::Denied) {
            recorded.push(Recorded {
                invocation: record.subject.invocation(),
                operation: record.query().map_err(|why| anyhow!(why))?,
            });
        }
    }
    let operations = recorded.len();
    let suggested = suggest(&recorded, &given(steps), &[]).map_err(|why| anyhow!(why))?;
    let digest = Some(component.digest.clone());
    Ok(Suggested {
        operations,
        without_rule: suggested.without_rule,
        document: document(plan, suggested.capabilities, digest)?,
    })
}

/// The networks in which addresses were given, by whichever plugin.
fn given(steps: &[Step]) -> Vec<IpNet> {
    let records = steps.iter().flat_map(Step::operations);
    let given = records.filter(|r| r.operation == "address.add" && r.verdict == Verdict::Allowed);
    let given = given.filter_map(|record| record.query().ok());
    given
        .flat_map(|operation| networks_given(&*operation))
        .collect()
}

fn document(plan: &Plan, capabilities: Capabilities, digest: Option<Digest>) -> Result<Document> {
    let name = plan.plugin.clone();
    let network = Pattern::literal(&plan.list.name);
    Ok(Document {
        api_version: API_VERSION.to_owned(),
        kind: KIND.to_owned(),
        metadata: Metadata { name: name.clone() },
        spec: Spec {
            plugin: PluginReference { name, digest },
            networks: vec![network],
            capabilities,
            tenants: None,
            limits: plan.grants.limits(),
        },
    })
}

impl Suggested {
    /// Prints the document. `run_by` are the plugins that run the component as their IPAM plugin.
    pub fn print(&self, run_by: &[String]) {
        let plugin = &self.document.spec.plugin.name;
        print_line!(
            "# Suggested by `weir plugin test` from {} operations: the test passes under it.",
            self.operations
        );
        print_line!(
            "# Review every rule, widen what other configurations need, and name the networks that may use it."
        );
        for main in run_by {
            say!("# The grant of `{main}` must name the plugin as well: `ipam: [{plugin}]`.");
        }
        for WithoutRule { need, because } in &self.without_rule {
            say!("# No rule can allow it to {need}: {because}");
        }
        print_text!("{}", to_yaml(&self.document));
    }
}
