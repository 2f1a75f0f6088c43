//! `weir uninstall`: restores the state before weir. The configuration is removed first, so that no runtime calls a plugin that
//! is being removed.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use weir_files::Paths;
use weir_network as network;

use super::bin_dir::BinDir;
use super::conf_dir::{configurations, has_type, is_configuration, own_configurations};
use super::handover::Handover;
use super::node::KUBECONFIG;
use super::{config_file, needed, replaced};
use crate::OWN_NAME;
use crate::cli::output::say;

#[derive(Args)]
pub struct Arguments {
    /// Where the container runtime looks for CNI plugins.
    #[arg(long, value_name = "DIR", default_value = "/opt/cni/bin")]
    bin_dir: PathBuf,
    /// Where the container runtime reads network configurations [default: /etc/cni/net.d].
    #[arg(long, value_name = "DIR")]
    conf_dir: Option<PathBuf>,
    /// The name of weir's own configuration there.
    #[arg(long, value_name = "FILE", default_value = "00-weir.conflist")]
    conf_name: String,
    /// The kubeconfig that was written [default: weir.d/weir.kubeconfig in the directory of network
    /// configurations].
    #[arg(long, value_name = "FILE")]
    kubeconfig_path: Option<PathBuf>,
    /// Also remove weir's state on the node: installed plugins, their stores, records of pods. Grants,
    /// weir.json and logs remain.
    #[arg(long)]
    purge: bool,
    /// Uninstall even if pods are attached, whose networks then remain; if another configuration needs weir, or a
    /// plugin that only weir provides; and if containers cannot be handed over to the returning plugins, whose
    /// entries in weir's tables then remain.
    #[arg(long)]
    force: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let paths = Paths::from_environment();
    let conf_dir = arguments.conf_dir.clone();
    let conf_dir = conf_dir.unwrap_or_else(|| paths.networks());
    if !arguments.force {
        check_pods(&paths)?;
        check_configurations(&conf_dir, &arguments.conf_name)?;
        needed::check(&conf_dir, &arguments.conf_name, &arguments.bin_dir)?;
    }
    // The lock prevents an installation meanwhile.
    let bin_dir = BinDir::lock(&arguments.bin_dir)?;
    let mut handover = Handover::new(&paths, &arguments.bin_dir, arguments.force);
    handover.carry_out().context("nothing is uninstalled")?;
    remove_configuration(&conf_dir, &arguments.conf_name)?;
    remove_kubeconfig(&conf_dir, arguments.kubeconfig_path.as_deref())?;
    bin_dir.restore()?;
    // The binary stays until the end, in case this has to be repeated.
    handover
        .carry_on()
        .context("hand over the new attachments; run `weir uninstall` again to continue")?;
    handover.finish()?;
    bin_dir.remove_binary()?;
    if arguments.purge {
        remove(&paths.state(), fs::remove_dir_all)?;
        remove(&paths.run(), fs::remove_dir_all)?;
    }
    Ok(())
}

/// Fails if a pod is attached: its DEL needs weir.
fn check_pods(paths: &Paths) -> Result<()> {
    let directory = paths.pods();
    let mut pods = 0;
    for name in replaced::file_names(&directory)? {
        let below = directory.join(&name);
        if below.is_dir() {
            let records = replaced::file_names(&below)?.into_iter();
            pods += records.filter(|name| name.ends_with(".json")).count();
        }
    }
    if pods == 0 {
        return Ok(());
    }
    bail!(
        "weir has attached {pods} pods or containers of this node, recorded in `{}`, and only weir can remove their \
         networks: drain the node first (`kubectl drain NODE --ignore-daemonsets`), or give --force",
        directory.display()
    )
}

/// Fails if a configuration that was written by hand needs weir.
fn check_configurations(conf_dir: &Path, own: &str) -> Result<()> {
    for name in configurations(conf_dir, own)? {
        let file = conf_dir.join(name);
        if network::at(&file).is_ok_and(|network| has_type(&network, OWN_NAME)) {
            bail!(
                "`{}` has the type `{OWN_NAME}`, and `weir install` did not write it: change its type back, remove it, \
                 or give --force",
                file.display()
            );
        }
    }
    Ok(())
}

/// Puts back Multus' configuration before it removes weir's, so that one of them is always in force.
fn remove_configuration(conf_dir: &Path, own: &str) -> Result<()> {
    let kept_names = replaced::names(conf_dir)?;
    for name in kept_names.iter().filter(|name| is_configuration(name)) {
        if conf_dir.join(name).exists() {
            say!("left {}", conf_dir.join(replaced::name_of(name)).display())
        } else {
            replaced::put_back(conf_dir, name)?;
            say!("put back {}", conf_dir.join(name).display());
        }
    }
    for name in own_configurations(conf_dir, own)? {
        let file = conf_dir.join(name);
        remove(&file, fs::remove_file)?;
    }
    if conf_dir.is_dir() {
        config_file::sync(conf_dir)?;
    }
    Ok(())
}

fn remove_kubeconfig(conf_dir: &Path, given: Option<&Path>) -> Result<()> {
    let own = conf_dir.join(KUBECONFIG);
    let file = given.unwrap_or(&own);
    remove(file, fs::remove_file)?;
    if let Some(directory) = own.parent() {
        config_file::clear_up(directory)?;
        // It may not be empty, or not exist.
        let _ = fs::remove_dir(directory);
    }
    Ok(())
}

/// Removes a file or a directory, if it exists.
fn remove<'a>(path: &'a Path, by: impl FnOnce(&'a Path) -> io::Result<()>) -> Result<()> {
    match by(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        removed => {
            removed.with_context(|| format!("remove `{}`", path.display()))?;
            say!("removed {}", path.display());
        }
    }
    Ok(())
}
