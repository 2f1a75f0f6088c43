//! `weir install` and `weir uninstall`: the binary, one link for each plugin, and on a Kubernetes node the delegating plugin's
//! configuration.
//!
//! A runtime always finds either the old or the new files, complete: every file is written to disk under another name, and
//! renamed. The configuration is installed last and removed first.

mod arguments;
mod bin_dir;
mod conf_dir;
mod config_file;
mod configuration;
mod default_network;
mod handover;
mod kubeconfig;
mod listed;
mod multus;
mod needed;
mod node;
mod replaced;
mod settings;
mod takeover;
mod uninstall;
mod watch;

use anyhow::{Context, Result};
use weir_files::Paths;
use weir_sandbox::{Catalogue, missing_plugins};

pub use arguments::{Arguments, with_variables};
pub use uninstall::{Arguments as UninstallArguments, run as uninstall};

use super::output::{Answer, complain, print_line, show};
use crate::OWN_NAME;
use bin_dir::BinDir;
use node::Node;

pub fn run(arguments: &Arguments) -> Result<Answer> {
    arguments.check_environment()?;
    let paths = Paths::from_environment();
    if !arguments.kubernetes {
        return bare(arguments, &paths).map(|()| Answer::Yes);
    }
    let node = Node::new(arguments, paths);
    if arguments.node.check {
        node.check()
    } else {
        watch::install(&node, &arguments.node).map(|()| Answer::Yes)
    }
}

/// Installs only the binary and the links.
fn bare(arguments: &Arguments, paths: &Paths) -> Result<()> {
    let (names, damaged) = plugin_names(paths)?;
    if let Some(error) = damaged.into_iter().next() {
        return Err(error);
    }
    let bin_dir = BinDir::lock(&arguments.bin_dir)?;
    bin_dir.put_binary()?;
    for name in &names {
        bin_dir.put_link(name)?;
    }
    bin_dir.sync()?;
    print_line!(
        "installed {}/{OWN_NAME}, and as plugins: {}",
        arguments.bin_dir.display(),
        names.join(", ")
    );
    if let Some(missing) = missing_plugins() {
        complain(&missing.to_string());
    }
    Ok(())
}

/// The plugins of this node, which get links, and the errors of damaged ones.
fn plugin_names(paths: &Paths) -> Result<(Vec<String>, Vec<anyhow::Error>)> {
    let listed = Catalogue::new(paths).list();
    let (mut names, mut damaged) = (Vec::new(), Vec::new());
    for plugin in listed.context("list the installed plugins")? {
        match plugin.plugin {
            // The binary has that name.
            Ok(plugin) if plugin.name == OWN_NAME => {}
            Ok(plugin) => names.push(plugin.name),
            Err(error) => damaged.push(show(error)),
        }
    }
    Ok((names, damaged))
}
