//! The operations of a test, one after the other, as a container runtime calls them.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use weir_cni::{Code, Command, Error, NetworkConfigList};
use weir_network::{Attachment, Network};
use weir_sandbox::Sandbox;

use super::plan::Plan;
use super::record::{Line, Logs, sentence};
use crate::cli::output::show;
use crate::cli::output::{print_line, say};
use crate::cli::record::{Record, Verdict};
use crate::cli::scratch_node::{Container, ScratchNode};

const CONTAINER_ID: &str = "weir-plugin-test";

/// One operation on the network, and what the plugins did in it.
#[derive(Serialize)]
pub struct Step {
    command: &'static str,
    /// What sets it apart from the same command before.
    #[serde(skip_serializing_if = "str::is_empty")]
    note: &'static str,
    succeeded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Failure>,
    microseconds: u64,
    operations: Vec<Record>,
    log: Vec<Line>,
}

/// A CNI error.
#[derive(Serialize)]
struct Failure {
    code: u32,
    msg: String,
    details: String,
}

/// Runs networks in a sandbox.
pub struct Runner<'a> {
    sandbox: &'a Arc<Sandbox>,
}

impl<'a> Runner<'a> {
    pub fn new(sandbox: &'a Arc<Sandbox>) -> Self {
        Self { sandbox }
    }

    /// An attachment to a network of other plugins comes and goes, so that what they leave for the
    /// next one stands already. Whether they can do without the tested one is not the question.
    pub fn warm_up(
        &self,
        node: &ScratchNode,
        plan: &Plan,
        others: NetworkConfigList,
    ) -> Result<()> {
        let container = node.container("before")?;
        let network = self.network(plan, others);
        let attachment = attachment(Command::Add, plan, &container)?;
        let _ = network.add(&attachment);
        let _ = network.del(&attachment);
        Ok(())
    }

    /// All commands. After an ADD that failed only DEL and GC have something to do; and after a STATUS to
    /// which the configuration is not valid, every other command would say so again.
    pub fn run(&self, plan: &Plan, container: &Container) -> Result<Vec<Step>> {
        let network = self.network(plan, plan.list.clone());
        let (add, del) = (
            attachment(Command::Add, plan, container)?,
            attachment(Command::Del, plan, container)?,
        );
        let own = [weir_cni::Attachment::new(
            CONTAINER_ID,
            plan.ifname.as_str(),
        )];
        let mut run = Run {
            logs: Logs::at_the_end(self.sandbox.paths())?,
            steps: Vec::new(),
        };
        let (has_status, has_gc) = (
            Command::Status.exists_in(plan.list.cni_version),
            Command::Gc.exists_in(plan.list.cni_version) && !plan.list.disable_gc,
        );
        if has_status {
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

    fn network(&self, plan: &Plan, list: NetworkConfigList) -> Network {
        Network::new(self.sandbox, list, plan.capability_args.clone())
    }
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

/// The steps so far.
struct Run {
    logs: Logs,
    steps: Vec<Step>,
}

impl Run {
    /// Whether it succeeded.
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
            log,
        });
        Ok(succeeded)
    }
}

impl Step {
    pub fn succeeded(&self) -> bool {
        self.succeeded
    }

    /// Whether a container was to be attached.
    pub fn is_add(&self) -> bool {
        self.command == "ADD"
    }

    /// Whether it failed because the configuration is not valid.
    pub fn found_no_configuration(&self) -> bool {
        let error = self.error.as_ref();
        error.is_some_and(|error| error.code == Code::INVALID_CONFIG.0)
    }

    /// How many of its operations were denied.
    pub fn denied(&self) -> usize {
        self.operations
            .iter()
            .filter(|record| record.verdict == Verdict::Denied)
            .count()
    }

    /// Prints it, with the operations of one plugin or of all.
    pub fn print(&self, plugin: &str, all: bool) {
        let word = if self.succeeded { "ok" } else { "FAILED" };
        let took = self.microseconds as f64 / 1000.0;
        let line = format!("{:<7} {word:<7} {took:7.2} ms  {}", self.command, self.note);
        print_line!("{}", line.trim_end());
        for record in self
            .operations
            .iter()
            .filter(|r| all || r.plugin == plugin || r.verdict == Verdict::Denied)
        {
            say!("    {}", sentence(record, plugin));
        }
        for line in self.log.iter().filter(|line| all || line.is_of(plugin)) {
            say!("    {}", line.sentence());
        }
        if let Some(error) = &self.error {
            say!("    error {}: {}", error.code, error.msg);
            for line in error.details.lines() {
                say!("        {line}");
            }
        }
    }
}
