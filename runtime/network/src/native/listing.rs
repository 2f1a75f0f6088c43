//! The native plugins that are listed, and the errors for those that are not.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::json;
use weir_cni::Error;
use weir_files::Paths;
use weir_grant::document::Digest;
use weir_grant::native::{NativeLimits, NativePlugin};

use super::binary::Binary;
use crate::codes;
use crate::settings::Settings;

/// `nativePlugins` of weir's own configuration.
pub(super) struct Listing {
    entries: Vec<NativePlugin>,
    file: PathBuf,
}

impl Listing {
    /// Reads it. Errors: `codes::SETTINGS`.
    pub(super) fn load(paths: &Paths) -> Result<Self, Error> {
        Ok(Self {
            entries: Settings::load(paths)?.native_plugins,
            file: paths.configuration(),
        })
    }

    /// The entries, in their order.
    pub(super) fn entries(&self) -> &[NativePlugin] {
        &self.entries
    }

    /// The directories to search for a plugin: those of its entries, then the runtime's.
    pub(super) fn bin_dirs(&self, paths: &Paths, plugin: &str, others: &[PathBuf]) -> Vec<PathBuf> {
        let own = self.named(plugin).filter_map(|entry| {
            let directory = PathBuf::from(entry.bin_dir.clone()?);
            Some(paths.resolve(&directory))
        });
        let mut directories: Vec<PathBuf> = Vec::new();
        for directory in own.chain(others.iter().cloned()) {
            if !directories.contains(&directory) {
                directories.push(directory);
            }
        }
        directories
    }

    /// The time that a call has.
    pub(super) fn time(&self, plugin: &str, digest: &Digest, network: &str) -> Duration {
        let mut entries = self.named(plugin);
        let own = entries.find(|e| e.digest == *digest && e.covers_network(network));
        own.map_or_else(|| NativeLimits::default().time, |entry| entry.limits.time)
    }

    /// The error for a program that is not listed, with what to list.
    pub(super) fn refusal(&self, plugin: &str, binary: &Binary, network: &str) -> Error {
        let digest = binary.program.digest();
        let file = self.file.display();
        let path = binary.path.display();
        let listed: Vec<&NativePlugin> = self.named(plugin).collect();
        if listed.is_empty() {
            let what = format!("native plugin `{plugin}` ({digest}) is not listed");
            return Error::new(codes::NOT_LISTED, what).with_details(format!(
                "it would run outside the sandbox; review `{path}`, then {}",
                self.addition(plugin, digest, network)
            ));
        }
        let here: Vec<&&NativePlugin> = listed.iter().filter(|e| e.digest == *digest).collect();
        if here.is_empty() {
            let digests: Vec<String> = listed.iter().map(|e| e.digest.to_string()).collect();
            let what = format!(
                "native plugin `{plugin}` is {digest}, but {} is listed",
                digests.join(", ")
            );
            return Error::new(codes::OTHER_DIGEST, what).with_details(format!(
                "find out who changed `{path}`; to let it run, change its `digest` in `{file}`, or {}",
                self.addition(plugin, digest, network)
            ));
        }
        let networks = here.iter().flat_map(|entry| &entry.networks);
        let networks: Vec<String> = networks.map(|network| format!("`{network}`")).collect();
        let networks = if networks.is_empty() {
            "none".to_owned()
        } else {
            networks.join(", ")
        };
        let what = format!("native plugin `{plugin}` is not listed for the network `{network}`");
        Error::new(codes::OTHER_NETWORK, what).with_details(format!(
            "its networks are {networks}; to let it run, add `{network}` to its `networks` in `{file}`"
        ))
    }

    fn named(&self, plugin: &str) -> impl Iterator<Item = &NativePlugin> {
        let plugin = plugin.to_owned();
        self.entries.iter().filter(move |e| e.name == plugin)
    }

    /// An entry to paste, or the whole file if there is none.
    fn addition(&self, plugin: &str, digest: &Digest, network: &str) -> String {
        let file = self.file.display();
        let entry = json!({ "name": plugin, "digest": digest, "networks": [network] });
        if self.file.exists() {
            format!("add to `nativePlugins` in `{file}`: {entry}")
        } else {
            format!("write to `{file}`: {}", json!({ "nativePlugins": [entry] }))
        }
    }
}
