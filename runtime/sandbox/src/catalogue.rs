//! The plugins of this node: built-in ones, and those installed below `/var/lib/weir/plugins`.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;

use weir_cni::Error;
use weir_files::{Paths, entries, file_trust, is_at};
use weir_grant::diagnostic::nearest;
use weir_grant::document::Digest;
use weir_grant::internal_grant;

use super::attached::Attached;
use super::compiler::Compiled;
use super::installed::{Installed, Manifest, Provenance, damaged, digest, untrusted};
use super::plugin_store::PluginStore;
use super::seal::Key;
use super::{builtin, codes};

#[derive(Clone)]
pub struct Plugin {
    pub name: String,
    /// The digest of the component, before compilation.
    pub digest: Digest,
    pub source: Source,
    /// Whether it was replaced, and is kept for its attachments.
    pub(super) is_kept_version: bool,
}

/// Where a plugin's code is.
#[derive(Clone)]
pub enum Source {
    BuiltIn(&'static builtin::BuiltIn),
    Installed(Installed),
}

/// A name, and its plugin.
pub struct Listed {
    pub name: String,
    /// Errors: the installed plugin is damaged.
    pub plugin: Result<Plugin, Error>,
    pub kept_versions: Vec<KeptVersion>,
}

/// A version of a plugin that was replaced since, and is kept for the attachments that it made.
pub struct KeptVersion {
    pub digest: Digest,
    pub attachments: usize,
    /// Errors: it is damaged.
    pub plugin: Result<Plugin, Error>,
}

#[derive(Clone, Debug)]
pub struct Catalogue {
    paths: Paths,
}

impl Catalogue {
    /// The built-in plugins, and those installed at these paths.
    pub fn new(paths: &Paths) -> Self {
        Self {
            paths: paths.clone(),
        }
    }

    /// Finds a plugin. An installed one does not replace a built-in one.
    ///
    /// Errors: `codes::NO_PLUGIN` if it is missing or damaged.
    pub fn find(&self, name: &str) -> Result<Plugin, Error> {
        weir_cni::validate_plugin_type(name)?;
        if let Some(plugin) = builtin::find(name) {
            return Ok(Plugin::built_in(plugin));
        }
        let plugins = self.paths.plugins();
        match file_trust::check_directory(&plugins, self.paths.root()) {
            Err(error) if !error.is_missing() => return Err(untrusted(name, &error)),
            _ => {}
        }
        let place = plugins.join(name);
        loop {
            let directory = match File::open(&place) {
                Err(error) if error.kind() == ErrorKind::NotFound => return Err(self.missing(name)),
                directory => directory.map_err(|e| damaged(name, &e.to_string()))?,
            };
            let found = Installed::open(name, &self.paths, &place, &directory);
            // It was replaced in the meantime, and its files are being removed.
            if !matches!(found, Ok(Some(_))) && !is_at(&directory, &place).unwrap_or(false) {
                continue;
            }
            let installed = found?.ok_or_else(|| no_manifest(name, &place))?;
            return Ok(Plugin::installed(installed));
        }
    }

    /// A version of a plugin that was replaced since, and is kept for the attachments that it made.
    ///
    /// Errors: `codes::NO_PLUGIN` if it is missing or damaged.
    pub(super) fn kept_version(&self, name: &str, digest: &Digest) -> Result<Plugin, Error> {
        let kept = self.open_kept_version(name, digest);
        kept.map_err(|error| of_kept_version(error, digest))
    }

    fn open_kept_version(&self, name: &str, digest: &Digest) -> Result<Plugin, Error> {
        let place = PluginStore::kept_version_directory(&self.paths.plugins(), name, digest);
        let directory = File::open(&place).map_err(|e| damaged(name, &e.to_string()))?;
        let installed = Installed::open(name, &self.paths, &place, &directory)?;
        let installed = installed.ok_or_else(|| no_manifest(name, &place))?;
        if installed.manifest().digest != *digest {
            return Err(damaged(
                name,
                &format!("`{}` is another version", place.display()),
            ));
        }
        Ok(Plugin {
            is_kept_version: true,
            ..Plugin::installed(installed)
        })
    }

    /// The name of the plugin that was fetched from a URI; none if none was. A plugin whose manifest cannot be read is not it.
    pub fn fetched_from(&self, uri: &str) -> Option<String> {
        let names = self.installed_names().unwrap_or_default();
        names.into_iter().find(|name| {
            let plugin = self.find(name).ok();
            let provenance = plugin.as_ref().and_then(Plugin::provenance);
            provenance.and_then(|p| p.uri.as_deref()) == Some(uri)
        })
    }

    pub fn is_built_in(name: &str) -> bool {
        builtin::find(name).is_some()
    }

    /// Whether a plugin is built in or installed.
    pub fn has(&self, name: &str) -> bool {
        Self::is_built_in(name) || self.is_installed(name)
    }

    /// Whether a plugin is installed, damaged or not.
    pub fn is_installed(&self, name: &str) -> bool {
        weir_cni::validate_plugin_type(name).is_ok() && self.paths.plugins().join(name).exists()
    }

    /// All plugins, the built-in ones first.
    pub fn list(&self) -> Result<Vec<Listed>, io::Error> {
        let built_in = builtin::all().iter().map(|plugin| Listed {
            name: plugin.name.to_owned(),
            plugin: Ok(Plugin::built_in(plugin)),
            kept_versions: Vec::new(),
        });
        let installed = self.installed_names()?.into_iter().map(|name| {
            Ok(Listed {
                plugin: self.find(&name),
                kept_versions: self.kept_versions(&name)?,
                name,
            })
        });
        built_in.map(Ok).chain(installed).collect()
    }

    /// Whether a replaced version is kept for attachments that it made. No if that cannot be read.
    pub fn keeps(&self, name: &str, component: &Digest) -> bool {
        let kept = PluginStore::kept_versions(&self.paths.plugins(), name);
        kept.is_ok_and(|kept| kept.contains(component))
    }

    /// How many attachments the present version of a plugin has made, and those that are kept.
    pub fn attachments(&self, name: &str) -> usize {
        let attached = Attached::of(&self.paths.plugins(), name);
        let versions = attached.versions();
        versions.iter().map(|digest| attached.count(digest)).sum()
    }

    fn kept_versions(&self, name: &str) -> Result<Vec<KeptVersion>, io::Error> {
        let plugins = self.paths.plugins();
        let attached = Attached::of(&plugins, name);
        let kept = PluginStore::kept_versions(&plugins, name)?.into_iter();
        let kept = kept.map(|digest| KeptVersion {
            attachments: attached.count(&digest),
            plugin: self.kept_version(name, &digest),
            digest,
        });
        Ok(kept.collect())
    }

    fn installed_names(&self) -> Result<Vec<String>, io::Error> {
        let paths = entries(&self.paths.plugins())?;
        let names = paths.iter().filter_map(|path| path.file_name());
        let names = names.map(|name| name.to_string_lossy().into_owned());
        Ok(names.filter(|name| !name.starts_with('.')).collect())
    }

    /// Compiles a component and installs it as `name`, atomically in place of an installed one. Returns its digest.
    ///
    /// Errors: `codes::NO_PLUGIN` if it is not a component; code 5 if it cannot be written.
    pub fn install(&self, name: &str, component: &[u8]) -> Result<Digest, Error> {
        Self::check_name(name)?;
        let compiled = Compiled::of(component).map_err(|e| {
            let what = format!("plugin `{name}` does not compile");
            Error::new(codes::NO_PLUGIN, what).with_details(e)
        })?;
        self.install_compiled(name, &compiled, &Provenance::default(), true)
    }

    /// As [`install`](Self::install), for a compiled component of which more is known. Errors: also `codes::NO_PLUGIN` if a plugin of
    /// that name is installed and `replace` is false.
    pub fn install_compiled(
        &self,
        name: &str,
        compiled: &Compiled,
        provenance: &Provenance,
        replace: bool,
    ) -> Result<Digest, Error> {
        let place = if replace {
            PluginStore::replace
        } else {
            PluginStore::take
        };
        Self::check_name(name)?;
        let (component, code) = (compiled.component(), compiled.code());
        let digest = digest(component);
        let written = PluginStore::open(&self.paths.plugins()).and_then(|plugin_store| {
            let key = Key::make(&self.paths)?;
            let manifest = Manifest {
                name: name.to_owned(),
                seal: key.seal(&digest, code),
                digest: digest.clone(),
                compiled_by: env!("CARGO_PKG_VERSION").to_owned(),
                provenance: Box::new(provenance.clone()),
            };
            plugin_store.write(&manifest, component, code)?;
            place(&plugin_store, name)
        });
        match written {
            Ok(()) => Ok(digest),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(taken(name)),
            Err(error) => Err(Error::io_failure(format!(
                "install plugin `{name}`: {error}"
            ))),
        }
    }

    /// Checks that a plugin can have this name. Errors: code 7; `codes::NO_PLUGIN` for weir's own name, or that of a built-in
    /// plugin.
    pub fn check_name(name: &str) -> Result<(), Error> {
        weir_cni::validate_plugin_name(name)?;
        let why = if name == internal_grant::NAME {
            "would have the name of weir itself: choose another name"
        } else if Self::is_built_in(name) {
            "is built into weir: install yours under another name"
        } else {
            return Ok(());
        };
        Err(Error::new(
            codes::NO_PLUGIN,
            format!("plugin `{name}` {why}"),
        ))
    }

    /// Removes an installed plugin atomically. Errors: `codes::NO_PLUGIN`; code 5.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        weir_cni::validate_plugin_type(name)?;
        if builtin::find(name).is_some() {
            return Err(built_in(name));
        }
        let plugins = self.paths.plugins();
        if !plugins.join(name).exists() {
            return Err(self.missing(name));
        }
        match PluginStore::open(&plugins).and_then(|plugin_store| plugin_store.remove(name)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Err(self.missing(name)),
            removed => removed.map_err(|e| Error::io_failure(format!("remove `{name}`: {e}"))),
        }
    }

    fn missing(&self, name: &str) -> Error {
        let own: Vec<&str> = builtin::all().iter().map(|p| p.name).collect();
        let installed = self.installed_names().unwrap_or_default();
        let all: Vec<&str> = (own.iter().copied())
            .chain(installed.iter().map(String::as_str))
            .collect();
        let meant = match nearest(name, &all) {
            Some(meant) => format!("did you mean `{meant}`? "),
            None => String::new(),
        };
        let own = match builtin::missing_plugins() {
            Some(missing) => missing.to_string(),
            None => format!("built in: {}", own.join(", ")),
        };
        Error::new(codes::NO_PLUGIN, format!("no such plugin: `{name}`")).with_details(format!(
            "{meant}{own}; installed plugins are in `{}`; install one with `weir plugin add FILE`",
            self.paths.plugins().display()
        ))
    }
}

impl Plugin {
    fn built_in(plugin: &'static builtin::BuiltIn) -> Self {
        Self {
            name: plugin.name.to_owned(),
            digest: plugin.digest.parse().expect("the build writes digests"),
            source: Source::BuiltIn(plugin),
            is_kept_version: false,
        }
    }

    fn installed(installed: Installed) -> Self {
        Self {
            name: installed.manifest().name.clone(),
            digest: installed.manifest().digest.clone(),
            source: Source::Installed(installed),
            is_kept_version: false,
        }
    }

    pub fn is_built_in(&self) -> bool {
        matches!(self.source, Source::BuiltIn(_))
    }

    /// Where it is from and why it was let in; none for a built-in one.
    pub fn provenance(&self) -> Option<&Provenance> {
        match &self.source {
            Source::BuiltIn(_) => None,
            Source::Installed(installed) => Some(&installed.manifest().provenance),
        }
    }

    /// How many bytes of the grant's memory its code takes. The first 16 MiB that loading takes do not count, nor does built-in
    /// code.
    ///
    /// Errors: `codes::NO_PLUGIN` if it cannot be read.
    pub(crate) fn memory_of_code(&self) -> Result<usize, Error> {
        const FREE: usize = 16 << 20;
        match &self.source {
            Source::BuiltIn(_) => Ok(0),
            // It is read, and then copied to executable memory.
            Source::Installed(installed) => {
                let loaded = installed.code_size()?.saturating_mul(2);
                Ok(loaded.saturating_sub(FREE))
            }
        }
    }

    /// The component, as its author built it. Errors: `codes::NO_PLUGIN` when it is damaged.
    pub fn component(&self) -> Result<Vec<u8>, Error> {
        match &self.source {
            Source::BuiltIn(plugin) => Ok(plugin.component.to_vec()),
            Source::Installed(installed) => installed.component(),
        }
    }

    /// Reads its ahead-of-time code. Errors: it is damaged.
    pub(crate) fn code(&self) -> Result<Vec<u8>, Error> {
        match &self.source {
            Source::BuiltIn(plugin) => Ok(plugin.code.0.to_vec()),
            Source::Installed(installed) => installed.code(),
        }
    }
}

/// An error about a kept version: the installed one is not to be touched for it.
pub(super) fn of_kept_version(error: Error, digest: &Digest) -> Error {
    error.with_details(format!(
        "it is component {digest}, which was replaced and is kept for its attachments: install that component again with `weir plugin \
         add --replace FILE`, and the present one when they are gone"
    ))
}

fn no_manifest(name: &str, place: &Path) -> Error {
    damaged(name, &format!("`{}` has no manifest.json", place.display()))
}

fn taken(name: &str) -> Error {
    let what = format!("plugin `{name}` is installed already");
    Error::new(codes::NO_PLUGIN, what).with_details("give --replace to replace it")
}

fn built_in(name: &str) -> Error {
    let what = format!("plugin `{name}` is built into weir and cannot be removed");
    Error::new(codes::NO_PLUGIN, what).with_details(format!(
        "to keep it from running, add a grant named `{name}` that covers no network: `weir grants show --yaml {name}` prints the \
         shipped one; give it `networks: []`"
    ))
}
