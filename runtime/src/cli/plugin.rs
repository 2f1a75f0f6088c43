//! `weir plugin`: what plugins there are, what they ask for, and how they come and go.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Subcommand;
use serde::Serialize;
use weir_cni::Error;

use super::net::show;
use super::output::{Answer, Format};
use crate::paths::Paths;
use crate::sandbox::{Inspection, Plugin, Sandbox};

#[derive(Subcommand)]
pub enum Command {
    /// List the plugins of this node.
    List {
        #[command(flatten)]
        format: Format,
    },
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
pub fn run(command: Command) -> Result<Answer> {
    let sandbox = Sandbox::new(Paths::from_environment(), false).map_err(show)?;
    match command {
        Command::List { format } => return list(&sandbox, format),
        Command::Inspect { plugin } => inspect(&sandbox, &plugin),
        Command::Add {
            file,
            name,
            replace,
        } => add(&sandbox, &file, name, replace),
        Command::Remove { name } => sandbox.catalogue().remove(&name).map_err(show),
    }?;
    Ok(Answer::Yes)
}

/// A line of the list.
#[derive(Serialize)]
#[serde(untagged)]
enum Listed {
    Whole {
        name: String,
        built_in: bool,
        digest: String,
    },
    Damaged {
        error: String,
    },
}

/// No where a plugin is damaged.
fn list(sandbox: &Sandbox, format: Format) -> Result<Answer> {
    let found = sandbox.catalogue().list()?;
    let is_whole = found.iter().all(Result::is_ok);
    let plugins: Vec<Listed> = found.into_iter().map(listed).collect();
    format.print(&plugins, |plugins| plugins.iter().for_each(print))?;
    Ok(match is_whole {
        true => Answer::Yes,
        false => Answer::No,
    })
}

fn listed(found: Result<Plugin, Error>) -> Listed {
    match found {
        Ok(plugin) => Listed::Whole {
            built_in: plugin.is_built_in(),
            digest: plugin.digest.to_string(),
            name: plugin.name,
        },
        Err(error) => Listed::Damaged {
            error: error.to_string(),
        },
    }
}

fn print(plugin: &Listed) {
    match plugin {
        Listed::Whole {
            name,
            built_in,
            digest,
        } => {
            let place = if *built_in { "built in" } else { "installed" };
            println!("{name:<16} {place:<10} {digest}");
        }
        Listed::Damaged { error } => println!("{error}"),
    }
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
