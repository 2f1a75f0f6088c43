//! Device information: what a device plugin or a network's plugins say about an attachment's device (the
//! Device Information Specification 1.1.0 of the NPWG; "the specification" below).
//!
//! A device plugin writes a file about each of its devices, and one file belongs to each attachment. Before
//! ADD the first is copied to the second, whose path the plugins get as the capability argument
//! [`CAPABILITY`]; they may write it, or write it anew. After ADD it is read, for `device-info` in the
//! pod's status, and after DEL removed.

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
use crate::reference::Reference;

/// The capability of a plugin that takes the path of an attachment's file (section 5.1).
pub(crate) const CAPABILITY: &str = "CNIDeviceInfoFile";

/// Where device plugins write (section 4.1).
const OF_DEVICES: &str = "/var/run/k8s.cni.cncf.io/devinfo/dp";

/// Where the attachments' files are (section 4.2).
const OF_ATTACHMENTS: &str = "/var/run/k8s.cni.cncf.io/devinfo/cni";

/// Others than root read there, too: a pod that shows devices to a virtual machine, for one.
const DIRECTORY_MODE: u32 = 0o755;

/// What is said of a device is some hundred bytes, and ends in an annotation of the pod.
const MOST_BYTES: u64 = 16 << 10;

/// The longest name of a file.
const LONGEST_NAME: usize = 255;

/// The types of section 3.1.1. Each has a map of its name.
const TYPES: [&str; 4] = ["pci", "vdpa", "vhost-user", "memif"];

/// The path of an attachment's file, as its plugins know it: the value of [`CAPABILITY`].
pub(crate) fn file_of_attachment(network: &Reference, container_id: &str, ifname: &str) -> PathBuf {
    let attachment = format!("{container_id}_{ifname}");
    let network = format!("{}-{}-", network.namespace, network.name);
    // No other attachment has the second part; the first is for people.
    let left = LONGEST_NAME.saturating_sub(attachment.len());
    let network = &network[..network.len().min(left)];
    Path::new(OF_ATTACHMENTS).join(format!("{network}{attachment}"))
}

/// Copies what the device plugin says of a device to the attachment's file, in place of what may be there.
/// Returns whether it says anything.
///
/// Errors: `codes::DEVICE` for what is not of the specification's form, code 5 where the file cannot be
/// written.
pub(crate) fn prepare(
    paths: &Paths,
    file: &Path,
    resource: &str,
    device: &str,
) -> Result<bool, Error> {
    // What is left of an attachment of the same name would be taken for this one's.
    remove(paths, file)?;
    let Some(told) = read(paths, &file_of_device(resource, device))? else {
        return Ok(false);
    };
    let place = paths.resolve(file);
    let written = make_directory(&place).and_then(|()| {
        weir_files::replace(&place, told.to_string().as_bytes(), Durability::Process)
    });
    written.map_err(|e| failed("cannot be written", file, &e))?;
    Ok(true)
}

/// What an attachment's file says; none where there is none.
///
/// Errors: `codes::DEVICE` for what is not of the specification's form, and for what is no regular file.
pub(crate) fn read(paths: &Paths, file: &Path) -> Result<Option<Value>, Error> {
    let bytes = match content(&paths.resolve(file)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(invalid(file, &reason(&error))),
        Ok(bytes) => bytes,
    };
    if bytes.len() as u64 > MOST_BYTES {
        return Err(invalid(
            file,
            &format!("it has more than {MOST_BYTES} bytes"),
        ));
    }
    let told = serde_json::from_slice(&bytes).map_err(|e| invalid(file, &e.to_string()))?;
    match fault(&told) {
        None => Ok(Some(told)),
        Some(why) => Err(invalid(file, &why)),
    }
}

/// Removes an attachment's file; one that is not there is no error. Errors: code 5.
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

/// One byte more than there may be, where there are so many. No link is followed: who may write in the
/// directory would say what is shown of which file.
fn content(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK;
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn reason(error: &io::Error) -> String {
    match error.raw_os_error().map(Errno::from_raw) {
        Some(Errno::ELOOP) => "it is a symbolic link".to_owned(),
        Some(Errno::ENXIO) => "it is no regular file".to_owned(),
        _ => error.to_string(),
    }
}

/// What is not of the form of section 3. Types that are not of this version of the specification pass: the
/// status is for those who know them.
fn fault(told: &Value) -> Option<String> {
    let Some(told) = told.as_object() else {
        return Some("expected a map".to_owned());
    };
    let kind = match text(told, "type") {
        Ok(kind) => kind,
        Err(why) => return Some(why),
    };
    match text(told, "version") {
        Ok(version) if is_version(version) => {}
        Ok(version) => {
            return Some(format!(
                "version: expected MAJOR.MINOR.PATCH, found {version:?}"
            ));
        }
        Err(why) => return Some(why),
    }
    match told.get(kind) {
        Some(Value::Object(_)) => None,
        None if !TYPES.contains(&kind) => None,
        None => Some(format!("{kind}: missing, and the type is {kind:?}")),
        Some(_) => Some(format!("{kind}: expected a map")),
    }
}

fn text<'a>(told: &'a Map<String, Value>, key: &str) -> Result<&'a str, String> {
    match told.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Ok(text),
        Some(other) => Err(format!("{key}: expected a text, found {other}")),
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
        "the file is written by the device plugin, or by a plugin of the network, by the Device \
         Information Specification of the Network Plumbing Working Group",
    )
}

fn failed(what: &str, file: &Path, error: &io::Error) -> Error {
    let file = file.display();
    Error::io_failure(format!("device information `{file}` {what}: {error}"))
}
