//! What each container is attached to, one file for each: `/var/lib/weir/net/<container id>.json`.

use std::fs::{DirBuilder, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use weir_cni::{Error, NetworkConfigList};
use weir_files::file_trust::{self, Exposed, Untrusted};
use weir_files::{Durability, Paths};

/// One attachment, which is there or is going to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct RecordedAttachment {
    pub(super) network: String,
    pub(super) interface: String,
    /// Whether it was attached as one of the defaults.
    pub(super) default: bool,
    /// The network configuration list that is used.
    pub(super) configuration: Value,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(super) capability_args: Map<String, Value>,
}

impl RecordedAttachment {
    /// Whether it is the attachment of that network with that interface.
    pub(super) fn is(&self, network: &str, interface: &str) -> bool {
        self.network == network && self.interface == interface
    }

    /// The network configuration list that is used. Errors: those of the list, naming the network.
    pub(super) fn list(&self) -> Result<NetworkConfigList, Error> {
        NetworkConfigList::from_value(self.configuration.clone())
            .map_err(|e| e.with_prefix(format_args!("network `{}`", self.network)))
    }

    /// The same of the first plugins of its list alone, for a DEL of no other. A list that cannot be read stays as it is.
    pub(super) fn of_first_plugins(self, count: usize) -> Self {
        let list = self.list().map(|list| list.first_plugins(count));
        match list {
            Ok(list) => Self {
                configuration: list.to_value(),
                ..self
            },
            Err(_) => self,
        }
    }
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    attachments: Vec<RecordedAttachment>,
}

/// The records of all containers.
pub(super) struct Records {
    directory: PathBuf,
    /// Below which it is.
    root: PathBuf,
}

impl Records {
    pub(super) fn new(paths: &Paths) -> Self {
        Self {
            directory: paths.net(),
            root: paths.root().to_owned(),
        }
    }

    /// A container's attachments, in the order in which they were made. Errors: code 5, also for a record that somebody
    /// else than root or weir's user can have written; code 6 for one that is damaged.
    pub(super) fn entries(&self, container_id: &str) -> Result<Vec<RecordedAttachment>, Error> {
        read(&self.path(container_id), &self.root)
    }

    /// Changes a container's attachments, while nobody else does. They are on the disk when this returns,
    /// and as they were where `change` fails.
    ///
    /// Errors: what `change` has; as [`Records::entries`].
    pub(super) fn change<T>(
        &self,
        container_id: &str,
        change: impl FnOnce(&mut Vec<RecordedAttachment>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let path = self.path(container_id);
        let _lock = lock(&self.directory).map_err(|e| failed(&self.directory, &e))?;
        let mut attachments = read(&path, &self.root)?;
        let changed = change(&mut attachments)?;
        let written = if attachments.is_empty() {
            weir_files::remove(&path)
        } else {
            write(&path, Document { attachments })
        };
        written.map_err(|e| failed(&path, &e))?;
        Ok(changed)
    }

    fn path(&self, container_id: &str) -> PathBuf {
        self.directory.join(format!("{container_id}.json"))
    }
}

fn read(path: &Path, root: &Path) -> Result<Vec<RecordedAttachment>, Error> {
    let file = match file_trust::open(path, root) {
        Err(error) if error.is_missing() => return Ok(Vec::new()),
        Err(Untrusted::Unreadable(error)) => return Err(failed(path, &error)),
        Err(Untrusted::Exposed(exposed)) => return Err(untrusted(path, &exposed)),
        Ok(file) => file,
    };
    let text = io::read_to_string(file).map_err(|e| failed(path, &e))?;
    let document: Document = serde_json::from_str(&text).map_err(|e| {
        Error::decoding_failure(format!(
            "the record of a container's networks, `{}`, is damaged: {e}",
            path.display()
        ))
        .with_details(
            "detach the container from each network with `weir net del NETWORK NETNS --ifname NAME`, then \
             remove the file",
        )
    })?;
    Ok(document.attachments)
}

fn write(path: &Path, document: Document) -> io::Result<()> {
    weir_files::replace(path, &serde_json::to_vec(&document)?, Durability::Disk)
}

/// One process at a time changes records; it ends with the value, and with the process.
fn lock(directory: &Path) -> io::Result<Flock<File>> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(directory)?;
    let mut file = File::open(directory)?;
    loop {
        match Flock::lock(file, FlockArg::LockExclusive) {
            Ok(lock) => return Ok(lock),
            Err((back, Errno::EINTR)) => file = back,
            Err((_, errno)) => return Err(errno.into()),
        }
    }
}

fn untrusted(path: &Path, exposed: &Exposed) -> Error {
    let shown = path.display();
    let what =
        format!("the record of a container's networks, `{shown}`, is not trusted: {exposed}");
    Error::io_failure(what).with_details(exposed.remedy())
}

fn failed(path: &Path, error: &io::Error) -> Error {
    Error::io_failure(format!(
        "the record of a container's networks, `{}`: {error}",
        path.display()
    ))
}
