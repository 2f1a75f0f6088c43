//! `weir plugin verify`: whether a component or an artifact could be installed, and who signed it. Nothing is installed.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use clap::Args;
use serde::Serialize;
use weir_sandbox::{Sandbox, Trusted, digest};
use weir_signature::{By, Identity, Keyless, Policy, PublicKey, Signer};

use super::arrival::{Arrival, trusted};
use super::artifact::check;
use super::registry::RegistryArguments;
use super::target::Target;
use crate::cli::component::{inspect, name_of, read};
use crate::cli::output::{Answer, Format, say, show};

#[derive(Args)]
pub struct Arguments {
    /// A component's file, or an artifact: REGISTRY/NAME:TAG or REGISTRY/NAME@DIGEST.
    target: PathBuf,
    /// The plugin's name on this node [default: what it says itself].
    #[arg(long)]
    name: Option<String>,
    /// A signature of a file [default: FILE.sigstore.json]. Can be given several times.
    #[arg(long, value_name = "FILE")]
    bundle: Vec<PathBuf>,
    /// The public key that must have signed it, as PEM, in place of the node's policy.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["identity", "issuer"])]
    key: Option<PathBuf>,
    /// The identity that must have signed it (keyless), in place of the node's policy. A `*` at its end stands for anything
    /// without a slash.
    #[arg(long, requires_all = ["issuer", "trust_root"])]
    identity: Option<String>,
    /// Who vouches for the identity, such as `https://token.actions.githubusercontent.com`.
    #[arg(long, requires = "identity", value_name = "URL")]
    issuer: Option<String>,
    /// Whom to believe about identities and times: a trusted_root.json of sigstore. With --key, the signature must be in one of
    /// its logs.
    #[arg(long, value_name = "FILE")]
    trust_root: Option<PathBuf>,
    #[command(flatten)]
    registry: RegistryArguments,
    #[command(flatten)]
    format: Format,
}

#[derive(Serialize)]
struct Verified {
    name: String,
    component: String,
    /// Why it could be installed.
    trusted: Trusted,
}

pub fn run(sandbox: &Sandbox, arguments: &Arguments) -> Result<Answer> {
    let shown = arguments.target.display();
    let context = || format!("verify `{shown}`");
    let paths = sandbox.paths();
    let policy = match signer(arguments)? {
        Some(signer) => {
            let root = arguments.trust_root.as_deref().map(std::path::absolute);
            Policy::of(signer, root.transpose()?.as_deref(), paths)
        }
        None => Policy::load(paths)?,
    };
    let is_by_signer = arguments.key.is_some() || arguments.identity.is_some();
    let check_first = |arrival: &Arrival, component: &[u8]| {
        ensure!(
            !is_by_signer || arrival.is_signed(),
            "verify `{shown}`: it is not signed"
        );
        let name = arguments.name.as_deref();
        let checked = arrival.check_first(&policy, paths, name, component);
        checked.with_context(context)
    };
    let (component, inspection, arrival) = match Target::of(&arguments.target)? {
        Target::File(file) => {
            let component = read(file)?;
            let arrival = Arrival::beside(file, &arguments.bundle, &component)?;
            check_first(&arrival, &component)?;
            let inspection = inspect(sandbox, file, &component)?;
            let checked = inspection.check();
            checked.map_err(|e| show(e.with_prefix(format_args!("`{shown}`"))))?;
            (component, inspection, arrival)
        }
        Target::Artifact(reference) => {
            let registry = arguments.registry.open(&reference)?;
            let artifact = registry.pull().with_context(context)?;
            let arrival = Arrival::pulled(&registry, &artifact, &reference);
            let arrival = Arrival {
                // A name says which artifact, and nothing of who signed it.
                pinned: Vec::new(),
                ..arrival.with_context(context)?
            };
            check_first(&arrival, &artifact.component)?;
            let inspection = check(sandbox, &artifact).with_context(context)?;
            (artifact.component, inspection, arrival)
        }
    };
    let name = arguments.name.clone();
    let name = name.or_else(|| name_of(&inspection, &arguments.target));
    let name = name.with_context(|| format!("`{shown}` has no name; give one with --name"))?;
    let admitted = arrival.admit_by(&policy, paths, Some(&name), &component);
    let admitted = admitted.with_context(context)?;
    let verified = Verified {
        name,
        component: digest(&component).to_string(),
        trusted: trusted(admitted),
    };
    arguments.format.print(&verified, |verified| {
        let Verified {
            name,
            component,
            trusted,
        } = verified;
        say!("plugin {name}, {component}: {trusted}");
    })?;
    Ok(Answer::Yes)
}

/// The signer that the command line names; none if the node's policy decides.
fn signer(arguments: &Arguments) -> Result<Option<Signer>> {
    if let Some(file) = &arguments.key {
        let by = By::Key {
            key: PublicKey::read(file)?,
            logged: arguments.trust_root.is_some(),
        };
        return Ok(Some(Signer::named(&file.display().to_string(), by)));
    }
    let Some((identity, issuer)) = arguments.identity.as_ref().zip(arguments.issuer.as_ref())
    else {
        return Ok(None);
    };
    let keyless = Keyless {
        identity: Identity::new(identity).map_err(anyhow::Error::msg)?,
        issuer: issuer.clone(),
    };
    Ok(Some(Signer::named(identity, By::Keyless(keyless))))
}
