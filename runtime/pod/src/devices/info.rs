//! Device information: how a device plugin or a network's plugins describe an attachment's device (the Device Information
//! Specification 1.1.0 of the NPWG; "the specification" below).
//!
//! A device plugin writes a file about each of its devices. Before ADD, weir copies it to a file of the attachment, whose
//! path the plugins get as the capability argument [`CAPABILITY`], and which they may rewrite. After ADD it is read, for
//! `device-info` in the pod's status; after DEL it is removed.

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::OFlag;
use serde_json::{Map, Value};
use weir_cni::Error;
use weir_files::{Durability, Paths};

use crate::codes;
use crate::quoted::quoted;
use crate::reference::Reference;

/// The capability of a plugin that takes the path of an attachment's file (section 5.1).
pub(crate) const CAPABILITY: &str = "CNIDeviceInfoFile";

/// Where device plugins write (section 4.1).
const OF_DEVICES: &str = "/var/run/k8s.cni.cncf.io/devinfo/dp";

/// Where the attachments' files are (section 4.2).
const OF_ATTACHMENTS: &str = "/var/run/k8s.cni.cncf.io/devinfo/cni";

/// Other users read there too, such as a pod that passes devices to a virtual machine.
const DIRECTORY_MODE: u32 = 0o755;

/// A description has about a hundred bytes, and goes into an annotation of the pod.
const MOST_BYTES: u64 = 16 << 10;

/// The longest name of a file.
const LONGEST_NAME: usize = 255;

/// The types of section 3.1.1, each of which has a map of its name.
const TYPES: [&str; 4] = ["pci", "vdpa", "vhost-user", "memif"];

/// The path of an attachment's file, as its plugins know it: the value of [`CAPABILITY`].
pub(crate) fn file_of_attachment(network: &Reference, container_id: &str, ifname: &str) -> PathBuf {
    let attachment = format!("{container_id}_{ifname}");
    let network = format!("{}-{}-", network.namespace, network.name);
    // The second part is unique; the first is for people.
    let left = LONGEST_NAME.saturating_sub(attachment.len());
    let network = &network[..network.len().min(left)];
    Path::new(OF_ATTACHMENTS).join(format!("{network}{attachment}"))
}

/// Copies the device plugin's description of a device to the attachment's file. Returns whether there is one.
///
/// Errors: `codes::DEVICE` if it does not follow the specification; code 5 if the file cannot be written.
pub(crate) fn prepare(
    paths: &Paths,
    file: &Path,
    resource: &str,
    device: &str,
) -> Result<bool, Error> {
    // A file of an earlier attachment of the same name must not count.
    remove(paths, file)?;
    let Some(info) = read(paths, &file_of_device(resource, device))? else {
        return Ok(false);
    };
    let target = paths.resolve(file);
    let written = make_directory(&target).and_then(|()| {
        weir_files::replace(&target, info.to_string().as_bytes(), Durability::Process)
    });
    written.map_err(|e| failed("cannot be written", file, &e))?;
    Ok(true)
}

/// The content of an attachment's file, if there is one.
///
/// Errors: `codes::DEVICE` if it does not follow the specification, or is not a regular file.
pub(crate) fn read(paths: &Paths, file: &Path) -> Result<Option<Value>, Error> {
    let bytes = match content(&paths.resolve(file)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(invalid(file, &reason(&error))),
        Ok(bytes) => bytes,
    };
    if bytes.len() as u64 > MOST_BYTES {
        let why = format!("it has more than {MOST_BYTES} bytes");
        return Err(invalid(file, &why));
    }
    let info = serde_json::from_slice(&bytes).map_err(|e| invalid(file, &e.to_string()))?;
    check(&info).map_err(|why| invalid(file, &why))?;
    Ok(Some(info))
}

/// Removes an attachment's file, if there is one. Errors: code 5.
pub(crate) fn remove(paths: &Paths, file: &Path) -> Result<(), Error> {
    weir_files::remove(&paths.resolve(file)).map_err(|e| failed("cannot be removed", file, &e))
}

fn file_of_device(resource: &str, device: &str) -> PathBuf {
    let name = format!("{resource}-{device}-device.json").replace('/', "-");
    Path::new(OF_DEVICES).join(name)
}

fn make_directory(file: &Path) -> io::Result<()> {
    let directory = file.parent().unwrap_or(Path::new("/"));
    DirBuilder::new()
        .recursive(true)
        .mode(DIRECTORY_MODE)
        .create(directory)
}

/// The file's bytes, up to one more than allowed. Links are not followed: they could lead to any file.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn reason(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ELOOP) => "it is a symbolic link".to_owned(),
        Some(Errno::ENXIO) => "it is not a regular file".to_owned(),
        _ => error.to_string(),
    }
}

/// Checks the form of section 3. Types that this version of the specification does not have are accepted.
fn check(info: &Value) -> Result<(), String> {
    let info = info.as_object().ok_or("expected a map")?;
    let kind = text(info, "type")?;
    let version = text(info, "version")?;
    if !is_version(version) {
        return Err(format!(
            "version: expected MAJOR.MINOR.PATCH, found {}",
            quoted(version)
        ));
    }
    match info.get(kind) {
        Some(Value::Object(_)) => Ok(()),
        None if !TYPES.contains(&kind) => Ok(()),
        None => Err(format!("{kind}: missing, and the type is `{kind}`")),
        Some(_) => Err(format!("{kind}: expected a map")),
    }
}

fn text<'a>(info: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    match info.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(other) => Err(format!("{key}: expected a string, found {other}")),
        None => Err(format!("{key}: missing")),
    }
}

fn is_version(text: &str) -> bool {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    text.split('.').count() == 3 && text.split('.').all(is_number)
}

fn invalid(file: &Path, why: &str) -> Error {
    let what = format!("device information `{}`: {why}", file.display());
    Error::new(codes::DEVICE, what).with_details(
        "the device plugin or a plugin of the network writes the file, by the Device Information \
         Specification of the Network Plumbing Working Group",
    )
}

fn failed(what: &str, file: &Path, error: &io::Error) -> Error {
    let file = file.display();
    Error::io_failure(format!("device information `{file}` {what}: {error}"))
}
