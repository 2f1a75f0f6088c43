//! What a container is attached to, on disk: written before the first plugin runs, and removed after the last one is
//! deleted. So a DEL needs neither the configurations of the ADD nor a cluster.
//!
//! A pod, which a runtime attaches through the delegating plugin, has one file for each interface that the runtime names:
//! `pods/<network>/<container id>:<interface>.json`. Whoever works on the pod holds a lock on it. A container whose
//! networks are attached by name has one file, `net/<container id>.json`, which is changed under a lock on its directory.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use weir_cni::{Args, Command, Error, NetworkConfigList};
use weir_files::file_trust::{self, Untrusted};
use weir_files::{Durability, Paths};
use weir_sandbox::Sandbox;

use super::attachment::Attachment;
use super::codes;
use super::in_order::Left;
use super::list::Network;
use super::source::Source;
use super::trust::unread;

/// The version of the document. Pods had 1; networks attached by name had none. Both are read.
const VERSION: u64 = 2;

/// The attachments of a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    version: u64,
    pub container_id: String,
    /// The delegating plugin's network. It and what follows, up to the attachments, are empty for networks that were
    /// attached by name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub network: String,
    /// `CNI_IFNAME`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ifname: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    netns: String,
    /// The namespace that was at `netns`, so that another one in its place is not mistaken for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    namespace: Option<NamespaceId>,
    /// `CNI_ARGS`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    args: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodName>,
    /// In the order in which they are made.
    pub attachments: Vec<RecordedAttachment>,
}

/// One attachment, as its plugins are called for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RecordedAttachment {
    /// What people know the network by.
    pub network: String,
    #[serde(alias = "default")]
    pub is_default: bool,
    /// The NetworkAttachmentDefinition, as `namespace/name`.
    #[serde(
        default,
        deserialize_with = "definition",
        skip_serializing_if = "Option::is_none"
    )]
    pub definition: Option<String>,
    /// The definition has no text of its own, and selects a file of the node.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_file: bool,
    #[serde(alias = "interface")]
    pub ifname: String,
    /// The network configuration list.
    #[serde(alias = "configuration")]
    pub config: Value,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub capability_args: Map<String, Value>,
    /// The file in which the plugins may describe the attachment's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_info: Option<PathBuf>,
}

/// The pod that a runtime names in `CNI_ARGS`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PodName {
    pub namespace: String,
    pub name: String,
    /// A pod of the same name with another uid is another pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
}

/// A network namespace, for as long as the machine runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct NamespaceId {
    boot: String,
    device: u64,
    inode: u64,
}

/// Records of version 1 have an object.
fn definition<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Form {
        Text(String),
        Object { namespace: String, name: String },
    }
    let form = Option::deserialize(deserializer)?;
    Ok(form.map(|form| match form {
        Form::Text(definition) => definition,
        Form::Object { namespace, name } => format!("{namespace}/{name}"),
    }))
}

impl PodName {
    /// The pod that the runtime names.
    pub fn of(args: &Args) -> Option<Self> {
        let pod = args.pod();
        Some(Self {
            namespace: pod.namespace?.to_owned(),
            name: pod.name?.to_owned(),
            uid: pod.uid.map(str::to_owned),
        })
    }
}

impl NamespaceId {
    /// Of an attachment's namespace, if it has one.
    fn of(attachment: &Attachment) -> Option<Self> {
        let namespace = attachment.namespace()?;
        let metadata = File::from(namespace.try_clone().ok()?).metadata().ok()?;
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(Self {
            boot: boot.trim().to_owned(),
            device: metadata.dev(),
            inode: metadata.ino(),
        })
    }
}

impl RecordedAttachment {
    /// Where the network's configuration comes from.
    pub fn source(&self) -> Source {
        Source {
            definition: self.definition.clone().filter(|_| !self.is_file),
            asked_by_pod: Vec::new(),
        }
    }

    /// The network, with native plugins of these directories. Errors: those of the list, naming the network.
    pub fn network(&self, sandbox: &Arc<Sandbox>, bin_dirs: &[PathBuf]) -> Result<Network, Error> {
        let network = Network::new(sandbox, self.list()?, self.capability_args.clone());
        Ok(network
            .from_source(self.source())
            .with_native(bin_dirs.to_vec()))
    }

    /// The container with the interface of this attachment.
    pub fn attachment(&self, container: &Attachment) -> Attachment {
        container.with_ifname(self.ifname.as_str())
    }

    /// The network configuration list. Errors: those of the list, naming the network.
    pub fn list(&self) -> Result<NetworkConfigList, Error> {
        NetworkConfigList::from_value(self.config.clone())
            .map_err(|e| e.with_prefix(format_args!("network `{}`, as recorded", self.network)))
    }

    /// The same with only the first plugins of its list. A list that cannot be read stays as it is.
    fn of_first_plugins(self, count: usize) -> Self {
        let config = self.list().map(|list| list.first_plugins(count).to_value());
        Self {
            config: config.unwrap_or_else(|_| self.config.clone()),
            ..self
        }
    }
}

/// The attachments that a failed ADD left to the next DEL.
pub fn left_of(attachments: &[RecordedAttachment], left: &[Left]) -> Vec<RecordedAttachment> {
    let kept = left.iter().map(|left| {
        let attachment = attachments[left.index].clone();
        match left.plugins {
            Some(count) => attachment.of_first_plugins(count),
            None => attachment,
        }
    });
    kept.collect()
}

impl Record {
    /// A pod that is about to be attached, or is attached.
    pub fn of_pod(
        network: &str,
        attachment: &Attachment,
        pod: Option<PodName>,
        attachments: Vec<RecordedAttachment>,
    ) -> Self {
        Self {
            network: network.to_owned(),
            ifname: attachment.ifname.clone(),
            netns: attachment.netns.clone(),
            namespace: NamespaceId::of(attachment),
            args: attachment.args.to_string(),
            pod,
            attachments,
            ..Self::of_container(&attachment.container_id)
        }
    }

    /// A container without attachments.
    fn of_container(container_id: &str) -> Self {
        Self {
            version: VERSION,
            container_id: container_id.to_owned(),
            network: String::new(),
            ifname: String::new(),
            netns: String::new(),
            namespace: None,
            args: String::new(),
            pod: None,
            attachments: Vec::new(),
        }
    }

    /// The attachment, for GC, which the runtime does not describe. It has the pod's namespace only if that is still the
    /// one at its path.
    pub fn attachment(&self) -> Result<Attachment, Error> {
        let args: Args = self.args.parse().unwrap_or_default();
        let open = |netns: String| {
            let (id, ifname) = (self.container_id.clone(), self.ifname.clone());
            Attachment::open(Command::Del, id, ifname, netns, args.clone())
        };
        match open(self.netns.clone()) {
            Ok(attachment) if NamespaceId::of(&attachment) == self.namespace => Ok(attachment),
            _ => open(String::new()),
        }
    }

    /// Whether it is about one of these attachments.
    pub fn is_of(&self, attachments: &[weir_cni::Attachment]) -> bool {
        let is_this = |valid: &weir_cni::Attachment| {
            valid.container_id == self.container_id && valid.ifname == self.ifname
        };
        attachments.iter().any(is_this)
    }
}

/// Why a record cannot be used.
#[derive(Debug)]
pub enum Unusable {
    /// It is not what weir wrote: `codes::RECORD`.
    Damaged(Error),
    /// It cannot be read, or another version of weir wrote it.
    Refused(Error),
}

impl From<Error> for Unusable {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Unusable> for Error {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Damaged(error) | Unusable::Refused(error) => error,
        }
    }
}

/// A locked record: no other process works on the pod.
pub struct LockedRecord {
    path: PathBuf,
    pub record: Record,
    _lock: Flock<File>,
}

impl LockedRecord {
    /// Writes the record as it is now; without attachments it is removed. Errors: code 5.
    pub fn keep(self) -> Result<(), Error> {
        write(&self.path, &self.record)
    }

    /// Removes the record. Errors: code 5.
    pub fn remove(mut self) -> Result<(), Error> {
        self.record.attachments.clear();
        self.keep()
    }
}

/// The records of one directory.
#[derive(Clone, Debug)]
pub struct Records {
    directory: PathBuf,
    /// The root below which it is.
    root: PathBuf,
}

impl Records {
    /// The pods of one delegating plugin's network.
    pub fn of_network(paths: &Paths, network: &str) -> Self {
        Self::at(paths.pods().join(network), paths)
    }

    /// The pods of every delegating plugin's network. Errors: code 5.
    pub fn of_pods(paths: &Paths) -> Result<Vec<Self>, Error> {
        let directories = entries(&paths.pods())?;
        let networks = directories.into_iter().filter(|path| path.is_dir());
        Ok(networks
            .map(|directory| Self::at(directory, paths))
            .collect())
    }

    /// The containers whose networks are attached by name.
    pub fn of_named(paths: &Paths) -> Self {
        Self::at(paths.net(), paths)
    }

    fn at(directory: PathBuf, paths: &Paths) -> Self {
        Self {
            directory,
            root: paths.root().to_owned(),
        }
    }

    /// Writes a record to disk, and locks it.
    ///
    /// Errors: `codes::RECORD` if the attachment has one; code 5.
    pub fn create(&self, record: Record) -> Result<LockedRecord, Error> {
        let Record {
            container_id,
            ifname,
            network,
            ..
        } = &record;
        let path = self.path(container_id, ifname);
        if path.exists() {
            return Err(Error::new(
                codes::RECORD,
                format!(
                    "container `{container_id}` is already attached by interface `{ifname}` to network `{network}`, \
                     at least in part: run DEL first"
                ),
            ));
        }
        write(&path, &record)?;
        let locked = self.take_at(&path)?;
        locked.ok_or_else(|| {
            Error::try_again_later(format!(
                "container `{container_id}` was detached from network `{network}` while it was being attached"
            ))
        })
    }

    /// Whether the same attachment has a record.
    pub fn has(&self, record: &Record) -> bool {
        self.path(&record.container_id, &record.ifname).exists()
    }

    /// The record of an attachment, once no other process works on the pod; none if it has none. A record decides what
    /// a DEL runs, and as which network, so one that others could have written is refused.
    pub fn take(&self, attachment: &Attachment) -> Result<Option<LockedRecord>, Unusable> {
        self.take_at(&self.path(&attachment.container_id, &attachment.ifname))
    }

    /// Removes what an ADD left that was killed while it wrote the record. Errors: code 5.
    pub fn clear_up(&self, attachment: &Attachment) -> Result<(), Error> {
        let path = self.path(&attachment.container_id, &attachment.ifname);
        weir_files::clear_up(&path).map_err(|e| failed(&path, e))
    }

    /// Moves a damaged record out of the way, and returns its new path. Errors: code 5.
    pub fn set_aside(&self, attachment: &Attachment) -> Result<PathBuf, Error> {
        let path = self.path(&attachment.container_id, &attachment.ifname);
        weir_files::set_aside(&path).map_err(|e| failed(&path, e))
    }

    /// Every record that can be read, locked or not. Errors: code 5.
    pub fn all(&self) -> Result<Vec<Record>, Error> {
        let paths = entries(&self.directory)?.into_iter();
        let records = paths.filter(|path| path.extension() == Some(OsStr::new("json")));
        Ok(records.filter_map(|path| self.read(&path).ok()?).collect())
    }

    /// The attachments by name of a container, in the order in which they were made.
    ///
    /// Errors: `codes::RECORD` for a record that is damaged or that others could have written; code 5.
    pub fn attachments(&self, container_id: &str) -> Result<Vec<RecordedAttachment>, Error> {
        Ok(self.of_container(container_id)?.attachments)
    }

    /// Changes the attachments by name of a container while no other process does. They are on disk when this returns,
    /// and unchanged if `change` fails.
    ///
    /// Errors: those of `change`, and of [`Records::attachments`].
    pub fn change<T>(
        &self,
        container_id: &str,
        change: impl FnOnce(&mut Vec<RecordedAttachment>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let _lock = lock(&self.directory).map_err(|e| failed(&self.directory, e))?;
        let mut record = self.of_container(container_id)?;
        let changed = change(&mut record.attachments)?;
        write(&self.path(container_id, ""), &record)?;
        Ok(changed)
    }

    fn of_container(&self, container_id: &str) -> Result<Record, Error> {
        match self.read(&self.path(container_id, "")) {
            Ok(record) => Ok(record.unwrap_or_else(|| Record::of_container(container_id))),
            Err(Unusable::Damaged(error)) => Err(error.with_details(
                "detach the container from each network with `weir net del NETWORK NETNS --ifname NAME`, \
                 then remove the file",
            )),
            Err(Unusable::Refused(error)) => Err(error),
        }
    }

    fn read(&self, path: &Path) -> Result<Option<Record>, Unusable> {
        match self.open(path)? {
            Some(file) => Ok(Some(read(path, &file)?)),
            None => Ok(None),
        }
    }

    fn take_at(&self, path: &Path) -> Result<Option<LockedRecord>, Unusable> {
        while let Some(file) = self.open(path)? {
            let lock = lock_file(file).map_err(|e| failed(path, e))?;
            // Whoever had the lock may have removed or replaced the file.
            if is_at(&lock, path) {
                return Ok(Some(LockedRecord {
                    path: path.to_owned(),
                    record: read(path, &lock)?,
                    _lock: lock,
                }));
            }
        }
        Ok(None)
    }

    fn open(&self, path: &Path) -> Result<Option<File>, Error> {
        match file_trust::open(path, &self.root) {
            Ok(file) => Ok(Some(file)),
            Err(untrusted) if untrusted.is_missing() => Ok(None),
            Err(untrusted) => Err(unread(shown(path), &untrusted, codes::RECORD)),
        }
    }

    /// Neither a container id nor an interface name has a colon.
    fn path(&self, container_id: &str, ifname: &str) -> PathBuf {
        let name = if ifname.is_empty() {
            format!("{container_id}.json")
        } else {
            format!("{container_id}:{ifname}.json")
        };
        self.directory.join(name)
    }
}

/// On disk when this returns.
fn write(path: &Path, record: &Record) -> Result<(), Error> {
    let written = if record.attachments.is_empty() {
        weir_files::remove(path)
    } else {
        serde_json::to_vec(record)
            .map_err(io::Error::from)
            .and_then(|document| weir_files::replace(path, &document, Durability::Disk))
    };
    written.map_err(|e| failed(path, e))
}

fn read(path: &Path, file: &File) -> Result<Record, Unusable> {
    let text = io::read_to_string(file).map_err(|e| failed(path, e))?;
    parse(path, &text)
}

fn parse(path: &Path, text: &str) -> Result<Record, Unusable> {
    let damaged = |why: String| {
        let error = Error::new(codes::RECORD, format!("{} is damaged: {why}", shown(path)));
        Unusable::Damaged(error.with_details("it was changed after weir wrote it"))
    };
    let mut document: Map<String, Value> =
        serde_json::from_str(text).map_err(|e| damaged(e.to_string()))?;
    // Those of networks attached by name had neither.
    if !document.contains_key("version") && !document.contains_key("containerId") {
        let container_id = path.file_stem().unwrap_or_default().to_string_lossy();
        document.insert("containerId".to_owned(), container_id.into());
        document.insert("version".to_owned(), 1.into());
    }
    let version = document.insert("version".to_owned(), VERSION.into());
    match version.as_ref().and_then(Value::as_u64) {
        Some(1..=VERSION) => {
            serde_json::from_value(Value::Object(document)).map_err(|e| damaged(e.to_string()))
        }
        Some(other) => Err(Unusable::Refused(Error::new(
            codes::RECORD,
            format!(
                "{}: version {other}: another weir wrote it; this one knows {VERSION}",
                shown(path)
            ),
        ))),
        None => Err(damaged("it has no version".to_owned())),
    }
}

/// One process at a time changes the records of a directory. The lock ends with the value, or with the process.
fn lock(directory: &Path) -> io::Result<Flock<File>> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    lock_file(File::open(directory)?)
}

fn lock_file(mut file: File) -> io::Result<Flock<File>> {
    loop {
        match Flock::lock(file, FlockArg::LockExclusive) {
            Ok(lock) => return Ok(lock),
            Err((back, Errno::EINTR)) => file = back,
            Err((_, errno)) => return Err(errno.into()),
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    match (file.metadata(), fs::metadata(path)) {
        (Ok(file), Ok(there)) => (file.dev(), file.ino()) == (there.dev(), there.ino()),
        _ => false,
    }
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    let read = || -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut paths: Vec<PathBuf> = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<_>>()?;
        paths.sort();
        Ok(paths)
    };
    read().map_err(|e| failed(directory, e))
}

fn shown(path: &Path) -> String {
    format!("record `{}` of a container's attachments", path.display())
}

fn failed(path: &Path, error: io::Error) -> Error {
    unread(shown(path), &Untrusted::Unreadable(error), codes::RECORD)
}

#[cfg(test)]
mod tests;
