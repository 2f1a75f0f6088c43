//! `weir plugin`: what plugins there are, what they ask for, and how they come and go.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Subcommand;

use super::net::show;
use crate::paths::Paths;
use crate::sandbox::{Inspection, Sandbox};

#[derive(Subcommand)]
pub enum Command {
    /// List the plugins of this node.
    List,
    /// Show what a component is and asks for.
    Inspect {
        /// A component's file, or the name of a plugin of this node.
        plugin: PathBuf,
    },
    /// Compile a component and install it.
    Add {
        /// The component's file.
        file: PathBuf,
        /// The plugin's name [default: the file's].
        #[arg(long)]
        name: Option<String>,
        /// Replace an installed plugin of that name.
        #[arg(long)]
        replace: bool,
    },
    /// Remove an installed plugin.
    Remove {
        /// The plugin's name.
        name: String,
    },
}

/// Carries out a command.
pub fn run(command: Command) -> Result<()> {
    let sandbox = Sandbox::new(Paths::from_environment(), false).map_err(show)?;
    match command {
        Command::List => list(&sandbox),
        Command::Inspect { plugin } => inspect(&sandbox, &plugin),
        Command::Add {
            file,
            name,
            replace,
        } => add(&sandbox, &file, name, replace),
        Command::Remove { name } => sandbox.catalogue().remove(&name).map_err(show),
    }
}

fn list(sandbox: &Sandbox) -> Result<()> {
    for plugin in sandbox.catalogue().list()? {
        match plugin {
            Ok(plugin) => {
                let place = if plugin.is_built_in() {
                    "built in"
                } else {
                    "installed"
                };
                println!("{:<16} {place:<10} {}", plugin.name, plugin.digest);
            }
            Err(error) => println!("{error}"),
        }
    }
    Ok(())
}

fn inspect(sandbox: &Sandbox, plugin: &Path) -> Result<()> {
    let component = match plugin
        .to_str()
        .filter(|_| plugin.components().count() == 1 && !plugin.exists())
    {
        Some(name) => sandbox
            .catalogue()
            .find(name)
            .and_then(|p| p.component())
            .map_err(show)?,
        None => fs::read(plugin).with_context(|| format!("read `{}`", plugin.display()))?,
    };
    let Inspection {
        about,
        digest,
        size,
        requested,
    } = sandbox.inspect(&component).map_err(show)?;
    if let Some(about) = about {
        println!("{} {}: {}", about.name, about.version, about.description);
    }
    println!("digest      {digest}");
    println!("size        {size} bytes");
    let asked: Vec<&str> = requested.capabilities.iter().map(|c| c.word()).collect();
    println!(
        "asks for    {}",
        if asked.is_empty() {
            "nothing".to_owned()
        } else {
            asked.join(", ")
        }
    );
    for refused in &requested.refused {
        println!("refused     {}: {}", refused.name, refused.reason);
    }
    match requested.refused.len() {
        0 => Ok(()),
        count => bail!("{count} of its imports are refused: it cannot be a plugin"),
    }
}

fn add(sandbox: &Sandbox, file: &Path, name: Option<String>, replace: bool) -> Result<()> {
    let shown = file.display();
    let component = fs::read(file).with_context(|| format!("read `{shown}`"))?;
    let name = match name {
        Some(name) => name,
        None => {
            let stem = file.file_stem().and_then(|s| s.to_str());
            stem.with_context(|| format!("`{shown}` has no name: give one with --name"))?
                .to_owned()
        }
    };
    if !replace && sandbox.catalogue().find(&name).is_ok() {
        bail!("plugin `{name}` is installed already: give --replace to replace it");
    }
    let inspection = sandbox.inspect(&component).map_err(show)?;
    if let Some(refused) = inspection.requested.refused.first() {
        bail!("`{shown}` imports `{}`: {}", refused.name, refused.reason);
    }
    let digest = sandbox
        .catalogue()
        .install(&name, &component)
        .map_err(show)?;
    println!("installed plugin {name}, {digest}");
    println!("it needs a grant: `weir grants new {name}` prints one to review");
    Ok(())
}
