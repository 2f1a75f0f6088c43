//! The plugins of a list, such as a ConfigMap of the cluster: installed on this node each by itself, so that one that fails
//! holds up neither the others nor the node. The outcome of each is in an annotation of the pod that installs them.

mod document;
mod report;

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail, ensure};
use weir_distribution::Options;
use weir_files::Paths;
use weir_grant::reading::MOST_BYTES;
use weir_sandbox::{Plugin, Provenance, Sandbox, Trusted};
use weir_signature::Policy;

use self::document::{Entry, Trust, parse};
use self::report::{Outcome, Report};
use super::arguments::NodeArguments;
use crate::cli::output::{complain, say, show};
use crate::cli::plugin::at_uri::{self, Expected, Found};
use crate::cli::plugin::installation::{check_not_older, install};

/// How long a list with a plugin that failed is left alone, unless it changes: servers are not asked at every change of the
/// node.
const PAUSE: Duration = Duration::from_secs(60);

/// The list of this node, and its outcome.
pub struct Listed {
    sandbox: Arc<Sandbox>,
    file: PathBuf,
    options: Options,
    report: Report,
    last: RefCell<Option<Last>>,
}

/// The last time that the list was carried out.
struct Last {
    list: Vec<u8>,
    at: Instant,
    has_failed: bool,
}

impl Listed {
    /// None without a list. `kubeconfig` is for reporting the outcome. Errors: as of [`Sandbox::new`].
    pub fn of(
        arguments: &NodeArguments,
        paths: &Paths,
        kubeconfig: PathBuf,
    ) -> Result<Option<Self>> {
        let Some(file) = arguments.plugin_list.clone() else {
            return Ok(None);
        };
        Ok(Some(Self {
            sandbox: Sandbox::new(paths.clone(), false).map_err(show)?,
            file,
            options: arguments.servers(),
            report: Report::new(arguments, paths, kubeconfig),
            last: RefCell::new(None),
        }))
    }

    /// The directory to watch: a new version of a mounted ConfigMap is a new link in it.
    pub fn directory(&self) -> Option<&Path> {
        self.file.parent()
    }

    /// When to try again what failed; none if nothing did.
    pub fn retry(&self) -> Option<Duration> {
        let has_failed = self
            .last
            .borrow()
            .as_ref()
            .is_some_and(|last| last.has_failed);
        has_failed.then_some(PAUSE)
    }

    /// Installs what is missing. Failures are printed and reported, and fail nothing else. Returns whether a plugin was
    /// installed.
    pub fn pass(&self) -> bool {
        let list = match self.read() {
            Ok(list) => list,
            Err(error) => {
                complain(&format!("{error:#}"));
                self.report.send(&[Outcome::of_list(&error)]);
                return false;
            }
        };
        if self.is_to_wait(&list) {
            return false;
        }
        let outcomes: Vec<Outcome> = match parse(&list) {
            Ok(entries) => entries.iter().map(|entry| self.outcome(entry)).collect(),
            Err(mistakes) => {
                let error = anyhow!("the list of plugins `{}`: {mistakes}", self.file.display());
                complain(&error.to_string());
                vec![Outcome::of_list(&error)]
            }
        };
        self.report.send(&outcomes);
        *self.last.borrow_mut() = Some(Last {
            list,
            at: Instant::now(),
            has_failed: outcomes.iter().any(Outcome::has_failed),
        });
        outcomes.iter().any(Outcome::is_new)
    }

    fn read(&self) -> Result<Vec<u8>> {
        let context = || format!("read the list of plugins `{}`", self.file.display());
        let mut bytes = Vec::new();
        let file = File::open(&self.file).with_context(context)?;
        // One byte more than it may have.
        let read = file.take(MOST_BYTES as u64 + 1).read_to_end(&mut bytes);
        read.with_context(context)?;
        Ok(bytes)
    }

    fn is_to_wait(&self, list: &[u8]) -> bool {
        let last = self.last.borrow();
        last.as_ref()
            .is_some_and(|last| last.has_failed && last.list == list && last.at.elapsed() < PAUSE)
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
        let sandbox = &self.sandbox;
        let _lock = at_uri::lock(sandbox.paths())?;
        let before = sandbox.catalogue().find(&entry.name).ok();
        let same = before
            .as_ref()
            .filter(|before| before.digest == entry.digest);
        let is_trusted = match same {
            Some(plugin) => self.is_still_trusted(plugin, entry)?,
            None => false,
        };
        if is_trusted && same.is_some_and(|plugin| sandbox.check(plugin).is_ok()) {
            return Ok(false);
        }
        let is_own = before
            .as_ref()
            .and_then(Plugin::provenance)
            .is_some_and(|p| p.listed);
        if sandbox.catalogue().is_installed(&entry.name) && !is_own {
            bail!(
                "a plugin of that name is installed on this node already, {}: the list does not replace it; remove it with `weir plugin \
                 remove {}`",
                at_uri::origin(sandbox, &entry.name),
                entry.name
            );
        }
        let by = format!("the list of plugins `{}`", self.file.display());
        let expected = expected(entry, &by);
        let options = self.options.clone();
        let found = match same.filter(|_| is_trusted) {
            Some(plugin) => at_uri::again(sandbox, plugin, &entry.uri, options, &expected)?,
            None => at_uri::get(sandbox, &entry.uri, options, &expected)?,
        };
        let provenance = self.admit(entry, &found, &expected)?;
        if before.is_some() && !entry.allow_downgrade {
            check_not_older(sandbox, &entry.name, &found.inspection)
                .context("`allowDowngrade: true` of the list stands for --allow-downgrade")?;
        }
        install(sandbox, &entry.name, &found.inspection, &provenance, is_own)?;
        say!("installed plugin {}, {}", entry.name, entry.digest);
        Ok(true)
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
