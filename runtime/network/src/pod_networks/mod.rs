//! `podNetworks` of weir's own configuration, attached by name or as defaults, for callers outside Kubernetes.
//!
//! Each attachment is recorded before the first plugin runs, so that DEL knows it even if the configuration is changed or
//! the process is killed in between.

mod names;

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Map, Value};
use weir_cni::{AddResult, Error, NetworkConfigList};
use weir_grant::diagnostic::expected_one_of;
use weir_sandbox::Sandbox;

use self::names::Names;
use super::attachment::Attachment;
use super::failures::{together, with_left};
use super::in_order::{self, RolledBack};
use super::list::Network;
use super::record::{RecordedAttachment, left_of};
use super::records::Records;
use super::settings::{Interface, PodNetwork, Settings};

/// Which networks are meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// These, in this order.
    Named(Vec<String>),
    /// Those with `default: true`, in the configuration's order.
    Defaults,
}

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
    /// Returns the node's networks. Without `bin_dirs` no native plugin runs.
    pub fn new(sandbox: &Arc<Sandbox>, bin_dirs: Vec<PathBuf>) -> Self {
        Self {
            records: Records::of_named(sandbox.paths()),
            sandbox: Arc::clone(sandbox),
            bin_dirs,
        }
    }

    /// Returns the configured networks. Errors: `codes::SETTINGS`.
    pub fn list(&self) -> Result<Vec<PodNetwork>, Error> {
        Ok(Settings::load(self.sandbox.paths())?.pod_networks)
    }

    /// Attaches a container to each of the chosen networks, in order; `container.ifname` is not used. If one fails, those
    /// before it are detached. What could not be detached stays recorded for a DEL, as does a network whose native plugin
    /// failed, which CNI section 3 owes a DEL in any case.
    ///
    /// Errors: code 7 for an unknown network, an interface name that is taken, and no defaults; the failing network's;
    /// those of the record.
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
        let members = self.members(&entries, container)?;
        let added = in_order::attach(
            &members,
            |member, _| member.network.add(&member.attachment),
            |member, _| member.network.del(&member.attachment),
        );
        match added {
            Ok(results) => Ok(attached(members, results)),
            Err(RolledBack { error, left, .. }) => {
                let left = left_of(&entries, &left);
                Err(match self.replace(container, &entries, left) {
                    Ok(()) => error,
                    Err(unrecorded) => with_left(error, &[unrecorded]),
                })
            }
        }
    }

    /// Detaches a container from those of the chosen networks that it is attached to, last first, with the configurations
    /// of the ADD. Continues after a failure; what failed can be deleted again.
    ///
    /// Errors: the first failure, with the others in its details; code 7 for a name that no network has.
    pub fn del(&self, choice: &Choice, container: &Attachment) -> Result<(), Error> {
        let entries = self.recorded(choice, container)?;
        if entries.is_empty() {
            return Ok(());
        }
        let members = self.members(&entries, container)?;
        let failures = in_order::detach(&members, |member| member.network.del(&member.attachment));
        let is_left = |at: &usize| failures.iter().any(|(place, _)| place == at);
        let left = (0..entries.len()).filter(is_left);
        let left = left.map(|place| entries[place].clone()).collect();
        self.replace(container, &entries, left)?;
        together(failures.into_iter().map(|(_, error)| error))
    }

    /// Checks the attachments of a container to the chosen networks.
    ///
    /// Errors: the first failing network's; code 3 if the container has none.
    pub fn check(&self, choice: &Choice, container: &Attachment) -> Result<(), Error> {
        let entries = self.recorded(choice, container)?;
        if entries.is_empty() {
            return Err(Error::unknown_container(&container.container_id)
                .with_details("it was attached to none of these networks with `weir net add`"));
        }
        let members = self.members(&entries, container)?;
        let mut members = members.iter();
        members.try_for_each(|member| member.network.check(&member.attachment))
    }

    fn chosen(&self, choice: &Choice) -> Result<Vec<PodNetwork>, Error> {
        let all = self.list()?;
        let Choice::Named(named) = choice else {
            let defaults = all.iter().filter(|network| network.is_default);
            let defaults: Vec<PodNetwork> = defaults.cloned().collect();
            if defaults.is_empty() {
                return Err(self.no_defaults(&all));
            }
            return Ok(defaults);
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
        let mut entries = self.records.attachments(&container.container_id)?;
        match choice {
            Choice::Defaults => entries.retain(|entry| entry.is_default),
            Choice::Named(named) => {
                let is_recorded = |name: &String| entries.iter().any(|e| e.network == *name);
                if let Some(name) = named.iter().find(|name| !is_recorded(name)) {
                    self.check_name(name)?;
                }
                // What was attached as a default is detached as one.
                entries.retain(|entry| !entry.is_default && named.contains(&entry.network));
            }
        }
        Ok(entries)
    }

    /// Fails for an unknown name: otherwise a misspelt network would seem to be deleted.
    fn check_name(&self, name: &str) -> Result<(), Error> {
        let all = self.list()?;
        if all.iter().any(|network| network.name() == name) {
            Ok(())
        } else {
            Err(self.no_network(name, &all))
        }
    }

    fn members(
        &self,
        entries: &[RecordedAttachment],
        container: &Attachment,
    ) -> Result<Vec<Member>, Error> {
        let member = |entry: &RecordedAttachment| {
            Ok(Member {
                network: entry.network(&self.sandbox, &self.bin_dirs)?,
                attachment: entry.attachment(container),
            })
        };
        entries.iter().map(member).collect()
    }

    /// Records `left` in place of `entries`.
    fn replace(
        &self,
        container: &Attachment,
        entries: &[RecordedAttachment],
        left: Vec<RecordedAttachment>,
    ) -> Result<(), Error> {
        self.records.change(&container.container_id, |present| {
            present.retain(|entry| !entries.contains(entry));
            present.extend(left);
            Ok(())
        })
    }

    fn no_network(&self, name: &str, all: &[PodNetwork]) -> Error {
        let names: Vec<&str> = all.iter().map(PodNetwork::name).collect();
        let details = if names.is_empty() {
            format!("{} is empty", self.key())
        } else {
            format!("{}: {}", self.key(), expected_one_of(name, &names))
        };
        Error::invalid_config(format!("no such network: `{name}`")).with_details(details)
    }

    fn no_defaults(&self, all: &[PodNetwork]) -> Error {
        let names: Vec<String> = all.iter().map(|n| format!("`{}`", n.name())).collect();
        let details = if names.is_empty() {
            format!("{} is empty", self.key())
        } else {
            let names = names.join(", ");
            format!("{} has {names}, none with `\"default\": true`", self.key())
        };
        Error::invalid_config("no network is a default one").with_details(details)
    }

    /// Where the networks are configured.
    fn key(&self) -> String {
        let file = self.sandbox.paths().configuration();
        format!("`podNetworks` in `{}`", file.display())
    }
}

struct Member {
    network: Network,
    attachment: Attachment,
}

fn attached(members: Vec<Member>, results: Vec<AddResult>) -> Vec<Attached> {
    let both = members.into_iter().zip(results);
    both.map(|(member, result)| Attached {
        network: member.network.list().clone(),
        interface: member.attachment.ifname,
        result,
    })
    .collect()
}

/// The record of each network, with the name of its future interface.
fn name_each(
    networks: &[PodNetwork],
    choice: &Choice,
    container: &Attachment,
    present: &[RecordedAttachment],
    capability_args: &Map<String, Value>,
) -> Result<Vec<RecordedAttachment>, Error> {
    let reserved = present.iter().map(|entry| entry.ifname.clone());
    let mut names = Names::new(container, reserved.collect())?;
    let entry = |network: &PodNetwork| {
        let interface = match &network.interface {
            Interface::Loopback => names::LOOPBACK.to_owned(),
            Interface::New(template) => names.choose(network.name(), template)?,
        };
        let is_it = |e: &RecordedAttachment| e.network == network.name() && e.ifname == interface;
        if present.iter().any(is_it) {
            return Err(Error::invalid_config(format!(
                "the container is already attached to network `{}`, at least in part: run DEL first",
                network.name()
            )));
        }
        Ok(RecordedAttachment {
            network: network.name().to_owned(),
            is_default: *choice == Choice::Defaults,
            definition: None,
            is_file: false,
            ifname: interface,
            config: Value::Object(network.list.as_map().clone()),
            capability_args: capability_args.clone(),
            device_info: None,
        })
    };
    networks.iter().map(entry).collect()
}
