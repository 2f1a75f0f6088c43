//! The plugins of a list, such as a ConfigMap of the cluster: installed on this node each by itself, so that one that fails
//! holds up neither the others nor the node. The outcome of each is in an annotation of the pod that installs them.

mod beside;
mod document;
mod installer;
mod report;

use std::cell::RefCell;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use weir_files::Paths;
use weir_grant::reading::MOST_BYTES;

use self::document::parse;
use self::installer::Installer;
use self::report::{Outcome, Report};
use super::arguments::NodeArguments;
use crate::cli::output::complain;

pub use self::beside::Beside;

/// How long a list with a plugin that failed is left alone, unless it changes: servers are not asked at every change of the
/// node.
const PAUSE: Duration = Duration::from_secs(60);

/// The list of this node, and its outcome.
pub struct Listed {
    file: PathBuf,
    installer: Installer,
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
            installer: Installer::new(arguments, &file, paths)?,
            file,
            report: Report::new(arguments, paths, kubeconfig),
            last: RefCell::new(None),
        }))
    }

    /// The directory to watch: a new version of a mounted ConfigMap is a new link in it.
    pub fn directory(&self) -> Option<&Path> {
        self.file.parent()
    }

    /// When to try again what failed; none if nothing did.
    fn retry(&self) -> Option<Duration> {
        let has_failed = self
            .last
            .borrow()
            .as_ref()
            .is_some_and(|last| last.has_failed);
        has_failed.then_some(PAUSE)
    }

    /// Installs what is missing, and calls `installed` after each. Failures are printed and reported, and fail nothing else. Returns
    /// whether a plugin was installed.
    pub fn pass(&self, installed: &(dyn Fn() + Sync)) -> bool {
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
            Ok(entries) => self.installer.install(&entries, installed),
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
}
