//! What a pod's attachments are, durably: written before the first delegate runs, and removed after the last one
//! is detached. So DEL needs neither the pod, nor its NetworkAttachmentDefinitions, nor the API server.
//!
//! One file for each pod, `<records>/<network>/<container id>:<interface>.json`; whoever works on the pod holds
//! a lock on it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use weir_cni::{Args, Error, NetworkConfigList};
use weir_files::file_trust::{self, Untrusted};
use weir_files::{Durability, Paths};
use weir_network::{Attachment, Source};

use super::cluster::PodName;
use super::codes;
use super::plan::Planned;
use super::reference::Reference;

/// The only version of the document so far.
const VERSION: u64 = 1;

/// A pod's attachments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Record {
    version: u64,
    /// The delegating plugin's network.
    pub network: String,
    pub container_id: String,
    /// `CNI_IFNAME`.
    pub ifname: String,
    pub netns: String,
    /// Which namespace was at `netns`, so that another one in its place is not taken for it.
    pub namespace: Option<Identity>,
    /// `CNI_ARGS`.
    pub args: String,
    pub pod: Option<PodName>,
    /// In the order in which they are made.
    pub attachments: Vec<Recorded>,
}

/// One attachment, as its delegates are called for it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Recorded {
    /// What people know the network by.
    pub network: String,
    pub is_default: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub definition: Option<Reference>,
    /// The definition has no text of its own, and selects a file of the node's.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_file: bool,
    pub ifname: String,
    /// The network configuration list.
    pub config: Value,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub capability_args: Map<String, Value>,
    /// The file in which the plugins may tell of the attachment's device.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_info: Option<PathBuf>,
}

/// A namespace, as long as the machine runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    boot: String,
    device: u64,
    inode: u64,
}

impl Identity {
    /// Of an attachment's namespace, where it has one.
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

impl Recorded {
    /// Of a plan's attachment.
    pub(crate) fn of(planned: &Planned) -> Self {
        Self {
            network: planned.network.clone(),
            is_default: planned.is_default,
            definition: planned.definition.clone(),
            is_file: planned.definition.is_some() && planned.is_file,
            ifname: planned.ifname.clone(),
            config: planned.list.to_value(),
            capability_args: planned.capability_args.clone(),
            device_info: planned.device_info.clone(),
        }
    }

    /// Where the network's configuration comes from.
    pub(crate) fn source(&self) -> Source {
        let text_of = self.definition.as_ref().filter(|_| !self.is_file);
        Source {
            definition: text_of.map(ToString::to_string),
            asked_by_pod: Vec::new(),
        }
    }

    /// The same of the first plugins of its list alone, for a DEL of no other. A list that cannot be read stays as it is.
    pub(crate) fn of_first_plugins(self, count: usize) -> Self {
        let list = self.list().map(|list| list.first_plugins(count));
        match list {
            Ok(list) => Self {
                config: list.to_value(),
                ..self
            },
            Err(_) => self,
        }
    }

    /// The network configuration list. Errors: those of the list, naming the network.
    pub(crate) fn list(&self) -> Result<NetworkConfigList, Error> {
        NetworkConfigList::from_value(self.config.clone())
            .map_err(|e| e.with_prefix(format_args!("network `{}`, as recorded", self.network)))
    }
}

impl Record {
    /// Of a pod that is attached so, or is about to be.
    pub(crate) fn new(
        network: &str,
        attachment: &Attachment,
        pod: Option<PodName>,
        attachments: Vec<Recorded>,
    ) -> Self {
        Self {
            version: VERSION,
            network: network.to_owned(),
            container_id: attachment.container_id.clone(),
            ifname: attachment.ifname.clone(),
            netns: attachment.netns.clone(),
            namespace: Identity::of(attachment),
            args: attachment.args.to_string(),
            pod,
            attachments,
        }
    }

    /// The attachment, for GC, without its runtime. The namespace is taken only where it is the one that the
    /// pod had: another one may be at its path by now.
    pub(crate) fn attachment(&self) -> Result<Attachment, Error> {
        let args: Args = self.args.parse().unwrap_or_default();
        let open = |netns: String| {
            let (id, ifname) = (self.container_id.clone(), self.ifname.clone());
            Attachment::open(weir_cni::Command::Del, id, ifname, netns, args.clone())
        };
        match open(self.netns.clone()) {
            Ok(attachment) if Identity::of(&attachment) == self.namespace => Ok(attachment),
            _ => open(String::new()),
        }
    }

    /// Whether it is of one of these attachments.
    pub(crate) fn is_of(&self, attachments: &[weir_cni::Attachment]) -> bool {
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
    /// It cannot be read, or a weir of another version wrote it.
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

/// A record, locked: no other process works on the pod meanwhile.
pub(crate) struct LockedRecord {
    path: PathBuf,
    pub record: Record,
    _lock: Flock<File>,
}

impl LockedRecord {
    /// Writes the record anew, as it has become. Errors: code 5.
    pub(crate) fn keep(self) -> Result<(), Error> {
        write(&self.path, &self.record)
    }

    /// Forgets the pod. Errors: code 5.
    pub(crate) fn remove(self) -> Result<(), Error> {
        weir_files::remove(&self.path).map_err(|e| failed(&self.path, &e))
    }
}

/// The records of one delegating plugin's network.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    directory: PathBuf,
    /// Below which it is.
    root: PathBuf,
}

impl Records {
    /// Those of a network.
    pub(crate) fn of(paths: &Paths, network: &str) -> Self {
        Self {
            directory: paths.pods().join(network),
            root: paths.root().to_owned(),
        }
    }

    /// Those of every network. Errors: code 5.
    pub(crate) fn everywhere(paths: &Paths) -> Result<Vec<Self>, Error> {
        let directories = entries(&paths.pods())?;
        let networks = directories.into_iter().filter(|path| path.is_dir());
        let of_network = |directory| Self {
            directory,
            root: paths.root().to_owned(),
        };
        Ok(networks.map(of_network).collect())
    }

    /// Keeps a record, on disk before it returns.
    ///
    /// Errors: `codes::RECORD` where there is one of the attachment; code 5.
    pub(crate) fn create(&self, record: Record) -> Result<LockedRecord, Error> {
        let path = self.path(&record.container_id, &record.ifname);
        if path.exists() {
            return Err(attached_already(&record));
        }
        write(&path, &record)?;
        let held = self.take_at(&path)?;
        held.ok_or_else(|| deleted_meanwhile(&record))
    }

    /// Whether there is one of the same attachment.
    pub(crate) fn has(&self, record: &Record) -> bool {
        self.path(&record.container_id, &record.ifname).exists()
    }

    /// The record of an attachment, when nobody else works on the pod any more; none where there is none. It decides
    /// what a DEL runs, and as which network: one that somebody else than root or weir's user can have written is refused.
    pub(crate) fn take(&self, attachment: &Attachment) -> Result<Option<LockedRecord>, Unusable> {
        self.take_at(&self.path(&attachment.container_id, &attachment.ifname))
    }

    /// Removes what an ADD has left that was killed while it wrote the record. Errors: code 5.
    pub(crate) fn clear_up(&self, attachment: &Attachment) -> Result<(), Error> {
        let path = self.path(&attachment.container_id, &attachment.ifname);
        weir_files::clear_up(&path).map_err(|e| failed(&path, &e))
    }

    /// Puts a damaged record out of the way. Returns where it is. Errors: code 5.
    pub(crate) fn set_aside(&self, attachment: &Attachment) -> Result<PathBuf, Error> {
        let path = self.path(&attachment.container_id, &attachment.ifname);
        weir_files::set_aside(&path).map_err(|e| failed(&path, &e))
    }

    /// Every record that can be read, without waiting for anybody. Errors: code 5.
    pub(crate) fn all(&self) -> Result<Vec<Record>, Error> {
        let mut records = Vec::new();
        for path in entries(&self.directory)? {
            if path.extension() == Some(OsStr::new("json")) {
                let text = self
                    .open(&path)
                    .ok()
                    .and_then(|f| io::read_to_string(f).ok());
                records.extend(text.and_then(|text| parse(&path, text.as_bytes()).ok()));
            }
        }
        Ok(records)
    }

    fn take_at(&self, path: &Path) -> Result<Option<LockedRecord>, Unusable> {
        loop {
            let file = match self.open(path) {
                Err(error) if error.is_missing() => return Ok(None),
                file => file.map_err(|e| untrusted(path, &e))?,
            };
            let lock = Flock::lock(file, FlockArg::LockExclusive)
                .map_err(|(_, e)| failed(path, &e.into()))?;
            // Whoever had the lock may have removed or replaced the file.
            if !is_at(&lock, path) {
                continue;
            }
            let text = io::read_to_string(&*lock).map_err(|e| failed(path, &e))?;
            return Ok(Some(LockedRecord {
                path: path.to_owned(),
                record: parse(path, text.as_bytes())?,
                _lock: lock,
            }));
        }
    }

    fn open(&self, path: &Path) -> Result<File, Untrusted> {
        file_trust::open(path, &self.root)
    }

    /// A colon stands in no container id and no interface name.
    fn path(&self, container_id: &str, ifname: &str) -> PathBuf {
        self.directory.join(format!("{container_id}:{ifname}.json"))
    }
}

/// On the disk before it returns.
fn write(path: &Path, record: &Record) -> Result<(), Error> {
    let written = serde_json::to_vec(record)
        .map_err(io::Error::from)
        .and_then(|document| weir_files::replace(path, &document, Durability::Disk));
    written.map_err(|e| failed(path, &e))
}

fn parse(path: &Path, text: &[u8]) -> Result<Record, Unusable> {
    let shown = path.display();
    let damaged = |what: String| {
        let what = format!("record `{shown}` of a pod's attachments: {what}");
        let error = Error::new(codes::RECORD, what);
        Unusable::Damaged(error.with_details("weir wrote it whole: it was changed since"))
    };
    let document: Value = serde_json::from_slice(text).map_err(|e| damaged(e.to_string()))?;
    match document.get("version").and_then(Value::as_u64) {
        Some(VERSION) => serde_json::from_value(document).map_err(|e| damaged(e.to_string())),
        Some(other) => Err(Unusable::Refused(Error::new(
            codes::RECORD,
            format!(
                "record `{shown}` of a pod's attachments: version {other}: another weir wrote it; this one knows {VERSION}"
            ),
        ))),
        None => Err(damaged("it has no version".to_owned())),
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
        let Some(entries) = found(fs::read_dir(directory))? else {
            return Ok(Vec::new());
        };
        let mut paths = entries
            .map(|entry| Ok(entry?.path()))
            .collect::<io::Result<Vec<PathBuf>>>()?;
        paths.sort();
        Ok(paths)
    };
    read().map_err(|e| failed(directory, &e))
}

fn found<T>(outcome: io::Result<T>) -> io::Result<Option<T>> {
    match outcome {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        outcome => outcome.map(Some),
    }
}

fn untrusted(path: &Path, error: &Untrusted) -> Error {
    match error {
        Untrusted::Unreadable(error) => failed(path, error),
        Untrusted::Exposed(exposed) => {
            let shown = path.display();
            let what = format!("record `{shown}` of a pod's attachments is not trusted: {exposed}");
            Error::new(codes::RECORD, what).with_details(exposed.remedy())
        }
    }
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::io_failure(format!(
        "record of a pod's attachments, `{}`: {error}",
        path.display()
    ))
}

fn attached_already(record: &Record) -> Error {
    Error::new(
        codes::RECORD,
        format!(
            "container `{}` is attached by interface `{}` to network `{}` already, or half so: DEL comes first",
            record.container_id, record.ifname, record.network
        ),
    )
}

fn deleted_meanwhile(record: &Record) -> Error {
    Error::try_again_later(format!(
        "container `{}` was detached from network `{}` while it was being attached",
        record.container_id, record.network
    ))
}
