//! `podNetworks` of weir's own configuration, attached by name or because they are the defaults: for
//! callers outside of Kubernetes.
//!
//! Which interface each has is recorded before the first plugin runs, so that DEL knows whatever happens
//! between: the configuration may be changed, and the process killed.

mod names;
mod record;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use weir_cni::{AddResult, Error, NetworkConfigList};
use weir_grant::diagnostic::expected_one_of;
use weir_sandbox::Sandbox;

use self::names::Names;
use self::record::{RecordedAttachment, Records};
use super::attachment::Attachment;
use super::failures::together;
use super::in_order::Left;
use super::list::Network;
use super::multi_network::{self, Member};
use super::settings::{Interface, PodNetwork, Settings};

/// Which networks are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These, in this order.
    Named(Vec<String>),
    /// Those with `default: true`, in the configuration's order.
    Defaults,
}

/// An attachment that was made.
#[derive(Clone, Debug, PartialEq)]
pub struct Attached {
    pub network: NetworkConfigList,
    pub interface: String,
    pub result: AddResult,
}

/// The named networks of a node.
pub struct PodNetworks {
    sandbox: Arc<Sandbox>,
    records: Records,
    /// For native plugins.
    bin_dirs: Vec<PathBuf>,
}

impl PodNetworks {
    /// The node's. `bin_dirs` have native plugins; where there are none, no native plugin runs.
    pub fn new(sandbox: &Arc<Sandbox>, bin_dirs: Vec<PathBuf>) -> Self {
        Self {
            records: Records::new(sandbox.paths()),
            sandbox: Arc::clone(sandbox),
            bin_dirs,
        }
    }

    /// What is configured. Errors: `codes::SETTINGS`.
    pub fn list(&self) -> Result<Vec<PodNetwork>, Error> {
        Ok(Settings::load(self.sandbox.paths())?.pod_networks)
    }

    /// Attaches a container to each of the chosen networks, in order; `container.ifname` means nothing.
    /// When one fails, those before it are detached again. What is left for a DEL stays recorded: what could not be
    /// detached, and a network whose native plugin failed, which CNI section 3 owes a DEL in any case.
    ///
    /// Errors: code 7 for a network that there is not, an interface's name that is taken, and no defaults;
    /// the failing network's; code 5 where it cannot be recorded.
    pub fn add(
        &self,
        choice: &Choice,
        container: &Attachment,
        capability_args: &Map<String, Value>,
    ) -> Result<Vec<Attached>, Error> {
        let networks = self.chosen(choice)?;
        let entries = self.records.change(&container.container_id, |entries| {
            let new = name_each(&networks, choice, container, entries, capability_args)?;
            entries.extend(new.iter().cloned());
            Ok(new)
        })?;
        let members = self.members(&entries)?;
        match multi_network::add(&members, container) {
            Ok(results) => Ok(attached(members, results)),
            Err(failed) => {
                self.keep_left(container, &entries, &failed.left)?;
                Err(failed.error)
            }
        }
    }

    /// Detaches a container from the chosen networks that it was attached to, the last first, with the
    /// configurations of then. Goes on past failures; what failed can be deleted again.
    ///
    /// Errors: the first failure, with the others in its details; code 7 for a name that is no network's.
    pub fn del(&self, choice: &Choice, container: &Attachment) -> Result<(), Error> {
        let entries = self.recorded(choice, container)?;
        let members = self.members(&entries)?;
        let failures = multi_network::del(&members, container);
        let is_left = |at: usize| failures.iter().any(|(place, _)| *place == at);
        let gone = entries.iter().enumerate().filter(|(at, _)| !is_left(*at));
        self.forget(container, gone.map(|(_, entry)| entry).collect())?;
        let failures: Vec<Error> = failures.into_iter().map(|(_, error)| error).collect();
        if failures.is_empty() {
            Ok(())
        } else {
            Err(together(failures))
        }
    }

    /// Checks the attachments of a container to the chosen networks.
    ///
    /// Errors: the first failing network's; code 3 where the container has none.
    pub fn check(&self, choice: &Choice, container: &Attachment) -> Result<(), Error> {
        let entries = self.recorded(choice, container)?;
        if entries.is_empty() {
            return Err(Error::unknown_container(&container.container_id)
                .with_details("it was attached to none of these networks with `weir net add`"));
        }
        multi_network::check(&self.members(&entries)?, container)
    }

    fn chosen(&self, choice: &Choice) -> Result<Vec<PodNetwork>, Error> {
        let all = self.list()?;
        let named = match choice {
            Choice::Named(named) => named,
            Choice::Defaults => {
                let defaults = all.iter().filter(|network| network.is_default);
                let defaults: Vec<PodNetwork> = defaults.cloned().collect();
                return if defaults.is_empty() {
                    Err(self.no_defaults(&all))
                } else {
                    Ok(defaults)
                };
            }
        };
        let find = |name: &String| {
            let found = all.iter().find(|network| network.name() == name);
            found.cloned().ok_or_else(|| self.no_network(name, &all))
        };
        named.iter().map(find).collect()
    }

    /// The attachments of a container to the chosen networks, in the order in which they were made.
    fn recorded(
        &self,
        choice: &Choice,
        container: &Attachment,
    ) -> Result<Vec<RecordedAttachment>, Error> {
        let mut entries = self.records.entries(&container.container_id)?;
        match choice {
            Choice::Defaults => entries.retain(|entry| entry.default),
            Choice::Named(named) => {
                let unknown = named
                    .iter()
                    .find(|name| !entries.iter().any(|entry| entry.network == **name));
                if let Some(name) = unknown {
                    self.check_name(name)?;
                }
                // What was attached as a default is detached as one.
                entries.retain(|entry| !entry.default && named.contains(&entry.network));
            }
        }
        Ok(entries)
    }

    /// Fails for a name that nothing has: who deletes would think that it was deleted.
    fn check_name(&self, name: &str) -> Result<(), Error> {
        let all = self.list()?;
        if all.iter().any(|network| network.name() == name) {
            Ok(())
        } else {
            Err(self.no_network(name, &all))
        }
    }

    fn members(&self, entries: &[RecordedAttachment]) -> Result<Vec<Member>, Error> {
        entries.iter().map(|entry| self.member(entry)).collect()
    }

    fn member(&self, entry: &RecordedAttachment) -> Result<Member, Error> {
        let network = Network::new(&self.sandbox, entry.list()?, entry.capability_args.clone());
        Ok(Member {
            network: network.with_native(self.bin_dirs.clone()),
            ifname: entry.interface.clone(),
        })
    }

    fn forget(&self, container: &Attachment, gone: Vec<&RecordedAttachment>) -> Result<(), Error> {
        if gone.is_empty() {
            return Ok(());
        }
        self.records.change(&container.container_id, |entries| {
            entries.retain(|entry| !gone.contains(&entry));
            Ok(())
        })
    }

    /// Of attachments that were not made, keeps what is to be deleted once more.
    fn keep_left(
        &self,
        container: &Attachment,
        entries: &[RecordedAttachment],
        left: &[Left],
    ) -> Result<(), Error> {
        let kept = |entry: RecordedAttachment| {
            let Some(own) = entries.iter().position(|own| *own == entry) else {
                return Some(entry);
            };
            let left = left.iter().find(|left| left.place == own)?;
            Some(match left.plugins {
                Some(count) => entry.of_first_plugins(count),
                None => entry,
            })
        };
        self.records.change(&container.container_id, |present| {
            *present = present.drain(..).filter_map(kept).collect();
            Ok(())
        })
    }

    fn no_network(&self, name: &str, all: &[PodNetwork]) -> Error {
        let file = self.sandbox.paths().configuration();
        let names: Vec<&str> = all.iter().map(PodNetwork::name).collect();
        let details = if names.is_empty() {
            format!("`podNetworks` in `{}` has none", file.display())
        } else {
            format!(
                "`podNetworks` in `{}`: {}",
                file.display(),
                expected_one_of(name, &names)
            )
        };
        Error::invalid_config(format!("there is no network `{name}`")).with_details(details)
    }

    fn no_defaults(&self, all: &[PodNetwork]) -> Error {
        let file = self.sandbox.paths().configuration();
        let names: Vec<String> = all.iter().map(|n| format!("`{}`", n.name())).collect();
        let details = if names.is_empty() {
            format!("`podNetworks` in `{}` has no network", file.display())
        } else {
            format!(
                "`podNetworks` in `{}` has {}, none with `\"default\": true`",
                file.display(),
                names.join(", ")
            )
        };
        Error::invalid_config("there are no default networks").with_details(details)
    }
}

fn attached(members: Vec<Member>, results: Vec<AddResult>) -> Vec<Attached> {
    let both = members.into_iter().zip(results);
    both.map(|(member, result)| Attached {
        network: member.network.list().clone(),
        interface: member.ifname,
        result,
    })
    .collect()
}

/// What is recorded of each network: with the name of the interface that it will have.
fn name_each(
    networks: &[PodNetwork],
    choice: &Choice,
    container: &Attachment,
    present: &[RecordedAttachment],
    capability_args: &Map<String, Value>,
) -> Result<Vec<RecordedAttachment>, Error> {
    let reserved = present.iter().map(|entry| entry.interface.clone());
    let mut names = Names::new(container, reserved.collect())?;
    let entry = |network: &PodNetwork| {
        let interface = match &network.interface {
            Interface::Loopback => names::LOOPBACK.to_owned(),
            Interface::New(template) => names.choose(network.name(), template)?,
        };
        if let Some(twice) = present.iter().find(|e| e.is(network.name(), &interface)) {
            return Err(Error::invalid_config(format!(
                "the container is attached to network `{}` already, or half so: DEL comes first",
                twice.network
            )));
        }
        Ok(RecordedAttachment {
            network: network.name().to_owned(),
            interface,
            default: *choice == Choice::Defaults,
            configuration: Value::Object(network.list.as_map().clone()),
            capability_args: capability_args.clone(),
        })
    };
    networks.iter().map(entry).collect()
}
