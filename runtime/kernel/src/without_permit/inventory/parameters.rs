//! Kernel parameters of the calling thread's network namespace.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirEntry};

const ROOT: &str = "/proc/sys/net";

/// Parameters that change by themselves.
const COUNTERS: [&str; 1] = ["net.netfilter.nf_conntrack_count"];

/// The bytes that nearly every value has room in.
const ENOUGH: usize = 4096;

/// All that can be read, by their keys.
pub(super) fn all() -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    if let Ok(root) = Dir::open_ambient_dir(ROOT, ambient_authority()) {
        read_all("net", &root, &mut parameters);
    }
    parameters.retain(|key, _| !COUNTERS.contains(&key.as_str()));
    parameters
}

/// Adds what is in a directory, whose key this is. Plugins cannot write what weir cannot read.
fn read_all(key: &str, directory: &Dir, parameters: &mut BTreeMap<String, String>) {
    for entry in directory.entries().into_iter().flatten().flatten() {
        // `net.ipv4.conf.eth0/1.forwarding`: a dot in a name becomes a slash, as in sysctl(8).
        let name = entry.file_name().to_string_lossy().replace('.', "/");
        let key = format!("{key}.{name}");
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if let Ok(directory) = entry.open_dir() {
                read_all(&key, &directory, parameters);
            }
        } else if let Ok(value) = read(&entry) {
            parameters.insert(key, value.trim().replace('\t', " "));
        }
    }
}

/// The text of one. There are hundreds: the kernel gives all of a text at once, and its file has no size to ask for.
fn read(entry: &DirEntry) -> io::Result<String> {
    let mut file = entry.open()?;
    let mut start = [0; ENOUGH];
    let length = file.read(&mut start)?;
    let mut value = start[..length].to_vec();
    if length == ENOUGH {
        file.read_to_end(&mut value)?;
    }
    String::from_utf8(value).map_err(|e| io::Error::new(ErrorKind::InvalidData, e))
}
