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
        let delegates = serde_json::from_slice(&text)
            .map_err(|e| Unusable::Damaged(Error::decoding_failure(format!("{self}: {e}"))))?;
        Ok(Some(Pod {
            kept: self.clone(),
            delegates,
        }))
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
    /// In the order in which they were made.
    delegates: Vec<Delegate>,
}

impl Pod {
    /// Detaches the networks, the last one first and past failures, and removes what Multus would have removed.
    /// What cannot be understood is set aside when all the others are detached.
    pub fn detach(self, execution: &Execution<'_>, attachment: &Attachment) -> Result<(), Error> {
        let message = format!("{}: detaching a pod that Multus attached", self.kept);
        execution.journal.write(Level::Info, &message);
        let mut failures = Vec::new();
        let mut damaged = Vec::new();
        for (place, delegate) in self.delegates.iter().enumerate().rev() {
            match delegate.list() {
                Ok(list) => {
                    let ifname = delegate.ifname(place, attachment);
                    let deleted = self.detach_one(execution, &attachment.with_ifname(ifname), list);
                    failures.extend(deleted.err());
                }
                Err(error) => {
                    damaged.push(error.with_prefix(format_args!("{}: network {place}", self.kept)));
                }
            }
        }
        match (failures.is_empty(), damaged.is_empty()) {
            (false, _) => Err(together(failures)),
            (true, true) => self.kept.remove(),
            (true, false) => {
                let aside = self.kept.set_aside()?;
                execution
                    .journal
                    .write_set_aside(&together(damaged), &aside);
                Ok(())
            }
        }
    }

    fn detach_one(
        &self,
        execution: &Execution<'_>,
        attachment: &Attachment,
        list: NetworkConfigList,
    ) -> Result<(), Error> {
        execution
            .network_of(list, Map::new(), None)
            .with_cache(Cache::at(self.kept.results.clone()))
            .del(attachment)
    }
}

impl Delegate {
    /// As Multus counts: the default network is the first.
    fn ifname(&self, place: usize, attachment: &Attachment) -> String {
        match (place, self.ifname.as_str()) {
            (0, _) => attachment.ifname.clone(),
            (_, "") => format!("net{place}"),
            (_, requested) => requested.to_owned(),
        }
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
