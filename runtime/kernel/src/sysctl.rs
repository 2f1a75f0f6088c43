//! Capability `sysctl`: kernel parameters below `net.`.

pub(crate) mod shared;
pub(crate) mod undo;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use nix::errno::Errno;
use serde_json::json;
use weir_gate::Permit;
use weir_grant::Namespace;
use weir_grant::sysctl::{Read, Write, flaw_of_key, segments};

use self::shared::Notes;
use super::error::{Code, Error, Result};
use super::namespace::Namespaces;
use crate::linux::Linux;
use crate::perform::{Answer, Changes, Perform};
use undo::RestoreValue;

/// The parameters of the reading thread's network namespace.
const DIRECTORY: &str = "/proc/sys/net";

/// Reads a parameter, without the newline at its end.
///
/// Errors: `NotFound`; `Invalid` for a key that is not below `net.` or has no value.
impl Answer<Read, String> for Linux {
    fn answer(&mut self, permit: &Permit<Read>) -> Result<String> {
        let Read { namespace, key } = permit.operation();
        let path = path_of(key)?;
        let value = self
            .namespaces
            .of(*namespace)?
            .enter(|| read_value(&path))?;
        value.map_err(|e| explain(e, key).while_doing(format_args!("read {key} in {namespace}")))
    }
}

/// The value at a path below `/proc/sys/net` in the calling thread's namespace.
pub(super) fn read_value(path: &PathBuf) -> io::Result<String> {
    let mut value = Vec::new();
    open(path, OpenOptions::new().read(true))?.read_to_end(&mut value)?;
    let value = String::from_utf8_lossy(&value);
    Ok(value.strip_suffix('\n').unwrap_or(&value).to_owned())
}

/// Writes a parameter. Undo restores a parameter that others may rely on only under a condition (`shared`), and not one of
/// a link that the invocation made.
///
/// Errors: `NotFound`; `Invalid` for a key that is not below `net.`, a read-only parameter, or a value that the kernel
/// refuses. A value that the kernel took in part is restored.
impl Perform<Write> for Linux {
    fn perform(&mut self, permit: &Permit<Write>, changes: &mut Changes<'_>) -> Result<()> {
        let write = permit.operation();
        let is_of_made_link =
            (write.link()).is_some_and(|name| self.links.made(write.namespace, &name).is_some());
        let before = match (write.namespace, self.notes()) {
            _ if is_of_made_link => return carry_out(&mut self.namespaces, write, write_value),
            (Namespace::Container, _) => {
                let before = carry_out(&mut self.namespaces, write, replace_value)?;
                RestoreValue::note(write, before.as_deref(), None, changes);
                before
            }
            (Namespace::Host, Some(notes)) => {
                let before = notes.replace(&mut self.namespaces, write)?;
                if !(before.is_own && RestoreValue::note_again(write, changes)) {
                    let changed = Some(write.value.clone());
                    RestoreValue::note(write, before.value.as_deref(), changed, changes);
                }
                before.value
            }
            (Namespace::Host, None) => carry_out(&mut self.namespaces, write, replace_value)?,
        };
        // Also the same value: without it, a record does not tell whether the write changed something.
        changes.previous = before.map(|before| json!({ "value": before }));
        Ok(())
    }
}

impl Linux {
    /// The notes of parameters of the host, for an ADD: what others write is not undone.
    pub(crate) fn notes(&self) -> Option<Notes> {
        let invocation = self.add.as_deref()?;
        Some(Notes::new(&self.paths, invocation))
    }
}

fn carry_out<T>(
    namespaces: &mut Namespaces,
    write: &Write,
    act: fn(&PathBuf, &str) -> io::Result<T>,
) -> Result<T> {
    let Write {
        namespace,
        key,
        value,
        ..
    } = write;
    let path = path_of(key)?;
    let written = namespaces.of(*namespace)?.enter(|| act(&path, value))?;
    let failed = |e| explain_value(e, key, value);
    written.map_err(|e| failed(e).while_doing(format_args!("write {key} in {namespace}")))
}

/// The kernel takes a value in one write; of several numbers it takes those before a wrong one.
pub(super) fn write_value(path: &PathBuf, value: &str) -> io::Result<()> {
    let mut file = open(path, OpenOptions::new().write(true))?;
    let line = format!("{value}\n");
    if file.write(line.as_bytes())? < value.len() {
        return Err(Errno::EINVAL.into());
    }
    Ok(())
}

fn replace_value(path: &PathBuf, value: &str) -> io::Result<Option<String>> {
    let before = read_value(path).ok();
    let written = write_value(path, value);
    if let (Err(_), Some(before)) = (&written, &before)
        && read_value(path).is_ok_and(|now| now != *before)
    {
        // The error to report is that of the new value.
        let _ = write_value(path, before);
    }
    written.map(|()| before)
}

/// The kernel resolves the path, and never outside the directory.
fn open(path: &PathBuf, options: &mut OpenOptions) -> io::Result<File> {
    directory()?.open_with(path, options)
}

/// One for all namespaces: its content is that of the calling thread's.
fn directory() -> io::Result<&'static Dir> {
    static OPEN: OnceLock<Dir> = OnceLock::new();
    match OPEN.get() {
        Some(open) => Ok(open),
        None => {
            let open = Dir::open_ambient_dir(DIRECTORY, ambient_authority())?;
            Ok(OPEN.get_or_init(|| open))
        }
    }
}

/// The path of a key below [`DIRECTORY`]. Errors: `Invalid`.
///
/// Each key has one path and each path one key, so that a grant for a key is a grant for a file.
fn path_of(key: &str) -> Result<PathBuf> {
    if let Some(why) = flaw_of_key(key) {
        return Err(Error::invalid(why));
    }
    Ok(segments(key).collect())
}

fn explain(error: io::Error, key: &str) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::not_found(format!("no such parameter: {key}")),
        ErrorKind::IsADirectory => Error::invalid("it is a group of parameters"),
        _ => error.into(),
    }
}

fn explain_value(error: io::Error, key: &str, value: &str) -> Error {
    let errno = error.raw_os_error().map(Errno::from_raw);
    let message = match errno {
        Some(Errno::EINVAL | Errno::ERANGE) => format!("the kernel refuses the value `{value}`"),
        // Some are read-only everywhere, and more of them outside the initial namespace.
        Some(Errno::EACCES) => "it can only be read in this namespace".to_owned(),
        _ => return explain(error, key),
    };
    Error {
        code: Code::Invalid,
        message,
        errno,
    }
}
