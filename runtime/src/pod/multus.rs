//! What Multus keeps of its pods, for those that are deleted after a node has switched to weir:
//! `<cniDir>/<container id>`, the networks with their configurations, and `<cniDir>/results`, libcni's cache.

use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Map, Value};
use weir_cni::{Error, NetworkConfigList};

use super::configuration::{Configuration, Level};
use super::execution::Execution;
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

/// A pod that Multus attached.
pub struct Pod {
    file: PathBuf,
    delegates: Vec<Delegate>,
    cache: PathBuf,
}

impl Pod {
    /// What Multus kept of a container; none where it is no pod of Multus'.
    ///
    /// Errors: code 5; code 6 for a file that cannot be understood.
    pub fn find(
        configuration: &Configuration,
        attachment: &Attachment,
    ) -> Result<Option<Self>, Error> {
        let file = configuration.cni_dir.join(&attachment.container_id);
        let shown = file.display();
        let text = match fs::read(&file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            text => text.map_err(|e| Error::io_failure(format!("Multus' `{shown}`: {e}")))?,
        };
        let delegates = serde_json::from_slice(&text)
            .map_err(|e| Error::decoding_failure(format!("Multus' `{shown}`: {e}")))?;
        Ok(Some(Self {
            delegates,
            cache: configuration.cni_dir.join("results"),
            file,
        }))
    }

    /// Detaches the networks, the last one first and past failures, and removes what Multus would have removed.
    pub fn detach(self, execution: &Execution<'_>, attachment: &Attachment) -> Result<(), Error> {
        let message = format!(
            "`{}`: detaching a pod that Multus attached",
            self.file.display()
        );
        execution.journal.write(Level::Info, &message);
        let mut failures = Vec::new();
        for (place, delegate) in self.delegates.iter().enumerate().rev() {
            let deleted = self.detach_one(execution, attachment, place, delegate);
            failures.extend(deleted.err());
        }
        match failures.is_empty() {
            true => files::remove(&self.file)
                .map_err(|e| Error::io_failure(format!("`{}`: {e}", self.file.display()))),
            false => Err(together(failures)),
        }
    }

    fn detach_one(
        &self,
        execution: &Execution<'_>,
        attachment: &Attachment,
        place: usize,
        delegate: &Delegate,
    ) -> Result<(), Error> {
        let list = delegate.list().map_err(|e| {
            e.with_prefix(format_args!("`{}`: network {place}", self.file.display()))
        })?;
        // As Multus counts: the default network is the first.
        let ifname = match (place, delegate.ifname.as_str()) {
            (0, _) => attachment.ifname.clone(),
            (_, "") => format!("net{place}"),
            (_, requested) => requested.to_owned(),
        };
        execution
            .network_of(list, Map::new(), None)
            .with_cache(Cache::at(self.cache.clone()))
            .del(&attachment.with_ifname(ifname))
    }
}

impl Delegate {
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
