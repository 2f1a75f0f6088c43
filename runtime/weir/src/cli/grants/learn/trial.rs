//! Runs a network on a scratch node, with everything allowed to the plugins that learn.

use std::collections::BTreeSet;
use std::fs;
use std::io::{ErrorKind, Write};

use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use weir_cni::{Command, Error, NetworkConfigList};
use weir_gate::escape;
use weir_grant::document::{API_VERSION, KIND};
use weir_grant::{Capabilities, Capability};
use weir_network::{Attachment, Network};
use weir_sandbox::{Catalogue, Sandbox};

use super::store_paths::StorePaths;
use crate::cli::output::show as show_error;
use crate::cli::record::{self, Record, Verdict};
use crate::cli::scratch_node::{Container, ScratchNode};

/// How often the network is run, each time with the files and directories allowed that plugins requested before: one file may
/// lead a plugin to the next.
pub const MOST_ROUNDS: usize = 8;

pub(super) struct Participant {
    pub(super) name: String,
    /// None for a built-in one.
    pub(super) component: Option<Vec<u8>>,
    /// Whether everything is allowed.
    pub(super) is_free: bool,
}

pub(super) struct Trial {
    pub(super) node: ScratchNode,
    /// Two, so that the records show what differs between attachments.
    pub(super) containers: [Container; 2],
    pub(super) list: NetworkConfigList,
    pub(super) capability_args: Map<String, Value>,
    pub(super) ifname: String,
    pub(super) parts: Vec<Participant>,
}

/// The result of a trial.
pub(super) struct Outcome {
    /// The failures of the last round.
    pub(super) failures: Vec<String>,
    /// The paths that were allowed in the last round.
    granted: StorePaths,
}

impl Trial {
    /// Installs the plugins and runs all commands; again, as long as there are paths that were asked
    /// for.
    pub(super) fn run(&self) -> Result<Outcome> {
        self.install()?;
        let mut granted = StorePaths::default();
        let mut failures = Vec::new();
        for round in 1..=MOST_ROUNDS {
            self.grant(&granted)?;
            failures = self.round()?;
            if round == MOST_ROUNDS || !granted.add(self.asked_for()?) {
                break;
            }
        }
        Ok(Outcome { failures, granted })
    }

    fn install(&self) -> Result<()> {
        let catalogue = Catalogue::new(&self.node.paths());
        for part in &self.parts {
            if let Some(component) = &part.component {
                let installed = catalogue.install(&part.name, component);
                installed.map_err(show_error)?;
            }
        }
        Ok(())
    }

    fn is_free(&self, plugin: &str) -> bool {
        let mut free = self.parts.iter().filter(|part| part.is_free);
        free.any(|part| part.name == plugin)
    }

    /// Writes the grants that allow everything.
    fn grant(&self, store_paths: &StorePaths) -> Result<()> {
        let paths = self.node.paths();
        let catalogue = Catalogue::new(&paths);
        fs::create_dir_all(paths.grants())?;
        let ipam = self.list.plugins.iter().filter_map(|p| p.ipam_type());
        let ipam: BTreeSet<&str> = ipam.collect();
        for part in self.parts.iter().filter(|part| part.is_free) {
            let plugin = catalogue.find(&part.name).map_err(show_error)?;
            let document = json!({
                "apiVersion": API_VERSION,
                "kind": KIND,
                "metadata": { "name": part.name },
                "spec": {
                    "plugin": { "name": part.name, "digest": plugin.digest.to_string() },
                    "networks": ["*"],
                    "capabilities": everything(store_paths, &ipam)?,
                },
            });
            let file = paths.grants().join(format!("{}.yaml", part.name));
            // A plugin chose the names of paths in it, and YAML does not have every character.
            let document = escape(document.to_string());
            fs::write(file, document).context("write the grant of everything")?;
        }
        Ok(())
    }

    fn round(&self) -> Result<Vec<String>> {
        let sandbox = Sandbox::new(self.node.paths(), true).map_err(show_error)?;
        let network = Network::new(&sandbox, self.list.clone(), self.capability_args.clone());
        let mut failures = Vec::new();
        let mut note = |command: &str, outcome: Result<(), Error>| {
            if let Err(error) = outcome {
                failures.push(format!("{command}: {:#}", show_error(error)));
            }
        };
        note("STATUS", network.status());
        for container in &self.containers {
            let attachment = self.attachment(container)?;
            let added = network.add(&attachment);
            let was_added = added.is_ok();
            note("ADD", added.map(drop).map_err(Error::from));
            if was_added {
                note("CHECK", network.check(&attachment));
            }
        }
        note("GC", network.gc(&self.valid()));
        for container in &self.containers {
            // A runtime may repeat it, and then nothing is there any more.
            for _ in 0..2 {
                note("DEL", network.del(&self.attachment(container)?));
            }
        }
        Ok(failures)
    }

    fn attachment(&self, container: &Container) -> Result<Attachment> {
        let netns = container.netns().to_string_lossy().into_owned();
        let id = container_id(container);
        let args = weir_cni::Args::default();
        Attachment::open(Command::Add, id, self.ifname.clone(), netns, args).map_err(show_error)
    }

    /// For GC: all that there is stays.
    fn valid(&self) -> Vec<weir_cni::Attachment> {
        let valid = self.containers.iter().map(container_id);
        valid
            .map(|id| weir_cni::Attachment::new(id, self.ifname.clone()))
            .collect()
    }

    /// The paths that those that learn were denied.
    fn asked_for(&self) -> Result<StorePaths> {
        let mut paths = StorePaths::default();
        let mut take = |record: &Record| {
            if self.is_free(&record.subject.plugin) {
                paths.note(record);
            }
            Ok(())
        };
        self.read_log(&mut take)?;
        Ok(paths)
    }

    /// Prints the records as JSON Lines, also those of the plugins that ran beside the
    /// learner, without the denials of what was allowed in the end. Returns what was denied all the same.
    pub(super) fn print(
        &self,
        outcome: &Outcome,
        output: &mut dyn Write,
    ) -> Result<BTreeSet<String>> {
        let mut denied = BTreeSet::new();
        let mut take = |record: &Record| {
            // Events, such as a changed grant, are about this trial's node only.
            if record.is_event() {
                return Ok(());
            }
            if record.verdict == Verdict::Denied {
                if self.is_free(&record.subject.plugin) && outcome.granted.has(record) {
                    return Ok(());
                }
                denied.insert(format!(
                    "{}: {}",
                    record.subject.plugin,
                    record.requirement()
                ));
            }
            writeln!(output, "{}", escape(serde_json::to_string(record)?))
        };
        self.read_log(&mut take)?;
        Ok(denied)
    }

    fn read_log(&self, take: record::Take<'_>) -> Result<()> {
        let log = self.node.paths().audit_log();
        match record::read(&log, take) {
            // A plugin that asked for nothing.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            read => read
                .map(drop)
                .context("write the records of the scratch node"),
        }
    }
}

/// `CNI_CONTAINERID`: long enough that nothing else is called so.
fn container_id(container: &Container) -> String {
    format!("weir-learns-{}", container.name())
}

/// Rules that allow everything that rules can, with these files and directories.
pub fn everything(paths: &StorePaths, ipam: &BTreeSet<&str>) -> Result<Capabilities> {
    let mut capabilities = Map::new();
    for capability in Capability::ALL {
        let rules = match capability {
            Capability::Log => continue,
            Capability::Ipam => json!(ipam),
            Capability::Store => stores(paths),
            _ => json!([{}]),
        };
        capabilities.insert(capability.word().to_owned(), rules);
    }
    serde_json::from_value(Value::Object(capabilities)).context("the rules that allow everything")
}

/// The plugin's own store, these files and directories, and those that the network's configuration names.
fn stores(paths: &StorePaths) -> Value {
    let mut rules = paths.rules();
    if let Value::Array(rules) = &mut rules {
        rules.push(json!({ "directories": ["{dataDir}"] }));
        rules.push(json!({ "files": ["{resolvConf}"] }));
    }
    rules
}
