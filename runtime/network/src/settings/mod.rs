//! weir's own configuration, `/etc/weir/weir.json`: what only the node's owner may decide. It is read when needed.

mod interface;
mod pod_networks;

use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use weir_cni::Error;
use weir_files::Paths;
use weir_files::file_trust::{self, Untrusted};
use weir_gate::AuditSettings;
use weir_grant::HostInterfaces;
use weir_grant::diagnostic::{Diagnostic, Position};
use weir_grant::native::NativePlugin;
use weir_grant::reading::{self, MOST_BYTES};
use weir_sandbox::Invalid;

pub use interface::Template;
pub use pod_networks::{Interface, PodNetwork};

use super::codes;
use super::trust::unread;

/// The configuration. Unknown keys are errors; each key may be left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Settings {
    /// Native plugins that may run, outside the sandbox.
    pub native_plugins: Vec<NativePlugin>,
    /// Named networks for callers outside Kubernetes.
    #[serde(deserialize_with = "pod_networks::read")]
    pub pod_networks: Vec<PodNetwork>,
    /// The interfaces of the host that networks may use. An invocation reads this where its grant refers to it.
    pub host_interfaces: HostInterfaces,
    /// What else is done with the audit log. The log itself reads this.
    pub audit: AuditSettings,
}

impl Settings {
    /// Returns the configuration of a node; a missing file is an empty one.
    ///
    /// Errors: `codes::SETTINGS`, with file, line and column of all mistakes.
    pub fn load(paths: &Paths) -> Result<Self, Error> {
        let path = paths.configuration();
        let file = match file_trust::open(&path, paths.root()) {
            Err(error) if error.is_missing() => return Ok(Self::default()),
            file => file.map_err(|e| unusable(&path, &e))?,
        };
        let mut bytes = Vec::new();
        // One byte more than it may have.
        file.take(MOST_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| unreadable(&path, &e))?;
        read(&bytes).map_err(|mistakes| not_valid(&Invalid { path, mistakes }))
    }
}

/// Reads JSON, and reports mistakes with their positions.
fn read(bytes: &[u8]) -> Result<Settings, Vec<Diagnostic>> {
    if bytes.len() <= MOST_BYTES && !bytes.trim_ascii().is_empty() {
        serde_json::from_slice::<IgnoredAny>(bytes).map_err(|e| vec![invalid_json(&e)])?;
    }
    // The reader that knows positions reads YAML, of which JSON is a part if it is not indented with tabs.
    // Valid JSON has tabs only between values.
    let mut spaced = bytes.to_vec();
    spaced
        .iter_mut()
        .filter(|byte| **byte == b'\t')
        .for_each(|tab| *tab = b' ');
    reading::read(
        &spaced,
        "a mapping, with `nativePlugins`, `podNetworks`, `hostInterfaces` or `audit`",
    )
}

fn invalid_json(error: &serde_json::Error) -> Diagnostic {
    let position = Position {
        line: error.line() as u64,
        column: error.column() as u64,
    };
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    Diagnostic::at(position, format!("not valid JSON: {message}"))
}

/// The first mistake is the message; the others are the details.
fn not_valid(invalid: &Invalid) -> Error {
    let lines = invalid.to_string();
    let (first, others) = lines.split_once('\n').unwrap_or((&lines, ""));
    Error::new(
        codes::SETTINGS,
        format!("weir's configuration is not valid: {first}"),
    )
    .with_details(others)
}

/// The configuration decides which programs run outside the sandbox.
fn unusable(path: &Path, error: &Untrusted) -> Error {
    match error {
        Untrusted::Unreadable(error) => unreadable(path, error),
        exposed => unread("weir's configuration", exposed, codes::SETTINGS),
    }
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::new(
        codes::SETTINGS,
        format!(
            "weir's configuration cannot be read: `{}`: {error}",
            path.display()
        ),
    )
}

#[cfg(test)]
mod tests;
