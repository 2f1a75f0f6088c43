//! `weir plugin test`: runs a component in temporary namespaces, under its grant, and shows what it did and left there.

mod attached;
mod expect;
mod grants;
mod node_state;
mod others;
mod placeholders;
mod plan;
mod record;
mod scene;
mod settings;
mod steps;
mod suggest;
#[cfg(test)]
mod tests;
mod would_allow;

use std::env;
use std::path::PathBuf;

use anyhow::{Result, bail};
use clap::Args;
use clap::builder::FalseyValueParser;
use glob::Pattern;
use serde::Serialize;
use weir_sandbox::{Inspection, Sandbox};

use self::attached::Attached;
use self::expect::{Compared, Expected};
use self::node_state::Residue;
use self::placeholders::Placeholders;
use self::plan::Plan;
use self::steps::{Ran, Step};
use self::suggest::Suggested;
use crate::cli::output::{Answer, Format, complain, print_line, print_list, say, show};
use crate::cli::scratch_node::ScratchNode;

/// The variable that stands for `--update`.
const UPDATE: &str = "UPDATE_EXPECTED";

#[derive(Args)]
pub struct Arguments {
    /// The component's file.
    file: PathBuf,
    /// A network configuration, or a list in which the component is one of the plugins and the others
    /// are built in. The component is the one plugin in it, or the one IPAM plugin, that is not built in.
    config: PathBuf,
    /// The grant to run it under, whatever its digest [default: `grant.yaml` beside CONFIG; without
    /// one, nothing is granted]. May be given again for a built-in plugin, in place of its shipped
    /// grant.
    #[arg(long, value_name = "FILE")]
    grant: Vec<PathBuf>,
    /// What may stay, because all attachments of a network share it: a glob over the lines below
    /// "left", such as `host: link cni0 *`. May be given several times.
    #[arg(long, value_name = "GLOB")]
    keeps: Vec<Pattern>,
    /// The interface's name in the container [default: eth0].
    #[arg(long, value_name = "NAME")]
    ifname: Option<String>,
    /// CNI_ARGS: `KEY=VALUE;…`.
    #[arg(long, value_name = "ARGS")]
    args: Option<String>,
    /// Capability arguments as a JSON object, such as `{"mac": "0a:00:00:00:00:01"}`.
    #[arg(long, value_name = "JSON")]
    capability_args: Option<String>,
    /// The file that has these options where they are not given here [default: `test.yaml` beside
    /// CONFIG, if there is one].
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Compare the result and the changes of ADD with those in this file.
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Write the result and the changes of ADD to the file of `--expect`, if the rest of the test passes.
    #[arg(long, env = UPDATE, value_parser = FalseyValueParser::new(), hide_env_values = true)]
    update: bool,
    /// Run it with everything allowed, and print a grant of what it needs, under which the same test
    /// passes.
    #[arg(long)]
    suggest_grant: bool,
    /// Show the operations of the other plugins, and what they leave, too.
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
    /// The plugins that ran the component as their IPAM plugin beyond their shipped grants.
    run_by: Vec<String>,
    steps: Vec<Step>,
    /// Whether nothing was attached because the configuration is not valid.
    stopped: bool,
    /// Operations that the grant did not allow.
    denied: usize,
    /// Interfaces of the result that have no name or do not exist.
    wrong: Vec<String>,
    residue: Residue,
    /// What the other plugins of the network leave without the component.
    residue_of_others: Residue,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected: Option<Compared>,
    #[serde(skip_serializing_if = "Option::is_none")]
    suggested: Option<Suggested>,
    passed: bool,
    #[serde(skip)]
    attached: Option<Attached>,
}

/// `--update` without a file. Errors: on the command line; the environment may be meant for other tests.
fn no_file_to_update() -> Result<()> {
    let nothing = "nothing is written, because no file is given: give `--expect FILE`, or `expect` in `test.yaml`";
    match env::var_os(UPDATE) {
        None => bail!("`--update`: {nothing}"),
        Some(_) => complain(&format!("`{UPDATE}`: {nothing}")),
    }
    Ok(())
}

/// No if a command failed, an operation was denied, something was left behind, or the outcome of ADD is not what is expected.
pub fn run(arguments: &Arguments) -> Result<Answer> {
    let plan = Plan::read(arguments)?;
    let expected = plan.settings.expect.as_deref();
    if arguments.update && expected.is_none() {
        no_file_to_update()?;
    }
    let expected = expected.map(|file| Expected::read(file, arguments.update));
    let expected = expected.transpose()?;
    let node = ScratchNode::enter("weir plugin test")?;
    let report = if arguments.suggest_grant {
        suggest::run(plan, &node, expected)?
    } else {
        let sandbox = Sandbox::new(node.paths(), true).map_err(show)?;
        let component = plan.inspect(&sandbox)?;
        carry_out(&plan, &node, &component, expected)?
    };
    arguments
        .format
        .print(&report, |report| match &report.suggested {
            Some(suggested) if report.passed => suggested.print(&report.run_by),
            _ => print(report, arguments.all),
        })?;
    Ok(report.passed.into())
}

/// Runs the test on a node that nothing has run on. The process may be on another node afterwards.
fn carry_out(
    plan: &Plan,
    node: &ScratchNode,
    component: &Inspection,
    expected: Option<Expected>,
) -> Result<Report> {
    let ran = steps::run(plan, node, component)?;
    let (residue, residue_of_others) = remains(plan, node, component, &ran)?;
    let Ran {
        steps, attached, ..
    } = ran;
    let denied = steps.iter().map(Step::denied).sum();
    let wrong = attached.as_ref().map(Attached::wrong).unwrap_or_default();
    let passed =
        denied == 0 && wrong.is_empty() && residue.is_none() && steps.iter().all(Step::succeeded);
    let expected = expected.map(|expected| expected.compare(plan, attached.as_ref(), passed));
    let expected = expected.transpose()?;
    Ok(Report {
        passed: passed && expected.as_ref().is_none_or(|expected| expected.matches),
        stopped: !steps.iter().any(Step::is_add),
        digest: component.digest.to_string(),
        network: plan.list.name.clone(),
        grant: plan.grants.file().map(|path| path.display().to_string()),
        run_by: plan.grants.widened(&plan.list),
        plugin: plan.plugin.clone(),
        steps,
        denied,
        wrong,
        residue,
        residue_of_others,
        expected,
        suggested: None,
        attached,
    })
}

/// What remains after the test, and what of it the other plugins leave on their own.
fn remains(
    plan: &Plan,
    node: &ScratchNode,
    component: &Inspection,
    ran: &Ran,
) -> Result<(Residue, Residue)> {
    let mut residue = ran.after.residue_since(&ran.before, &plan.settings.keeps);
    if residue.is_none() {
        return Ok((residue, Residue::default()));
    }
    let result = ran.attached.as_ref().map(|attached| &attached.result);
    let others = others::leave(node, plan, &component.digest, result)?;
    // The addresses of links are others on each node.
    let placeholders = Placeholders::of_links(&ran.after);
    let of_others = residue.take_out(&others, |line| placeholders.fold(line));
    Ok((residue, of_others))
}

fn print(report: &Report, all: bool) {
    let grant = match (&report.grant, &report.suggested) {
        (_, Some(_)) => "under the suggested grant".to_owned(),
        (Some(file), None) => format!("granted by {file}"),
        (None, None) => "without a grant: nothing is allowed".to_owned(),
    };
    say!("{} on network `{}`, {grant}", report.plugin, report.network);
    for main in &report.run_by {
        say!(
            "{main} may run it here; on a node the grant of {main} must name it: `ipam: [{}]`",
            report.plugin
        );
    }
    print_line!();
    for step in &report.steps {
        step.print(&report.plugin, all);
    }
    print_line!();
    if let Some(attached) = &report.attached {
        attached.print();
        print_line!();
    }
    if report.stopped {
        print_line!("stopped     the configuration is not valid, see above: nothing was attached");
    }
    report.residue.print();
    if all {
        print_list("by others", &report.residue_of_others.left);
    }
    match report.denied {
        0 => print_line!("denied      nothing"),
        denied => print_line!("denied      {denied}, see above"),
    }
    if let Some(expected) = &report.expected {
        expected.print();
    }
    print_line!("{}", if report.passed { "passed" } else { "FAILED" });
}
