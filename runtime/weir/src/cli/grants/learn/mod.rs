//! `weir grants learn`: records what a plugin does on a scratch node where everything is allowed.
//!
//! weir has no such mode: the gate asks a grant here as everywhere. The grant that allows everything is written to the root of
//! a scratch node, whose namespaces this command creates before it runs the network, and which end with it. No configuration,
//! environment variable or option bypasses that.

mod store_paths;
mod trial;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use weir_cni::NetworkConfigList;
use weir_files::Paths;
use weir_sandbox::{Catalogue, Sandbox};

pub use self::store_paths::StorePaths;
pub use self::trial::{MOST_ROUNDS, everything};
use self::trial::{Outcome, Participant, Trial};
use super::show_error;
use crate::cli::component::{ComponentArgument, inspect, name_of, read};
use crate::cli::config::{capability_args, read_network};
use crate::cli::output::{Answer, StandardOutput, complain};
use crate::cli::outside::refuse;
use crate::cli::scratch_node::ScratchNode;

#[derive(Args)]
pub struct Arguments {
    /// The plugin's name, or a component's file.
    plugin: PathBuf,
    /// The network configuration that it is run with: one plugin's, or a list in which it is.
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// The name in the configuration of a plugin in a file [default: its own name].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The interface's name.
    #[arg(long, value_name = "NAME", default_value = "eth0")]
    ifname: String,
    /// Capability arguments as a JSON object, such as `{"mac": "0a:00:00:00:00:01"}`.
    #[arg(long, value_name = "JSON")]
    capability_args: Option<String>,
    /// Where the records go; `-` is standard output.
    #[arg(long, value_name = "FILE", default_value = "-")]
    records: PathBuf,
}

/// The plugin whose operations are recorded.
struct Learner {
    name: String,
    /// None for a plugin of this node.
    component: Option<Vec<u8>>,
}

/// No if a command of the network failed, or something was denied. The records are printed in any case.
pub fn run(paths: Paths, arguments: &Arguments) -> Result<Answer> {
    let list = read_network(&arguments.config)?;
    let capability_args = capability_args(arguments.capability_args.as_deref())?;
    weir_cni::validate_interface_name(&arguments.ifname).map_err(show_error)?;
    let learner = learner(&paths, arguments)?;
    let parts = parts(&paths, arguments, learner, &list)?;
    let mut output = open(&arguments.records)?;

    let node = ScratchNode::enter("weir grants learn")?;
    let trial = Trial {
        containers: [node.container("one")?, node.container("two")?],
        node,
        list,
        capability_args,
        ifname: arguments.ifname.clone(),
        parts,
    };
    let outcome = trial.run()?;
    let denied = trial.print(&outcome, &mut output)?;
    Ok(tell(&outcome, &denied))
}

fn tell(outcome: &Outcome, denied: &BTreeSet<String>) -> Answer {
    for failure in &outcome.failures {
        complain(failure);
    }
    for denied in denied {
        complain(&format!("still denied: {denied}"));
    }
    (outcome.failures.is_empty() && denied.is_empty()).into()
}

/// The named plugin. The component in a file must be a plugin.
fn learner(paths: &Paths, arguments: &Arguments) -> Result<Learner> {
    let file = match (ComponentArgument::by(&arguments.plugin), &arguments.name) {
        (ComponentArgument::File(file), _) => file,
        (ComponentArgument::Plugin(name), None) => {
            refuse(paths, name)?;
            return Ok(Learner {
                name: name.to_owned(),
                component: None,
            });
        }
        (ComponentArgument::Plugin(plugin), Some(_)) => {
            bail!("`{plugin}` is not a file; use --name to name an installed plugin")
        }
    };
    let shown = file.display();
    let component = read(file)?;
    let sandbox = Sandbox::new(paths.clone(), false).map_err(show_error)?;
    let inspection = inspect(&sandbox, file, &component)?;
    inspection
        .check()
        .map_err(|e| show_error(e.with_prefix(format_args!("`{shown}`"))))?;
    let name = (arguments.name.clone())
        .or_else(|| name_of(&inspection, file))
        .with_context(|| format!("`{shown}` has no name; give one with --name"))?;
    Ok(Learner {
        name,
        component: Some(component),
    })
}

/// The plugins in the configuration, including the learner.
fn parts(
    paths: &Paths,
    arguments: &Arguments,
    learner: Learner,
    list: &NetworkConfigList,
) -> Result<Vec<Participant>> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for plugin in &list.plugins {
        names.insert(plugin.plugin_type());
        names.extend(plugin.ipam_type());
    }
    if !names.contains(learner.name.as_str()) {
        let names = names.into_iter().collect::<Vec<_>>().join(", ");
        let hint = match learner.component {
            Some(_) => "; use --name to say which one it is",
            None => "",
        };
        bail!(
            "`{}` does not run plugin `{}`: it runs {names}{hint}",
            arguments.config.display(),
            learner.name
        );
    }
    let catalogue = Catalogue::new(paths);
    let part = |name: &str| {
        refuse(paths, name)?;
        part(&catalogue, name, &learner)
    };
    names.into_iter().map(part).collect()
}

fn part(catalogue: &Catalogue, name: &str, learner: &Learner) -> Result<Participant> {
    let is_learner = name == learner.name;
    let component = match learner.component.as_ref().filter(|_| is_learner) {
        Some(component) => Some(component.clone()),
        None => {
            let plugin = catalogue.find(name).map_err(show_error)?;
            let component = (!plugin.is_built_in()).then(|| plugin.component());
            component.transpose().map_err(show_error)?
        }
    };
    Ok(Participant {
        name: name.to_owned(),
        // An installed plugin needs a grant on the scratch node as well.
        is_free: is_learner || component.is_some(),
        component,
    })
}

fn open(records: &Path) -> Result<Box<dyn Write>> {
    if records.as_os_str() == "-" {
        return Ok(Box::new(StandardOutput));
    }
    let file = File::create(records);
    let file = file.with_context(|| format!("write `{}`", records.display()))?;
    Ok(Box::new(file))
}
