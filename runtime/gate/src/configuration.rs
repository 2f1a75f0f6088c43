//! Keys of weir's own configuration that an ADD needs. The others are not read, and a mistake in them does not matter.

use std::fmt::Display;
use std::io::Read as _;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use weir_files::{Paths, file_trust};
use weir_grant::HostInterfaces;
use weir_grant::reading::MOST_BYTES;

/// The key `hostInterfaces`.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Settings {
    host_interfaces: HostInterfaces,
}

/// Reads the interfaces of the host that networks may use; none if the configuration does not list any.
///
/// Errors: the configuration cannot be read, could have been written by someone other than root, or the key is not valid.
pub fn host_interfaces(paths: &Paths) -> Result<HostInterfaces, String> {
    let settings: Settings = read_part(paths)?;
    Ok(settings.host_interfaces)
}

/// Reads the keys that a type has; a missing file is an empty one. Errors: the file cannot be read, or one of these keys is
/// not valid.
pub(crate) fn read_part<T: Default + DeserializeOwned>(paths: &Paths) -> Result<T, String> {
    let path = paths.configuration();
    let failed = |why: &dyn Display| format!("`{}`: {why}", path.display());
    let file = match file_trust::open(&path, paths.root()) {
        Err(error) if error.is_missing() => return Ok(T::default()),
        file => file.map_err(|e| failed(&e))?,
    };
    let mut bytes = Vec::new();
    let read = file.take(MOST_BYTES as u64).read_to_end(&mut bytes);
    read.map_err(|e| failed(&e))?;
    if bytes.trim_ascii().is_empty() {
        return Ok(T::default());
    }
    serde_json::from_slice(&bytes).map_err(|e| failed(&e))
}
