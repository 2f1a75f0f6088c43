//! `weir grants`: what plugins may do on this node.

use anyhow::{Context, Result, bail};
use clap::Subcommand;

use super::net::show;
use super::output::Answer;
use crate::grant::Capability;
use crate::paths::Paths;
use crate::sandbox::{Grants, Sandbox, parse_grant};

#[derive(Subcommand)]
pub enum Command {
    /// List the grants in force.
    List,
    /// Show a plugin's grant.
    Show {
        /// The plugin's name.
        plugin: String,
    },
    /// Print a grant to review for a plugin that has none: its digest, and what it asks for.
    New {
        /// The plugin's name.
        plugin: String,
    },
    /// Check documents without putting them in force.
    Check {
        /// The documents' files.
        #[arg(required = true)]
        files: Vec<std::path::PathBuf>,
    },
}

/// Carries out a command.
pub fn run(command: Command) -> Result<Answer> {
    let paths = Paths::from_environment();
    match command {
        Command::List => list(&paths),
        Command::Show { plugin } => show_grant(&paths, &plugin),
        Command::New { plugin } => new(paths, &plugin),
        Command::Check { files } => check(&files),
    }?;
    Ok(Answer::Yes)
}

fn list(paths: &Paths) -> Result<()> {
    for loaded in Grants::load(paths).map_err(show)?.all() {
        let plugin = &loaded.document.spec.plugin.name;
        println!(
            "{:<16} {plugin:<16} {}",
            loaded.document.metadata.name, loaded.origin
        );
    }
    Ok(())
}

fn show_grant(paths: &Paths, plugin: &str) -> Result<()> {
    let grants = Grants::load(paths).map_err(show)?;
    let mut of_plugin = grants.all();
    of_plugin.retain(|l| l.document.spec.plugin.name == plugin);
    let mut found = false;
    for loaded in of_plugin {
        println!("# {}", loaded.origin);
        print!("{}", serde_saphyr::to_string(&loaded.document)?);
        found = true;
    }
    match found {
        true => Ok(()),
        false => {
            bail!("plugin `{plugin}` has no grant: `weir grants new {plugin}` prints one to review")
        }
    }
}

/// A document with a rule for every capability that the component imports. Rules without fields
/// allow everything of a capability, so each says what to narrow.
fn new(paths: Paths, plugin: &str) -> Result<()> {
    let sandbox = Sandbox::new(paths, false).map_err(show)?;
    let found = sandbox.catalogue().find(plugin).map_err(show)?;
    let inspection = sandbox
        .inspect(&found.component().map_err(show)?)
        .map_err(show)?;
    println!("# Review every rule: what it leaves out, it allows. Then save it as");
    println!("# {}/{plugin}.yaml", sandbox.paths().grants().display());
    println!("apiVersion: {}", crate::grant::document::API_VERSION);
    println!("kind: {}", crate::grant::document::KIND);
    println!("metadata:\n  name: {plugin}");
    println!(
        "spec:\n  plugin:\n    name: {plugin}\n    digest: {}",
        found.digest
    );
    println!("  networks: [\"*\"]\n  capabilities:");
    let capabilities = inspection.requested.capabilities;
    let mut rules = 0;
    for capability in capabilities.into_iter().filter(|c| c.is_implemented()) {
        if let Some(rule) = template(capability) {
            println!("    {capability}:\n      - {rule}");
            rules += 1;
        }
    }
    if rules == 0 {
        println!("    {{}}");
    }
    Ok(())
}

fn template(capability: Capability) -> Option<&'static str> {
    match capability {
        Capability::Link => Some(r#"{ namespace: container, names: ["{ifname}"], verbs: [read] }"#),
        Capability::Address | Capability::Neighbour => {
            Some(r#"{ namespace: container, links: ["{ifname}"], verbs: [read] }"#)
        }
        Capability::Route | Capability::Traffic => {
            Some(r#"{ namespace: container, links: ["{ifname}"], verbs: [read] }"#)
        }
        Capability::Firewall => Some("{ namespace: host, families: [inet], verbs: [read] }"),
        Capability::Firewalld => Some("{ zones: [trusted], verbs: [read] }"),
        Capability::Conntrack => {
            Some("{ namespace: container, protocols: [udp], verbs: [delete] }")
        }
        Capability::Sysctl => {
            Some(r#"{ namespace: container, keys: ["net.ipv4.conf.{ifname}.*"], verbs: [read] }"#)
        }
        Capability::Store => Some("{ verbs: [read, write] }"),
        Capability::Ipam => Some("host-local"),
        _ => None,
    }
}

fn check(files: &[std::path::PathBuf]) -> Result<()> {
    for file in files {
        let text =
            std::fs::read_to_string(file).with_context(|| format!("read `{}`", file.display()))?;
        let loaded = parse_grant(file, &text).map_err(show)?;
        println!(
            "{}: a valid grant of plugin {}",
            file.display(),
            loaded.document.spec.plugin.name
        );
    }
    Ok(())
}
