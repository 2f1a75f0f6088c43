//! Capability `sysctl`: kernel parameters below `net.`.

pub mod shared;

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::PathBuf;
use std::sync::OnceLock;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, File, OpenOptions};
use nix::errno::Errno;
use weir_gate::Permit;
use weir_grant::sysctl::{Read, Write, flaw_of_key, flaw_of_value, segments};

use super::error::{Code, Error};
use super::namespace::Namespaces;

/// The parameters of the reading thread's network namespace.
const DIRECTORY: &str = "/proc/sys/net";

/// Reads a parameter, without the newline at its end.
///
/// Errors: `NotFound`; `Invalid` for a key that is not below `net.` or has no value.
pub fn read(namespaces: &mut Namespaces, permit: &Permit<Read>) -> Result<String, Error> {
    let Read { namespace, key } = permit.operation();
    let path = path_of(key)?;
    let value = namespaces.of(*namespace)?.enter(|| read_value(&path))?;
    value.map_err(|e| explain(e, key).while_doing(format_args!("read {key} in {namespace}")))
}

/// The value at a path below `/proc/sys/net`, as the calling thread's namespace has it.
pub(super) fn read_value(path: &PathBuf) -> io::Result<String> {
    let mut value = Vec::new();
    open(path, OpenOptions::new().read(true))?.read_to_end(&mut value)?;
    let value = String::from_utf8_lossy(&value);
    Ok(value.strip_suffix('\n').unwrap_or(&value).to_owned())
}

/// Writes a parameter.
///
/// Errors: `NotFound`; `Invalid` for a key that is not below `net.`, or when the kernel refuses the
/// value or lets nobody write the parameter.
pub fn write(namespaces: &mut Namespaces, permit: &Permit<Write>) -> Result<(), Error> {
    carry_out(namespaces, permit, write_value)
}

/// Writes a parameter and returns the value that it had; none where nobody can read it. One that the
/// kernel refuses half-way is as before.
///
/// Errors: those of [`write`].
pub fn replace(
    namespaces: &mut Namespaces,
    permit: &Permit<Write>,
) -> Result<Option<String>, Error> {
    carry_out(namespaces, permit, replace_value)
}

fn carry_out<T>(
    namespaces: &mut Namespaces,
    permit: &Permit<Write>,
    act: fn(&PathBuf, &str) -> io::Result<T>,
) -> Result<T, Error> {
    let Write {
        namespace,
        key,
        value,
        ..
    } = permit.operation();
    let path = path_of(key)?;
    check_value(key, value)?;
    let written = namespaces.of(*namespace)?.enter(|| act(&path, value))?;
    let failed = |e| explain_value(e, key, value);
    written.map_err(|e| failed(e).while_doing(format_args!("write {key} in {namespace}")))
}

/// The kernel takes a value in one write, or of several numbers those before a wrong one.
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
        // What is told is why the new value was refused.
        let _ = write_value(path, before);
    }
    written.map(|()| before)
}

fn check_value(key: &str, value: &str) -> Result<(), Error> {
    flaw_of_value(key, value).map_or(Ok(()), |why| Err(Error::invalid(why)))
}

/// Below the directory whatever the path says: the lookup is the kernel's, bound to it.
fn open(path: &PathBuf, options: &mut OpenOptions) -> io::Result<File> {
    directory()?.open_with(path, options)
}

/// One for all namespaces: what is in it is looked up in that of the thread that asks.
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
fn path_of(key: &str) -> Result<PathBuf, Error> {
    if let Some(why) = flaw_of_key(key) {
        return Err(Error::invalid(why));
    }
    Ok(segments(key).collect())
}

fn explain(error: io::Error, key: &str) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::not_found(format!("there is no parameter {key}")),
        ErrorKind::IsADirectory => Error::invalid("it is a group of parameters, not one"),
        _ => error.into(),
    }
}

fn explain_value(error: io::Error, key: &str, value: &str) -> Error {
    let errno = error.raw_os_error().map(Errno::from_raw);
    let message = match errno {
        Some(Errno::EINVAL | Errno::ERANGE) => format!("the kernel refuses the value `{value}`"),
        // As some are everywhere, and more in all namespaces but the machine's first.
        Some(Errno::EACCES) => "it can only be read in this namespace".to_owned(),
        _ => return explain(error, key),
    };
    Error {
        code: Code::Invalid,
        message,
        errno,
    }
}
