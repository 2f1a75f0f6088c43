//! The operations of an audit log, for the tools that ask the matcher about them.

use std::io::{self, ErrorKind};
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Serialize;
use weir_grant::Capability;
use weir_grant::query::Query;
use weir_grant::text::printable;

use crate::cli::record::{Log, Record, Verdict, not_records};

/// The parts of a log that are not known operations. Plugins can cause them, so they are reported but not an error.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// Records whose arguments are shortened: the missing part may matter.
    pub shortened: u64,
    /// Records whose operation or arguments this weir does not know.
    pub foreign: u64,
    /// Lines that are not records.
    pub unreadable: u64,
    /// Why the first of the foreign ones is not known.
    #[serde(skip)]
    why: Option<String>,
}

impl Unknown {
    /// Whether there were records among them.
    pub fn has_records(&self) -> bool {
        self.shortened + self.foreign > 0
    }

    /// Returns a sentence for each kind.
    pub fn sentences(&self) -> Vec<String> {
        let shortened = match self.shortened {
            0 => None,
            1 => Some("1 record is left out: its arguments are shortened".to_owned()),
            n => Some(format!(
                "{n} records are left out: their arguments are shortened"
            )),
        };
        let why = self.why.as_deref().unwrap_or_default();
        let foreign = match self.foreign {
            0 => None,
            1 => Some(format!("1 record is left out: {why}")),
            n => Some(format!("{n} records are left out: the first, as {why}")),
        };
        let all = [shortened, foreign, not_records(self.unreadable)];
        all.into_iter().flatten().collect()
    }
}

/// Passes the operation of each wanted record to `take`, from a file or from standard input (`-`). Undone operations and
/// runs of native plugins are skipped.
pub fn replay(
    file: &Path,
    mut passes: impl FnMut(&Record) -> bool,
    mut take: impl FnMut(&Record, Box<dyn Query>) -> io::Result<()>,
) -> Result<Unknown> {
    let shown = file.display();
    let log = if file.as_os_str() == "-" {
        Log::standard_input()
    } else {
        Log::open(file)
    };
    let log = match log {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("`{shown}` does not exist: nothing was recorded")
        }
        log => log.with_context(|| format!("open `{shown}`"))?,
    };
    let mut unknown = Unknown::default();
    let unreadable = log.read_whole(&mut |record| {
        let is_plugins = record.capability != Capability::Native.word() && !record.is_event();
        if record.verdict == Verdict::Undo || !is_plugins || !passes(record) {
            return Ok(());
        }
        match record.query() {
            Ok(operation) => return take(record, operation),
            Err(_) if record.shortened_from.is_some() => unknown.shortened += 1,
            Err(why) => {
                unknown.foreign += 1;
                // It quotes the plugin.
                unknown.why.get_or_insert_with(|| printable(&why));
            }
        }
        Ok(())
    });
    unknown.unreadable = unreadable.with_context(|| format!("read `{shown}`"))?;
    Ok(unknown)
}
