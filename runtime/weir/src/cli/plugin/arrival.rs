//! What arrives with a component, signatures and the artifact that it was, and whether the node's policy lets it in.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, ensure};
use nix::libc::O_NONBLOCK;
use serde::{Deserialize, Serialize};
use weir_distribution::{Artifact, Manifest, Reference, Registry, Signatures, Version};
use weir_files::Paths;
use weir_grant::document::Digest;
use weir_sandbox::{Provenance, Trusted, digest, is_component, survey_grants};
use weir_signature::{Admitted, Candidate, MOST_BUNDLE, Policy};

/// The largest file about an artifact, in bytes: a manifest of 4 MiB as text in JSON.
const MOST_ORIGIN: u64 = 16 << 20;

/// The signature beside a component: `labels.wasm.sigstore.json`, as other tools name it.
pub fn signature_beside(component: &Path) -> PathBuf {
    with_suffix(component, ".sigstore.json")
}

/// The artifact that a component was, beside it.
pub fn origin_beside(component: &Path) -> PathBuf {
    with_suffix(component, ".origin.json")
}

fn with_suffix(component: &Path, suffix: &str) -> PathBuf {
    let mut name = component.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// The artifact that a component was: what a signature of an artifact names is its manifest.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Origin {
    /// By which it was pulled, with its digest. None if it is from a layout.
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<String>,
    /// As it is stored.
    manifest: String,
}

impl Origin {
    pub fn of(artifact: &Artifact, reference: Option<&Reference>) -> Result<Self> {
        let version = Version::Digest(artifact.digest());
        let manifest = artifact.description.manifest_bytes();
        Ok(Self {
            reference: reference.map(|reference| reference.at(version).to_string()),
            manifest: str::from_utf8(manifest)?.to_owned(),
        })
    }

    /// The artifact, as the list of plugins shows it.
    fn shown(&self) -> String {
        let reference = self.reference.clone();
        reference.unwrap_or_else(|| digest(self.manifest.as_bytes()).to_string())
    }
}

/// What arrives with a component.
#[derive(Clone, Default)]
pub struct Arrival {
    pub origin: Option<Origin>,
    pub signatures: Signatures,
    /// Digests that whoever runs weir named, and where.
    pub pinned: Vec<(Digest, String)>,
    /// The only component that is wanted.
    pub wanted: Option<Digest>,
}

impl Arrival {
    /// What is beside a file. `bundles` are the signatures to read, in place of that beside it.
    pub fn beside(file: &Path, bundles: &[PathBuf], component: &[u8]) -> Result<Self> {
        let beside = origin_beside(file);
        let origin = match read(&beside, MOST_ORIGIN)? {
            Some(bytes) => Some(read_origin(&beside, &bytes, component)?),
            None => None,
        };
        Ok(Self {
            origin,
            signatures: signatures(file, bundles)?.into(),
            ..Self::default()
        })
    }

    /// Takes a digest that was named: no other component is wanted. It lets this one in if whoever named it, `by`, may install
    /// plugins.
    pub fn pin(&mut self, digest: Option<&Digest>, by: Option<&str>) {
        let pin = digest.cloned().zip(by.map(str::to_owned));
        self.pinned.extend(pin);
        self.wanted = digest.cloned();
    }

    /// What came with an artifact of a registry. Its signatures are downloaded, and not verified.
    pub fn pulled(registry: &Registry, artifact: &Artifact, reference: &Reference) -> Result<Self> {
        let mut arrival = Self {
            signatures: registry.signatures(&artifact.digest())?,
            ..Self::of(artifact, Some(reference))?
        };
        if let Version::Digest(_) = reference.version() {
            let component = &artifact.description.manifest.component().digest;
            let by = "the digest in its name".to_owned();
            arrival.pinned.push((component.clone(), by));
        }
        Ok(arrival)
    }

    /// What came with an artifact that brings its signatures along.
    pub fn of(artifact: &Artifact, reference: Option<&Reference>) -> Result<Self> {
        Ok(Self {
            origin: Some(Origin::of(artifact, reference)?),
            signatures: artifact.signatures.clone(),
            ..Self::default()
        })
    }

    /// Whether anything came that may be a signature of it.
    pub fn is_signed(&self) -> bool {
        let Signatures { bundles, unusable } = &self.signatures;
        !bundles.is_empty() || unusable.is_some()
    }

    /// The signature for which a component was let in.
    pub fn signature(&self, admitted: &Admitted) -> Option<&[u8]> {
        match admitted {
            Admitted::Signed { bundle, .. } => {
                self.signatures.bundles.get(*bundle).map(Vec::as_slice)
            }
            _ => None,
        }
    }

    /// Checks before anything of a component is compiled, and runs, that it is the one that is wanted, and that the policy lets it be
    /// the plugin of this name, or of any if its name is not known yet. What is not a component is left to the inspection, which
    /// says what it is.
    pub fn check_first(
        &self,
        policy: &Policy,
        paths: &Paths,
        name: Option<&str>,
        component: &[u8],
    ) -> Result<()> {
        if let Some(wanted) = &self.wanted {
            let is = digest(component);
            ensure!(is == *wanted, "it is component {is}, not {wanted}");
        }
        if is_component(component) {
            self.admit_by(policy, paths, name, component)?;
        }
        Ok(())
    }

    /// Decides whether the node's policy lets a component be the plugin of this name, or of any if its name is not known yet.
    pub fn admit(&self, paths: &Paths, name: Option<&str>, component: &[u8]) -> Result<Admitted> {
        let policy = Policy::load(paths)?;
        self.admit_by(&policy, paths, name, component)
    }

    /// The same with a policy that is not the node's.
    pub fn admit_by(
        &self,
        policy: &Policy,
        paths: &Paths,
        name: Option<&str>,
        component: &[u8],
    ) -> Result<Admitted> {
        let mut pinned = self.pinned.clone();
        pinned.extend(granted(paths, name));
        let manifest = self.origin.as_ref().map(|o| o.manifest.as_bytes());
        let admitted = policy.admit(&Candidate {
            name,
            component,
            manifest,
            bundles: &self.signatures.bundles,
            pinned: &pinned,
        });
        match (admitted, &self.signatures.unusable) {
            (Err(error), Some(unusable)) => Err(anyhow!("{error}; {unusable}")),
            (admitted, _) => Ok(admitted?),
        }
    }

    /// What is recorded of an admitted component.
    pub fn provenance(&self, admitted: Admitted, version: Option<String>) -> Provenance {
        Provenance {
            version,
            origin: self.origin.as_ref().map(Origin::shown),
            uri: None,
            listed: false,
            trusted: trusted(admitted),
        }
    }
}

/// Why a component is let in, as it is recorded and shown.
pub fn trusted(admitted: Admitted) -> Trusted {
    match admitted {
        Admitted::Unsigned => Trusted::Unsigned,
        Admitted::Pinned { by } => Trusted::Pinned { by },
        Admitted::Signed {
            signer,
            identity,
            proof,
            ..
        } => Trusted::Signed {
            signer,
            identity,
            proof: Some(proof),
        },
    }
}

/// The signatures in files; without any, that beside the component.
pub fn signatures(component: &Path, files: &[PathBuf]) -> Result<Vec<Vec<u8>>> {
    if files.is_empty() {
        let beside = read(&signature_beside(component), MOST_BUNDLE as u64)?;
        return Ok(beside.into_iter().collect());
    }
    let read = |file: &PathBuf| {
        let bytes = read(file, MOST_BUNDLE as u64)?;
        bytes.with_context(|| format!("`{}` does not exist", file.display()))
    };
    files.iter().map(read).collect()
}

/// The components that an administrator's grant names as this plugin, or as any. Other commands report a grant that cannot be read.
fn granted(paths: &Paths, name: Option<&str>) -> Vec<(Digest, String)> {
    let grants = survey_grants(paths).into_iter().flatten().flatten();
    let named = grants.filter_map(|loaded| {
        let plugin = &loaded.document.spec.plugin;
        let is_named = name.is_none_or(|name| plugin.name == name);
        let digest = plugin.digest.clone().filter(|_| is_named)?;
        Some((digest, format!("the grant `{}`", loaded.origin)))
    });
    named.collect()
}

fn read_origin(file: &Path, bytes: &[u8], component: &[u8]) -> Result<Origin> {
    let wrong = |why: String| anyhow!("`{}`: {why}", file.display());
    let origin: Origin = serde_json::from_slice(bytes).map_err(|e| wrong(e.to_string()))?;
    let manifest = origin.manifest.as_bytes();
    let named = Manifest::parse(manifest).map_err(|e| wrong(e.to_string()))?;
    let (named, found) = (&named.component().digest, digest(component));
    ensure!(
        *named == found,
        wrong(format!(
            "it is of component {named}, not of {found}: remove it, or pull the artifact again"
        ))
    );
    if let Some(reference) = &origin.reference {
        let own = format!("@{}", digest(manifest));
        ensure!(
            reference.ends_with(&own),
            wrong(format!(
                "`{reference}` does not have the digest of its manifest"
            ))
        );
    }
    Ok(origin)
}

/// Reads a file; none if it does not exist. Errors: also if it is larger than `most`, in bytes.
fn read(path: &Path, most: u64) -> Result<Option<Vec<u8>>> {
    let context = || format!("read `{}`", path.display());
    // Not even a pipe makes weir wait.
    let opened = File::options()
        .read(true)
        .custom_flags(O_NONBLOCK)
        .open(path);
    let file = match opened {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        file => file.with_context(context)?,
    };
    ensure!(
        file.metadata().with_context(context)?.is_file(),
        "`{}` is not a regular file",
        path.display()
    );
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .with_context(context)?;
    ensure!(
        bytes.len() as u64 <= most,
        "`{}` is larger than {most} bytes",
        path.display()
    );
    Ok(Some(bytes))
}
