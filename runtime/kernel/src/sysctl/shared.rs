//! Parameters of the host that an ADD changes, and others may come to rely on.
//!
//! A failed ADD restores what it changed, unless another invocation has written the same parameter since. A note in `/run`
//! names the running invocation that changed a parameter; the next invocation that writes the parameter removes it. One
//! lock serialises all of this.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::PathBuf;

use weir_files::{Durability, Paths, paths};
use weir_gate::Permit;
use weir_grant::sysctl::Write;

use super::undo::is_same;
use super::{carry_out, path_of, read_value, replace_value, write_value};
use crate::error::{Error, Result};
use crate::namespace::Namespaces;

/// The notes of the node, and the invocation that writes parameters.
pub(crate) struct Notes {
    directory: PathBuf,
    invocation: String,
}

/// What a parameter had before it was written.
pub(crate) struct Before {
    /// None if it cannot be read.
    pub value: Option<String>,
    /// This invocation had changed it already, and no other has written it since.
    pub is_own: bool,
}

impl Notes {
    /// `invocation` is a name that no other has.
    pub(crate) fn new(paths: &Paths, invocation: &str) -> Self {
        Self {
            directory: paths.run().join("parameters"),
            invocation: invocation.to_owned(),
        }
    }

    /// Writes a parameter and notes the change as this invocation's. Returns what it had before.
    ///
    /// Errors: those of [`Write`]; `Failed` where the note cannot be written, and nothing is changed then.
    pub(crate) fn replace(&self, namespaces: &mut Namespaces, write: &Write) -> Result<Before> {
        let path = path_of(&write.key)?;
        let _lock = self.lock(write)?;
        let before = namespaces
            .of(write.namespace)?
            .enter(|| read_value(&path).ok())?;
        let is_own = self.is_noted(write);
        let is_other = |before: &str| !is_same(before, &write.value);
        if before.as_deref().is_some_and(is_other) {
            self.note(write)?;
        } else if !is_own {
            // The other invocation must not restore it any more.
            self.forget(write)?;
        }
        let value = carry_out(namespaces, write, replace_value)?;
        Ok(Before { value, is_own })
    }

    /// Sets a parameter back that this invocation changed to `changed`.
    ///
    /// Errors: `Busy` where another has written it since, whose it is then; those of [`Write`].
    pub(crate) fn set_back(
        &self,
        namespaces: &mut Namespaces,
        permit: &Permit<Write>,
        changed: &str,
    ) -> Result<()> {
        let write = permit.operation();
        let path = path_of(&write.key)?;
        let _lock = self.lock(write)?;
        let now = namespaces
            .of(write.namespace)?
            .enter(|| read_value(&path).ok())?;
        let is_as_left = now.is_some_and(|now| is_same(&now, changed));
        if !self.is_noted(write) || !is_as_left {
            return Err(Error::busy(format!(
                "{} stays: another attachment has set it since",
                write.key
            )));
        }
        carry_out(namespaces, write, write_value)?;
        self.forget(write)
    }

    /// Removes the note of a change whose ADD has succeeded.
    ///
    /// Errors: `Failed`.
    pub(crate) fn keep(&self, write: &Write) -> Result<()> {
        let _lock = self.lock(write)?;
        if self.is_noted(write) {
            self.forget(write)
        } else {
            Ok(())
        }
    }

    fn lock(&self, write: &Write) -> Result<File> {
        let file = paths::open_lock(&self.directory.join(".lock"));
        let locked = file.and_then(|file| file.lock().map(|()| file));
        locked.map_err(|e| self.failed(e, write))
    }

    fn failed(&self, error: io::Error, write: &Write) -> Error {
        let directory = self.directory.display();
        Error::from(error).while_doing(format_args!("note {} in `{directory}`", write.key))
    }

    /// A key has slashes where the name of a link has dots, and no link has a `%` in its name.
    fn place(&self, write: &Write) -> PathBuf {
        self.directory.join(write.key.replace('/', "%"))
    }

    fn note(&self, write: &Write) -> Result<()> {
        let note = self.invocation.as_bytes();
        let noted = weir_files::replace(&self.place(write), note, Durability::Process);
        noted.map_err(|e| self.failed(e, write))
    }

    fn is_noted(&self, write: &Write) -> bool {
        fs::read(self.place(write)).is_ok_and(|note| note == self.invocation.as_bytes())
    }

    fn forget(&self, write: &Write) -> Result<()> {
        match fs::remove_file(self.place(write)) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(self.failed(error, write)),
            _ => Ok(()),
        }
    }
}
