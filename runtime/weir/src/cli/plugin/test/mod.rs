//! `weir plugin test`: runs a component in throw-away namespaces, under its grant, and shows what it did and left there.

mod node_state;
mod plan;
mod record;
mod shorten;
mod steps;
#[cfg(test)]
mod tests;
mod would_allow;

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use glob::Pattern;
use serde::Serialize;
use weir_kernel::without_permit::set_loopback_up;
use weir_sandbox::Sandbox;

use self::node_state::{NodeState, Residue};
use self::plan::Plan;
use self::steps::Step;
use self::would_allow::Grants;
use crate::cli::output::{Answer, Format, print_line, say, show};
use crate::cli::scratch_node::ScratchNode;

#[derive(Args)]
pub struct Arguments {
    /// The component's file.
    file: PathBuf,
    /// A network configuration, or a list in which the component is one of the plugins and the others
    /// are built in. The component is the one plugin in it, or the one IPAM plugin, that is not built in.
    config: PathBuf,
    /// The grant to run it under, whatever its digest [default: `grant.yaml` beside CONFIG; without
    /// one, nothing is granted]. May be given again for a built-in plugin, in place of its shipped
    /// grant: one that runs the component as its IPAM plugin needs it in `ipam`.
    #[arg(long, value_name = "FILE")]
    grant: Vec<PathBuf>,
    /// What may stay, because all attachments of a network share it: a glob over the lines below
    /// "left", such as `host: link cni0 *`. May be given several times.
    #[arg(long, value_name = "GLOB")]
    keeps: Vec<Pattern>,
    /// The interface's name in the container.
    #[arg(long, value_name = "NAME", default_value = "eth0")]
    ifname: String,
    /// CNI_ARGS: `KEY=VALUE;…`.
    #[arg(long, value_name = "ARGS", default_value = "")]
    args: String,
    /// Capability arguments as a JSON object, such as `{"mac": "0a:00:00:00:00:01"}`.
    #[arg(long, value_name = "JSON")]
    capability_args: Option<String>,
    /// Show the operations of the other plugins, too.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Report {
    plugin: String,
    digest: String,
    network: String,
    /// The file of the component's grant; none if nothing was granted.
    grant: Option<String>,
    steps: Vec<Step>,
    /// Whether nothing was attached because the configuration is not valid.
    stopped: bool,
    /// Operations that the grant did not allow.
    denied: usize,
    residue: Residue,
    passed: bool,
}

/// No if a command failed, an operation was denied, or something was left behind.
pub fn run(arguments: &Arguments) -> Result<Answer> {
    let plan = Plan::read(arguments)?;
    let node = ScratchNode::enter("weir plugin test")?;
    let sandbox = Sandbox::new(node.paths(), true).map_err(show)?;
    let digest = plan.install(&sandbox)?;
    let report = carry_out(arguments, plan, &node, &sandbox, digest)?;
    arguments
        .format
        .print(&report, |report| print(report, arguments.all))?;
    Ok(report.passed.into())
}

fn carry_out(
    arguments: &Arguments,
    plan: Plan,
    node: &ScratchNode,
    sandbox: &Arc<Sandbox>,
    digest: String,
) -> Result<Report> {
    set_loopback_up()?;
    if let Some(others) = plan.without_plugin()? {
        steps::warm_up(sandbox, node, &plan, others)?;
    }
    let container = node.container("test")?;
    let before = NodeState::of(node, &container).context("read the namespaces")?;
    let mut steps = steps::run(sandbox, &plan, &container)?;
    let grants = Grants::of_node(
        sandbox.paths(),
        &plan.plugin,
        plan.place_of_grant(arguments),
    )?;
    for step in &mut steps {
        step.note_grants(&grants);
    }
    let after = NodeState::of(node, &container).context("read the namespaces again")?;
    let residue = after.since(&before, &arguments.keeps);
    let denied = steps.iter().map(Step::denied).sum();
    Ok(Report {
        passed: denied == 0 && residue.is_none() && steps.iter().all(Step::succeeded),
        stopped: !steps.iter().any(Step::is_add),
        digest,
        network: plan.list.name.clone(),
        grant: plan.grant_file().map(|path| path.display().to_string()),
        plugin: plan.plugin,
        steps,
        denied,
        residue,
    })
}

fn print(report: &Report, all: bool) {
    let grant = match &report.grant {
        Some(file) => format!("granted by {file}"),
        None => "without a grant: nothing is allowed".to_owned(),
    };
    say!("{} on network `{}`, {grant}", report.plugin, report.network);
    print_line!();
    for step in &report.steps {
        step.print(&report.plugin, all);
    }
    print_line!();
    if report.stopped {
        print_line!("stopped     the configuration is not valid, see above: nothing was attached");
    }
    report.residue.print();
    match report.denied {
        0 => print_line!("denied      nothing"),
        denied => print_line!("denied      {denied}, see above"),
    }
    print_line!("{}", if report.passed { "passed" } else { "FAILED" });
}
