//! The steps of a test: the commands, as a container runtime runs them.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use weir_cni::{AddResult, Code, Command, Error, NetworkConfigList};
use weir_host::shorten_loops;
use weir_kernel::without_permit::set_loopback_up;
use weir_network::{Attachment, Network};
use weir_sandbox::{Inspection, Sandbox};

use super::attached::Attached;
use super::node_state::{Changes, NodeState};
use super::plan::Plan;
use super::record::{Line, Logs, sentence, unescaped_lines};
use super::scene::Scene;
use super::would_allow::{InForce, WouldAllow};
use crate::cli::output::{print_line, print_list, say, show};
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
    /// What an ADD returned, in the network's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    changes: Changes,
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

/// All commands, and their outcomes.
pub struct Ran {
    pub steps: Vec<Step>,
    /// The outcome of ADD, if it succeeded.
    pub attached: Option<Attached>,
    /// The state before the first command.
    pub before: NodeState,
    /// The state after the last one.
    pub after: NodeState,
}

/// Attaches a container to a network and detaches it. It may fail.
pub fn come_and_go(
    sandbox: &Arc<Sandbox>,
    plan: &Plan,
    list: NetworkConfigList,
    container: &Container,
) -> Result<()> {
    let network = network(sandbox, plan, list);
    let attachment = attachment(Command::Add, plan, container)?;
    let _ = network.add(&attachment);
    let _ = network.del(&attachment);
    Ok(())
}

/// Runs all commands on a node on which nothing has run.
pub fn run(plan: &Plan, node: &ScratchNode, component: &Inspection) -> Result<Ran> {
    let sandbox = Sandbox::new(node.paths(), true).map_err(show)?;
    plan.install(&sandbox, component)?;
    set_loopback_up()?;
    let container = node.container("test")?;
    let mut scene = Scene::of(node, &container)?;
    let before = scene.state.clone();
    let (mut steps, attached) = run_in(&sandbox, plan, &mut scene)?;
    let in_force = InForce::of_node(sandbox.paths(), plan.grants.files())?;
    for step in &mut steps {
        step.note_grants(&in_force);
    }
    Ok(Ran {
        steps,
        attached,
        before,
        after: scene.state,
    })
}

/// Runs all commands. After a failed ADD only DEL and GC have something to do. A STATUS that refuses the configuration is the
/// only step: every other command would refuse it as well.
fn run_in(
    sandbox: &Arc<Sandbox>,
    plan: &Plan,
    scene: &mut Scene<'_>,
) -> Result<(Vec<Step>, Option<Attached>)> {
    let network = network(sandbox, plan, plan.list.clone());
    let add = attachment(Command::Add, plan, scene.container)?;
    let del = attachment(Command::Del, plan, scene.container)?;
    let own = [weir_cni::Attachment::new(CONTAINER_ID, &*plan.ifname)];
    let has_gc = Command::Gc.exists_in(plan.list.cni_version) && !plan.list.disable_gc;
    let mut run = Run {
        logs: Logs::at_the_end(sandbox.paths())?,
        steps: Vec::new(),
        scene,
    };
    if Command::Status.exists_in(plan.list.cni_version) {
        run.step("STATUS", "", || network.status())?;
        if run.steps.iter().any(Step::found_no_configuration) {
            return Ok((run.steps, None));
        }
    }
    let mut result = None;
    run.step("ADD", "", || {
        result = Some(network.add(&add)?);
        Ok(())
    })?;
    let attached = match result {
        Some(result) => Some(run.attached(result, plan)?),
        None => None,
    };
    if attached.is_some() {
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
    Ok((run.steps, attached))
}

fn network(sandbox: &Arc<Sandbox>, plan: &Plan, list: NetworkConfigList) -> Network {
    Network::new(sandbox, list, plan.settings.capability_args.clone())
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

struct Run<'a, 's> {
    logs: Logs,
    steps: Vec<Step>,
    scene: &'a mut Scene<'s>,
}

impl Run<'_, '_> {
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
        let changes = self.scene.changes()?;
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
            result: None,
            changes,
            operations,
            would_allow: Vec::new(),
            log,
        });
        Ok(succeeded)
    }

    /// The outcome of the last step, an ADD with this result.
    fn attached(&mut self, result: AddResult, plan: &Plan) -> Result<Attached> {
        let changes = self.steps.last().map(|step| step.changes.clone());
        let changes = changes.unwrap_or_default();
        let attached = Attached::new(result, changes, plan, self.scene)?;
        if let Some(step) = self.steps.last_mut() {
            step.result = Some(attached.shown.clone());
        }
        Ok(attached)
    }
}

impl Step {
    pub fn succeeded(&self) -> bool {
        self.succeeded
    }

    pub fn is_add(&self) -> bool {
        self.command == "ADD"
    }

    /// Returns the operations of all plugins in it.
    pub fn operations(&self) -> &[Record] {
        &self.operations
    }

    /// Returns the operations of a plugin in it.
    pub fn operations_of<'s>(&'s self, plugin: &'s str) -> impl Iterator<Item = &'s Record> {
        self.operations
            .iter()
            .filter(move |r| r.subject.plugin == plugin)
    }

    /// Whether it should change nothing, or nothing of an attachment.
    fn only_looks(&self) -> bool {
        !matches!(self.command, "ADD" | "DEL")
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

    /// Notes what would allow the denied operations, and names the author's files in the error.
    pub fn note_grants(&mut self, grants: &InForce) {
        self.would_allow = grants.would_allow(&self.operations);
        if let Some(error) = &mut self.error {
            error.details = grants.name_files(&error.details);
        }
    }

    /// The operations of one plugin or of all, the denied ones with what would allow them.
    fn operation_lines(&self, plugin: &str, all: bool) -> Vec<String> {
        let mut lines = Vec::new();
        for (index, record) in self.operations.iter().enumerate() {
            if !all && record.subject.plugin != plugin && record.verdict != Verdict::Denied {
                continue;
            }
            lines.push(sentence(record, plugin));
            let hints = self.would_allow.iter().filter(|w| w.operation == index);
            lines.extend(hints.flat_map(|hint| hint.lines(&record.subject.plugin)));
        }
        lines
    }

    /// Whether a line of the log is a panic that is the step's error in full: what else the line has is in its details.
    fn is_in_error(&self, line: &Line) -> bool {
        let error = self.error.as_ref();
        let panic = error.and_then(|error| error.msg.split_once("panicked at "));
        panic.is_some_and(|(_, panic)| !panic.ends_with('…') && line.in_one_line().contains(panic))
    }

    /// Prints it, with the operations of one plugin or of all.
    pub fn print(&self, plugin: &str, all: bool) {
        let word = if self.succeeded { "ok" } else { "FAILED" };
        let took = self.microseconds as f64 / 1000.0;
        let line = format!("{:<7} {word:<7} {took:7.2} ms  {}", self.command, self.note);
        print_line!("{}", line.trim_end());
        // Before what the plugin did, and what was undone of that.
        if let Some(error) = &self.error {
            say!("    error {}: {}", error.code, error.msg);
            let lines = error.details.lines().flat_map(unescaped_lines);
            for line in shorten_loops(&Vec::from_iter(lines)) {
                say!("        {line}");
            }
        }
        let is_shown = |line: &&Line| all || line.is_of(plugin) && !self.is_in_error(line);
        let log = self.log.iter().filter(is_shown);
        let mut lines = self.operation_lines(plugin, all);
        lines.extend(log.flat_map(Line::sentences));
        for line in shorten_loops(&lines) {
            say!("    {line}");
        }
        if self.only_looks() {
            print_list("    added", &self.changes.added);
            print_list("    removed", &self.changes.removed);
        }
    }
}
