//! The records on disk, and their locks.
//!
//! A pod, which a runtime attaches through the delegating plugin, has one file for each interface that the runtime names:
//! `pods/<network>/<container id>:<interface>.json`. A process that works on the pod holds a lock on it. A container whose
//! networks are attached by name has one file, `net/<container id>.json`, which is changed under a lock on its directory.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use weir_cni::Error;
use weir_files::{Durability, Paths, entries, file_trust, is_at, lock, lock_directory};

use super::attachment::Attachment;
use super::codes;
use super::record::{Record, RecordedAttachment, Unusable, parse, shown};
use super::trust::{text_of, unread};

/// A locked record: no other process works on the pod.
pub struct LockedRecord {
    path: PathBuf,
    pub record: Record,
    _lock: File,
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

#[derive(Clone, Debug)]
pub struct Records {
    directory: PathBuf,
    /// The root below which it is.
    root: PathBuf,
}

impl Records {
    /// Returns the pods of one delegating plugin's network.
    pub fn of_network(paths: &Paths, network: &str) -> Self {
        Self::at(paths.pods().join(network), paths)
    }

    /// Returns the pods of every delegating plugin's network. Errors: code 5.
    pub fn of_pods(paths: &Paths) -> Result<Vec<Self>, Error> {
        let networks = list(&paths.pods())?
            .into_iter()
            .filter(|path| path.is_dir());
        Ok(networks
            .map(|directory| Self::at(directory, paths))
            .collect())
    }

    /// Returns the containers whose networks are attached by name.
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

    /// Returns the record of an attachment, once no other process works on the pod; none if it has none. A record
    /// decides what a DEL runs, and as which network, so one that others could have written is refused.
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
        Ok(self.all_or_why()?.0)
    }

    /// Returns the same, and why others cannot be used. Errors: code 5.
    pub fn all_or_why(&self) -> Result<(Vec<Record>, Vec<Error>), Error> {
        let (mut records, mut unused) = (Vec::new(), Vec::new());
        for path in list(&self.directory)? {
            if path.extension() != Some(OsStr::new("json")) {
                continue;
            }
            match self.read(&path) {
                Ok(record) => records.extend(record),
                Err(error) => unused.push(error.into()),
            }
        }
        Ok((records, unused))
    }

    /// Returns the attachments by name of a container, in the order in which they were made.
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
        let _lock =
            lock_directory(&self.directory, 0o700).map_err(|e| failed(&self.directory, e))?;
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
            lock(&file).map_err(|e| failed(path, e))?;
            // The process that had the lock may have removed or replaced the file.
            if is_at(&file, path).unwrap_or(false) {
                return Ok(Some(LockedRecord {
                    path: path.to_owned(),
                    record: read(path, &file)?,
                    _lock: file,
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
    let text = text_of(file).map_err(|e| failed(path, e))?;
    parse(path, &text)
}

fn list(directory: &Path) -> Result<Vec<PathBuf>, Error> {
    entries(directory).map_err(|e| failed(directory, e))
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::io_failure(format!("{}: {error}", shown(path)))
}

#[cfg(test)]
mod tests;
