//! libcni's result cache, so that a node can switch between libcni and weir with running pods: one JSON document for each
//! attachment, `<results>/<network>-<container id>-<interface>`.

use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with::skip_serializing_none;
use weir_cni::{AddResult, Args, Code, Command, Error, NetworkConfigList, from_json_assuming};
use weir_files::file_trust::{self, Untrusted};
use weir_files::{Durability, Paths};

use super::attachment::Attachment;
use super::trust::{text_of, unread};

/// libcni's name for the format.
const KIND: &str = "cniCacheV1";

#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Cached {
    kind: String,
    pub container_id: String,
    /// The network configuration list, in base64.
    config: String,
    pub if_name: String,
    pub network_name: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub netns: String,
    pub cni_args: Option<Vec<(String, String)>>,
    pub capability_args: Option<Map<String, Value>>,
    /// The list's result, in the version of the list.
    pub result: Option<Value>,
    /// When the file was written; none for an entry that was not read from one.
    #[serde(skip)]
    pub written: Option<SystemTime>,
}

impl Cached {
    /// Returns the entry of an attachment.
    pub fn new(
        network: &str,
        attachment: &Attachment,
        config: &str,
        capability_args: &Map<String, Value>,
        result: Value,
    ) -> Self {
        let args = attachment.args.pairs().to_vec();
        Self {
            kind: KIND.to_owned(),
            container_id: attachment.container_id.clone(),
            config: STANDARD.encode(config),
            if_name: attachment.ifname.clone(),
            network_name: network.to_owned(),
            netns: attachment.netns.clone(),
            cni_args: Some(args).filter(|args| !args.is_empty()),
            capability_args: Some(capability_args.clone()).filter(|args| !args.is_empty()),
            result: Some(result),
            written: None,
        }
    }

    /// Reads a document; none if it is of another kind.
    pub fn parse(text: &str) -> Option<Self> {
        let cached: Self = serde_json::from_str(text).ok()?;
        Some(cached).filter(|cached| cached.kind == KIND)
    }

    /// `CNI_ARGS`; none if there were none, or they cannot be read.
    pub fn args(&self) -> Option<Args> {
        let pairs = self.cni_args.as_ref()?.iter();
        let pairs: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(";").parse().ok()
    }

    /// Returns the attachment, for a DEL. Errors: as of [`Attachment::open`].
    pub fn attachment(&self) -> Result<Attachment, Error> {
        Attachment::open(
            Command::Del,
            self.container_id.clone(),
            self.if_name.clone(),
            self.netns.clone(),
            self.args().unwrap_or_default(),
        )
    }

    /// Returns the result of ADD; none if it cannot be read in the list's version.
    pub fn result_of(&self, list: &NetworkConfigList) -> Option<AddResult> {
        from_json_assuming(self.result.as_ref()?, list.cni_version).ok()
    }

    /// Returns the network configuration list that was used. Errors: code 6.
    pub fn config(&self) -> Result<String, Error> {
        let bytes = STANDARD.decode(&self.config).ok();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.ok_or_else(|| {
            Error::decoding_failure(format!(
                "the cached configuration of network `{}` is not text in base64",
                self.network_name
            ))
        })
    }
}

#[derive(Clone, Debug)]
pub struct Cache {
    directory: PathBuf,
    /// The root below which it is.
    root: PathBuf,
}

impl Cache {
    pub fn new(paths: &Paths) -> Self {
        Self {
            directory: paths.results(),
            root: paths.root().to_owned(),
        }
    }

    /// Makes a cache in another directory, such as that of another delegating plugin.
    pub fn at(directory: PathBuf, paths: &Paths) -> Self {
        Self {
            directory,
            ..Self::new(paths)
        }
    }

    /// Returns the entry of an attachment; none if there is none or it cannot be read, since a DEL must continue
    /// without.
    ///
    /// Errors: code 5 if others could have written it: it decides what a DEL runs, and as which network.
    pub fn get(&self, network: &str, attachment: &Attachment) -> Result<Option<Cached>, Error> {
        self.read(&self.path(network, attachment))
    }

    /// Writes an entry. Errors: code 5.
    pub fn put(&self, attachment: &Attachment, cached: &Cached) -> Result<(), Error> {
        let path = self.path(&cached.network_name, attachment);
        serde_json::to_vec(cached)
            .map_err(io::Error::from)
            .and_then(|document| weir_files::replace(&path, &document, Durability::Process))
            .map_err(|e| failed(&path, &e))
    }

    /// Removes an entry, if there is one. Errors: code 5.
    pub fn remove(&self, network: &str, attachment: &Attachment) -> Result<(), Error> {
        let path = self.path(network, attachment);
        weir_files::remove(&path).map_err(|e| failed(&path, &e))
    }

    /// Returns the entries of a network, and why some that may be of it are not used. Errors: code 5.
    pub fn of_network(&self, network: &str) -> Result<(Vec<Cached>, Vec<Error>), Error> {
        // The names of another network's may begin in the same way.
        let beginning = format!("{network}-");
        let (mut found, unused) = self.select(|name| name.starts_with(&beginning))?;
        found.retain(|cached| cached.network_name == network);
        Ok((found, unused))
    }

    /// Returns all entries, and why some are not used. Errors: code 5.
    pub fn all(&self) -> Result<(Vec<Cached>, Vec<Error>), Error> {
        self.select(|_| true)
    }

    fn select(&self, is_wanted: impl Fn(&str) -> bool) -> Result<(Vec<Cached>, Vec<Error>), Error> {
        let failed = |e: io::Error| failed(&self.directory, &e);
        let (mut found, mut unused) = (Vec::new(), Vec::new());
        for path in weir_files::entries(&self.directory).map_err(failed)? {
            let name = path.file_name().unwrap_or_default();
            if !is_wanted(&name.to_string_lossy()) {
                continue;
            }
            match self.read(&path) {
                Ok(cached) => found.extend(cached),
                Err(error) => unused.push(error),
            }
        }
        Ok((found, unused))
    }

    fn read(&self, path: &Path) -> Result<Option<Cached>, Error> {
        let file = match file_trust::open(path, &self.root) {
            Ok(file) => file,
            Err(Untrusted::Unreadable(_)) => return Ok(None),
            Err(exposed) => {
                let what = format!("result cache `{}`", path.display());
                return Err(unread(what, &exposed, Code::IO_FAILURE));
            }
        };
        let cached = text_of(&file).ok().and_then(|text| Cached::parse(&text));
        let written = file.metadata().and_then(|metadata| metadata.modified());
        Ok(cached.map(|cached| Cached {
            written: written.ok(),
            ..cached
        }))
    }

    fn path(&self, network: &str, attachment: &Attachment) -> PathBuf {
        let name = Self::name(network, &attachment.container_id, &attachment.ifname);
        self.directory.join(name)
    }

    /// Returns the name of an attachment's file.
    pub fn name(network: &str, container_id: &str, ifname: &str) -> String {
        format!("{network}-{container_id}-{ifname}")
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::io_failure(format!("result cache `{}`: {error}", path.display()))
}
