//! The steps of a test: the commands, as a container runtime runs them.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use weir_cni::{Code, Command, Error, NetworkConfigList};
use weir_network::{Attachment, Network};
use weir_sandbox::Sandbox;

use super::plan::Plan;
use super::record::{Line, Logs, sentence};
use super::shorten::shorten;
use super::would_allow::{Grants, WouldAllow};
use crate::cli::output::{print_line, say, show};
use crate::cli::record::{Record, Verdict};
use crate::cli::scratch_node::{Container, ScratchNode};

const CONTAINER_ID: &str = "weir-plugin-test";

/// One command for the network, and what the plugins did in it.
#[derive(Serialize)]
pub struct Step {
    command: &'static str,
    /// How it differs from the same command before.
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'static str,
    succeeded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    microseconds: u64,
    operations: Vec<Record>,
    /// For each denied operation.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    would_allow: Vec<WouldAllow>,
    log: Vec<Line>,
}

#[derive(Serialize)]
struct Failure {
    code: u32,
    msg: String,
    details: String,
}

/// Attaches a container to a network of the other plugins and detaches it, so that what they leave for the next attachment
/// exists already. They may fail without the tested plugin.
pub fn warm_up(
    sandbox: &Arc<Sandbox>,
    node: &ScratchNode,
    plan: &Plan,
    others: NetworkConfigList,
) -> Result<()> {
    let container = node.container("before")?;
    let network = network(sandbox, plan, others);
    let attachment = attachment(Command::Add, plan, &container)?;
    let _ = network.add(&attachment);
    let _ = network.del(&attachment);
    Ok(())
}

/// Runs all commands. After a failed ADD only DEL and GC have something to do. A STATUS that refuses the configuration is the
/// only step: every other command would refuse it as well.
pub fn run(sandbox: &Arc<Sandbox>, plan: &Plan, container: &Container) -> Result<Vec<Step>> {
    let network = network(sandbox, plan, plan.list.clone());
    let add = attachment(Command::Add, plan, container)?;
    let del = attachment(Command::Del, plan, container)?;
    let own = [weir_cni::Attachment::new(CONTAINER_ID, &*plan.ifname)];
    let has_gc = Command::Gc.exists_in(plan.list.cni_version) && !plan.list.disable_gc;
    let mut run = Run {
        logs: Logs::at_the_end(sandbox.paths())?,
        steps: Vec::new(),
    };
    if Command::Status.exists_in(plan.list.cni_version) {
        run.step("STATUS", "", || network.status())?;
        if run.steps.iter().any(Step::found_no_configuration) {
            return Ok(run.steps);
        }
    }
    if run.step("ADD", "", || Ok(network.add(&add).map(drop)?))? {
        run.step("CHECK", "", || network.check(&add))?;
        if has_gc {
            run.step("GC", "that keeps the attachment", || network.gc(&own))?;
            run.step("CHECK", "after GC", || network.check(&add))?;
        }
    }
    run.step("DEL", "", || network.del(&del))?;
    run.step("DEL", "again", || network.del(&del))?;
    if has_gc {
        run.step("GC", "that keeps nothing", || network.gc(&[]))?;
    }
    Ok(run.steps)
}

fn network(sandbox: &Arc<Sandbox>, plan: &Plan, list: NetworkConfigList) -> Network {
    Network::new(sandbox, list, plan.capability_args.clone())
}

fn attachment(command: Command, plan: &Plan, container: &Container) -> Result<Attachment> {
    Attachment::open(
        command,
        CONTAINER_ID.to_owned(),
        plan.ifname.clone(),
        container.netns().to_string_lossy().into_owned(),
        plan.args.clone(),
    )
    .map_err(show)
}

struct Run {
    logs: Logs,
    steps: Vec<Step>,
}

impl Run {
    /// Runs a step. Returns whether it succeeded.
    fn step(
        &mut self,
        command: &'static str,
        note: &'static str,
        act: impl FnOnce() -> Result<(), Error>,
    ) -> Result<bool> {
        let start = Instant::now();
        let outcome = act();
        let took = start.elapsed();
        let (operations, log) = self.logs.new_records()?;
        let succeeded = outcome.is_ok();
        self.steps.push(Step {
            command,
            note,
            succeeded,
            error: outcome.err().map(|error| Failure {
                code: error.code.0,
                msg: error.msg,
                details: error.details,
            }),
            microseconds: took.as_micros().try_into().unwrap_or(u64::MAX),
            operations,
            would_allow: Vec::new(),
            log,
        });
        Ok(succeeded)
    }
}

impl Step {
    pub fn succeeded(&self) -> bool {
        self.succeeded
    }

    pub fn is_add(&self) -> bool {
        self.command == "ADD"
    }

    /// Whether it failed because the configuration is not valid.
    pub fn found_no_configuration(&self) -> bool {
        let error = self.error.as_ref();
        error.is_some_and(|error| error.code == Code::INVALID_CONFIG.0)
    }

    pub fn denied(&self) -> usize {
        let denied = self
            .operations
            .iter()
            .filter(|r| r.verdict == Verdict::Denied);
        denied.count()
    }

    /// Notes what would allow the denied operations, and names the author's grant in the error.
    pub fn note_grants(&mut self, grants: &Grants) {
        self.would_allow = grants.would_allow(&self.operations);
        if let Some(error) = &mut self.error {
            error.details = grants.name_file(&error.details);
        }
    }

    /// The operations of one plugin or of all, the denied ones with what would allow them.
    fn operation_lines(&self, plugin: &str, all: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, record) in self.operations.iter().enumerate() {
            if !all && record.plugin != plugin && record.verdict != Verdict::Denied {
                continue;
            }
            lines.push(sentence(record, plugin));
            let hints = self.would_allow.iter().filter(|w| w.operation == index);
            lines.extend(hints.flat_map(|hint| hint.lines(&record.plugin)));
        }
        lines
    }

    /// Prints it, with the operations of one plugin or of all.
    pub fn print(&self, plugin: &str, all: bool) {
        let word = if self.succeeded { "ok" } else { "FAILED" };
        let took = self.microseconds as f64 / 1000.0;
        let line = format!("{:<7} {word:<7} {took:7.2} ms  {}", self.command, self.note);
        print_line!("{}", line.trim_end());
        let log = self.log.iter().filter(|line| all || line.is_of(plugin));
        let mut lines = self.operation_lines(plugin, all);
        lines.extend(log.map(Line::sentence));
        for line in shorten(&lines) {
            say!("    {line}");
        }
        if let Some(error) = &self.error {
            say!("    error {}: {}", error.code, error.msg);
            for line in error.details.lines() {
                say!("        {line}");
            }
        }
    }
}
