//! `weir net fetch`: installs the plugins that the node's networks name by URIs.
//!
//! It is the only thing that asks a server for them, and asks for what files name that only root could write. The installed
//! plugin is its own pin: where it is from is written with it, in one step, and stays until `--update`.

mod fetched;
mod wanted;

use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use weir_grant::document::Digest;
use weir_sandbox::{Catalogue, Plugin, PluginUri, Provenance, Sandbox};

use self::fetched::{Fetched, State};
use self::wanted::Wanted;
use crate::cli::output::{Format, complain, show};
use crate::cli::plugin::at_uri::{self, Found};
use crate::cli::plugin::installation::{check_version, install, installed, version};
use crate::cli::plugin::registry::RegistryArguments;

#[derive(Args)]
pub struct Arguments {
    /// The name of a network, or the path of its file [default: all networks of this node].
    network: Option<PathBuf>,
    /// A directory of network configurations [default: those in which container runtimes look].
    #[arg(long, value_name = "DIR", env = "NETCONFPATH")]
    conf_dir: Option<PathBuf>,
    /// Fetch again what was fetched, and install what it is now.
    #[arg(long)]
    update: bool,
    /// The plugin's name on this node [default: what it says itself]. For one plugin.
    #[arg(long)]
    name: Option<String>,
    /// The digest of the component that you have checked and want, whoever signed it. For one plugin.
    #[arg(long)]
    digest: Option<Digest>,
    /// Let an older version replace a newer one.
    #[arg(long, requires = "update")]
    allow_downgrade: bool,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    format: Format,
}

/// Fetches each plugin. One that fails does not keep the others from being fetched.
pub(super) fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<()> {
    if let Some(name) = &arguments.name {
        Catalogue::check_name(name).map_err(show)?;
    }
    let wanted = wanted::find(sandbox.paths(), arguments)?;
    let of_one = arguments.name.is_some() || arguments.digest.is_some();
    ensure!(
        !of_one || wanted.len() == 1,
        "--name and --digest are for one plugin, and {} are named by URIs; name a network",
        wanted.len()
    );
    let _lock = at_uri::lock(sandbox.paths())?;
    let (mut all, mut failed) = (Vec::new(), 0);
    for one in &wanted {
        match fetch(sandbox, arguments, one) {
            Ok(fetched) => all.push(fetched),
            Err(error) => {
                complain(&format!("{:#}", error.context(one.to_string())));
                failed += 1;
            }
        }
    }
    let printed = |all: &Vec<Fetched>| all.iter().for_each(Fetched::print);
    arguments.format.print(&all, printed)?;
    if failed > 0 {
        bail!("{failed} of {} plugins could not be fetched", wanted.len());
    }
    Ok(())
}

fn fetch(sandbox: &Sandbox, arguments: &Arguments, wanted: &Wanted) -> Result<Fetched> {
    let uri: PluginUri = wanted.uri.parse().map_err(anyhow::Error::msg)?;
    let Some(name) = sandbox.catalogue().fetched_from(uri.as_str()) else {
        return first(sandbox, arguments, &uri, wanted);
    };
    let context = || format!("plugin `{name}` stays as it is");
    let plugin = sandbox.catalogue().find(&name).map_err(show)?;
    ensure!(
        arguments.name.as_ref().is_none_or(|wanted| *wanted == name),
        "it was fetched as plugin `{name}`; remove that with `weir plugin remove {name}` to fetch it under another name"
    );
    if arguments.update {
        return update(sandbox, arguments, &uri, wanted, &plugin).with_context(context);
    }
    if sandbox.check(&plugin).is_ok() {
        return Ok(Fetched::kept(&plugin, wanted));
    }
    repair(sandbox, arguments, &uri, wanted, &plugin).with_context(context)
}

/// Fetches and installs a plugin that was not fetched before, in nothing's place.
fn first(
    sandbox: &Sandbox,
    arguments: &Arguments,
    uri: &PluginUri,
    wanted: &Wanted,
) -> Result<Fetched> {
    let found = at_uri::get(sandbox, uri, arguments.registry.options())?;
    let name = match &arguments.name {
        Some(name) => name.clone(),
        None => found.own_name(uri)?,
    };
    Catalogue::check_name(&name)
        .map_err(show)
        .context("give --name for another name on this node")?;
    if sandbox.catalogue().is_installed(&name) {
        bail!(
            "plugin `{name}` is installed already, {}: a URI does not replace it; give --name for another name, or remove it with \
             `weir plugin remove {name}`",
            at_uri::origin(sandbox, &name)
        );
    }
    let provenance = admit(sandbox, arguments, uri, &name, &found, None)?;
    install(sandbox, &name, &found.inspection, &provenance, false)?;
    Ok(Fetched::now(
        State::Fetched,
        sandbox,
        name,
        wanted,
        &found,
        provenance,
    ))
}

/// Fetches a plugin again, and takes what it is now.
fn update(
    sandbox: &Sandbox,
    arguments: &Arguments,
    uri: &PluginUri,
    wanted: &Wanted,
    plugin: &Plugin,
) -> Result<Fetched> {
    let found = at_uri::get(sandbox, uri, arguments.registry.options())?;
    let name = plugin.name.clone();
    let provenance = admit(sandbox, arguments, uri, &name, &found, None)?;
    if found.inspection.digest == plugin.digest && sandbox.check(plugin).is_ok() {
        return Ok(Fetched::kept(plugin, wanted));
    }
    if let Some(before) = installed(sandbox, &name).filter(|_| !arguments.allow_downgrade) {
        check_version(&name, version(&before), version(&found.inspection))?;
    }
    install(sandbox, &name, &found.inspection, &provenance, true)?;
    Ok(Fetched::now(
        State::Updated,
        sandbox,
        name,
        wanted,
        &found,
        provenance,
    ))
}

/// Installs the same component again, after its files were damaged or weir was updated. It is fetched only if it is not whole.
fn repair(
    sandbox: &Sandbox,
    arguments: &Arguments,
    uri: &PluginUri,
    wanted: &Wanted,
    plugin: &Plugin,
) -> Result<Fetched> {
    let found = at_uri::again(sandbox, plugin, uri, arguments.registry.options())?;
    let (is, pinned) = (&found.inspection.digest, &plugin.digest);
    ensure!(
        is == pinned,
        "it is component {is} now, and {pinned} was fetched; --update takes it as it is now"
    );
    let name = plugin.name.clone();
    let fresh = admit(sandbox, arguments, uri, &name, &found, Some(pinned))?;
    // What is known of it is still so.
    let provenance = plugin.provenance().cloned().unwrap_or(fresh);
    install(sandbox, &name, &found.inspection, &provenance, true)?;
    Ok(Fetched::now(
        State::Repaired,
        sandbox,
        name,
        wanted,
        &found,
        provenance,
    ))
}

/// Decides whether the node's policy lets a component be the plugin of this name. `pinned` is the digest of one that was let in.
fn admit(
    sandbox: &Sandbox,
    arguments: &Arguments,
    uri: &PluginUri,
    name: &str,
    found: &Found,
    pinned: Option<&Digest>,
) -> Result<Provenance> {
    let is = &found.inspection.digest;
    if let Some(wanted) = &arguments.digest {
        ensure!(wanted == is, "it is component {is}, not {wanted}");
    }
    let given = arguments.digest.as_ref().map(|digest| (digest, "--digest"));
    let pinned = given.or(pinned.map(|digest| (digest, "the fetch before")));
    found.admit(sandbox.paths(), uri, name, pinned)
}
