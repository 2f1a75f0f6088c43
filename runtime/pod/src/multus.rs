//! The pods that Multus attached. Its files become weir's records once, when weir takes its place.
//!
//! Multus keeps `<cniDir>/<container id>`, the networks with their configurations, and `<cniDir>/results`, libcni's cache. The
//! format is that of Multus 4: the fields of its type `DelegateNetConf`, as Go's encoding/json writes them. They decide what
//! a DEL runs, and as which network, so only files that root alone could have written are read, and no DEL reads them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;
use weir_cni::{
    Args, Command, Error, NetworkConfigList, PluginConfig, validate_container_id,
    validate_interface_name,
};
use weir_files::Paths;
use weir_files::file_trust::{self, Untrusted};
use weir_network::{
    Attachment, Cache, Cached, Record, RecordedAttachment, Records, Unusable, unread,
};

use super::cluster::PodName;
use super::codes;
use super::configuration::Configuration;
use super::reference::Reference;

/// The interface of the default network, if nothing says otherwise.
const DEFAULT_IFNAME: &str = "eth0";

/// The file name extension of a damaged file.
const DAMAGED: &str = "damaged";

/// Multus' files on this node.
pub struct Multus {
    paths: Paths,
    /// `cniDir`.
    directory: PathBuf,
    /// The name of weir's configuration that replaces Multus'.
    network: String,
}

/// A pod that weir has recorded.
#[derive(Debug)]
pub struct Taken {
    /// Each network, with its interface in the container.
    pub networks: Vec<(String, String)>,
    /// What could not be read, and stays attached.
    pub damaged: Vec<Error>,
}

/// One network of a pod, as Multus writes it.
#[derive(Deserialize)]
struct Delegate {
    /// The network's configuration, in base64. For a list in a file of the node it has only the keys that libcni knows.
    #[serde(rename = "Bytes", default)]
    bytes: Option<String>,
    /// What libcni read of such a list.
    #[serde(rename = "CNINetworkConfigList", default)]
    list: Option<ReadList>,
    /// The configuration's name, or `NAMESPACE/NAME` of a NetworkAttachmentDefinition.
    #[serde(rename = "Name", default)]
    name: String,
    #[serde(rename = "ifnameRequest", default)]
    ifname: String,
}

/// libcni's type `NetworkConfigList`. Every delegate has one, mostly empty.
#[derive(Deserialize)]
struct ReadList {
    /// The document, in base64.
    #[serde(rename = "Bytes", default)]
    bytes: Option<String>,
    /// With those that are in files of their own.
    #[serde(rename = "Plugins", default)]
    plugins: Option<Vec<ReadPlugin>>,
}

#[derive(Deserialize)]
struct ReadPlugin {
    /// The plugin's configuration, in base64.
    #[serde(rename = "Bytes", default)]
    bytes: Option<String>,
}

/// A delegate that could be read.
struct Known {
    definition: Option<Reference>,
    ifname: String,
    list: NetworkConfigList,
    cached: Option<Cached>,
}

impl Multus {
    /// With Multus' configuration. Errors: those of the configuration.
    pub fn of(config: &PluginConfig, paths: &Paths) -> Result<Self, Error> {
        let configuration = Configuration::read(config, paths)?;
        Ok(Self::at(configuration.cni_dir, &configuration.name, paths))
    }

    /// In a directory, for a configuration of weir's of this name.
    pub fn at(directory: PathBuf, network: &str, paths: &Paths) -> Self {
        Self {
            paths: paths.clone(),
            directory,
            network: network.to_owned(),
        }
    }

    /// Returns the containers with a file. Errors: `codes::RECORD` if someone other than root can write in the
    /// directory; code 5.
    pub fn containers(&self) -> Result<BTreeSet<String>, Error> {
        match file_trust::check_directory(&self.directory, self.paths.root()) {
            Err(error) if error.is_missing() => return Ok(BTreeSet::new()),
            checked => checked.map_err(|e| untrusted(&self.directory, &e))?,
        }
        let results = self.results();
        match file_trust::check_directory(&results, self.paths.root()) {
            Err(error) if !error.is_missing() => return Err(untrusted(&results, &error)),
            _ => {}
        }
        let read = || -> io::Result<BTreeSet<String>> {
            let mut containers = BTreeSet::new();
            for entry in fs::read_dir(&self.directory)? {
                let entry = entry?;
                let name = entry.file_name().to_string_lossy().into_owned();
                if !entry.file_type()?.is_dir() && is_container(&name) {
                    containers.insert(name);
                }
            }
            Ok(containers)
        };
        read().map_err(|e| failed(&self.directory, &e))
    }

    /// Records a pod, and copies its cached results to weir. Multus' files stay, and so does a record that weir has.
    ///
    /// Errors: `codes::RECORD` if someone other than root could have written the files; code 5. For what cannot be read see
    /// [`Taken::damaged`].
    pub fn take(&self, container_id: &str) -> Result<Taken, Error> {
        let mut damaged = Vec::new();
        let mut known = Vec::new();
        for (index, delegate) in self.read(container_id, &mut damaged)?.iter().enumerate() {
            match self.understand(container_id, index, delegate) {
                Ok(delegate) => known.push(delegate),
                Err(Unusable::Refused(error)) => return Err(error),
                Err(Unusable::Damaged(error)) => {
                    let path = self.path(container_id);
                    let prefix = format!("{}: network {index}", path.display());
                    damaged.push(error.with_prefix(prefix));
                }
            }
        }
        if let Some(record) = self.record(container_id, &known) {
            self.keep(record, &known)?;
        }
        let networks = known
            .iter()
            .map(|known| (known.shown(), known.ifname.clone()));
        Ok(Taken {
            networks: networks.collect(),
            damaged,
        })
    }

    /// Removes the record of a pod that Multus has detached since. Errors: those of the records.
    pub fn give_up(&self, container_id: &str) -> Result<(), Error> {
        let records = self.records();
        let all = records.all()?.into_iter();
        for record in all.filter(|record| record.container_id == container_id) {
            let attachment = record.attachment()?;
            let cache = Cache::new(&self.paths);
            for recorded in &record.attachments {
                cache.remove(&recorded.list()?.name, &recorded.attachment(&attachment))?;
            }
            if let Some(held) = records.take(&attachment)? {
                held.remove()?;
            }
        }
        Ok(())
    }

    /// Removes Multus' files of a pod that weir has recorded. A file that could not be read in full is set aside; returns
    /// its new path. Errors: code 5.
    pub fn forget(&self, container_id: &str) -> Result<Option<PathBuf>, Error> {
        let path = self.path(container_id);
        let mut damaged = Vec::new();
        let delegates = self.read(container_id, &mut damaged)?;
        for (index, delegate) in delegates.iter().enumerate() {
            match self.understand(container_id, index, delegate) {
                Ok(known) => {
                    let result = self.result(&known.list.name, container_id, &known.ifname);
                    weir_files::remove(&result).map_err(|e| failed(&result, &e))?;
                }
                Err(unusable) => damaged.push(unusable.into()),
            }
        }
        if damaged.is_empty() {
            weir_files::remove(&path).map(|()| None)
        } else {
            weir_files::set_aside(&path).map(Some)
        }
        .map_err(|e| failed(&path, &e))
    }

    /// The delegates of a pod; none if its file is damaged or missing.
    fn read(&self, container_id: &str, damaged: &mut Vec<Error>) -> Result<Vec<Delegate>, Error> {
        let path = self.path(container_id);
        let text = match self.text(&path) {
            Err(error) if error.is_missing() => return Ok(Vec::new()),
            text => text.map_err(|e| untrusted(&path, &e))?,
        };
        match serde_json::from_str(&text) {
            Ok(delegates) => Ok(delegates),
            Err(error) => {
                let msg = format!("Multus' `{}`: {error}", path.display());
                damaged.push(Error::decoding_failure(msg));
                Ok(Vec::new())
            }
        }
    }

    fn understand(
        &self,
        container_id: &str,
        index: usize,
        delegate: &Delegate,
    ) -> Result<Known, Unusable> {
        let list = delegate.list().map_err(Unusable::Damaged)?;
        // Multus counts from the default network.
        let ifname = match (delegate.ifname.as_str(), index) {
            ("", 0) => self.default_ifname(&list.name, container_id)?,
            ("", _) => format!("net{index}"),
            (requested, _) => requested.to_owned(),
        };
        validate_interface_name(&ifname).map_err(Unusable::Damaged)?;
        Ok(Known {
            definition: delegate.definition(),
            cached: self.cached(&list.name, container_id, &ifname)?,
            ifname,
            list,
        })
    }

    /// Multus does not write its `CNI_IFNAME`; libcni's cache has it.
    fn default_ifname(&self, network: &str, container_id: &str) -> Result<String, Error> {
        let results = Cache::at(self.results(), &self.paths);
        let (cached, unused) = results.of_network(network)?;
        if let Some(error) = unused.into_iter().next() {
            return Err(error);
        }
        let mut cached = cached.into_iter();
        let own = cached.find(|cached| cached.container_id == container_id);
        Ok(own.map_or_else(|| DEFAULT_IFNAME.to_owned(), |cached| cached.if_name))
    }

    /// The entry of a network in libcni's cache, if there is one that can be read.
    fn cached(
        &self,
        network: &str,
        container_id: &str,
        ifname: &str,
    ) -> Result<Option<Cached>, Error> {
        let path = self.result(network, container_id, ifname);
        match self.text(&path) {
            Err(error) if error.is_missing() => Ok(None),
            Err(error) => Err(untrusted(&path, &error)),
            Ok(text) => Ok(Cached::parse(&text)),
        }
    }

    /// The record of a pod, if any of its networks is known.
    fn record(&self, container_id: &str, known: &[Known]) -> Option<Record> {
        let first = known.first()?;
        let cached = known.iter().find_map(|delegate| delegate.cached.as_ref());
        let netns = cached.map_or_else(String::new, |cached| cached.netns.clone());
        let args: Args = cached.and_then(Cached::args).unwrap_or_default();
        let open = |netns| {
            let (id, ifname) = (container_id.to_owned(), first.ifname.clone());
            Attachment::open(Command::Del, id, ifname, netns, args.clone())
        };
        // The path may by now be another's namespace, or none.
        let attachment = open(netns).or_else(|_| open(String::new())).ok()?;
        let pod = PodName::of(&attachment.args);
        let attachments = known
            .iter()
            .enumerate()
            .map(|(index, delegate)| delegate.recorded(index == 0));
        Some(Record::of_pod(
            &self.network,
            &attachment,
            pod,
            attachments.collect(),
        ))
    }

    /// Results first: with the record alone, the pod would be detached without them.
    fn keep(&self, record: Record, known: &[Known]) -> Result<(), Error> {
        let records = self.records();
        if records.has(&record) {
            return Ok(());
        }
        let attachment = record.attachment()?;
        for delegate in known {
            if let Some(cached) = &delegate.cached {
                let own = attachment.with_ifname(delegate.ifname.clone());
                Cache::new(&self.paths).put(&own, cached)?;
            }
        }
        records.create(record).map(drop)
    }

    fn text(&self, path: &Path) -> Result<String, Untrusted> {
        let file = file_trust::open(path, self.paths.root())?;
        Ok(io::read_to_string(file)?)
    }

    fn records(&self) -> Records {
        Records::of_network(&self.paths, &self.network)
    }

    fn path(&self, container_id: &str) -> PathBuf {
        self.directory.join(container_id)
    }

    fn results(&self) -> PathBuf {
        self.directory.join("results")
    }

    fn result(&self, network: &str, container_id: &str, ifname: &str) -> PathBuf {
        self.results()
            .join(Cache::name(network, container_id, ifname))
    }
}

impl Known {
    /// The network's name for people.
    fn shown(&self) -> String {
        match &self.definition {
            Some(definition) => definition.to_string(),
            None => self.list.name.clone(),
        }
    }

    fn recorded(&self, is_default: bool) -> RecordedAttachment {
        let cached = self.cached.as_ref();
        RecordedAttachment {
            network: self.shown(),
            is_default,
            definition: self.definition.as_ref().map(ToString::to_string),
            is_file: false,
            ifname: self.ifname.clone(),
            config: self.list.to_value(),
            capability_args: cached
                .and_then(|c| c.capability_args.clone())
                .unwrap_or_default(),
            device_info: None,
        }
    }
}

impl Delegate {
    fn definition(&self) -> Option<Reference> {
        let (namespace, name) = self.name.split_once('/')?;
        Reference::new(namespace, name).ok()
    }

    /// Errors: code 6 or 7 for what is not a network's configuration.
    fn list(&self) -> Result<NetworkConfigList, Error> {
        let whole = self.list.as_ref().map(ReadList::whole).transpose()?;
        let mut config = match whole.flatten() {
            Some(whole) => whole,
            None => document("Bytes", self.bytes.as_deref())?,
        };
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

impl ReadList {
    /// The list with each plugin as it was read; none if it is empty.
    fn whole(&self) -> Result<Option<Value>, Error> {
        let plugins = self.plugins.as_deref().unwrap_or_default();
        if plugins.is_empty() {
            return Ok(None);
        }
        let mut list = document("CNINetworkConfigList.Bytes", self.bytes.as_deref())?;
        let read =
            |plugin: &ReadPlugin| document("CNINetworkConfigList.Plugins", plugin.bytes.as_deref());
        let plugins: Vec<Value> = plugins.iter().map(read).collect::<Result<_, _>>()?;
        if let Some(list) = list.as_object_mut() {
            list.insert("plugins".to_owned(), Value::Array(plugins));
        }
        Ok(Some(list))
    }
}

/// The JSON in a field that has it in base64. Errors: code 6.
fn document(field: &str, bytes: Option<&str>) -> Result<Value, Error> {
    let failed = |e: &dyn std::fmt::Display| Error::decoding_failure(format!("{field}: {e}"));
    let text = STANDARD
        .decode(bytes.unwrap_or_default())
        .map_err(|e| failed(&e))?;
    serde_json::from_slice(&text).map_err(|e| failed(&e))
}

/// Whether a file's name is a container's, and not that of a damaged file.
fn is_container(name: &str) -> bool {
    let extension = Path::new(name).extension();
    validate_container_id(name).is_ok() && extension.is_none_or(|extension| extension != DAMAGED)
}

fn untrusted(path: &Path, error: &Untrusted) -> Error {
    match error {
        Untrusted::Unreadable(error) => failed(path, error),
        exposed => unread(
            format!("Multus' `{}`", path.display()),
            exposed,
            codes::RECORD,
        ),
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    let shown = path.display();
    match error.kind() {
        ErrorKind::InvalidData => Error::decoding_failure(format!("Multus' `{shown}`: {error}")),
        _ => Error::io_failure(format!("Multus' `{shown}`: {error}")),
    }
}
