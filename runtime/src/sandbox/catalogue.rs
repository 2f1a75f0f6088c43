//! The plugins of this node: those inside the binary, and those installed below
//! `/var/lib/weir/plugins`.

use std::fs;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use weir_cni::Error;

use super::{builtin, codes, compiler};
use crate::grant::document::Digest;
use crate::paths::Paths;

/// A plugin that can be run.
#[derive(Clone)]
pub struct Plugin {
    pub name: String,
    /// Of the component, before compilation.
    pub digest: Digest,
    pub source: Source,
}

/// Where a plugin's code is.
#[derive(Clone)]
pub enum Source {
    BuiltIn(&'static builtin::BuiltIn),
    Installed(Installed),
}

/// An installed plugin: a directory with `component.wasm`, `code.cwasm` and `manifest.json`.
#[derive(Clone)]
pub struct Installed {
    directory: PathBuf,
    manifest: Manifest,
}

/// What was installed, so that damage is noticed before code runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Manifest {
    name: String,
    /// Of `component.wasm`.
    digest: Digest,
    /// Of `code.cwasm`.
    code_digest: Digest,
    /// The weir that compiled it.
    compiled_by: String,
}

const COMPONENT: &str = "component.wasm";
const CODE: &str = "code.cwasm";
const MANIFEST: &str = "manifest.json";

/// The plugins of this node.
#[derive(Clone, Debug)]
pub struct Catalogue {
    paths: Paths,
}

impl Catalogue {
    /// The plugins inside the binary and those installed at these paths.
    pub fn new(paths: &Paths) -> Self {
        Self {
            paths: paths.clone(),
        }
    }

    /// The plugin of that name. An installed one does not replace one of the binary's own.
    ///
    /// Errors: `codes::NO_PLUGIN`, for one that is missing or damaged.
    pub fn find(&self, name: &str) -> Result<Plugin, Error> {
        weir_cni::validate_plugin_type(name)?;
        if let Some(plugin) = builtin::find(name) {
            return Ok(Plugin::built_in(plugin));
        }
        let directory = self.paths.plugins().join(name);
        match fs::read(directory.join(MANIFEST)) {
            Ok(manifest) => Plugin::installed(name, directory, &manifest),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.missing(name)),
            Err(error) => Err(damaged(name, &format!("{MANIFEST}: {error}"))),
        }
    }

    /// All plugins by name; an installed one that is damaged is an error in its place.
    pub fn list(&self) -> Result<Vec<Result<Plugin, Error>>, io::Error> {
        let built_in = builtin::all().iter().map(|p| Ok(Plugin::built_in(p)));
        let installed = self
            .installed_names()?
            .into_iter()
            .map(|name| self.find(&name));
        Ok(built_in.chain(installed).collect())
    }

    fn installed_names(&self) -> Result<Vec<String>, io::Error> {
        let entries = match fs::read_dir(self.paths.plugins()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut names = Vec::new();
        for entry in entries {
            let name = entry?.file_name().to_string_lossy().into_owned();
            if !name.starts_with('.') {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Compiles a component and installs it under `name`, atomically, in place of one that was
    /// there. Returns its digest.
    ///
    /// Errors: `codes::NO_PLUGIN` for what is no component; code 5 when it cannot be written.
    pub fn install(&self, name: &str, component: &[u8]) -> Result<Digest, Error> {
        weir_cni::validate_plugin_type(name)?;
        if builtin::find(name).is_some() {
            return Err(Error::new(
                codes::NO_PLUGIN,
                format!("plugin `{name}` is built into weir: install yours under another name"),
            ));
        }
        let code = compiler::compile(component).map_err(|e| {
            let what = format!("plugin `{name}` does not compile");
            Error::new(codes::NO_PLUGIN, what).with_details(e.to_string())
        })?;
        let manifest = Manifest {
            name: name.to_owned(),
            digest: digest(component),
            code_digest: digest(&code),
            compiled_by: env!("CARGO_PKG_VERSION").to_owned(),
        };
        self.write(&manifest, component, &code)
            .map_err(|e| Error::io_failure(format!("install plugin `{name}`: {e}")))?;
        Ok(manifest.digest)
    }

    /// Removes an installed plugin. Errors: `codes::NO_PLUGIN`; code 5.
    pub fn remove(&self, name: &str) -> Result<(), Error> {
        weir_cni::validate_plugin_type(name)?;
        let directory = self.paths.plugins().join(name);
        match fs::remove_dir_all(&directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(self.missing(name)),
            removed => removed.map_err(|e| Error::io_failure(format!("remove `{name}`: {e}"))),
        }
    }

    fn write(&self, manifest: &Manifest, component: &[u8], code: &[u8]) -> io::Result<()> {
        let plugins = self.paths.plugins();
        let new = plugins.join(format!(".{}.{}", manifest.name, std::process::id()));
        let old = plugins.join(format!(".{}.{}.old", manifest.name, std::process::id()));
        let place = plugins.join(&manifest.name);
        fs::create_dir_all(&new)?;
        let written = fs::write(new.join(COMPONENT), component)
            .and_then(|()| fs::write(new.join(CODE), code))
            .and_then(|()| fs::write(new.join(MANIFEST), serde_json::to_vec_pretty(manifest)?))
            .and_then(|()| match fs::rename(&place, &old) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => fs::rename(&new, &place),
            });
        for leftover in [new, old] {
            let _ = fs::remove_dir_all(leftover);
        }
        written
    }

    fn missing(&self, name: &str) -> Error {
        Error::new(codes::NO_PLUGIN, format!("there is no plugin `{name}`")).with_details(format!(
            "built in: {}; installed plugins are in `{}`; install one with `weir plugin add FILE`",
            builtin::all()
                .iter()
                .map(|p| p.name)
                .collect::<Vec<_>>()
                .join(", "),
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
        }
    }

    fn installed(name: &str, directory: PathBuf, manifest: &[u8]) -> Result<Self, Error> {
        let manifest: Manifest = serde_json::from_slice(manifest)
            .map_err(|e| damaged(name, &format!("{MANIFEST}: {e}")))?;
        if manifest.name != name {
            return Err(damaged(
                name,
                &format!("it was installed as `{}`", manifest.name),
            ));
        }
        Ok(Self {
            name: name.to_owned(),
            digest: manifest.digest.clone(),
            source: Source::Installed(Installed {
                directory,
                manifest,
            }),
        })
    }

    /// Whether it is inside the binary.
    pub fn is_built_in(&self) -> bool {
        matches!(self.source, Source::BuiltIn(_))
    }

    /// The component, as its author built it. Errors: `codes::NO_PLUGIN` when it is damaged.
    pub fn component(&self) -> Result<Vec<u8>, Error> {
        match &self.source {
            Source::BuiltIn(plugin) => Ok(plugin.component.to_vec()),
            Source::Installed(installed) => installed.read(COMPONENT, &installed.manifest.digest),
        }
    }
}

impl Installed {
    /// The ahead-of-time code. Errors: `codes::NO_PLUGIN` when the component or its code is
    /// missing, or is not what was installed.
    pub fn code(&self) -> Result<Vec<u8>, Error> {
        self.read(COMPONENT, &self.manifest.digest)?;
        self.read(CODE, &self.manifest.code_digest)
    }

    /// The weir that compiled the code.
    pub fn compiled_by(&self) -> &str {
        &self.manifest.compiled_by
    }

    fn read(&self, file: &str, expected: &Digest) -> Result<Vec<u8>, Error> {
        let name = &self.manifest.name;
        let bytes = fs::read(self.directory.join(file))
            .map_err(|e| damaged(name, &format!("{file}: {e}")))?;
        let found = digest(&bytes);
        if found != *expected {
            return Err(damaged(
                name,
                &format!("{file} is {found}, but {expected} was installed"),
            ));
        }
        Ok(bytes)
    }
}

fn damaged(name: &str, why: &str) -> Error {
    Error::new(
        codes::NO_PLUGIN,
        format!("plugin `{name}` is damaged: {why}"),
    )
    .with_details("install it again with `weir plugin add FILE`")
}

/// SHA-256 of some bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}
