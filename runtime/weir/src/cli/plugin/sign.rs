//! `weir plugin sign`: signs a component, or an artifact in a registry, with a key.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::Args;
use serde::Serialize;
use weir_distribution::{Reference, Version};
use weir_sandbox::{Sandbox, digest};
use weir_signature::{SigningKey, Subject};

use super::arrival::signature_beside;
use super::artifact::check;
use super::registry::RegistryArguments;
use super::staged::{settle, stage};
use super::target::Target;
use crate::cli::component::{inspect, read};
use crate::cli::output::{Answer, Format, say, show};

#[derive(Args)]
pub struct Arguments {
    /// A component's file, or an artifact by its digest: REGISTRY/NAME@sha256:…. The signature of an artifact is pushed to its
    /// registry.
    target: PathBuf,
    /// The private key: PKCS#8 as PEM, without a password, that only you can read (ECDSA P-256 or P-384, or Ed25519).
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    /// Where to write a file's signature [default: FILE.sigstore.json].
    #[arg(long, value_name = "FILE")]
    bundle: Option<PathBuf>,
    /// Replace a signature of that name.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Signed {
    component: String,
    /// The artifact's digest.
    #[serde(skip_serializing_if = "Option::is_none")]
    artifact: Option<String>,
    /// Where the signature is: a file, or the digest of its manifest in the registry.
    signature: String,
    /// What verifies it, as PEM.
    public_key: String,
}

pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let key = SigningKey::read(&arguments.key)?;
    let signed = match Target::of(&arguments.target)? {
        Target::File(file) => sign_file(sandbox, arguments, file, &key)?,
        Target::Artifact(reference) => {
            if arguments.bundle.is_some() {
                bail!(
                    "`--bundle` is for a file: an artifact's signature is pushed to its registry"
                );
            }
            require_digest(&reference)?;
            let context = || format!("sign `{reference}`");
            let registry = arguments.registry.open(&reference)?;
            let artifact = registry.pull().with_context(context)?;
            check(sandbox, &artifact).with_context(context)?;
            let name = reference.name();
            // Whoever has the artifact or only the component can verify it.
            let manifest = Subject::new(name, artifact.description.manifest_bytes());
            let component = Subject::new(name, &artifact.component);
            let bundle = key.sign(&[manifest, component])?;
            let attached = registry.attach(&artifact.description, &bundle);
            Signed {
                component: digest(&artifact.component).to_string(),
                artifact: Some(artifact.digest().to_string()),
                signature: attached.with_context(context)?.to_string(),
                public_key: key.public()?.to_pem(),
            }
        }
    };
    arguments.format.print(&signed, |signed| {
        let shown = arguments.target.display();
        say!("signed {shown}, component {}", signed.component);
        say!("{:<11} {}", "signature", signed.signature);
    })?;
    Ok(Answer::Yes)
}

/// Errors: a tag, which the registry, and whoever else may push to it, can move to another artifact.
fn require_digest(reference: &Reference) -> Result<()> {
    if let Version::Tag(_) = reference.version() {
        let (registry, repository) = (reference.registry(), reference.repository());
        bail!(
            "sign `{reference}`: a tag can be moved, so that the registry would choose what you sign; give the artifact's digest, which \
             `weir plugin push` printed: `{registry}/{repository}@sha256:…`"
        );
    }
    Ok(())
}

fn sign_file(
    sandbox: &Sandbox,
    arguments: &Arguments,
    file: &Path,
    key: &SigningKey,
) -> Result<Signed> {
    let component = read(file)?;
    let inspection = inspect(sandbox, file, &component)?;
    let shown = file.display();
    let checked = inspection.check();
    checked.map_err(|e| show(e.with_prefix(format_args!("`{shown}`"))))?;
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let bundle = key.sign(&[Subject::new(&name, &component)])?;
    let to = (arguments.bundle.clone()).unwrap_or_else(|| signature_beside(file));
    if fs::symlink_metadata(&to).is_ok() && !arguments.replace {
        bail!(
            "`{}` exists: give --replace, or the name of another file with --bundle",
            to.display()
        );
    }
    settle(stage(&to, &bundle)?, &to, arguments.replace)?;
    Ok(Signed {
        component: inspection.digest.to_string(),
        artifact: None,
        signature: to.display().to_string(),
        public_key: key.public()?.to_pem(),
    })
}
