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
use crate::cli::plugin::at_uri::{self, Expected, Found};
use crate::cli::plugin::coverage::{Coverage, not_covered};
use crate::cli::plugin::installation::{check_not_older, install};
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
    let fetch = Fetch {
        sandbox,
        arguments,
        wanted,
        uri: wanted.uri.parse().map_err(anyhow::Error::msg)?,
    };
    let Some(name) = sandbox.catalogue().fetched_from(&wanted.uri) else {
        return fetch.first();
    };
    let plugin = sandbox.catalogue().find(&name).map_err(show)?;
    fetch
        .again(&plugin)
        .with_context(|| format!("plugin `{name}` stays as it is"))
}

/// One URI, and what the command line says about it.
struct Fetch<'a> {
    sandbox: &'a Sandbox,
    arguments: &'a Arguments,
    wanted: &'a Wanted,
    uri: PluginUri,
}

impl Fetch<'_> {
    /// Fetches and installs a plugin that was not fetched before, in nothing's place.
    fn first(&self) -> Result<Fetched> {
        let asked = self.arguments.name.as_deref();
        let found = self.get(asked)?;
        let name = match &self.arguments.name {
            Some(name) => name.clone(),
            None => found.own_name(&self.uri)?,
        };
        Catalogue::check_name(&name)
            .map_err(show)
            .context("give --name for another name on this node")?;
        if self.sandbox.catalogue().is_installed(&name) {
            return self.another_version(&name, found);
        }
        let provenance = self.admit(&name, &found)?;
        self.install(State::Fetched, name, &found, provenance)
    }

    /// Replaces a plugin that was fetched from the same repository, on request: the network names another version now.
    fn another_version(&self, name: &str, found: Found) -> Result<Fetched> {
        let from = at_uri::origin(self.sandbox, name);
        let plugin = self.sandbox.catalogue().find(name).map_err(show)?;
        let before = plugin.provenance().and_then(|p| p.uri.as_deref());
        let Some(before) = before.filter(|before| at_uri::is_same_repository(&self.uri, before))
        else {
            bail!(
                "plugin `{name}` is installed already, {from}: a URI does not replace it; give --name for another name, or remove \
                 it with `weir plugin remove {name}`"
            )
        };
        ensure!(
            self.arguments.update,
            "plugin `{name}` is installed already, {from}: --update replaces it with this version"
        );
        let networks = wanted::naming(self.sandbox.paths(), self.arguments, before)?;
        ensure!(
            networks.is_empty(),
            "plugin `{name}` is installed already, {from}, which network `{}` names: change that network as well, or give --name for \
             another name",
            networks.join("`, `")
        );
        self.update(&plugin, found)
    }

    /// What is to be done about a plugin that was fetched.
    fn again(&self, plugin: &Plugin) -> Result<Fetched> {
        let name = &plugin.name;
        ensure!(
            (self.arguments.name.as_ref()).is_none_or(|wanted| wanted == name),
            "it was fetched as plugin `{name}`; remove that with `weir plugin remove {name}` to fetch it under another name"
        );
        if self.arguments.update {
            return self.update(plugin, self.get(Some(name))?);
        }
        if self.sandbox.check(plugin).is_ok() {
            return Ok(self.kept(plugin));
        }
        self.repair(plugin)
    }

    /// Takes a plugin as it is now.
    fn update(&self, plugin: &Plugin, found: Found) -> Result<Fetched> {
        let provenance = self.admit(&plugin.name, &found)?;
        if found.inspection.digest == plugin.digest && self.sandbox.check(plugin).is_ok() {
            return Ok(self.kept(plugin));
        }
        if !self.arguments.allow_downgrade {
            check_not_older(self.sandbox, &plugin.name, &found.inspection)?;
        }
        let provenance = Provenance {
            listed: plugin.provenance().is_some_and(|before| before.listed),
            ..provenance
        };
        self.install(State::Updated, plugin.name.clone(), &found, provenance)
    }

    /// Installs the same component again, after its files were damaged or weir was updated. It is fetched only if it is not whole.
    fn repair(&self, plugin: &Plugin) -> Result<Fetched> {
        let options = self.arguments.registry.options();
        let expected = self.expected_again(plugin);
        let found = at_uri::again(self.sandbox, plugin, &self.uri, options, &expected)
            .context("--update takes what is there now")?;
        let fresh = found.admit(self.sandbox.paths(), &self.uri, &expected)?;
        // What is known of it is still so.
        let provenance = plugin.provenance().cloned().unwrap_or(fresh);
        self.install(State::Repaired, plugin.name.clone(), &found, provenance)
    }

    fn kept(&self, plugin: &Plugin) -> Fetched {
        Fetched::kept(plugin, self.wanted, self.not_covered(&plugin.name))
    }

    /// Of the networks that name the URI, also those that were not asked for, those which no grant covers; and why the grants are
    /// unknown, if they are.
    fn not_covered(&self, plugin: &str) -> (Vec<String>, Option<String>) {
        let paths = self.sandbox.paths();
        let mut networks = self.wanted.networks.clone();
        networks
            .extend(wanted::naming(paths, self.arguments, &self.wanted.uri).unwrap_or_default());
        networks.sort();
        networks.dedup();
        match not_covered(paths, plugin, &networks) {
            Ok(networks) => (networks, None),
            Err(error) => (networks, Some(format!("{error:#}"))),
        }
    }

    fn get(&self, name: Option<&str>) -> Result<Found> {
        let options = self.arguments.registry.options();
        at_uri::get(self.sandbox, &self.uri, options, &self.expected(name))
    }

    /// Decides whether the node's policy lets a component be the plugin of this name.
    fn admit(&self, name: &str, found: &Found) -> Result<Provenance> {
        let expected = self.expected(Some(name));
        found.admit(self.sandbox.paths(), &self.uri, &expected)
    }

    /// What the command line says of the plugin.
    fn expected<'a>(&'a self, name: Option<&'a str>) -> Expected<'a> {
        Expected {
            name,
            digest: self.arguments.digest.as_ref(),
            pinned_by: Some("--digest"),
        }
    }

    /// The component that was let in before.
    fn expected_again<'a>(&'a self, plugin: &'a Plugin) -> Expected<'a> {
        let given = self.arguments.digest.as_ref();
        Expected {
            name: Some(&plugin.name),
            digest: given.or(Some(&plugin.digest)),
            pinned_by: Some(given.map_or("the fetch before", |_| "--digest")),
        }
    }

    /// Installs what was let in, in place of what was fetched before.
    fn install(
        &self,
        state: State,
        name: String,
        found: &Found,
        provenance: Provenance,
    ) -> Result<Fetched> {
        let replaces = state != State::Fetched;
        install(
            self.sandbox,
            &name,
            &found.inspection,
            &provenance,
            replaces,
        )?;
        let coverage = Coverage::of(self.sandbox, &name, &found.inspection);
        Ok(Fetched {
            state,
            networks: self.wanted.networks.clone(),
            not_covered: self.not_covered(&name).0,
            error: None,
            digest: found.inspection.digest.to_string(),
            coverage: Some(coverage),
            name,
            provenance,
        })
    }
}
