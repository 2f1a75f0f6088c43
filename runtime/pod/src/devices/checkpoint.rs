//! kubelet's checkpoint of its device manager: JSON that kubelet replaces atomically, before the pod's network is set up.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use weir_files::file_trust::{self, Untrusted};

/// The most bytes: ten times as many as on a node with very many devices.
const MOST_BYTES: u64 = 16 << 20;

/// The resource and the id of each device of a pod, in the order of the file. Errors: why it cannot be used.
pub(super) fn read(
    file: &Path,
    root: &Path,
    pod_uid: &str,
) -> Result<Vec<(String, String)>, String> {
    let bytes = content(file, root)?;
    let checkpoint: Checkpoint<'_> =
        serde_json::from_slice(&bytes).map_err(|error| format!("has an unknown form: {error}"))?;
    let entries = checkpoint.data.entries.unwrap_or_default();
    let own = entries.into_iter().filter(|entry| entry.pod_uid == pod_uid);
    let devices = own.flat_map(|entry| {
        let ids = entry.device_ids.map(DeviceIds::all).unwrap_or_default();
        let resource = entry.resource.into_owned();
        ids.into_iter().map(move |id| (resource.clone(), id))
    });
    Ok(devices.collect())
}

fn content(file: &Path, root: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error: io::Error| format!("cannot be read: {error}");
    let file = file_trust::open(file, root).map_err(|untrusted| match untrusted {
        _ if untrusted.is_missing() => "does not exist".to_owned(),
        Untrusted::Unreadable(error) => unreadable(error),
        Untrusted::Exposed(exposed) => format!("is not trusted: {exposed}; {}", exposed.remedy()),
    })?;
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes);
    if read.map_err(unreadable)? as u64 > MOST_BYTES {
        return Err(format!("has more than {} MiB", MOST_BYTES >> 20));
    }
    Ok(bytes)
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
