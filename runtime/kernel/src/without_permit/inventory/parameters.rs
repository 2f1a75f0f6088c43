//! Kernel parameters of the calling thread's network namespace.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

const ROOT: &str = "/proc/sys";

/// Parameters that change by themselves.
const COUNTERS: [&str; 1] = ["net.netfilter.nf_conntrack_count"];

/// The bytes that nearly every value has room in.
const ENOUGH: usize = 4096;

/// All that can be read, by their keys.
pub(super) fn all() -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    let mut directories = vec![Path::new(ROOT).join("net")];
    while let Some(directory) = directories.pop() {
        // Plugins cannot write what weir cannot read.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                directories.push(path);
            } else if let Ok(value) = read(&path) {
                parameters.insert(key(&path), value.trim().replace('\t', " "));
            }
        }
    }
    parameters.retain(|key, _| !COUNTERS.contains(&key.as_str()));
    parameters
}

/// The text of one. There are hundreds: the kernel gives all of a text at once, and its file has no size to ask for.
fn read(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut start = [0; ENOUGH];
    let length = file.read(&mut start)?;
    let mut value = start[..length].to_vec();
    if length == ENOUGH {
        file.read_to_end(&mut value)?;
    }
    String::from_utf8(value).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))
}

/// `net.ipv4.conf.eth0/1.forwarding`: a dot in a name becomes a slash, as in sysctl(8).
fn key(path: &Path) -> String {
    let path = path.strip_prefix(ROOT).unwrap_or(path);
    let parts = path
        .iter()
        .map(|part| part.to_string_lossy().replace('.', "/"));
    parts.collect::<Vec<String>>().join(".")
}
