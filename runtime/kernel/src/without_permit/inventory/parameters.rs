//! Kernel parameters of the calling thread's network namespace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ROOT: &str = "/proc/sys";

/// Parameters that change by themselves.
const COUNTERS: [&str; 1] = ["net.netfilter.nf_conntrack_count"];

/// All that can be read, by their keys.
pub(super) fn all() -> BTreeMap<String, String> {
    let mut parameters = BTreeMap::new();
    let mut directories = vec![Path::new(ROOT).join("net")];
    while let Some(directory) = directories.pop() {
        // Plugins cannot write what weir cannot read.
        for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                directories.push(path);
            } else if let Ok(value) = fs::read_to_string(&path) {
                parameters.insert(key(&path), value.trim().replace('\t', " "));
            }
        }
    }
    parameters.retain(|key, _| !COUNTERS.contains(&key.as_str()));
    parameters
}

/// `net.ipv4.conf.eth0/1.forwarding`: a dot in a name becomes a slash, as in sysctl(8).
fn key(path: &Path) -> String {
    let path = path.strip_prefix(ROOT).unwrap_or(path);
    let parts = path
        .iter()
        .map(|part| part.to_string_lossy().replace('.', "/"));
    parts.collect::<Vec<String>>().join(".")
}
