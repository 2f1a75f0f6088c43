//! weir's own configuration, `/etc/weir/weir.json`: what the node's owner says, and no network
//! configuration can. It is read when something needs it.

mod interface;
mod pod_networks;

use std::io::{self, Read};
use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;
use weir_cni::Error;
use weir_files::Paths;
use weir_files::file_trust::{self, Untrusted};
use weir_grant::diagnostic::{Diagnostic, Position};
use weir_grant::native::NativePlugin;
use weir_grant::reading::{self, MOST_BYTES};
use weir_sandbox::Invalid;

pub(crate) use interface::NoneFree;
pub use interface::Template;
pub use pod_networks::{Interface, PodNetwork};

use super::codes;

/// The configuration. Unknown keys are errors; each key may be left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default, rename_all = "camelCase")]
pub struct Settings {
    /// Native plugins that may run, outside of the sandbox.
    pub native_plugins: Vec<NativePlugin>,
    /// Named networks for callers outside of Kubernetes.
    #[serde(deserialize_with = "pod_networks::read")]
    pub pod_networks: Vec<PodNetwork>,
}

impl Settings {
    /// The configuration of a node; one that is not there says nothing.
    ///
    /// Errors: `codes::SETTINGS`, with file, line and column of all that is wrong with it.
    pub fn load(paths: &Paths) -> Result<Self, Error> {
        let path = paths.configuration();
        let file = match file_trust::open(&path, paths.root()) {
            Err(error) if error.is_missing() => return Ok(Self::default()),
            file => file.map_err(|e| unusable(&path, &e))?,
        };
        let mut bytes = Vec::new();
        // One more than it may have, by which it is seen to be too large.
        file.take(MOST_BYTES as u64 + 1)
            .read_to_end(&mut bytes)
            .map_err(|e| unreadable(&path, &e))?;
        read(&bytes).map_err(|mistakes| not_valid(&Invalid { path, mistakes }))
    }
}

/// Reads JSON, and tells where its mistakes stand.
fn read(bytes: &[u8]) -> Result<Settings, Vec<Diagnostic>> {
    if bytes.len() <= MOST_BYTES && !bytes.trim_ascii().is_empty() {
        serde_json::from_slice::<IgnoredAny>(bytes).map_err(|e| vec![no_json(&e)])?;
    }
    // What knows the places reads YAML, which JSON is but for one thing: it is not to be indented with tabs.
    // In valid JSON they are between the values alone.
    let spaced: Vec<u8> = bytes
        .iter()
        .map(|byte| if *byte == b'\t' { b' ' } else { *byte })
        .collect();
    reading::read(&spaced, "a mapping, with `nativePlugins` or `podNetworks`")
}

fn no_json(error: &serde_json::Error) -> Diagnostic {
    let position = Position {
        line: error.line() as u64,
        column: error.column() as u64,
    };
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let message = message.strip_suffix(&place).unwrap_or(&message);
    Diagnostic::at(position, format!("this is no JSON: {message}"))
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

/// It says which programs run outside of the sandbox.
fn unusable(path: &Path, error: &Untrusted) -> Error {
    match error {
        Untrusted::Unreadable(error) => unreadable(path, error),
        Untrusted::Exposed(exposed) => Error::new(
            codes::SETTINGS,
            format!("weir's configuration is not trusted: {exposed}"),
        )
        .with_details(exposed.remedy()),
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
