//! An installed plugin: its files, and the checks that they are unchanged and that only weir could have written them.

use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use nix::fcntl::{OFlag, openat};
use nix::sys::stat::Mode;
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use sha2::{Digest as _, Sha256};
use weir_cni::Error;
use weir_files::Paths;
use weir_files::file_trust::{self, Exposed, Owner, Untrusted};
use weir_grant::document::Digest;

use super::codes;
use super::seal::Key;

/// An installed plugin: a directory with `component.wasm`, `code.cwasm` and `manifest.json`. The files are open, and stay those
/// of one installation.
#[derive(Clone)]
pub struct Installed {
    manifest: Manifest,
    component: Arc<File>,
    code: Arc<File>,
    paths: Paths,
}

/// What was installed, so that damage is noticed before code runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct Manifest {
    pub name: String,
    /// Of `component.wasm`.
    pub digest: Digest,
    /// Proves that `code.cwasm` was compiled from this component on this node.
    pub seal: String,
    /// The version of weir that compiled it.
    pub compiled_by: String,
    #[serde(default, skip_serializing_if = "Provenance::is_unknown")]
    pub provenance: Box<Provenance>,
}

/// Where an installed component is from, and why it was let in. Who installed it said so; a plugin cannot.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Provenance {
    /// The version that the plugin reported.
    pub version: Option<String>,
    /// The artifact that it was pulled as, by its digest.
    pub origin: Option<String>,
    /// The URI that it was fetched from, by which the node's networks name it.
    pub uri: Option<String>,
    /// Whether a list of plugins for all nodes of a cluster has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub listed: bool,
    pub trusted: Trusted,
}

/// Why a component was let in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Trusted {
    /// The policy lets plugins of its name be unsigned.
    #[default]
    Unsigned,
    /// Its digest is named there.
    Pinned { by: String },
    /// It is signed by a signer of the policy, with this identity if keyless.
    Signed {
        signer: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        identity: Option<String>,
        /// What the policy knew the signer by, such as `key sha256:…`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proof: Option<String>,
    },
}

impl Provenance {
    /// The digest of the artifact that it was pulled as.
    pub fn artifact(&self) -> Option<Digest> {
        let origin = self.origin.as_deref()?;
        let (_, digest) = origin.rsplit_once('@').unwrap_or(("", origin));
        digest.parse().ok()
    }
}

impl fmt::Display for Trusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned => f.write_str("unsigned"),
            Self::Pinned { by } => write!(f, "pinned by {by}"),
            Self::Signed {
                signer, identity, ..
            } => {
                write!(f, "signed by {signer}")?;
                match identity {
                    Some(identity) => write!(f, ", as {identity}"),
                    None => Ok(()),
                }
            }
        }
    }
}

impl Provenance {
    fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// The component, as its author built it.
pub(super) const COMPONENT: &str = "component.wasm";
/// Its ahead-of-time code.
pub(super) const CODE: &str = "code.cwasm";
/// A [`Manifest`], in JSON.
pub(super) const MANIFEST: &str = "manifest.json";

impl Installed {
    /// Opens the files in a plugin's directory, which was opened at `place` and may have been replaced there since. None without
    /// a manifest.
    ///
    /// Errors: `codes::NO_PLUGIN` if it is damaged, or others could have written it.
    pub(super) fn open(
        name: &str,
        paths: &Paths,
        place: &Path,
        directory: &File,
    ) -> Result<Option<Self>, Error> {
        let open = |file: &str| {
            let opened =
                open_in(directory, file).map_err(|e| damaged(name, &format!("{file}: {e}")))?;
            check_owner(name, &place.join(file), &opened)?;
            Ok::<_, Error>(opened)
        };
        check_owner(name, place, directory)?;
        let manifest = match open_in(directory, MANIFEST) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            manifest => manifest.map_err(|e| damaged(name, &format!("{MANIFEST}: {e}")))?,
        };
        check_owner(name, &place.join(MANIFEST), &manifest)?;
        let manifest = read(&manifest).map_err(|e| damaged(name, &format!("{MANIFEST}: {e}")))?;
        let manifest: Manifest = serde_json::from_slice(&manifest)
            .map_err(|e| damaged(name, &format!("{MANIFEST}: {e}")))?;
        if manifest.name != name {
            let why = format!("it was installed as `{}`", manifest.name);
            return Err(damaged(name, &why));
        }
        Ok(Some(Self {
            component: Arc::new(open(COMPONENT)?),
            code: Arc::new(open(CODE)?),
            paths: paths.clone(),
            manifest,
        }))
    }

    pub(super) fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// The ahead-of-time code. Errors: `codes::NO_PLUGIN` if the component or its code was changed since it was installed.
    pub fn code(&self) -> Result<Vec<u8>, Error> {
        self.check_component()?;
        let Manifest {
            name, digest, seal, ..
        } = &self.manifest;
        let code = read(&self.code).map_err(|e| damaged(name, &format!("{CODE}: {e}")))?;
        let key = Key::of_node(&self.paths)
            .map_err(|e| damaged(name, &format!("its seal cannot be checked: {e}")))?;
        if key.is_on(seal, digest, &code) {
            Ok(code)
        } else {
            let why = format!("{CODE} is not what was compiled from {digest} on this node");
            Err(damaged(name, &why))
        }
    }

    /// The size of the ahead-of-time code in bytes. Errors: `codes::NO_PLUGIN`.
    pub(super) fn code_size(&self) -> Result<usize, Error> {
        let damaged = |e: io::Error| damaged(&self.manifest.name, &format!("{CODE}: {e}"));
        let length = self.code.metadata().map_err(damaged)?.len();
        Ok(usize::try_from(length).unwrap_or(usize::MAX))
    }

    /// The component. Errors: `codes::NO_PLUGIN` if it was changed since it was installed.
    pub(super) fn component(&self) -> Result<Vec<u8>, Error> {
        let unreadable = |e| damaged(&self.manifest.name, &format!("{COMPONENT}: {e}"));
        let bytes = read(&self.component).map_err(unreadable)?;
        self.check_digest(digest(&bytes))?;
        Ok(bytes)
    }

    /// The same check without keeping the component in memory, for an invocation.
    fn check_component(&self) -> Result<(), Error> {
        let unreadable = |e| damaged(&self.manifest.name, &format!("{COMPONENT}: {e}"));
        let found = digest_of(&self.component).map_err(unreadable)?;
        self.check_digest(found)
    }

    fn check_digest(&self, found: Digest) -> Result<(), Error> {
        let (plugin, expected) = (&self.manifest.name, &self.manifest.digest);
        if found == *expected {
            return Ok(());
        }
        let why = format!("{COMPONENT} is {found}, but {expected} was installed");
        Err(damaged(plugin, &why))
    }
}

fn open_in(directory: &File, name: &str) -> io::Result<File> {
    let file: OwnedFd = openat(
        directory,
        name,
        OFlag::O_RDONLY | OFlag::O_CLOEXEC,
        Mode::empty(),
    )?;
    Ok(file.into())
}

/// Reads a whole file without moving its shared offset.
fn read(file: &File) -> io::Result<Vec<u8>> {
    let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut bytes = vec![0; length];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

/// SHA-256 of a whole file, without moving its shared offset.
pub(super) fn digest_of(file: &File) -> io::Result<Digest> {
    let (mut hash, mut buffer) = (Sha256::new(), vec![0; 64 << 10]);
    let mut at = 0;
    loop {
        match file.read_at(&mut buffer, at)? {
            0 => return Ok(Digest::new(hash.finalize().into())),
            read => {
                hash.update(&buffer[..read]);
                at += read as u64;
            }
        }
    }
}

/// The error for a plugin that is not as it was installed.
pub(super) fn damaged(name: &str, why: &str) -> Error {
    Error::new(
        codes::NO_PLUGIN,
        format!("plugin `{name}` is damaged: {why}"),
    )
    .with_details(format!(
        "install it again with `weir plugin add --replace FILE`, or remove it with \
         `weir plugin remove {name}`"
    ))
}

/// Fails if someone other than weir's user and root can write a file, or could have: its content becomes native code of this
/// process.
fn check_owner(name: &str, path: &Path, file: &File) -> Result<(), Error> {
    let metadata = file
        .metadata()
        .map_err(|e| damaged(name, &format!("{}: {e}", path.display())))?;
    file_trust::check(&metadata, Owner::UserOrRoot)
        .map_err(|foreign| exposed(name, &Exposed::new(path, foreign)))
}

/// The error for a plugin that cannot be read, or that others could have written.
pub(super) fn untrusted(name: &str, error: &Untrusted) -> Error {
    match error {
        Untrusted::Unreadable(error) => damaged(name, &error.to_string()),
        Untrusted::Exposed(found) => exposed(name, found),
    }
}

fn exposed(name: &str, found: &Exposed) -> Error {
    Error::new(
        codes::NO_PLUGIN,
        format!("plugin `{name}` is not trusted: {found}"),
    )
    .with_details(format!(
        "{}, or install the plugin again with `weir plugin add --replace FILE`",
        found.remedy()
    ))
}

/// SHA-256 of some bytes.
pub fn digest(bytes: &[u8]) -> Digest {
    Digest::new(Sha256::digest(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_artifact_of_an_origin_is_its_digest() {
        let digest = format!("sha256:{}", "1".repeat(64));
        let artifact = |origin: &str| {
            let origin = Some(origin.to_owned());
            let provenance = Provenance {
                origin,
                ..Provenance::default()
            };
            provenance.artifact().map(|digest| digest.to_string())
        };
        // By a registry, and from a layout.
        let pulled = format!("registry.example.com/labels@{digest}");
        assert_eq!(artifact(&pulled), Some(digest.clone()));
        assert_eq!(artifact(&digest), Some(digest));
        assert_eq!(artifact("registry.example.com/labels:1"), None);
    }
}
