//! Installs the plugins of a list, each by itself.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use weir_distribution::Options;
use weir_files::Paths;
use weir_sandbox::{Plugin, Provenance, Sandbox, Trusted};
use weir_signature::Policy;

use super::document::{Entry, Trust};
use super::report::Outcome;
use crate::cli::install::arguments::NodeArguments;
use crate::cli::output::{complain, say, show};
use crate::cli::plugin::at_uri::{self, Content, Expected, Found};
use crate::cli::plugin::installation::{check_not_older, install};

/// How many plugins are downloaded at the same time: each may have 64 MiB.
const AT_ONCE: usize = 4;

pub struct Installer {
    sandbox: Arc<Sandbox>,
    /// The list.
    file: PathBuf,
    options: Options,
}

/// What is to be done about an entry.
enum Step {
    /// It is there.
    Nothing,
    /// The component is there, as it was let in, and its code is damaged or another weir's.
    Compile(Vec<u8>, Provenance),
    Fetch,
}

impl Installer {
    /// Errors: as of [`Sandbox::new`].
    pub fn new(arguments: &NodeArguments, file: &Path, paths: &Paths) -> Result<Self> {
        Ok(Self {
            sandbox: Sandbox::new(paths.clone(), false).map_err(show)?,
            file: file.to_owned(),
            options: arguments.servers(),
        })
    }

    /// Installs what is missing, calls `installed` after each, and returns the outcome of each entry. Some are downloaded at the same time, so that a server that
    /// does not answer does not hold up the others.
    pub fn install(&self, entries: &[Entry], installed: &(dyn Fn() + Sync)) -> Vec<Outcome> {
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(vec![None; entries.len()]);
        let work = || {
            loop {
                let place = next.fetch_add(1, Ordering::Relaxed);
                let Some(entry) = entries.get(place) else {
                    return;
                };
                let outcome = self.outcome(entry);
                if outcome.is_new() {
                    installed();
                }
                outcomes.lock().unwrap_or_else(PoisonError::into_inner)[place] = Some(outcome);
            }
        };
        thread::scope(|scope| {
            for _ in 0..entries.len().min(AT_ONCE) {
                scope.spawn(work);
            }
        });
        let outcomes = outcomes.into_inner();
        let outcomes = outcomes.unwrap_or_else(PoisonError::into_inner);
        outcomes.into_iter().flatten().collect()
    }

    fn outcome(&self, entry: &Entry) -> Outcome {
        match self.put(entry) {
            Ok(is_new) => Outcome::installed(entry, is_new),
            Err(error) => {
                let error = error.context(format!("plugin `{}` of the list", entry.name));
                complain(&format!("{error:#}"));
                Outcome::failed(entry, &error)
            }
        }
    }

    /// Installs a plugin, unless it is there. Returns whether it was installed.
    fn put(&self, entry: &Entry) -> Result<bool> {
        let paths = self.sandbox.paths();
        let content = match self.step(entry)? {
            Step::Nothing => return Ok(false),
            Step::Compile(..) => None,
            Step::Fetch => Some(at_uri::fetch(paths, &entry.uri, self.options.clone())?),
        };
        // One at a time is compiled, which takes memory, and installed.
        let _lock = at_uri::lock(paths)?;
        // Another process may have changed what is there meanwhile.
        match (self.step(entry)?, content) {
            (Step::Nothing, _) => return Ok(false),
            (Step::Compile(component, provenance), _) => {
                self.compile(entry, component, &provenance)?;
            }
            (Step::Fetch, Some(content)) => self.replace(entry, content)?,
            (Step::Fetch, None) => bail!("its component was changed while it was installed"),
        }
        say!("installed plugin {}, {}", entry.name, entry.digest);
        Ok(true)
    }

    /// Errors: a plugin of that name is not the list's to replace, or the policy refuses what is installed.
    fn step(&self, entry: &Entry) -> Result<Step> {
        let sandbox = &self.sandbox;
        let before = sandbox.catalogue().find(&entry.name).ok();
        let same = before.as_ref().filter(|it| it.digest == entry.digest);
        let trusted = match same {
            Some(plugin) if self.is_still_trusted(plugin, entry)? => Some(plugin),
            _ => None,
        };
        if trusted.is_some_and(|plugin| sandbox.check(plugin).is_ok()) {
            return Ok(Step::Nothing);
        }
        self.check_is_own(entry, before.as_ref())?;
        let whole = trusted.and_then(|plugin| {
            let component = plugin.component().ok();
            component.zip(plugin.provenance().cloned())
        });
        Ok(whole.map_or(Step::Fetch, |(component, provenance)| {
            Step::Compile(component, provenance)
        }))
    }

    /// Errors: the plugin of that name did not come from the list.
    fn check_is_own(&self, entry: &Entry, before: Option<&Plugin>) -> Result<()> {
        let name = &entry.name;
        let provenance = before.and_then(Plugin::provenance);
        let is_own = provenance.is_some_and(|provenance| provenance.listed);
        if self.sandbox.catalogue().is_installed(name) && !is_own {
            bail!(
                "a plugin of that name is installed on this node already, {}: the list does not replace it; remove it with `weir plugin \
                 remove {name}`",
                at_uri::origin(&self.sandbox, name),
            );
        }
        Ok(())
    }

    /// Compiles the installed component again. What let it in still does.
    fn compile(&self, entry: &Entry, component: Vec<u8>, provenance: &Provenance) -> Result<()> {
        let expected = Expected {
            name: Some(&entry.name),
            digest: Some(&entry.digest),
            pinned_by: Some("its installation"),
        };
        let found = Content::of(component).check(&self.sandbox, &expected)?;
        install(
            &self.sandbox,
            &entry.name,
            &found.inspection,
            provenance,
            true,
        )
    }

    /// Installs what is at an entry's URI, in place of another version if there is one.
    fn replace(&self, entry: &Entry, content: Content) -> Result<()> {
        let Self { sandbox, file, .. } = self;
        let by = format!("the list of plugins `{}`", file.display());
        let expected = expected(entry, &by);
        let found = content.check(sandbox, &expected)?;
        let provenance = self.admit(entry, &found, &expected)?;
        let is_installed = sandbox.catalogue().is_installed(&entry.name);
        if is_installed && !entry.allow_downgrade {
            check_not_older(sandbox, &entry.name, &found.inspection)
                .context("`allowDowngrade: true` of the list stands for --allow-downgrade")?;
        }
        let Found { inspection, .. } = &found;
        install(sandbox, &entry.name, inspection, &provenance, is_installed)
    }

    /// Whether what let an installed plugin in is enough for the entry: the list or the policy may have changed since. Errors: the
    /// policy refuses it now.
    fn is_still_trusted(&self, plugin: &Plugin, entry: &Entry) -> Result<bool> {
        let policy = Policy::load(self.sandbox.paths())?;
        let provenance = plugin.provenance();
        let artifact = provenance.and_then(Provenance::artifact);
        policy
            .check_installed(&plugin.digest, artifact.as_ref())
            .with_context(|| {
                format!(
                    "it stays installed until `weir plugin remove {}`",
                    plugin.name
                )
            })?;
        Ok(match provenance.map(|provenance| &provenance.trusted) {
            Some(Trusted::Signed { signer, proof, .. }) => {
                let now = policy.proof(signer, &plugin.name)?;
                now.is_some() && now == *proof
            }
            _ => entry.trust == Trust::Digest,
        })
    }

    /// Decides whether the node's policy lets in what is at an entry's URI.
    fn admit(&self, entry: &Entry, found: &Found, expected: &Expected<'_>) -> Result<Provenance> {
        let provenance = found.admit(self.sandbox.paths(), &entry.uri, expected)?;
        let is_signed = matches!(provenance.trusted, Trusted::Signed { .. });
        ensure!(
            is_signed || entry.trust == Trust::Digest,
            "the list wants a signature, and it is {}",
            provenance.trusted
        );
        Ok(Provenance {
            listed: true,
            ..provenance
        })
    }
}

/// The list's digest must be the component's, and lets it in unless the entry wants a signature. `by` is the list.
fn expected<'a>(entry: &'a Entry, by: &'a str) -> Expected<'a> {
    Expected {
        name: Some(&entry.name),
        digest: Some(&entry.digest),
        pinned_by: (entry.trust == Trust::Digest).then_some(by),
    }
}
