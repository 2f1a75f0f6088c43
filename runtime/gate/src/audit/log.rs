//! The audit log as a file, and the spool that keeps records while the log cannot be written.
//!
//! Every write is one append, under the lock of the head file, and is chained to the one before it.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};

use nix::errno::Errno;
use nix::fcntl::{FallocateFlags, Flock, FlockArg, fallocate};
use weir_files::Paths;
use weir_files::file_trust::{self, Exposed, Owner};

use super::chained::Chain;
use super::forward::{Forward, Missed};
use super::waiting::Waiting;
use crate::head::HeadFile;

/// The most bytes in the spool, which is in memory.
const MOST_KEPT: u64 = 8 << 20;

/// The audit log of a process.
pub struct Log {
    /// Opened for appending, or why not; none discards all records.
    file: Result<Option<Chain>, String>,
    path: PathBuf,
    /// Where records are kept while the log cannot be written; if none, they are lost.
    spool: Option<PathBuf>,
    node: String,
    said: Once,
    /// Who gets a copy, if anybody does.
    forward: Option<Forward>,
    waiting: Mutex<Waiting>,
    /// How many invocations run another one.
    outer: AtomicUsize,
}

/// While it exists, an invocation runs another one, whose last lines are then written with the next ones of either.
pub struct RunsAnother(Arc<Log>);

impl RunsAnother {
    pub(super) fn begin(log: Arc<Log>) -> Self {
        log.outer.fetch_add(1, Ordering::Relaxed);
        Self(log)
    }
}

impl Drop for RunsAnother {
    fn drop(&mut self) {
        self.0.outer.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Log {
    /// Opens the node's log, creates it if it does not exist, and moves the spooled records into it.
    ///
    /// If it cannot be opened, [`failure`](Self::failure) says why.
    pub fn open(paths: &Paths) -> Self {
        let path = paths.audit_log();
        let failed = |why| format!("`{}`: {why}", path.display());
        let log = Self {
            file: open(paths).map(Some).map_err(failed),
            spool: Some(paths.audit_spool()),
            path,
            node: node(),
            said: Once::new(),
            forward: Forward::open(paths),
            waiting: Mutex::default(),
            outer: AtomicUsize::new(0),
        };
        log.take_in();
        log
    }

    /// Makes a log that discards all records.
    pub fn nowhere() -> Self {
        Self {
            file: Ok(None),
            path: PathBuf::new(),
            spool: None,
            node: String::new(),
            said: Once::new(),
            forward: None,
            waiting: Mutex::default(),
            outer: AtomicUsize::new(0),
        }
    }

    /// Returns the node's name.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Why it could not be opened.
    pub fn failure(&self) -> Option<&str> {
        self.file.as_ref().err().map(String::as_str)
    }

    /// The lines that go with the next append, whichever invocation's that is.
    pub(super) fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether an invocation that runs another one will append lines later.
    pub(super) fn has_outer(&self) -> bool {
        self.outer.load(Ordering::Relaxed) > 0
    }

    /// Appends the lines that wait, the head of an invocation that has none in the log yet, and its lines, and forwards all. Errors:
    /// why they are not in the log; what waits still does.
    pub(super) fn append(&self, head: &[u8], lines: &[u8]) -> Result<(), String> {
        let mut waiting = self.waiting();
        if let Some(log) = self.file.as_ref().map_err(String::clone)? {
            let mut all = Vec::with_capacity(waiting.bytes() + head.len() + lines.len());
            waiting.write(&mut all);
            all.extend_from_slice(head);
            all.extend_from_slice(lines);
            let failed = |e: io::Error| format!("`{}`: {e}", self.path.display());
            self.write(log, &all).map_err(failed)?;
        }
        waiting.clear();
        Ok(())
    }

    fn write(&self, log: &Chain, lines: &[u8]) -> io::Result<()> {
        let written = log.append(lines)?;
        if let Some(forward) = &self.forward {
            forward.send(&written);
        }
        Ok(())
    }

    /// The lines that were not forwarded since the last call, if there are any.
    pub(super) fn take_missed(&self) -> Option<Missed> {
        self.forward.as_ref().and_then(Forward::take_missed)
    }

    /// Spools the lines that wait, and those of an invocation with its head, which cannot be written to the log because of `why`. A
    /// later invocation writes them.
    ///
    /// Errors: why they are lost.
    pub(super) fn keep(&self, head: &[u8], lines: &[u8], why: &str) -> Result<(), String> {
        let mut all = self.waiting().spool(why);
        if !lines.is_empty() {
            all.extend_from_slice(head);
            all.extend_from_slice(lines);
        }
        let Some(spool) = &self.spool else {
            return Err(why.to_owned());
        };
        let kept = keep(spool, &all);
        self.said.call_once(|| match &kept {
            Ok(()) => say(why, &format!("records are kept in `{}`", spool.display())),
            Err(error) => say(
                why,
                &format!(
                    "records are lost: cannot keep them in `{}`: {error}",
                    spool.display()
                ),
            ),
        });
        kept.map_err(|error| format!("{why}; nor kept in `{}`: {error}", spool.display()))
    }

    /// Writes the spooled records to the log. If there is no room for all of them, they stay in the spool.
    fn take_in(&self) {
        let (Ok(Some(log)), Some(spool)) = (&self.file, &self.spool) else {
            return;
        };
        // It is nearly always empty.
        if !fs::metadata(spool).is_ok_and(|metadata| metadata.len() > 0) {
            return;
        }
        let Ok(kept) = file_trust::open_log(spool, 0o600) else {
            return;
        };
        // If another process holds the lock, it moves them.
        let Ok(mut kept) = Flock::lock(kept, FlockArg::LockExclusiveNonblock) else {
            return;
        };
        let _ = self.move_lines(&mut kept, log);
    }

    /// Moves all lines or none. If weir is killed between the two steps, the log has them twice, with the same numbers.
    fn move_lines(&self, kept: &mut File, log: &Chain) -> io::Result<()> {
        let mut lines = Vec::new();
        kept.rewind()?;
        kept.read_to_end(&mut lines)?;
        if lines.is_empty() {
            return Ok(());
        }
        make_room(log.log(), lines.len())?;
        self.write(log, &lines)?;
        kept.set_len(0)
    }
}

/// Tells the caller of weir on standard error.
fn say(why: &str, what: &str) {
    let _ = writeln!(
        io::stderr(),
        "weir: the audit log cannot be written: {why}; {what}"
    );
}

/// Opens the log for appending, and the head of its chain. Errors: that somebody else can write to their directory;
/// those of the file system.
fn open(paths: &Paths) -> Result<Chain, String> {
    let path = paths.audit_log();
    let file = file_trust::open_log(&path, 0o640).map_err(|e| e.to_string())?;
    let directory = path.parent().unwrap_or(Path::new("/"));
    let metadata = fs::metadata(directory).map_err(|e| e.to_string())?;
    let checked = file_trust::check(&metadata, Owner::UserOrRoot);
    checked.map_err(|foreign| {
        let exposed = Exposed::new(directory, foreign);
        format!("{exposed}: {}", exposed.remedy())
    })?;
    let path = paths.audit_head();
    let head = HeadFile::open(&path).map_err(|e| format!("its head `{}`: {e}", path.display()))?;
    Chain::new(file, head).map_err(|e| e.to_string())
}

fn keep(spool: &Path, lines: &[u8]) -> Result<(), String> {
    let file = file_trust::open_log(spool, 0o600).map_err(|e| e.to_string())?;
    // Waits while another process moves the records to the log and empties the file.
    let mut file = Flock::lock(file, FlockArg::LockExclusive).map_err(|(_, e)| e.to_string())?;
    let length = file.metadata().map_err(|e| e.to_string())?.len();
    if length + lines.len() as u64 > MOST_KEPT {
        return Err(format!(
            "it has {length} bytes; at most {MOST_KEPT} are kept"
        ));
    }
    file.write_all(lines).map_err(|e| e.to_string())
}

/// Reserves space at the end of a file, and for two chain lines, if the file system can.
fn make_room(log: &File, bytes: usize) -> io::Result<()> {
    let (end, length) = (log.metadata()?.len() as i64, (bytes + 512) as i64);
    match fallocate(log, FallocateFlags::FALLOC_FL_KEEP_SIZE, end, length) {
        Err(Errno::EOPNOTSUPP) => Ok(()),
        outcome => Ok(outcome?),
    }
}

fn node() -> String {
    let name = nix::unistd::gethostname();
    name.map_or_else(
        |_| String::new(),
        |name| name.to_string_lossy().into_owned(),
    )
}
