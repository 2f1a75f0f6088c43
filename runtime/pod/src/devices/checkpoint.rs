//! kubelet's checkpoint of its device manager: JSON that kubelet replaces atomically, before the pod's network is set up.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use weir_files::file_trust::{self, Exposed, Untrusted};

/// The most bytes: ten times as many as on a node with very many devices.
const MOST_BYTES: u64 = 16 << 20;

/// Why it cannot be used.
#[derive(Debug)]
pub(super) enum Fault {
    Missing,
    Unreadable(io::Error),
    /// Others could have written it.
    Exposed(Exposed),
    TooLarge,
    NotUnderstood(serde_json::Error),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("does not exist"),
            Self::Unreadable(error) => write!(f, "cannot be read: {error}"),
            Self::Exposed(exposed) => {
                write!(f, "is not trusted: {exposed}; {}", exposed.remedy())
            }
            Self::TooLarge => write!(f, "has more than {} MiB", MOST_BYTES >> 20),
            Self::NotUnderstood(error) => write!(f, "has an unknown form: {error}"),
        }
    }
}

/// The resource and the id of each device of a pod, in the order of the file.
pub(super) fn read(
    file: &Path,
    root: &Path,
    pod_uid: &str,
) -> Result<Vec<(String, String)>, Fault> {
    let bytes = content(file, root)?;
    let checkpoint: Checkpoint<'_> =
        serde_json::from_slice(&bytes).map_err(Fault::NotUnderstood)?;
    let entries = checkpoint.data.entries.unwrap_or_default();
    let own = entries.into_iter().filter(|entry| entry.pod_uid == pod_uid);
    let devices = own.flat_map(|entry| {
        let ids = entry.device_ids.map(DeviceIds::all).unwrap_or_default();
        let resource = entry.resource.into_owned();
        ids.into_iter().map(move |id| (resource.clone(), id))
    });
    Ok(devices.collect())
}

fn content(file: &Path, root: &Path) -> Result<Vec<u8>, Fault> {
    let file = match file_trust::open(file, root) {
        Err(error) if error.is_missing() => return Err(Fault::Missing),
        Err(Untrusted::Unreadable(error)) => return Err(Fault::Unreadable(error)),
        Err(Untrusted::Exposed(exposed)) => return Err(Fault::Exposed(exposed)),
        Ok(file) => file,
    };
    let mut bytes = Vec::new();
    match file.take(MOST_BYTES + 1).read_to_end(&mut bytes) {
        Err(error) => Err(Fault::Unreadable(error)),
        Ok(_) if bytes.len() as u64 > MOST_BYTES => Err(Fault::TooLarge),
        Ok(_) => Ok(bytes),
    }
}

/// The part that is read. Its checksum is over kubelet's memory, and only kubelet can compute it.
#[derive(Deserialize)]
struct Checkpoint<'a> {
    #[serde(rename = "Data", borrow)]
    data: Data<'a>,
}

#[derive(Deserialize)]
struct Data<'a> {
    /// `null` until kubelet gives a device.
    #[serde(rename = "PodDeviceEntries", borrow)]
    entries: Option<Vec<Entry<'a>>>,
}

#[derive(Deserialize)]
struct Entry<'a> {
    #[serde(rename = "PodUID", borrow)]
    pod_uid: Cow<'a, str>,
    #[serde(rename = "ResourceName", borrow)]
    resource: Cow<'a, str>,
    #[serde(rename = "DeviceIDs")]
    device_ids: Option<DeviceIds>,
}

/// By NUMA node since Kubernetes 1.20, a list before.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "DeviceIDs: expected a list of ids, or such a list for each NUMA node"
)]
enum DeviceIds {
    List(Vec<String>),
    /// kubelet writes the nodes as strings, sorted.
    PerNode(BTreeMap<String, Option<Vec<String>>>),
}

impl DeviceIds {
    fn all(self) -> Vec<String> {
        match self {
            Self::List(ids) => ids,
            Self::PerNode(nodes) => nodes.into_values().flatten().flatten().collect(),
        }
    }
}
