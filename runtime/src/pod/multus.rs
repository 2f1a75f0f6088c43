//! What Multus keeps of its pods, for those that are deleted after a node has switched to weir:
//! `<cniDir>/<container id>`, the networks with their configurations, and `<cniDir>/results`, libcni's cache.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_cni::{Error, NetworkConfigList};

use super::configuration::{Configuration, Level};
use super::execution::Execution;
use super::record::Unusable;
use crate::files;
use crate::network::{Attachment, Cache, together};

/// One network of a pod, as Multus writes it.
#[derive(Deserialize)]
struct Delegate {
    /// The network's configuration, in base64.
    #[serde(rename = "Bytes", default)]
    bytes: String,
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "ifnameRequest", default)]
    ifname: String,
}

/// The file in which Multus keeps a pod.
#[derive(Clone)]
pub struct Kept {
    path: PathBuf,
    /// libcni's cache.
    results: PathBuf,
}

impl Kept {
    /// That of a container.
    pub fn of(configuration: &Configuration, attachment: &Attachment) -> Self {
        Self {
            path: configuration.cni_dir.join(&attachment.container_id),
            results: configuration.cni_dir.join("results"),
        }
    }

    /// The pod; none where it is none of Multus'.
    pub fn read(&self) -> Result<Option<Pod>, Unusable> {
        let text = match fs::read(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| self.failed(&e))?,
        };
        let delegates: Vec<Delegate> = serde_json::from_slice(&text)
            .map_err(|e| Unusable::Damaged(Error::decoding_failure(format!("{self}: {e}"))))?;
        Ok(Some(Pod::new(self.clone(), &delegates)))
    }

    /// Puts it out of the way. Returns where it is. Errors: code 5.
    pub fn set_aside(&self) -> Result<PathBuf, Error> {
        files::set_aside(&self.path).map_err(|e| self.failed(&e))
    }

    fn remove(&self) -> Result<(), Error> {
        files::remove(&self.path).map_err(|e| self.failed(&e))
    }

    fn failed(&self, error: &io::Error) -> Error {
        Error::io_failure(format!("{self}: {error}"))
    }
}

impl fmt::Display for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Multus' `{}`", self.path.display())
    }
}

/// A pod that Multus attached.
pub struct Pod {
    kept: Kept,
    /// In the order in which they were made. What of them cannot be understood is an error.
    networks: Vec<Result<Network, Error>>,
}

/// One of a pod's networks.
struct Network {
    list: NetworkConfigList,
    /// The one that was requested.
    ifname: String,
}

impl Pod {
    fn new(kept: Kept, delegates: &[Delegate]) -> Self {
        let networks = delegates.iter().enumerate();
        let networks = networks.map(|(place, delegate)| {
            let network = delegate.network();
            network.map_err(|e| e.with_prefix(format_args!("{kept}: network {place}")))
        });
        Self {
            networks: networks.collect(),
            kept,
        }
    }

    /// Detaches the networks, the last one first and past failures, and removes what Multus would have removed.
    /// What cannot be understood is set aside when all the others are detached.
    pub fn detach(self, execution: &Execution<'_>, attachment: &Attachment) -> Result<(), Error> {
        let message = format!("{}: detaching a pod that Multus attached", self.kept);
        execution.journal.write(Level::Info, &message);
        let mut failures = Vec::new();
        let mut damaged = None;
        for (place, network) in self.networks.iter().enumerate().rev() {
            match network {
                Ok(network) => {
                    let deleted = self.detach_one(execution, attachment, place, network);
                    failures.extend(deleted.err());
                }
                Err(error) => damaged = Some(error),
            }
        }
        match (failures.is_empty(), damaged) {
            (false, _) => Err(together(failures)),
            (true, None) => self.kept.remove(),
            (true, Some(error)) => {
                let aside = self.kept.set_aside()?;
                execution.journal.write_set_aside(error, &aside);
                Ok(())
            }
        }
    }

    fn detach_one(
        &self,
        execution: &Execution<'_>,
        attachment: &Attachment,
        place: usize,
        network: &Network,
    ) -> Result<(), Error> {
        // As Multus counts: the default network is the first.
        let ifname = match (place, network.ifname.as_str()) {
            (0, _) => attachment.ifname.clone(),
            (_, "") => format!("net{place}"),
            (_, requested) => requested.to_owned(),
        };
        execution
            .network_of(network.list.clone(), Map::new(), None)
            .with_cache(Cache::at(self.kept.results.clone()))
            .del(&attachment.with_ifname(ifname))
    }
}

impl Delegate {
    fn network(&self) -> Result<Network, Error> {
        Ok(Network {
            list: self.list()?,
            ifname: self.ifname.clone(),
        })
    }

    fn list(&self) -> Result<NetworkConfigList, Error> {
        let text = STANDARD
            .decode(&self.bytes)
            .map_err(|e| Error::decoding_failure(format!("Bytes: {e}")))?;
        let mut config: Value = serde_json::from_slice(&text)
            .map_err(|e| Error::decoding_failure(format!("Bytes: {e}")))?;
        if let Some(config) = config.as_object_mut() {
            let name = config
                .entry("name")
                .or_insert_with(|| Value::String(String::new()));
            if name.as_str().is_none_or(str::is_empty) {
                *name = Value::String(self.name.clone());
            }
        }
        NetworkConfigList::from_value(config)
    }
}
